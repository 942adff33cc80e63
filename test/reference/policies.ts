// The policies of the reference model, from the rules in words: what each does at a sched_ext callback.

import type { Queueing } from './queueing.js';
import { allowed, Dsq, type Task } from './task.js';

export interface Policy {
  /** CPU for a task that becomes runnable; may insert it directly. */
  selectCpu(task: Task, prev: number): number;
  enqueue(task: Task, wakeup: boolean): void;
  dispatch(cpu: number, prev: Task | undefined): void;
  enable?(task: Task): void;
  running?(task: Task): void;
  stopping?(task: Task): void;
  quiescent?(task: Task): void;
  /** User DSQs in order of number. */
  readonly queues: Dsq[];
}

export type PolicyConfig = { slice: number } & (
  | { name: 'global-fifo'; requeue: 'shared' | 'local' }
  | { name: 'percpu-fifo'; place: 'idle' | 'previous' | 'round-robin' }
  | { name: 'domains'; domains: number[][]; reset_every: number; steal: 'neighbours' | 'none' }
  | {
      name: 'weighted-vtime';
      domains: number[][];
      steal: 'longest' | 'none';
      credit: 'slice' | 'unlimited';
      preempt: boolean;
      keep_running: boolean;
    }
);

/** Takes an idle CPU, the previous one first; the task then goes there directly. */
function takeIdle(kernel: Queueing, task: Task, prev: number, slice: number): number {
  const cpu = kernel.takeIdleNear(task, prev);
  if (cpu === undefined) return prev;
  kernel.insertDirect(task, cpu, slice);
  return cpu;
}

function globalFifo(kernel: Queueing, config: PolicyConfig & { name: 'global-fifo' }): Policy {
  const queue = new Dsq();
  const { slice } = config;
  return {
    queues: [queue],
    selectCpu: (task, prev) => takeIdle(kernel, task, prev, slice),
    enqueue(task, wakeup) {
      const lostItsCpu = !wakeup && task.sumExec > 0;
      if (config.requeue === 'local' && lostItsCpu) kernel.insertLocal(task, task.cpu, slice);
      else kernel.insert(task, queue, slice);
    },
    dispatch: () => {
      kernel.moveToLocal(queue);
    },
  };
}

function percpuFifo(kernel: Queueing, config: PolicyConfig & { name: 'percpu-fifo' }): Policy {
  let turn = 0;
  const { slice, place } = config;
  return {
    queues: [],
    selectCpu: (task, prev) => (place === 'idle' ? takeIdle(kernel, task, prev, slice) : prev),
    enqueue(task) {
      let { cpu } = task;
      if (place === 'round-robin') {
        cpu = turn;
        turn = (turn + 1) % kernel.cpus.length;
      }
      kernel.insertLocal(task, cpu, slice);
    },
    dispatch() {},
  };
}

/** Scheduling domains as the paper says. The queue behind the domains' is the global one, of tasks in no domain. */
function domains(kernel: Queueing, config: PolicyConfig & { name: 'domains' }): Policy {
  const k = config.domains.length;
  const queues = Array.from({ length: k + 1 }, () => new Dsq());
  const all = kernel.cpus.map(({ id }) => id);
  return {
    queues,
    selectCpu: (_, prev) => prev,
    enable(task) {
      task.sleepStamp = kernel.now;
    },
    enqueue(task) {
      if (task.enqueues % config.reset_every === 0) task.vtime = BigInt(kernel.now);
      else task.vtime += BigInt(Math.floor(task.lastStint / Math.max(1, task.sleepsPerSecond)));
      task.enqueues++;
      kernel.insertByVtime(task, queues[task.domain ?? k], config.slice, task.vtime);
      const idle = kernel.takeIdle(task, task.domain === undefined ? all : config.domains[task.domain]);
      if (idle !== undefined) kernel.kickIdle(idle);
    },
    dispatch(cpu) {
      const own = kernel.cpus[cpu].domain;
      if (own !== undefined && kernel.moveToLocal(queues[own])) return;
      if (kernel.moveToLocal(queues[k])) return;
      if (own === undefined || config.steal === 'none') return;
      for (let distance = 1; distance < k; distance++) {
        for (const other of [own - distance, own + distance]) {
          if (other < 0 || other >= k || !kernel.moveToLocal(queues[other])) continue;
          kernel.counters.steals++;
          return;
        }
      }
    },
    quiescent(task) {
      task.sleeps++;
      const seconds = Math.floor((kernel.now - task.sleepStamp) / 1e9);
      if (seconds === 0) return;
      const rate = Math.floor(task.sleeps / seconds);
      const old = task.sleepsPerSecond;
      task.sleepsPerSecond = Math.max(1, old === 0 ? rate : Math.floor((3 * old + rate) / 4));
      task.sleeps = 0;
      task.sleepStamp = kernel.now;
    },
  };
}

function weightedVtime(kernel: Queueing, config: PolicyConfig & { name: 'weighted-vtime' }): Policy {
  const queues = config.domains.map(() => new Dsq());
  /** Largest vtime that has begun to run in each domain. */
  const vtimeNow = config.domains.map(() => 0n);
  const slice = BigInt(config.slice);
  const domainOf = (task: Task) => task.domain ?? 0;
  const charge = (task: Task, ran: number) => (BigInt(ran) * task.inverseWeight) / 1024n;
  const runningVtime = (task: Task) => task.vtime + charge(task, task.stint + (kernel.now - task.execStart));

  function limitCredit(task: Task): void {
    const floor = vtimeNow[domainOf(task)] - slice;
    if (config.credit === 'slice' && task.vtime < floor) task.vtime = floor;
  }

  function takeIdleOf(task: Task, prev: number, domain: number): number | undefined {
    const cpus = config.domains[domain];
    if (cpus.includes(prev) && allowed(task, prev) && kernel.cpus[prev].idle) return kernel.take(prev);
    return kernel.takeIdle(task, cpus);
  }

  function keeps(cpu: number, prev: Task, own: number): boolean {
    const first = queues[own].firstAllowed(cpu);
    if (first === undefined || prev.state !== 'runnable') return false;
    if (runningVtime(prev) >= first.vtime) return false;
    prev.slice = config.slice;
    return true;
  }

  return {
    queues,
    enable(task) {
      task.vtime = vtimeNow[domainOf(task)];
    },
    selectCpu(task, prev) {
      limitCredit(task);
      const own = domainOf(task);
      const order = [own];
      if (config.steal !== 'none') for (const d of queues.keys()) if (d !== own) order.push(d);
      for (const domain of order) {
        const cpu = takeIdleOf(task, prev, domain);
        if (cpu === undefined) continue;
        kernel.insertDirect(task, cpu, config.slice);
        return cpu;
      }
      return prev;
    },
    enqueue(task, wakeup) {
      limitCredit(task);
      kernel.insertByVtime(task, queues[domainOf(task)], config.slice, task.vtime);
      if (!config.preempt || !wakeup) return;
      const { current } = kernel.cpus[task.cpu];
      if (current !== undefined && task.vtime < runningVtime(current)) kernel.kickPreempt(task.cpu);
    },
    dispatch(cpu, prev) {
      const own = kernel.cpus[cpu].domain;
      if (config.keep_running && prev !== undefined && own !== undefined && keeps(cpu, prev, own)) return;
      if (own !== undefined && kernel.moveToLocal(queues[own])) return;
      if (config.steal === 'none') return;
      const most = Math.max(...queues.map(({ length }) => length));
      if (most === 0) return;
      const longest = queues.find(({ length }) => length === most)!;
      for (const queue of [longest, ...queues]) {
        if (!kernel.moveToLocal(queue)) continue;
        kernel.counters.steals++;
        return;
      }
    },
    running(task) {
      const domain = domainOf(task);
      if (vtimeNow[domain] < task.vtime) vtimeNow[domain] = task.vtime;
    },
    stopping(task) {
      task.vtime += charge(task, task.stint);
    },
  };
}

export function policyOf(kernel: Queueing, config: PolicyConfig): Policy {
  switch (config.name) {
    case 'global-fifo':
      return globalFifo(kernel, config);
    case 'percpu-fifo':
      return percpuFifo(kernel, config);
    case 'domains':
      return domains(kernel, config);
    case 'weighted-vtime':
      return weightedVtime(kernel, config);
  }
}
