// A slow, obvious model of the kernel around a sched_ext policy, written from the rules: lists that are searched from the
// front, an event calendar that is the minimum over everything that can happen, programs that are generators. The
// engine must take the same decisions at the same times.

import { Execution } from './execution.js';
import { allowed, type Cpu, type Task } from './task.js';

/** Order of events at one instant; see ARCHITECTURE.md. */
const COMPLETION = 2;
const WAKE = 3;
const IDLE_EXIT = 4;
const TICK = 5;
const WATCHDOG = 8;

/** SCX_SLICE_DFL */
const SLICE_DFL = 20_000_000;

interface Event {
  time: number;
  order: number;
  slot: number;
  handle(): void;
}

export class Kernel extends Execution {
  // ---- the clock ----------------------------------------------------------------------------------------

  /** Handles every event up to an instant. */
  runUntil(until: number): void {
    while (this.outcome === 'running') {
      const event = this.next();
      if (event.time > until) return;
      if (event.time > this.config.horizon) {
        this.now = this.config.horizon;
        this.outcome = 'horizon';
        return;
      }
      this.now = event.time;
      event.handle();
      this.reschedule();
      if (this.outcome === 'running' && this.alive === 0) this.outcome = 'completed';
    }
  }

  protected next(): Event {
    let first: Event = {
      time: this.watchdog,
      order: WATCHDOG,
      slot: 0,
      handle: () => this.onWatchdog(),
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
      offer(cpu.completion, COMPLETION, cpu.id, () => this.onCompletion(cpu));
      offer(cpu.idleExit, IDLE_EXIT, cpu.id, () => this.onIdleExit(cpu));
      offer(cpu.tick, TICK, cpu.id, () => this.onTick(cpu));
    }
    for (const task of this.tasks) {
      if (task !== undefined) offer(task.timer, WAKE, task.slot, () => this.onTimer(task));
    }
    return first;
  }

  /** CPUs that were asked to, in CPU order; an idle one leaves its idle state first. */
  protected reschedule(): void {
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
      this.schedule(cpu);
    }
  }

  protected onTimer(task: Task): void {
    task.timer = undefined;
    this.wakeUp(task);
  }

  protected onIdleExit(cpu: Cpu): void {
    cpu.idleExit = undefined;
    this.schedule(cpu);
  }

  protected onTick(cpu: Cpu): void {
    cpu.tick = this.now + this.tick;
    this.charge(cpu);
    if (cpu.current!.slice === 0) cpu.needResched = true;
  }

  protected onCompletion(cpu: Cpu): void {
    cpu.completion = undefined;
    const task = cpu.current!;
    this.charge(cpu);
    if (this.isFinished(cpu, task)) {
      task.mode = 'between';
      if (!this.advance(cpu, task)) return;
    }
    if (this.config.exact && task.slice === 0) cpu.needResched = true;
    this.armCompletion(cpu);
  }

  protected isFinished(cpu: Cpu, task: Task): boolean {
    if (this.now < cpu.workBegin) return false;
    if (task.mode === 'run') return task.work === 0;
    if (task.mode === 'spin') return task.work <= this.now;
    return task.mode === 'between';
  }

  /** A runnable task that has waited for the timeout ends the run, and so does work that nothing can move. */
  protected onWatchdog(): void {
    this.watchdog = this.now + this.watchdogPeriod;
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
      this.charge(cpu);
      this.account(cpu);
    }
    this.countRunnable(0);
  }

  // ---- schedule() ---------------------------------------------------------------------------------------

  protected schedule(cpu: Cpu): void {
    for (;;) {
      const prev = cpu.current;
      this.charge(cpu);
      cpu.needResched = false;
      this.dispatched = false;
      const next = this.pick(cpu, prev);
      if (next !== prev) {
        if (prev !== undefined) this.putPrev(cpu, prev);
        // Busy and idle time end where the state changes.
        if (next === undefined || prev === undefined) this.account(cpu);
        cpu.current = next;
        if (next === undefined) {
          cpu.completion = undefined;
          cpu.tick = undefined;
          cpu.idle = true;
          return;
        }
        cpu.idle = false;
        if (prev === undefined && !this.config.exact) cpu.tick = this.nextTick(cpu);
        this.start(cpu, next);
      } else if (next === undefined) {
        cpu.idle = true;
        return;
      }
      if (next!.mode === 'between' && this.now >= cpu.workBegin) {
        if (!this.advance(cpu, next!) || cpu.needResched) continue;
      }
      this.armCompletion(cpu);
      return;
    }
  }

  /** The next instant of the CPU's grid, which its idle time does not shift. */
  protected nextTick(cpu: Cpu): number {
    const shift = cpu.id * this.config.tick_skew;
    return shift + (Math.floor(Math.max(0, this.now - shift) / this.tick) + 1) * this.tick;
  }

  protected pick(cpu: Cpu, prev: Task | undefined): Task | undefined {
    const local = this.local[cpu.id];
    const stays = prev?.state === 'runnable' && allowed(prev, cpu.id);
    if (stays && prev.slice > 0) return prev;
    if (local.length === 0) {
      this.counters.dispatches++;
      this.dispatchCpu = cpu.id;
      this.policy.dispatch(cpu.id, prev);
      if (stays && prev.slice > 0) return prev;
    }
    const next = local.entries[0]?.task ?? (stays ? prev : undefined);
    if (next !== undefined && next.slice === 0) next.slice = SLICE_DFL;
    return next;
  }

  /** A task that is still runnable is enqueued now, after the pick. */
  protected putPrev(cpu: Cpu, task: Task): void {
    const isRunnable = task.state === 'runnable';
    if (isRunnable) {
      this.counters.preemptions++;
      task.runnableSince = this.now;
    }
    task.lastStint = task.stint;
    this.decide('stop', cpu.id, task);
    if (task.state === 'dead') {
      this.counters.exited_cpu_ns += task.sumExec;
      this.tasks[task.slot] = undefined;
      this.freeSlots.push(task.slot);
    }
    if (!isRunnable) return;
    this.policy.stopping?.(task);
    if (!allowed(task, cpu.id)) this.placeAnew(task);
    else if (task.slice > 0) this.local[cpu.id].prepend(task);
    else this.enqueue(task, cpu.id, false);
  }

  protected start(cpu: Cpu, task: Task): void {
    task.dsq?.remove(task);
    this.policy.running?.(task);
    const { costs } = this.config;
    let cost = costs.context_switch;
    if (this.dispatched) cost += costs.dispatch;
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
    this.decide('run', cpu.id, task);
  }
}
