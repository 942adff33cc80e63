// The engine and the reference model on one config: decision by decision, and at instants between, the state of every
// task, queue and CPU.

import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configFrom } from '../../src/config/load.js';
import { ConfigError } from '../../src/config/mistakes.js';
import { resolveConfig } from '../../src/config/resolve.js';
import type { ConfigInput, ResolvedConfig } from '../../src/config/schema.js';
import * as abi from '../../src/engine/abi.js';
import { encode } from '../../src/engine/encode.js';
import { Simulation } from '../../src/engine/simulation.js';
import { temporaryFolder } from '../support/folder.js';
import { Kernel } from './kernel.js';
import type { Decision, KernelConfig, Outcome } from './kernel-config.js';
import { stepsOf } from './program.js';
import type { Dsq, Task } from './task.js';

const folder = temporaryFolder('reference');
const MAX_EVENTS = 2 ** 31 - 1;
const KINDS = ['', 'wake', 'run', 'stop'] as const;

// assembly/core/layout.ts and kernel/task.ts
const IDLE_MASK = 0x001a_0000;
const DSQS = 0x0020_0000;
const DSQ_BYTES = 64;
const MAX_CPUS = 512;
const CPUS = 0x0010_0000;
const CPU_BYTES = 512;
const TASKS = 0x0200_0000;
const TASK_BYTES = 256;
const STATES = ['free', 'runnable', 'sleeping', 'blocked', 'dead'];
const NONE = 0xffffffff;
const EXITED_CPU = 8;

const OUTCOMES: Record<number, Outcome> = {
  [abi.OUTCOME_UNTIL]: 'running',
  [abi.OUTCOME_COMPLETED]: 'completed',
  [abi.OUTCOME_HORIZON]: 'horizon',
  [abi.OUTCOME_STALLED]: 'stalled',
  [abi.OUTCOME_DEADLOCKED]: 'deadlocked',
};

export const taskName = (template: number) => `t${template}`;

/** CPUs of one package whose only idle state takes `exit` ns to leave, at one frequency. */
function profile({ cpus, exit }: KernelConfig): string {
  const parts = (key: 'node' | 'llc') => cpus[cpus.length - 1][key] + 1;
  const file = join(folder, `${randomUUID()}.json`);
  const mhz = 1000;
  writeFileSync(
    file,
    JSON.stringify({
      name: 'reference',
      packages: 1,
      cores_per_package: cpus.length,
      nodes_per_package: parts('node'),
      llcs_per_package: parts('llc'),
      reference_mhz: mhz,
      min_mhz: mhz,
      base_mhz: mhz,
      turbo: [{ active_cores: cpus.length, mhz }],
      idle_states: [{ name: 'idle', exit_ns: exit, residency_ns: exit, power_mw: 0 }],
      core_power: [{ mhz, mw: 0 }],
      uncore_mw: 0,
      uncore_idle_mw: 0,
      tdp_mw: 0,
      governor: 'performance',
      frequency_interval_ns: 1_000_000,
      frequency_ramp_ns: 0,
      costs: { context_switch_ns: 0, migration_llc_ns: 0, migration_node_ns: 0, dispatch_ns: 0 },
    }),
  );
  return file;
}

/** The model's config as the product's. */
export function inputOf(config: KernelConfig): ConfigInput {
  const ns = (value: number) => `${value}ns`;
  const { costs, policy, tasks, domains } = config;
  const names = tasks.map((_, i) => taskName(i));
  const events = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if ('op' in value && 'name' in value && (value.op === 'signal' || value.op === 'spin_until'))
      events.add(String(value.name));
    Object.values(value).forEach(collect);
  };
  collect(tasks);
  const plain = config.exit === 0 && config.cpus.every(({ node, llc }) => node === 0 && llc === 0);
  return {
    seed: 1,
    machine: {
      profile: plain ? `ideal-${config.cpus.length}` : profile(config),
      costs: {
        context_switch: ns(costs.context_switch),
        migration_llc: ns(costs.migration_llc),
        migration_node: ns(costs.migration_node),
        dispatch: ns(costs.dispatch),
      },
    },
    kernel: {
      hz: `${config.hz}Hz`,
      tick_skew: ns(config.tick_skew),
      slice_expiry: config.exact ? 'exact' : 'tick',
      watchdog_timeout: ns(config.watchdog),
    },
    policy: {
      ...policy,
      slice: ns(policy.slice),
      ...('domains' in policy ? { domains: domains.map((cpus) => cpus.join(',')) } : {}),
    } as ConfigInput['policy'],
    output: { decisions: true },
    run: { end: 'horizon', horizon: ns(config.horizon) },
    workload: {
      barriers: Object.entries(config.barriers).map(([name, parties]) => ({ name, parties })),
      events: [...events].map((name) => ({ name })),
      tasks: tasks.map(({ program, count, start, weight, cpus, domain }, i) => ({
        name: names[i],
        program: stepsOf(program, names),
        count,
        start: ns(start),
        weight,
        cpus: cpus === undefined ? 'all' : cpus.join(','),
        class: 'ext',
        ...('domains' in policy ? { domain } : {}),
      })),
    },
  };
}

class Engine {
  readonly #simulation: Simulation;

  constructor(config: ResolvedConfig) {
    this.#simulation = new Simulation(encode(config));
  }

  /** Decisions up to an instant, and how the run stands there. */
  runUntil(until: number): { decisions: Decision[]; outcome: Outcome } {
    const decisions: Decision[] = [];
    const drain = () => {
      const bytes = this.#simulation.drainDecisions();
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      for (let at = 0; at < bytes.length; at += abi.DECISION_BYTES) {
        decisions.push({
          time: Number(view.getBigUint64(at, true)),
          kind: KINDS[view.getUint8(at + abi.DECISION_KIND)] as Decision['kind'],
          cpu: view.getUint16(at + abi.DECISION_CPU, true),
          task: view.getUint32(at + abi.DECISION_TASK, true),
        });
      }
    };
    for (;;) {
      const outcome = OUTCOMES[this.#simulation.step(MAX_EVENTS, BigInt(until))];
      drain();
      if (outcome !== undefined) return { decisions, outcome };
    }
  }

  finish(): void {
    this.#simulation.finish();
  }

  get #view(): DataView {
    return new DataView(this.#simulation.memory.buffer);
  }

  /** In the words of `stateOf`. */
  state(cpus: number, queues: number): string[] {
    const view = this.#view;
    const lines: string[] = [];
    const idle = Array.from({ length: cpus }, (_, cpu) => cpu).filter(
      (cpu) => (view.getUint8(IDLE_MASK + (cpu >> 3)) >> (cpu & 7)) & 1,
    );
    lines.push(`idle ${idle}`);
    for (let cpu = 0; cpu < cpus; cpu++) lines.push(`local ${cpu}: ${this.#fifo(view, cpu)}`);
    for (let k = 0; k < queues; k++) lines.push(`user ${k}: ${this.#queue(view, MAX_CPUS + 1 + k)}`);
    return lines;
  }

  task(slot: number, now: number): string {
    const view = this.#view;
    const t = TASKS + slot * TASK_BYTES;
    const state = STATES[view.getUint8(t + 100)];
    if (state === 'free') return 'free';
    const number = (offset: number) => Number(view.getBigUint64(t + offset, true));
    const cpu = view.getUint32(t + 4, true);
    const runs = view.getUint32(CPUS + cpu * CPU_BYTES + 32, true) === slot * TASK_BYTES;
    return taskText({
      state,
      cpu,
      vtime: view.getBigInt64(t + 16, true),
      slice: number(24),
      sumExec: number(56),
      uncharged: runs ? now - number(168) : 0,
      children: view.getUint32(t + 144, true),
    });
  }

  #fifo(view: DataView, index: number): number[] {
    const slots: number[] = [];
    for (let t = view.getUint32(DSQS + index * DSQ_BYTES + 8, true); t !== 0; ) {
      slots.push(t / TASK_BYTES);
      t = view.getUint32(TASKS + t + 64, true);
    }
    return slots;
  }

  /** A vtime queue is a binary tree: its root is in the record's last field. */
  #queue(view: DataView, index: number): number[] {
    const record = DSQS + index * DSQ_BYTES;
    const VTIME = 2;
    if (view.getUint32(record, true) !== VTIME) return this.#fifo(view, index);
    const slots: number[] = [];
    const visit = (t: number): void => {
      if (t === 0 || t === NONE) return;
      visit(view.getUint32(TASKS + t + 64, true));
      slots.push(t / TASK_BYTES);
      visit(view.getUint32(TASKS + t + 68, true));
    };
    visit(view.getUint32(record + 12, true));
    return slots;
  }

  counters(): Record<string, number> {
    const value = (index: number) => this.#simulation.counter(index);
    return {
      switches: value(abi.R_SWITCHES),
      migrations: value(abi.R_MIGRATIONS),
      wakeups: value(abi.R_WAKEUPS),
      dispatches: value(abi.R_DISPATCHES),
      steals: value(abi.R_STEALS),
      kicks: value(abi.R_KICKS),
      preemptions: value(abi.R_PREEMPTIONS),
      poll_ns: value(abi.R_POLL_NS),
      exited_cpu_ns: value(EXITED_CPU),
      runnable_area: value(abi.R_RUNNABLE_AREA),
    };
  }

  /** assembly/kernel/cpu.ts */
  cpu(id: number): Record<string, number> {
    const view = this.#view;
    const c = CPUS + id * CPU_BYTES;
    const at = (offset: number) => Number(view.getBigUint64(c + offset, true));
    return { busy_ns: at(48), idle_ns: at(56), overhead_ns: at(64), switches: at(80), migrations_in: at(88) };
  }
}

function stateOf(kernel: Kernel): string[] {
  const slots = (dsq: Dsq) => dsq.entries.map(({ task }) => task.slot);
  return [
    `idle ${kernel.cpus.filter(({ idle }) => idle).map(({ id }) => id)}`,
    ...kernel.local.map((dsq, cpu) => `local ${cpu}: ${slots(dsq)}`),
    ...kernel.policy.queues.map((dsq, k) => `user ${k}: ${slots(dsq)}`),
  ];
}

function taskOf(kernel: Kernel, slot: number, now: number): string {
  const task = kernel.tasks[slot];
  if (task === undefined) return 'free';
  const runs = kernel.cpus[task.cpu].current === task;
  return taskText({ ...task, uncharged: runs ? now - task.execStart : 0 });
}

type TaskState = Pick<Task, 'cpu' | 'vtime' | 'slice' | 'sumExec' | 'children'> & {
  state: string;
  uncharged: number;
};

/** As if a running task were charged now: when it was last is no rule. */
function taskText({ state, cpu, vtime, slice, sumExec, uncharged, children }: TaskState): string {
  const left = Math.max(0, slice - uncharged);
  return `${state}, CPU ${cpu}, vtime ${vtime}, slice ${left}, CPU time ${sumExec + uncharged}, ${children} children`;
}

const textOf = ({ time, kind, cpu, task }: Decision) => `${time} ns: ${kind} task ${task} on CPU ${cpu}`;

class Difference extends Error {}

function differ(what: string, engine: unknown, reference: unknown, context: string[] = []): never {
  throw new Difference(
    [`${what}:`, `  engine     ${engine}`, `  reference  ${reference}`, ...context].join('\n'),
  );
}

function compareDecisions(engine: Decision[], reference: Decision[]): void {
  for (let i = 0; i < Math.max(engine.length, reference.length); i++) {
    const [a, b] = [engine[i], reference[i]].map((d) => (d === undefined ? 'nothing' : textOf(d)));
    if (a === b) continue;
    const before = reference.slice(Math.max(0, i - 12), i).map((d) => `  both       ${textOf(d)}`);
    const after = (list: Decision[], who: string) =>
      list.slice(i + 1, i + 5).map((d) => `  ${who} then ${textOf(d)}`);
    const context = ['before:', ...before, ...after(engine, 'engine    '), ...after(reference, 'reference ')];
    differ(`decision ${i}`, a, b, context);
  }
}

/** undefined if it is refused, as one in which tasks must wait for ever. */
function resolved(input: ConfigInput): ResolvedConfig | undefined {
  try {
    return resolveConfig(configFrom(input));
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

/** Runs both and stops at the first difference. Returns the number of decisions, 0 for a config that is refused. */
export function compare(config: KernelConfig, instants = 16): number {
  const input = resolved(inputOf(config));
  if (input === undefined) return 0;
  const kernel = new Kernel(config);
  const engine = new Engine(input);
  let decisions = 0;
  for (let i = 1; kernel.outcome === 'running'; i++) {
    const until = i <= instants ? Math.floor((config.horizon * i) / instants) : Number.MAX_SAFE_INTEGER;
    kernel.decisions.length = 0;
    kernel.runUntil(until);
    const ran = engine.runUntil(until);
    compareDecisions(ran.decisions, kernel.decisions);
    if (ran.outcome !== kernel.outcome) differ(`outcome at ${until} ns`, ran.outcome, kernel.outcome);
    compareStates(engine, kernel, until);
    decisions += kernel.decisions.length;
  }
  kernel.finish();
  engine.finish();
  compareStates(engine, kernel, kernel.now);
  const counters = engine.counters();
  for (const [name, expected] of Object.entries(kernel.counters)) {
    if (counters[name] !== expected) differ(name, counters[name], expected);
  }
  for (const cpu of kernel.cpus) {
    const got = engine.cpu(cpu.id);
    for (const key of Object.keys(got)) {
      const expected = cpu[key as 'busy_ns'];
      if (got[key] !== expected) differ(`${key} of CPU ${cpu.id}`, got[key], expected);
    }
  }
  return decisions;
}

function compareStates(engine: Engine, kernel: Kernel, until: number): void {
  const expected = stateOf(kernel);
  const got = engine.state(kernel.cpus.length, kernel.policy.queues.length);
  for (const [i, line] of expected.entries()) if (got[i] !== line) differ(`at ${until} ns`, got[i], line);
  for (let slot = 1; slot < kernel.tasks.length; slot++) {
    const [a, b] = [engine.task(slot, until), taskOf(kernel, slot, until)];
    if (a !== b) differ(`task ${slot} at ${until} ns`, a, b);
  }
}
