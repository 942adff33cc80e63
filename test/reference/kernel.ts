// A slow, obvious model of the kernel around a sched_ext policy, written from the rules: lists that are searched from the
// front, an event calendar that is the minimum over everything that can happen, programs that are generators. The
// engine must take the same decisions at the same times.

import { type Policy, type PolicyConfig, policyOf } from './policies.js';
import { type Operation, type Program, walk } from './program.js';
import { allowed, type Barrier, type Cpu, Dsq, type Signal, type Task } from './task.js';

export interface TaskConfig {
  program: Program;
  count: number;
  start: number;
  weight: number;
  cpus: number[] | undefined;
  /** A domain's number; spread: member i goes to domain i mod k. */
  domain: number | 'spread' | 'none';
}

export interface KernelConfig {
  /** Node and last-level cache of each CPU. */
  cpus: { node: number; llc: number }[];
  /** Time that leaving idle takes. */
  exit: number;
  costs: { context_switch: number; migration_llc: number; migration_node: number; dispatch: number };
  hz: number;
  tick_skew: number;
  exact: boolean;
  /** 0 = none. */
  watchdog: number;
  horizon: number;
  policy: PolicyConfig;
  domains: number[][];
  barriers: Record<string, number>;
  tasks: TaskConfig[];
}

export interface Decision {
  time: number;
  kind: 'wake' | 'run' | 'stop';
  cpu: number;
  task: number;
}

export type Outcome = 'running' | 'completed' | 'horizon' | 'stalled' | 'deadlocked';

/** Order of events at one instant; see ARCHITECTURE.md. */
const COMPLETION = 2;
const WAKE = 3;
const IDLE_EXIT = 4;
const TICK = 5;
const WATCHDOG = 8;

/** SCX_SLICE_DFL */
const SLICE_DFL = 20_000_000;
/** Without a watchdog, work that nothing can move is looked for this often. */
const CHECK_PERIOD = 10_000_000_000;

interface Event {
  time: number;
  order: number;
  slot: number;
  handle(): void;
}

export class Kernel {
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
  readonly #freeSlots: number[] = [];
  readonly #members: Task[][] = [];
  readonly #barriers = new Map<string, Barrier>();
  readonly #signals = new Map<string, Signal>();
  readonly #tick: number;
  #alive = 0;
  #runnable = 0;
  #runnableSince = 0;
  #watchdog: number;
  readonly #watchdogPeriod: number;
  /** dispatch() moved a task during the schedule() that is under way. */
  #dispatched = false;
  #dispatchCpu = 0;

  constructor(config: KernelConfig) {
    this.config = config;
    this.#tick = 1e9 / config.hz;
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
      this.#barriers.set(name, { parties, arrived: 0, waiters: [] });
    this.policy = policyOf(this, config.policy);
    this.#watchdogPeriod = config.watchdog > 0 ? Math.floor(config.watchdog / 2) : CHECK_PERIOD;
    this.#watchdog = this.#watchdogPeriod;
    for (const [template, given] of config.tasks.entries()) {
      this.#members.push(
        Array.from({ length: given.count }, (_, i) => {
          const k = config.domains.length;
          const domain =
            given.domain === 'spread' ? i % k : given.domain === 'none' ? undefined : given.domain;
          const mask = given.cpus === undefined ? undefined : new Set(given.cpus);
          const task = this.#create(
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

  #create(
    template: number,
    program: Program,
    domain: number | undefined,
    mask: ReadonlySet<number> | undefined,
    inverseWeight: bigint,
  ): Task {
    const slot = this.#freeSlots.pop() ?? this.tasks.length;
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
      slice: 0,
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
    this.#alive++;
    this.policy.enable?.(task);
    return task;
  }

  // ---- the clock ----------------------------------------------------------------------------------------

  /** Handles every event up to an instant. */
  runUntil(until: number): void {
    while (this.outcome === 'running') {
      const event = this.#next();
      if (event.time > until) return;
      if (event.time > this.config.horizon) {
        this.now = this.config.horizon;
        this.outcome = 'horizon';
        return;
      }
      this.now = event.time;
      event.handle();
      this.#reschedule();
      if (this.outcome === 'running' && this.#alive === 0) this.outcome = 'completed';
    }
  }

  #next(): Event {
    let first: Event = {
      time: this.#watchdog,
      order: WATCHDOG,
      slot: 0,
      handle: () => this.#onWatchdog(),
    };
    const offer = (time: number | undefined, order: number, slot: number, handle: () => void) => {
      if (time === undefined) return;
      const before =
        time !== first.time
          ? time < first.time
          : order !== first.order
            ? order < first.order
            : slot < first.slot;
      if (before) first = { time, order, slot, handle };
    };
    for (const cpu of this.cpus) {
      offer(cpu.completion, COMPLETION, cpu.id, () => this.#onCompletion(cpu));
      offer(cpu.idleExit, IDLE_EXIT, cpu.id, () => this.#onIdleExit(cpu));
      offer(cpu.tick, TICK, cpu.id, () => this.#onTick(cpu));
    }
    for (const task of this.tasks) {
      if (task !== undefined) offer(task.timer, WAKE, task.slot, () => this.#onTimer(task));
    }
    return first;
  }

  /** CPUs that were asked to, in CPU order; an idle one leaves its idle state first. */
  #reschedule(): void {
    for (;;) {
      const cpu = this.cpus.find(({ needResched }) => needResched);
      if (cpu === undefined) return;
      if (cpu.current === undefined) {
        cpu.needResched = false;
        cpu.idle = false;
        if (cpu.idleExit !== undefined) continue;
        if (this.config.exit > 0) {
          cpu.idleExit = this.now + this.config.exit;
          continue;
        }
      }
      this.#schedule(cpu);
    }
  }

  #onTimer(task: Task): void {
    task.timer = undefined;
    this.#wakeUp(task);
  }

  #onIdleExit(cpu: Cpu): void {
    cpu.idleExit = undefined;
    this.#schedule(cpu);
  }

  #onTick(cpu: Cpu): void {
    cpu.tick = this.now + this.#tick;
    this.#charge(cpu);
    if (cpu.current!.slice === 0) cpu.needResched = true;
  }

  #onCompletion(cpu: Cpu): void {
    cpu.completion = undefined;
    const task = cpu.current!;
    this.#charge(cpu);
    if (this.#isFinished(cpu, task)) {
      task.mode = 'between';
      if (!this.#advance(cpu, task)) return;
    }
    if (this.config.exact && task.slice === 0) cpu.needResched = true;
    this.#armCompletion(cpu);
  }

  #isFinished(cpu: Cpu, task: Task): boolean {
    if (this.now < cpu.workBegin) return false;
    if (task.mode === 'run') return task.work === 0;
    if (task.mode === 'spin') return task.work <= this.now;
    return task.mode === 'between';
  }

  /** A runnable task that has waited for the timeout ends the run, and so does work that nothing can move. */
  #onWatchdog(): void {
    this.#watchdog = this.now + this.#watchdogPeriod;
    const alive = this.tasks.filter((task) => task !== undefined);
    const starved = alive.some(
      (task) =>
        task.state === 'runnable' &&
        this.cpus[task.cpu].current !== task &&
        this.now - task.runnableSince >= this.config.watchdog,
    );
    if (this.config.watchdog > 0 && starved) {
      this.outcome = 'stalled';
      return;
    }
    const moves = alive.some(
      ({ state, mode }) => (state === 'runnable' || state === 'sleeping') && mode !== 'poll',
    );
    if (!moves) this.outcome = 'deadlocked';
  }

  /** Brings every sum up to the clock. */
  finish(): void {
    for (const cpu of this.cpus) {
      this.#charge(cpu);
      this.#account(cpu);
    }
    this.#countRunnable(0);
  }

  // ---- charging -----------------------------------------------------------------------------------------

  #charge(cpu: Cpu): void {
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

  #account(cpu: Cpu): void {
    cpu[cpu.current === undefined ? 'idle_ns' : 'busy_ns'] += this.now - cpu.stateSince;
    cpu.stateSince = this.now;
  }

  #countRunnable(change: number): void {
    this.counters.runnable_area += this.#runnable * (this.now - this.#runnableSince);
    this.#runnableSince = this.now;
    this.#runnable += change;
  }

  #decide(kind: Decision['kind'], cpu: number, task: Task): void {
    this.decisions.push({ time: this.now, kind, cpu, task: task.slot });
  }

  /** When what the current task does is over; with exact expiry, its slice at the latest. */
  #armCompletion(cpu: Cpu): void {
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

  // ---- becoming runnable --------------------------------------------------------------------------------

  #wakeUp(task: Task): void {
    // A waker waits until the task has left its CPU (p->on_cpu).
    const cpu = this.cpus[task.cpu];
    if (cpu.current === task) this.#schedule(cpu);
    this.counters.wakeups++;
    const prev = task.cpu;
    const chosen = this.#selectCpu(task, prev);
    if (chosen !== prev) this.#move(task, chosen);
    this.#activate(task, chosen, true);
  }

  #wakeUpNew(task: Task, cpu: number): void {
    task.lastCpu = cpu;
    task.cpu = cpu;
    task.cpu = this.#selectCpu(task, cpu);
    this.#activate(task, task.cpu, false);
  }

  /** The policy isn't asked about a task with one CPU; the lowest CPU of the mask stands in for one outside of it. */
  #selectCpu(task: Task, prev: number): number {
    if (task.mask?.size === 1) return [...task.mask][0];
    const cpu = this.policy.selectCpu(task, prev);
    return allowed(task, cpu) ? cpu : Math.min(...task.mask!);
  }

  #move(task: Task, cpu: number): void {
    if (task.cpu === cpu) return;
    task.cpu = cpu;
    task.moved = true;
  }

  /** A queued task changes CPUs: in the kernel modelled, 6.11, it is quiescent on the way. */
  #migrate(task: Task, cpu: number): void {
    if (task.cpu === cpu) return;
    this.policy.quiescent?.(task);
    this.#move(task, cpu);
  }

  #activate(task: Task, cpu: number, wakeup: boolean): void {
    task.state = 'runnable';
    task.waitsFor = undefined;
    task.runnableSince = this.now;
    this.#countRunnable(1);
    this.#decide('wake', cpu, task);
    const wasIdle = this.cpus[cpu].current === undefined;
    this.#enqueue(task, cpu, wakeup);
    if (wasIdle) this.#wakeCpu(this.cpus[cpu]);
  }

  #wakeCpu(cpu: Cpu): void {
    cpu.idle = false;
    cpu.needResched = true;
  }

  #enqueue(task: Task, cpu: number, wakeup: boolean): void {
    if (task.direct === undefined) {
      this.policy.enqueue(task, wakeup);
      return;
    }
    task.direct = undefined;
    this.#appendLocal(task, cpu);
  }

  #appendLocal(task: Task, id: number): void {
    this.local[id].append(task);
    this.#migrate(task, id);
    const cpu = this.cpus[id];
    if (cpu.current === undefined) this.#wakeCpu(cpu);
  }

  // ---- schedule() ---------------------------------------------------------------------------------------

  #schedule(cpu: Cpu): void {
    for (;;) {
      const prev = cpu.current;
      this.#charge(cpu);
      cpu.needResched = false;
      this.#dispatched = false;
      const next = this.#pick(cpu, prev);
      if (next !== prev) {
        if (prev !== undefined) this.#putPrev(cpu, prev);
        // Busy and idle time end where the state changes.
        if (next === undefined || prev === undefined) this.#account(cpu);
        cpu.current = next;
        if (next === undefined) {
          cpu.completion = undefined;
          cpu.tick = undefined;
          cpu.idle = true;
          return;
        }
        cpu.idle = false;
        if (prev === undefined && !this.config.exact) cpu.tick = this.#nextTick(cpu);
        this.#start(cpu, next);
      } else if (next === undefined) {
        cpu.idle = true;
        return;
      }
      if (next!.mode === 'between' && this.now >= cpu.workBegin) {
        if (!this.#advance(cpu, next!) || cpu.needResched) continue;
      }
      this.#armCompletion(cpu);
      return;
    }
  }

  /** The next instant of the CPU's grid, which its idle time does not shift. */
  #nextTick(cpu: Cpu): number {
    const shift = cpu.id * this.config.tick_skew;
    return shift + (Math.floor(Math.max(0, this.now - shift) / this.#tick) + 1) * this.#tick;
  }

  #pick(cpu: Cpu, prev: Task | undefined): Task | undefined {
    const local = this.local[cpu.id];
    const stays = prev?.state === 'runnable' && allowed(prev, cpu.id);
    if (stays && prev.slice > 0) return prev;
    if (local.length === 0) {
      this.counters.dispatches++;
      this.#dispatchCpu = cpu.id;
      this.policy.dispatch(cpu.id, prev);
      if (stays && prev.slice > 0) return prev;
    }
    const next = local.entries[0]?.task ?? (stays ? prev : undefined);
    if (next !== undefined && next.slice === 0) next.slice = SLICE_DFL;
    return next;
  }

  /** A task that is still runnable is enqueued now, after the pick. */
  #putPrev(cpu: Cpu, task: Task): void {
    const isRunnable = task.state === 'runnable';
    if (isRunnable) {
      this.counters.preemptions++;
      task.runnableSince = this.now;
    }
    task.lastStint = task.stint;
    this.#decide('stop', cpu.id, task);
    if (task.state === 'dead') {
      this.counters.exited_cpu_ns += task.sumExec;
      this.tasks[task.slot] = undefined;
      this.#freeSlots.push(task.slot);
    }
    if (!isRunnable) return;
    this.policy.stopping?.(task);
    if (!allowed(task, cpu.id)) this.#placeAnew(task);
    else if (task.slice > 0) this.local[cpu.id].prepend(task);
    else this.#enqueue(task, cpu.id, false);
  }

  /** Off a CPU that it may not use any more, to the lowest that it may. */
  #placeAnew(task: Task): void {
    const id = Math.min(...task.mask!);
    this.#migrate(task, id);
    const wasIdle = this.cpus[id].current === undefined;
    this.#enqueue(task, id, false);
    if (wasIdle) this.#wakeCpu(this.cpus[id]);
  }

  #start(cpu: Cpu, task: Task): void {
    task.dsq?.remove(task);
    this.policy.running?.(task);
    const { costs } = this.config;
    let cost = costs.context_switch;
    if (this.#dispatched) cost += costs.dispatch;
    if (task.moved && task.lastCpu !== cpu.id) {
      this.counters.migrations++;
      cpu.migrations_in++;
      const [from, to] = [this.config.cpus[task.lastCpu], this.config.cpus[cpu.id]];
      if (from.node !== to.node) cost += costs.migration_node;
      else if (from.llc !== to.llc) cost += costs.migration_llc;
    }
    task.lastCpu = cpu.id;
    task.moved = false;
    task.execStart = this.now;
    task.stint = 0;
    cpu.workBegin = this.now + cost;
    cpu.overhead_ns += cost;
    cpu.switches++;
    this.counters.switches++;
    this.#decide('run', cpu.id, task);
  }

  // ---- programs -----------------------------------------------------------------------------------------

  /** Executes operations until one uses the CPU (true) or gives it up (false). */
  #advance(cpu: Cpu, task: Task): boolean {
    for (;;) {
      const operation = task.again ?? task.program.next().value ?? { op: 'exit' as const };
      task.again = undefined;
      const outcome = this.#execute(cpu, task, operation);
      if (outcome !== 'goes on') return outcome === 'uses the CPU';
    }
  }

  #execute(cpu: Cpu, task: Task, operation: Operation): 'goes on' | 'uses the CPU' | 'left' {
    switch (operation.op) {
      case 'run':
        task.mode = 'run';
        task.work = operation.ns;
        cpu.workBegin = Math.max(cpu.workBegin, this.now);
        return 'uses the CPU';
      case 'spin':
        task.mode = 'spin';
        task.work = Math.max(cpu.workBegin, this.now) + operation.ns;
        return 'uses the CPU';
      case 'sleep':
        return this.#sleep(cpu, task, operation.ns);
      case 'yield':
        task.slice = 0;
        cpu.needResched = true;
        return 'uses the CPU';
      case 'exit':
        return this.#exit(cpu, task);
      case 'block':
        if (task.wakePending) {
          task.wakePending = false;
          return 'goes on';
        }
        return this.#block(cpu, task, 'block');
      case 'wake': {
        const target = this.#members[operation.task][operation.member];
        if (target.waitsFor === 'block') {
          target.waitsFor = undefined;
          this.#wakeUp(target);
        } else target.wakePending = true;
        return 'goes on';
      }
      case 'fork':
        this.#fork(cpu, task, operation.count, operation.program);
        return 'goes on';
      case 'join':
        if (task.children === 0) {
          this.#leaveFamily(task);
          return 'goes on';
        }
        task.again = operation;
        return this.#wait(cpu, task, 'join', operation.spins);
      case 'barrier':
        return this.#barrier(cpu, task, operation.name, operation.spins);
      case 'signal': {
        const signal = this.#signal(operation.name);
        signal.signalled = true;
        this.#release(signal.waiters.splice(0));
        return 'goes on';
      }
      case 'spin_until': {
        const signal = this.#signal(operation.name);
        if (signal.signalled) return 'goes on';
        signal.waiters.push(task);
        return this.#wait(cpu, task, 'other', true);
      }
      case 'affinity': {
        const mask = operation.cpus.length === this.cpus.length ? undefined : new Set(operation.cpus);
        if (operation.task !== undefined) {
          this.#setAffinity(this.#members[operation.task][operation.member ?? 0], mask);
          return 'goes on';
        }
        task.mask = mask;
        return allowed(task, cpu.id) ? 'goes on' : this.#sleep(cpu, task, 0);
      }
    }
  }

  #deactivate(cpu: Cpu, task: Task, state: 'sleeping' | 'blocked' | 'dead'): 'left' {
    task.state = state;
    this.#countRunnable(-1);
    this.policy.stopping?.(task);
    this.policy.quiescent?.(task);
    cpu.needResched = true;
    return 'left';
  }

  #sleep(cpu: Cpu, task: Task, ns: number): 'left' {
    this.#deactivate(cpu, task, 'sleeping');
    task.timer = this.now + ns;
    return 'left';
  }

  #block(cpu: Cpu, task: Task, reason: Task['waitsFor']): 'left' {
    task.waitsFor = reason;
    return this.#deactivate(cpu, task, 'blocked');
  }

  #wait(cpu: Cpu, task: Task, reason: Task['waitsFor'], spins: boolean): 'uses the CPU' | 'left' {
    if (!spins) return this.#block(cpu, task, reason);
    task.waitsFor = reason;
    task.mode = 'poll';
    return 'uses the CPU';
  }

  /** The wait is over: a sleeper wakes up, a poller goes on where it has a CPU. */
  #release(waiters: readonly Task[]): void {
    for (const task of waiters) {
      if (task.mode !== 'poll') {
        this.#wakeUp(task);
        continue;
      }
      const cpu = this.cpus[task.cpu];
      const runs = cpu.current === task;
      if (runs) this.#charge(cpu);
      task.mode = 'between';
      task.waitsFor = undefined;
      if (runs) this.#armCompletion(cpu);
    }
  }

  #signal(name: string): Signal {
    const signal = this.#signals.get(name) ?? { signalled: false, waiters: [] };
    this.#signals.set(name, signal);
    return signal;
  }

  #barrier(cpu: Cpu, task: Task, name: string, spins: boolean): 'goes on' | 'uses the CPU' | 'left' {
    const barrier = name === 'family' ? task.family : this.#barriers.get(name);
    // Nobody to wait for.
    if (barrier === undefined) return 'goes on';
    barrier.arrived++;
    if (barrier.arrived >= barrier.parties) {
      barrier.arrived = 0;
      this.#release(barrier.waiters.splice(0));
      return 'goes on';
    }
    barrier.waiters.push(task);
    return this.#wait(cpu, task, 'other', spins);
  }

  /** Parent and children share a barrier, made by the first fork of a family. */
  #fork(cpu: Cpu, task: Task, count: number, program: Program): void {
    if (task.children === 0) {
      this.#leaveFamily(task);
      task.family = { parties: count + 1, arrived: 0, waiters: [], owner: task };
    }
    task.children += count;
    for (let i = 0; i < count; i++) {
      const child = this.#create(task.template, program, task.domain, task.mask, task.inverseWeight);
      child.parent = task;
      child.family = task.family;
      this.#wakeUpNew(child, cpu.id);
    }
  }

  /** Without children the task meets its own siblings again. */
  #leaveFamily(task: Task): void {
    if (task.family?.owner === task) task.family = task.parent?.family;
  }

  #exit(cpu: Cpu, task: Task): 'left' {
    if (task.children === 0) this.#leaveFamily(task);
    else for (const other of this.tasks) if (other?.parent === task) other.parent = undefined;
    this.#deactivate(cpu, task, 'dead');
    this.#alive--;
    const { parent } = task;
    if (parent === undefined) return 'left';
    parent.children--;
    if (parent.children === 0 && parent.waitsFor === 'join') this.#release([parent]);
    return 'left';
  }

  /** A queued task is taken out and enqueued anew; a running one leaves a CPU that it may not use any more. */
  #setAffinity(task: Task, mask: ReadonlySet<number> | undefined): void {
    task.mask = mask;
    if (task.state !== 'runnable') return;
    const cpu = this.cpus[task.cpu];
    if (cpu.current === task) {
      if (allowed(task, cpu.id)) return;
      task.slice = 0;
      cpu.needResched = true;
      return;
    }
    task.dsq?.remove(task);
    if (allowed(task, cpu.id)) this.#enqueue(task, cpu.id, false);
    else this.#placeAnew(task);
  }

  // ---- what policies call -------------------------------------------------------------------------------

  /** The CPU is idle to nobody else. */
  take(cpu: number): number {
    this.cpus[cpu].idle = false;
    return cpu;
  }

  /** The lowest idle one of some CPUs that the task may use. */
  takeIdle(task: Task, cpus: readonly number[]): number | undefined {
    const found = cpus.filter((cpu) => this.cpus[cpu].idle && allowed(task, cpu));
    return found.length === 0 ? undefined : this.take(Math.min(...found));
  }

  /** The previous CPU if it is idle, else the lowest idle one. */
  takeIdleNear(task: Task, prev: number): number | undefined {
    return (
      this.takeIdle(task, [prev]) ??
      this.takeIdle(
        task,
        this.cpus.map(({ id }) => id),
      )
    );
  }

  insertDirect(task: Task, cpu: number, slice: number): void {
    task.direct = cpu;
    task.slice = slice;
  }

  insert(task: Task, dsq: Dsq, slice: number): void {
    task.slice = slice;
    dsq.append(task);
  }

  insertByVtime(task: Task, dsq: Dsq, slice: number, vtime: bigint): void {
    task.slice = slice;
    dsq.insertByVtime(task, vtime);
  }

  insertLocal(task: Task, cpu: number, slice: number): void {
    task.slice = slice;
    this.#appendLocal(task, cpu);
  }

  /** During dispatch(): the first task of the queue that may run there. */
  moveToLocal(dsq: Dsq): boolean {
    const task = dsq.firstAllowed(this.#dispatchCpu);
    if (task === undefined) return false;
    dsq.remove(task);
    this.#migrate(task, this.#dispatchCpu);
    this.local[this.#dispatchCpu].append(task);
    this.#dispatched = true;
    return true;
  }

  kickIdle(cpu: number): void {
    this.counters.kicks++;
    if (this.cpus[cpu].current === undefined) this.#wakeCpu(this.cpus[cpu]);
  }

  kickPreempt(cpu: number): void {
    this.counters.kicks++;
    const { current } = this.cpus[cpu];
    if (current !== undefined) current.slice = 0;
    this.cpus[cpu].needResched = true;
  }
}
