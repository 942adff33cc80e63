// The state of the modelled kernel: CPUs, tasks, and the sums that are kept of them.

import type { Decision, KernelConfig, Outcome } from './kernel-config.js';
import type { Policy } from './policies.js';
import { type Program, walk } from './program.js';
import { type Barrier, type Cpu, Dsq, type Signal, type Task } from './task.js';

/** Without a watchdog, work that nothing can move is looked for this often. */
const CHECK_PERIOD = 10_000_000_000;

export abstract class KernelState {
  now = 0;
  outcome: Outcome = 'running';
  readonly config: KernelConfig;
  readonly cpus: Cpu[];
  readonly local: Dsq[];
  readonly policy: Policy;
  readonly decisions: Decision[] = [];
  readonly counters = {
    switches: 0,
    migrations: 0,
    wakeups: 0,
    dispatches: 0,
    steals: 0,
    kicks: 0,
    preemptions: 0,
    poll_ns: 0,
    exited_cpu_ns: 0,
    runnable_area: 0,
  };
  /** By slot; a slot is used again after an exit, the last one freed first. */
  readonly tasks: (Task | undefined)[] = [undefined];
  protected readonly freeSlots: number[] = [];
  protected readonly members: Task[][] = [];
  protected readonly barriers = new Map<string, Barrier>();
  protected readonly signals = new Map<string, Signal>();
  protected readonly tick: number;
  protected alive = 0;
  protected runnable = 0;
  protected runnableSince = 0;
  protected watchdog: number;
  protected readonly watchdogPeriod: number;

  constructor(config: KernelConfig) {
    this.config = config;
    this.tick = 1e9 / config.hz;
    const domainOf = (cpu: number) => {
      const domain = config.domains.findIndex((cpus) => cpus.includes(cpu));
      return domain < 0 ? undefined : domain;
    };
    this.cpus = config.cpus.map((_, id) => ({
      id,
      domain: domainOf(id),
      current: undefined,
      idle: true,
      needResched: false,
      completion: undefined,
      tick: undefined,
      idleExit: undefined,
      workBegin: 0,
      stateSince: 0,
      busy_ns: 0,
      idle_ns: 0,
      overhead_ns: 0,
      switches: 0,
      migrations_in: 0,
    }));
    this.local = this.cpus.map(() => new Dsq());
    for (const [name, parties] of Object.entries(config.barriers))
      this.barriers.set(name, { parties, arrived: 0, waiters: [] });
    this.policy = this.loadPolicy();
    this.watchdogPeriod = config.watchdog > 0 ? Math.floor(config.watchdog / 2) : CHECK_PERIOD;
    this.watchdog = this.watchdogPeriod;
    for (const [template, given] of config.tasks.entries()) {
      this.members.push(
        Array.from({ length: given.count }, (_, i) => {
          const k = config.domains.length;
          const domain =
            given.domain === 'spread' ? i % k : given.domain === 'none' ? undefined : given.domain;
          const mask = given.cpus === undefined ? undefined : new Set(given.cpus);
          const task = this.create(
            template,
            given.program,
            domain,
            mask,
            BigInt(Math.floor(2 ** 20 / given.weight)),
          );
          task.cpu = i % this.cpus.length;
          task.lastCpu = task.cpu;
          task.timer = given.start;
          return task;
        }),
      );
    }
  }

  protected abstract loadPolicy(): Policy;

  protected create(
    template: number,
    program: Program,
    domain: number | undefined,
    mask: ReadonlySet<number> | undefined,
    inverseWeight: bigint,
  ): Task {
    const slot = this.freeSlots.pop() ?? this.tasks.length;
    const task: Task = {
      slot,
      template,
      domain,
      mask,
      inverseWeight,
      state: 'sleeping',
      waitsFor: undefined,
      wakePending: false,
      timer: undefined,
      cpu: 0,
      lastCpu: 0,
      moved: false,
      dsq: undefined,
      direct: undefined,
      // init_scx_entity()
      slice: 20_000_000,
      vtime: 0n,
      runnableSince: 0,
      program: walk(program),
      mode: 'between',
      work: 0,
      again: undefined,
      parent: undefined,
      children: 0,
      family: undefined,
      sumExec: 0,
      stint: 0,
      lastStint: 0,
      execStart: 0,
      enqueues: 0,
      sleeps: 0,
      sleepsPerSecond: 0,
      sleepStamp: 0,
    };
    this.tasks[slot] = task;
    this.alive++;
    this.policy.enable?.(task);
    return task;
  }

  // ---- charging -----------------------------------------------------------------------------------------

  protected charge(cpu: Cpu): void {
    const { current: task } = cpu;
    if (task === undefined) return;
    const ran = this.now - task.execStart;
    task.execStart = this.now;
    task.sumExec += ran;
    task.stint += ran;
    task.slice = Math.max(0, task.slice - ran);
    if (task.mode === 'spin' || task.mode === 'poll') this.counters.poll_ns += ran;
    if (task.mode === 'run' && this.now > cpu.workBegin) {
      task.work -= this.now - cpu.workBegin;
      cpu.workBegin = this.now;
    }
  }

  protected account(cpu: Cpu): void {
    cpu[cpu.current === undefined ? 'idle_ns' : 'busy_ns'] += this.now - cpu.stateSince;
    cpu.stateSince = this.now;
  }

  protected countRunnable(change: number): void {
    this.counters.runnable_area += this.runnable * (this.now - this.runnableSince);
    this.runnableSince = this.now;
    this.runnable += change;
  }

  protected decide(kind: Decision['kind'], cpu: number, task: Task): void {
    this.decisions.push({ time: this.now, kind, cpu, task: task.slot });
  }

  /** When what the current task does is over; with exact expiry, its slice at the latest. */
  protected armCompletion(cpu: Cpu): void {
    const task = cpu.current!;
    const ends = {
      between: cpu.workBegin,
      run: cpu.workBegin + task.work,
      spin: Math.max(task.work, cpu.workBegin),
      poll: Infinity,
    };
    let end = Math.max(this.now, ends[task.mode]);
    if (this.config.exact) end = Math.min(end, this.now + task.slice);
    cpu.completion = end === Infinity ? undefined : end;
  }
}
