// A real kernel and the simulator, each running freely: how long tasks run at a time, and how long they wait after a wake-up.
// Only the workload is common; ticks and dispatches are the simulator's own.

import type { ResolvedConfig } from '../../config/schema.js';
import { runCell } from '../../engine/simulate.js';
import { kolmogorovDistance } from '../../statistics/kolmogorov.js';
import { RECORD_KINDS as KIND, type Recording } from '../recording/schema.js';

/** ns; run lengths are CPU time between a switch to the task and the next switch away from it. */
export interface Samples {
  run_ns: number[];
  wake_latency_ns: number[];
}

/** ENQUEUE_RESTORE: a task was taken out and put back for a change of its mask or class; it neither woke nor stopped. */
const RESTORE = 2n;

/** What the workload's own tasks did between the start of the workload and its end. */
export function recordedSamples({ columns, info, length }: Recording): Samples {
  const { kind, pid, time_ns, exec_ns, flags } = columns;
  const own = new Set(info.tasks.map((task) => task.pid));
  const start = BigInt(info.start_ns);
  const end = start + BigInt(info.duration_ns);
  const traced = info.object_sha256 === '';
  const samples: Samples = { run_ns: [], wake_latency_ns: [] };
  const runs = new Map<number, { begin: bigint; end?: bigint | undefined }>();
  const restored = new Set<number>();
  const woken = new Map<number, bigint>();
  /** The run before may still have gone on, until the next one begins. */
  const finish = (task: number) => {
    const run = runs.get(task);
    if (run?.end !== undefined) samples.run_ns.push(Number(run.end - run.begin));
    runs.delete(task);
  };
  for (let i = 0; i < length; i++) {
    if (!own.has(pid[i]) || time_ns[i] < start || time_ns[i] > end) continue;
    const clock = traced ? time_ns[i] : exec_ns[i];
    if (kind[i] === KIND.runnable) {
      if (traced || (flags[i] & RESTORE) === 0n) woken.set(pid[i], time_ns[i]);
      else restored.add(pid[i]);
    } else if (kind[i] === KIND.running) {
      const since = woken.get(pid[i]);
      if (since !== undefined) samples.wake_latency_ns.push(Number(time_ns[i] - since));
      woken.delete(pid[i]);
      const run = runs.get(pid[i]);
      if (run !== undefined && restored.has(pid[i])) run.end = undefined;
      else {
        finish(pid[i]);
        runs.set(pid[i], { begin: clock });
      }
      restored.delete(pid[i]);
    } else if (kind[i] === KIND.stopping) {
      const run = runs.get(pid[i]);
      if (run !== undefined) run.end = clock;
    }
  }
  for (const task of own) finish(task);
  return samples;
}

/** The kernel that was recorded, as the simulator names its rules: 6.12 was recorded with what 6.11 lacks switched off. */
function kernelOf({ info }: Recording, config: ResolvedConfig): ResolvedConfig['kernel'] {
  const version = info.kernel.startsWith('6.12') ? '6.11-scx' : '7.3';
  const base_slice = version === '7.3' ? '2800us' : '3ms';
  return { ...config.kernel, version, base_slice, slice_expiry: 'tick' };
}

/** The same from a simulation of the recording's config, slices ending at ticks. */
export async function simulatedSamples(recording: Recording, seed?: number): Promise<Samples> {
  const config = recording.info.config as ResolvedConfig;
  const fair = recording.info.object_sha256 === '';
  const result = await runCell(
    {
      ...config,
      ...(seed === undefined ? {} : { seed }),
      ...(fair ? { policy: { name: 'eevdf' } as ResolvedConfig['policy'] } : {}),
      kernel: kernelOf(recording, config),
      output: { ...config.output, decisions: true },
    },
    { times: new Map() },
  );
  const table = result.decisions!;
  const time = table.getChild('time_ns')!;
  const kind = table.getChild('kind')!;
  const task = table.getChild('task')!;
  const samples: Samples = { run_ns: [], wake_latency_ns: [] };
  const began = new Map<number, bigint>();
  const woken = new Map<number, bigint>();
  for (let i = 0; i < table.numRows; i++) {
    const slot = Number(task.get(i));
    const now = time.get(i) as bigint;
    if (kind.get(i) === 'wake') woken.set(slot, now);
    else if (kind.get(i) === 'run') {
      began.set(slot, now);
      const since = woken.get(slot);
      if (since !== undefined) samples.wake_latency_ns.push(Number(now - since));
      woken.delete(slot);
    } else {
      const since = began.get(slot);
      if (since !== undefined) samples.run_ns.push(Number(now - since));
      began.delete(slot);
    }
  }
  return samples;
}

export interface Comparison {
  quantity: 'run length' | 'wake-up latency';
  recorded: number;
  simulated: number;
  /** Kolmogorov–Smirnov distance of what is above the quantum. */
  distance: number;
  /** The same, where differences of less than the quantum do not count. */
  resolved: number;
}

/** Distances of the samples above `quantum_ns`, below which the emulator's turns and not the scheduler decide. */
export function compareSamples(recorded: Samples, simulated: Samples, quantum_ns: number): Comparison[] {
  const above = (sample: number[]) => sample.filter((value) => value > quantum_ns);
  return (
    [
      ['run length', 'run_ns'],
      ['wake-up latency', 'wake_latency_ns'],
    ] as const
  ).map(([quantity, name]) => {
    const left = above(recorded[name]);
    const right = above(simulated[name]);
    return {
      quantity,
      recorded: left.length,
      simulated: right.length,
      distance: kolmogorovDistance(left, right),
      resolved: kolmogorovDistance(left, right, quantum_ns),
    };
  });
}
