// What programs do, operation by operation.

import type { Operation, Program } from './program.js';
import { Queueing } from './queueing.js';
import { allowed, type Cpu, type Signal, type Task } from './task.js';

export abstract class Execution extends Queueing {
  /** Executes operations until one uses the CPU (true) or gives it up (false). */
  protected advance(cpu: Cpu, task: Task): boolean {
    for (;;) {
      const operation = task.again ?? task.program.next().value ?? { op: 'exit' as const };
      task.again = undefined;
      const outcome = this.execute(cpu, task, operation);
      if (outcome !== 'goes on') return outcome === 'uses the CPU';
    }
  }

  protected execute(cpu: Cpu, task: Task, operation: Operation): 'goes on' | 'uses the CPU' | 'left' {
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
        return this.sleep(cpu, task, operation.ns);
      case 'yield':
        task.slice = 0;
        cpu.needResched = true;
        return 'uses the CPU';
      case 'exit':
        return this.exit(cpu, task);
      case 'block':
        if (task.wakePending) {
          task.wakePending = false;
          return 'goes on';
        }
        return this.block(cpu, task, 'block');
      case 'wake': {
        const target = this.members[operation.task][operation.member];
        if (target.waitsFor === 'block') {
          target.waitsFor = undefined;
          this.wakeUp(target);
        } else target.wakePending = true;
        return 'goes on';
      }
      case 'fork':
        this.fork(cpu, task, operation.count, operation.program);
        return 'goes on';
      case 'join':
        if (task.children === 0) {
          this.leaveFamily(task);
          return 'goes on';
        }
        task.again = operation;
        return this.wait(cpu, task, 'join', operation.spins);
      case 'barrier':
        return this.barrier(cpu, task, operation.name, operation.spins);
      case 'signal': {
        const signal = this.signal(operation.name);
        signal.signalled = true;
        this.release(signal.waiters.splice(0));
        return 'goes on';
      }
      case 'spin_until': {
        const signal = this.signal(operation.name);
        if (signal.signalled) return 'goes on';
        signal.waiters.push(task);
        return this.wait(cpu, task, 'other', true);
      }
      case 'affinity': {
        const mask = operation.cpus.length === this.cpus.length ? undefined : new Set(operation.cpus);
        if (operation.task !== undefined) {
          this.setAffinity(this.members[operation.task][operation.member ?? 0], mask);
          return 'goes on';
        }
        task.mask = mask;
        return allowed(task, cpu.id) ? 'goes on' : this.sleep(cpu, task, 0);
      }
    }
  }

  protected deactivate(cpu: Cpu, task: Task, state: 'sleeping' | 'blocked' | 'dead'): 'left' {
    task.state = state;
    this.countRunnable(-1);
    this.policy.stopping?.(task);
    this.policy.quiescent?.(task);
    cpu.needResched = true;
    return 'left';
  }

  protected sleep(cpu: Cpu, task: Task, ns: number): 'left' {
    this.deactivate(cpu, task, 'sleeping');
    task.timer = this.now + ns;
    return 'left';
  }

  protected block(cpu: Cpu, task: Task, reason: Task['waitsFor']): 'left' {
    task.waitsFor = reason;
    return this.deactivate(cpu, task, 'blocked');
  }

  protected wait(cpu: Cpu, task: Task, reason: Task['waitsFor'], spins: boolean): 'uses the CPU' | 'left' {
    if (!spins) return this.block(cpu, task, reason);
    task.waitsFor = reason;
    task.mode = 'poll';
    return 'uses the CPU';
  }

  /** The wait is over: a sleeper wakes up, a poller goes on where it has a CPU. */
  protected release(waiters: readonly Task[]): void {
    for (const task of waiters) {
      if (task.mode !== 'poll') {
        this.wakeUp(task);
        continue;
      }
      const cpu = this.cpus[task.cpu];
      const runs = cpu.current === task;
      if (runs) this.charge(cpu);
      task.mode = 'between';
      task.waitsFor = undefined;
      if (runs) this.armCompletion(cpu);
    }
  }

  protected signal(name: string): Signal {
    const signal = this.signals.get(name) ?? { signalled: false, waiters: [] };
    this.signals.set(name, signal);
    return signal;
  }

  protected barrier(cpu: Cpu, task: Task, name: string, spins: boolean): 'goes on' | 'uses the CPU' | 'left' {
    const barrier = name === 'family' ? task.family : this.barriers.get(name);
    // Nobody to wait for.
    if (barrier === undefined) return 'goes on';
    barrier.arrived++;
    if (barrier.arrived >= barrier.parties) {
      barrier.arrived = 0;
      this.release(barrier.waiters.splice(0));
      return 'goes on';
    }
    barrier.waiters.push(task);
    return this.wait(cpu, task, 'other', spins);
  }

  /** Parent and children share a barrier, made by the first fork of a family. */
  protected fork(cpu: Cpu, task: Task, count: number, program: Program): void {
    if (task.children === 0) {
      this.leaveFamily(task);
      task.family = { parties: count + 1, arrived: 0, waiters: [], owner: task };
    }
    task.children += count;
    for (let i = 0; i < count; i++) {
      const child = this.create(task.template, program, task.domain, task.mask, task.inverseWeight);
      child.parent = task;
      child.family = task.family;
      this.wakeUpNew(child, cpu.id);
    }
  }

  /** Without children the task meets its own siblings again. */
  protected leaveFamily(task: Task): void {
    if (task.family?.owner === task) task.family = task.parent?.family;
  }

  protected exit(cpu: Cpu, task: Task): 'left' {
    if (task.children === 0) this.leaveFamily(task);
    else for (const other of this.tasks) if (other?.parent === task) other.parent = undefined;
    this.deactivate(cpu, task, 'dead');
    this.alive--;
    const { parent } = task;
    if (parent === undefined) return 'left';
    parent.children--;
    if (parent.children === 0 && parent.waitsFor === 'join') this.release([parent]);
    return 'left';
  }
}
