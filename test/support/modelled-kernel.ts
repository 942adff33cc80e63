// Recordings made up by a small model of a kernel under the policy `domains`, one decision after the other without any
// overlap, and wrong on purpose if asked: what `vtime kernel check` must accept, and what it must find.

import {
  emptyColumns,
  RECORD_KINDS,
  type Recording,
  type RecordingColumns,
  type RecordKind,
} from '../../src/bpf/recording/schema.js';
import { configFrom } from '../../src/config/load.js';
import { resolveConfig } from '../../src/config/resolve.js';

export type Plant = 'lifo-ties' | 'steal-order' | 'unsafe-comparison';

export type Fields = Partial<Record<Exclude<keyof RecordingColumns, 'kind' | 'cpu'>, number | bigint>>;

const SLICE_NS = 3_000_000n;
const NONE = 0xffffffff;

/** Collects records. `cpus` CPUs, two domains of half of them each unless said otherwise. */
export class RecordingBuilder {
  readonly #rows: { kind: number; cpu: number; fields: Fields }[] = [];
  readonly #cpus: number;
  readonly #domains: number;
  readonly #policy: string;

  constructor(cpus = 4, domains = 2, { vtime_base = 0n, policy = 'domains' } = {}) {
    this.#cpus = cpus;
    this.#domains = domains;
    this.#policy = policy;
    this.add(0, 'init', { target: cpus, group: domains, slice_ns: SLICE_NS, vtime: vtime_base, flags: 1 });
  }

  /** Returns the record's index. */
  add(cpu: number, kind: RecordKind, fields: Fields = {}): number {
    this.#rows.push({ kind: RECORD_KINDS[kind], cpu, fields });
    return this.#rows.length - 1;
  }

  /** The record as it is now, to change it. */
  fields(index: number): Fields {
    return this.#rows[index].fields;
  }

  recording(): Recording {
    const columns = emptyColumns(this.#rows.length);
    this.#rows.forEach(({ kind, cpu, fields }, i) => {
      columns.kind[i] = kind;
      columns.cpu[i] = cpu;
      for (const [name, value] of Object.entries(fields)) {
        const column = columns[name as keyof RecordingColumns];
        if (column instanceof BigUint64Array) column[i] = BigInt(value);
        else column[i] = Number(value);
      }
    });
    const config = resolveConfig(
      configFrom({
        machine: { profile: `ideal-${this.#cpus}` },
        policy: { name: this.#policy, domains: this.#domains },
        workload: { programs: { hog: [{ run: '1ms' }] }, tasks: [{ name: 'hog', program: 'hog' }] },
      }),
    );
    const info = {
      kernel: 'modelled',
      emulator: '',
      mode: 'exact' as const,
      cpus: this.#cpus,
      scheduler: this.#policy,
      object_sha256: '',
      loader_input: '',
      features: '',
      config,
      tasks: [],
      cgroups: [],
      outcome: 'completed',
      start_ns: '0',
      duration_ns: '0',
      dropped: 0,
    };
    return { info, columns, length: columns.kind.length };
  }
}

interface ModelTask {
  pid: number;
  group: number;
  vtime: bigint;
  exec_ns: bigint;
  stint_ns: bigint;
  slice_ns: bigint;
  enqueues: number;
  sleeps: number;
  frequency: number;
  stamp: bigint;
  inserted: number;
  state: 'asleep' | 'queued' | 'running';
}

/** A linear congruential generator: the model's own chance. */
function generator(seed: number): (n: number) => number {
  let state = BigInt(seed) * 2n + 1n;
  return (n) => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    return Number((state >> 33n) % BigInt(n));
  };
}

const signed = (a: bigint, b: bigint) => BigInt.asIntN(64, a - b);

/** `steps` decisions of 4 CPUs in three domains (0–1, 2, 3) and 12 tasks; the clock moves rarely, so that vtimes tie. */
export function modelledRecording(
  seed: number,
  { steps = 400, plant, vtime_base = 0n }: { steps?: number; plant?: Plant; vtime_base?: bigint } = {},
): Recording {
  const random = generator(seed);
  const cpus = 3;
  const domains = 3;
  const builder = new RecordingBuilder(cpus, domains, { vtime_base });
  let now = 0n;
  let insertions = 0;
  const queues = Array.from({ length: domains + 1 }, () => [] as ModelTask[]);
  const running: (ModelTask | undefined)[] = Array.from({ length: cpus });
  const clock = () => BigInt.asUintN(64, now + vtime_base);
  const tasks = Array.from({ length: 12 }, (_, k): ModelTask => {
    builder.add(0, 'enable', { pid: k + 1, time_ns: 0 });
    // Few in the middle domain: its CPU steals, and may from both sides.
    const group = [0, 2, 0, 2, 1, domains][k % 6];
    return {
      pid: k + 1,
      group: group === domains ? NONE : group,
      vtime: 0n,
      exec_ns: 0n,
      stint_ns: 0n,
      slice_ns: 0n,
      enqueues: 0,
      sleeps: 0,
      frequency: 0,
      stamp: 0n,
      inserted: 0,
      state: 'asleep',
    };
  });

  const before = (a: ModelTask, b: ModelTask): boolean => {
    const difference =
      plant === 'unsafe-comparison'
        ? a.vtime < b.vtime
          ? -1n
          : a.vtime === b.vtime
            ? 0n
            : 1n
        : signed(a.vtime, b.vtime);
    if (difference !== 0n) return difference < 0n;
    return plant === 'lifo-ties' ? a.inserted > b.inserted : a.inserted < b.inserted;
  };

  const enqueue = (task: ModelTask, cpu: number) => {
    if (task.enqueues % 10 === 0) task.vtime = clock();
    else task.vtime = BigInt.asUintN(64, task.vtime + task.stint_ns / BigInt(Math.max(task.frequency, 1)));
    task.enqueues++;
    task.slice_ns = SLICE_NS;
    task.inserted = insertions++;
    task.state = 'queued';
    const dsq = task.group === NONE ? domains : task.group;
    builder.add(cpu, 'enqueue', {
      time_ns: now,
      pid: task.pid,
      target: cpu,
      group: task.group,
      dsq,
      vtime: task.vtime,
      slice_ns: SLICE_NS,
      result: 1,
    });
    builder.add(cpu, 'pick_idle', { time_ns: now, pid: task.pid, target: -16, group: task.group });
    // Whatever the CPU writes next ends the insertion.
    builder.add(cpu, 'update_idle', { time_ns: now, target: cpu });
    queues[dsq].push(task);
  };

  const dispatch = (cpu: number): ModelTask | undefined => {
    const prev = running[cpu];
    builder.add(cpu, 'dispatch', {
      time_ns: now,
      target: cpu,
      pid: prev?.pid ?? 0,
      slice_ns: prev?.slice_ns ?? 0,
      exec_ns: prev?.exec_ns ?? 0,
    });
    const neighbours = [];
    for (let distance = 1; distance < domains; distance++) {
      const sides =
        plant === 'steal-order' ? [cpu + distance, cpu - distance] : [cpu - distance, cpu + distance];
      neighbours.push(...sides.filter((d) => d >= 0 && d < domains));
    }
    for (const dsq of [cpu, domains, ...neighbours]) {
      const first = queues[dsq].reduce<ModelTask | undefined>(
        (best, task) => (best === undefined || before(task, best) ? task : best),
        undefined,
      );
      if (first !== undefined) {
        queues[dsq].splice(queues[dsq].indexOf(first), 1);
        builder.add(cpu, 'dequeue', { time_ns: now, pid: first.pid });
      }
      builder.add(cpu, 'move', { time_ns: now, dsq, target: cpu, result: first === undefined ? 0 : 1 });
      if (first !== undefined) return first;
    }
    return undefined;
  };

  const start = (task: ModelTask, cpu: number) => {
    running[cpu] = task;
    task.state = 'running';
    task.stint_ns = 0n;
    builder.add(cpu, 'running', {
      time_ns: now,
      pid: task.pid,
      exec_ns: task.exec_ns,
      slice_ns: task.slice_ns,
      vtime: task.vtime,
    });
  };

  const use = (task: ModelTask, ns: bigint) => {
    task.exec_ns += ns;
    task.stint_ns += ns;
    task.slice_ns = task.slice_ns > ns ? task.slice_ns - ns : 0n;
  };

  const stop = (task: ModelTask, cpu: number, runnable: boolean) => {
    builder.add(cpu, 'stopping', {
      time_ns: now,
      pid: task.pid,
      exec_ns: task.exec_ns,
      slice_ns: task.slice_ns,
      vtime: task.vtime,
      result: runnable ? 1 : 0,
    });
    running[cpu] = undefined;
  };

  for (let step = 0; step < steps; step++) {
    if (random(6) === 0) now += BigInt(random(2_000_000));
    const cpu = random(cpus);
    const task = running[cpu];
    const asleep = tasks.filter(({ state }) => state === 'asleep');
    if (asleep.length > 0 && random(3) === 0) {
      const woken = asleep[random(asleep.length)];
      builder.add(cpu, 'select_cpu', { time_ns: now, pid: woken.pid, group: cpu, target: cpu });
      builder.add(cpu, 'runnable', { time_ns: now, pid: woken.pid, target: cpu });
      enqueue(woken, cpu);
    } else if (task === undefined) {
      const next = dispatch(cpu);
      if (next !== undefined) start(next, cpu);
    } else if (random(2) === 0) {
      use(task, BigInt(random(2_000_000)));
      stop(task, cpu, false);
      task.state = 'asleep';
      task.sleeps++;
      const seconds = (now - task.stamp) / 1_000_000_000n;
      if (seconds > 0n) {
        const rate = Math.floor(task.sleeps / Number(seconds));
        const mean = task.frequency === 0 ? rate : Math.floor((3 * task.frequency + rate) / 4);
        task.frequency = Math.max(mean, 1);
        task.sleeps = 0;
        task.stamp = now;
      }
      builder.add(cpu, 'quiescent', { time_ns: now, pid: task.pid });
    } else {
      use(task, task.slice_ns);
      const next = dispatch(cpu);
      if (next === undefined) task.slice_ns = 20_000_000n;
      else {
        stop(task, cpu, true);
        enqueue(task, cpu);
        start(next, cpu);
      }
    }
  }
  return builder.recording();
}
