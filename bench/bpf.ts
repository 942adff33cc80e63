// Compiled schedulers beside the native policies that decide the same: ns per event over a sweep of slice lengths, all checks
// of the translated code on. Both sides must schedule alike; an object may cost at most twice the native policy.

import { twinOf } from '../src/bpf/loader-input.js';
import { configFrom } from '../src/config/load.js';
import { resolveConfig } from '../src/config/resolve.js';
import type { ConfigInput, ResolvedConfig } from '../src/config/schema.js';
import * as abi from '../src/engine/abi.js';
import { encode } from '../src/engine/encode.js';
import { Simulation } from '../src/engine/simulation.js';
import { circumstances, cpuTimeNs, formatSpread, pin, spread } from './measure.js';

const ROUNDS = 5;
const MOST_TIMES_NATIVE = 2;
const SLICES = ['1ms', '3ms', '6ms', '20ms'];

/** Hogs and sleepers, about one and a half times what 48 CPUs can serve. */
const base: ConfigInput = {
  machine: 'ideal-48',
  kernel: '7.3',
  workload: {
    tasks: [
      { name: 'hog', count: 48, program: [{ loop: { times: 'forever', do: [{ run: '100ms' }] } }] },
      {
        name: 'sleeper',
        count: 144,
        program: [
          {
            loop: {
              times: 'forever',
              do: [{ run: { exponential: '1ms' } }, { sleep: { exponential: '4ms' } }],
            },
          },
        ],
      },
    ],
  },
  run: { end: 'horizon', horizon: '10s' },
};

interface Measured {
  ns_per_event: number;
  events: number;
  digest: number;
}

function measure(config: ResolvedConfig): Measured {
  const simulation = new Simulation(encode(config));
  const elapsed = cpuTimeNs(() => {
    while (!simulation.done) simulation.step();
  });
  simulation.finish();
  const events = simulation.counter(abi.R_EVENTS);
  return { ns_per_event: elapsed / events, events, digest: simulation.counter(abi.R_DIGEST) };
}

const resolve = (policy: ConfigInput['policy'], digest = false): ResolvedConfig =>
  resolveConfig(configFrom({ ...base, policy, output: { digest } }));

/** The object that does what a native policy does. */
function twinPolicy(native: ResolvedConfig): ConfigInput['policy'] {
  const { object, flags, rodata, domains } = twinOf(native.policy, native.machine.cpus)!;
  return {
    object: `bpf/objects/${object}.bpf.o`,
    flags,
    rodata: Object.fromEntries(
      Object.entries(rodata).map(([name, value]) => [
        name,
        typeof value === 'bigint' ? Number(value) : value,
      ]),
    ),
    ...(domains.length === 0 ? {} : { domains: domains.map((cpus) => cpus.join(',')) }),
  };
}

let missed = false;

/** One line: the native policy, the object, and their ratio, in turn. */
function compare(label: string, policy: ConfigInput['policy']): void {
  const native = resolve(policy);
  const object = resolve(twinPolicy(native));
  const [a, b] = [measure(resolve(policy, true)), measure(resolve(twinPolicy(native), true))];
  if (a.digest !== b.digest || a.events !== b.events) {
    missed = true;
    console.log(`${label}: the object schedules otherwise`);
    return;
  }
  const pairs = Array.from({ length: ROUNDS }, () => [
    measure(native).ns_per_event,
    measure(object).ns_per_event,
  ]);
  const ratio = spread(pairs.map(([first, second]) => second / first));
  if (ratio.median > MOST_TIMES_NATIVE) missed = true;
  console.log(
    `${label.padEnd(22)} native ${formatSpread(spread(pairs.map(([first]) => first)), 0)} ns/event, ` +
      `object ${formatSpread(spread(pairs.map(([, second]) => second)), 0)}, ratio ${formatSpread(ratio)}`,
  );
}

console.log(circumstances());
pin();
for (const slice of SLICES) compare(`domains:8, slice ${slice}`, { name: 'domains', domains: 8, slice });
compare('domains-as-coded:8', { name: 'domains-as-coded', domains: 8 });
for (const name of ['global-fifo', 'global-vtime', 'five-level'] as const)
  compare(name, { name, slice: '3ms' });
compare('central', { name: 'central', slice: '3ms' });
if (missed) process.exitCode = 1;
