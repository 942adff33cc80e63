// Random configs for the comparison with the reference model. Times are few and coarse, so that many things happen at one
// instant.

import fc from 'fast-check';
import type { KernelConfig, TaskConfig } from './kernel-config.js';
import type { PolicyConfig } from './policies.js';
import type { Operation, Program } from './program.js';

const US = 1000;
const MS = 1_000_000;

const length = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 16 }).map((n) => n * 250 * US) },
  { weight: 1, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 7 * MS }) },
);
const slice = fc.oneof(
  fc.constantFrom(3 * MS, 1 * MS, 5 * MS, 20 * MS),
  fc.integer({ min: 50 * US, max: 6 * MS }),
);

function subset(n: number): fc.Arbitrary<number[]> {
  return fc.subarray(
    Array.from({ length: n }, (_, i) => i),
    { minLength: 1 },
  );
}

interface Surroundings {
  cpus: number;
  /** Members per template. */
  counts: number[];
}

function operation({ cpus, counts }: Surroundings): fc.Arbitrary<Operation> {
  const spins = fc.boolean();
  const member = fc
    .nat(counts.length - 1)
    .chain((task) => fc.nat(counts[task] - 1).map((index) => ({ task, member: index })));
  const name = fc.constantFrom('e0', 'e1');
  return fc.oneof(
    { weight: 8, arbitrary: fc.record({ op: fc.constant('run' as const), ns: length }) },
    { weight: 5, arbitrary: fc.record({ op: fc.constant('sleep' as const), ns: length }) },
    { weight: 2, arbitrary: fc.record({ op: fc.constant('spin' as const), ns: length }) },
    { weight: 2, arbitrary: fc.constant({ op: 'yield' as const }) },
    { weight: 2, arbitrary: fc.constant({ op: 'block' as const }) },
    { weight: 4, arbitrary: member.map((target) => ({ op: 'wake' as const, ...target })) },
    {
      weight: 1,
      arbitrary: fc.record({
        op: fc.constant('barrier' as const),
        name: fc.constantFrom('b0', 'family'),
        spins,
      }),
    },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('join' as const), spins }) },
    { weight: 1, arbitrary: name.map((event) => ({ op: 'signal' as const, name: event })) },
    { weight: 1, arbitrary: name.map((event) => ({ op: 'spin_until' as const, name: event })) },
    { weight: 1, arbitrary: subset(cpus).map((list) => ({ op: 'affinity' as const, cpus: list })) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(subset(cpus), member)
        .map(([list, target]) => ({ op: 'affinity' as const, cpus: list, ...target })),
    },
  );
}

function program(around: Surroundings, depth: number): fc.Arbitrary<Program> {
  const step = operation(around).map((single): Program => [single]);
  if (depth === 0) return fc.array(step, { maxLength: 5 }).map((parts) => parts.flat());
  const body = program(around, depth - 1);
  const spins = fc.boolean();
  const fork = fc
    .tuple(fc.integer({ min: 1, max: 3 }), body, spins, fc.nat(9))
    .map(
      ([count, child, spin, joins]): Program => [
        { op: 'fork', count, program: child },
        ...(joins > 0 ? [{ op: 'join' as const, spins: spin }] : []),
      ],
    );
  const loop = fc
    .tuple(fc.integer({ min: 1, max: 4 }), step, body)
    .map(([times, first, inner]): Program => [{ op: 'loop', times, body: [...first, ...inner] }]);
  return fc
    .array(
      fc.oneof(
        { weight: 6, arbitrary: step },
        { weight: 1, arbitrary: fork },
        { weight: 1, arbitrary: loop },
      ),
      { maxLength: 6 },
    )
    .map((parts) => parts.flat());
}

/** A program, perhaps over and over: then each pass takes time, and its families are joined. */
function taskProgram(around: Surroundings): fc.Arbitrary<Program> {
  return fc.tuple(program(around, 2), fc.nat(5), fc.integer({ min: 1, max: 8 })).map(([body, kind, n]) => {
    if (kind === 0) return body.length === 0 ? [{ op: 'exit' }] : body;
    const pause = { op: kind <= 2 ? ('sleep' as const) : ('run' as const), ns: n * 250 * US };
    return [{ op: 'loop', times: Infinity, body: [pause, ...body, { op: 'join', spins: false }] }];
  });
}

/** Now and then it wakes everybody and signals every event, so that the others don't come to rest. */
function pulse(counts: readonly number[], pause: number): TaskConfig {
  const wakes = counts.flatMap((n, task) =>
    Array.from({ length: n }, (_, member) => ({ op: 'wake' as const, task, member })),
  );
  const signals = ['e0', 'e1'].map((name) => ({ op: 'signal' as const, name }));
  return {
    program: [{ op: 'loop', times: Infinity, body: [{ op: 'sleep', ns: pause }, ...wakes, ...signals] }],
    count: 1,
    start: 0,
    weight: 1024,
    cpus: undefined,
    domain: 'none',
  };
}

function tasks(cpus: number, domains: number): fc.Arbitrary<TaskConfig[]> {
  const count = fc.integer({ min: 1, max: 4 });
  return fc
    .tuple(fc.array(count, { minLength: 1, maxLength: 6 }), fc.nat(3), fc.integer({ min: 1, max: 20 }))
    .chain(([counts, pulses, pause]) =>
      fc.tuple(
        ...counts.map((n) =>
          fc.record({
            program: taskProgram({ cpus, counts }),
            count: fc.constant(n),
            start: fc.oneof(fc.constant(0), length),
            weight: fc.oneof(fc.constantFrom(1024, 1, 88761, 15), fc.integer({ min: 1, max: 88761 })),
            cpus: fc
              .option(subset(cpus), { nil: undefined, freq: 2 })
              .map((list) => (list?.length === cpus ? undefined : list)),
            domain: fc.oneof(fc.constantFrom('spread' as const, 'none' as const), fc.nat(domains - 1)),
          }),
        ),
        ...(pulses === 0 ? [] : [fc.constant(pulse(counts, pause * 500 * US))]),
      ),
    );
}

/** CPUs in `k` parts of nearly equal size; now and then a CPU is in none. */
function domainsOf(cpus: number, k: number, without: boolean): number[][] {
  const parts = Array.from({ length: k }, (): number[] => []);
  const used = without && cpus > k ? cpus - 1 : cpus;
  for (let cpu = 0; cpu < used; cpu++) parts[Math.floor((cpu * k) / used)].push(cpu);
  return parts;
}

function policy(domains: number[][]): fc.Arbitrary<PolicyConfig> {
  return fc.oneof(
    fc.record({
      name: fc.constant('global-fifo' as const),
      slice,
      requeue: fc.constantFrom('shared' as const, 'local' as const),
    }),
    fc.record({
      name: fc.constant('percpu-fifo' as const),
      slice,
      place: fc.constantFrom('idle' as const, 'previous' as const),
    }),
    fc.record({
      name: fc.constant('domains' as const),
      slice,
      domains: fc.constant(domains),
      reset_every: fc.integer({ min: 1, max: 12 }),
      steal: fc.constantFrom('neighbours' as const, 'none' as const),
    }),
    fc.record({
      name: fc.constant('weighted-vtime' as const),
      slice,
      domains: fc.constant(domains),
      steal: fc.constantFrom('longest' as const, 'none' as const),
      credit: fc.constantFrom('slice' as const, 'unlimited' as const),
      preempt: fc.boolean(),
      keep_running: fc.boolean(),
    }),
  );
}

const cost = fc.oneof(
  { weight: 2, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 20 * US }) },
  { weight: 1, arbitrary: fc.constant(250 * US) },
);

/** Nodes of two LLCs each, as far as the CPUs divide. */
function topology(cpus: number, flat: boolean): KernelConfig['cpus'] {
  const nodes = !flat && cpus % 4 === 0 ? 2 : 1;
  const llcs = !flat && cpus % 2 === 0 ? Math.max(2, 2 * nodes) : 1;
  return Array.from({ length: cpus }, (_, cpu) => ({
    node: Math.floor((cpu * nodes) / cpus),
    llc: Math.floor((cpu * llcs) / cpus),
  }));
}

/** CPU counts, of which the last reaches into a second word of a mask. */
const cpuCount = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 1, max: 8 }) },
  { weight: 1, arbitrary: fc.constant(66) },
);

export const configs: fc.Arbitrary<KernelConfig> = cpuCount.chain((cpus) =>
  fc
    .tuple(fc.integer({ min: 1, max: Math.min(4, cpus) }), fc.boolean(), fc.boolean())
    .chain(([k, without, flat]) => {
      const domains = domainsOf(cpus, k, without);
      return fc.record({
        cpus: fc.constant(topology(cpus, flat)),
        exit: fc.constantFrom(0, 0, 2 * US, 133 * US, 1),
        costs: fc.record({
          context_switch: cost,
          migration_llc: cost,
          migration_node: cost,
          dispatch: cost,
        }),
        hz: fc.constantFrom(250, 100, 1000),
        tick_skew: fc.constantFrom(0, 0, 1 * US, 333 * US),
        exact: fc.boolean(),
        watchdog: fc.constantFrom(0, 0, 0, 200 * MS, 20 * MS),
        horizon: fc.integer({ min: 200, max: 1500 }).map((ms) => ms * MS),
        policy: policy(domains),
        domains: fc.constant(domains),
        barriers: fc.record({ b0: fc.integer({ min: 1, max: 4 }) }),
        tasks: tasks(cpus, k),
      });
    }),
);
