// Where runnable tasks wait: wake-ups, queues, and what policies may do with them.

import { type Policy, policyOf } from './policies.js';
import { KernelState } from './state.js';
import { allowed, type Cpu, type Dsq, type Task } from './task.js';

export abstract class Queueing extends KernelState {
  /** dispatch() moved a task during the schedule() that is under way. */
  protected dispatched = false;
  protected dispatchCpu = 0;

  protected abstract schedule(cpu: Cpu): void;

  protected loadPolicy(): Policy {
    return policyOf(this, this.config.policy);
  }

  protected wakeUp(task: Task): void {
    // A waker waits until the task has left its CPU (p->on_cpu).
    const cpu = this.cpus[task.cpu];
    if (cpu.current === task) this.schedule(cpu);
    this.counters.wakeups++;
    const prev = task.cpu;
    const chosen = this.selectCpu(task, prev);
    if (chosen !== prev) this.move(task, chosen);
    this.activate(task, chosen, true);
  }

  protected wakeUpNew(task: Task, cpu: number): void {
    task.lastCpu = cpu;
    task.cpu = cpu;
    task.cpu = this.selectCpu(task, cpu);
    this.activate(task, task.cpu, false);
  }

  /** The policy isn't asked about a task with one CPU; the lowest CPU of the mask stands in for one outside of it. */
  protected selectCpu(task: Task, prev: number): number {
    if (task.mask?.size === 1) return [...task.mask][0];
    const cpu = this.policy.selectCpu(task, prev);
    return allowed(task, cpu) ? cpu : Math.min(...task.mask!);
  }

  protected move(task: Task, cpu: number): void {
    if (task.cpu === cpu) return;
    task.cpu = cpu;
    task.moved = true;
  }

  /** A queued task changes CPUs: in the kernel modelled, 6.11, it is quiescent on the way. */
  protected migrate(task: Task, cpu: number): void {
    if (task.cpu === cpu) return;
    this.policy.quiescent?.(task);
    this.move(task, cpu);
  }

  protected activate(task: Task, cpu: number, wakeup: boolean): void {
    task.state = 'runnable';
    task.waitsFor = undefined;
    task.runnableSince = this.now;
    this.countRunnable(1);
    this.decide('wake', cpu, task);
    const wasIdle = this.cpus[cpu].current === undefined;
    this.enqueue(task, cpu, wakeup);
    if (wasIdle) this.wakeCpu(this.cpus[cpu]);
  }

  protected wakeCpu(cpu: Cpu): void {
    cpu.idle = false;
    cpu.needResched = true;
  }

  protected enqueue(task: Task, cpu: number, wakeup: boolean): void {
    if (task.direct === undefined) {
      this.policy.enqueue(task, wakeup);
      return;
    }
    task.direct = undefined;
    this.appendLocal(task, cpu);
  }

  protected appendLocal(task: Task, id: number): void {
    this.local[id].append(task);
    this.migrate(task, id);
    const cpu = this.cpus[id];
    if (cpu.current === undefined) this.wakeCpu(cpu);
  }

  /** Off a CPU that it may not use any more, to the lowest that it may. */
  protected placeAnew(task: Task): void {
    const id = Math.min(...task.mask!);
    this.migrate(task, id);
    const wasIdle = this.cpus[id].current === undefined;
    this.enqueue(task, id, false);
    if (wasIdle) this.wakeCpu(this.cpus[id]);
  }

  /** A queued task is taken out and enqueued anew; a running one leaves a CPU that it may not use any more. */
  protected setAffinity(task: Task, mask: ReadonlySet<number> | undefined): void {
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
    if (allowed(task, cpu.id)) this.enqueue(task, cpu.id, false);
    else this.placeAnew(task);
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
    this.appendLocal(task, cpu);
  }

  /** During dispatch(): the first task of the queue that may run there. */
  moveToLocal(dsq: Dsq): boolean {
    const task = dsq.firstAllowed(this.dispatchCpu);
    if (task === undefined) return false;
    dsq.remove(task);
    this.migrate(task, this.dispatchCpu);
    this.local[this.dispatchCpu].append(task);
    this.dispatched = true;
    return true;
  }

  kickIdle(cpu: number): void {
    this.counters.kicks++;
    if (this.cpus[cpu].current === undefined) this.wakeCpu(this.cpus[cpu]);
  }

  kickPreempt(cpu: number): void {
    this.counters.kicks++;
    const { current } = this.cpus[cpu];
    if (current !== undefined) current.slice = 0;
    this.cpus[cpu].needResched = true;
  }
}
