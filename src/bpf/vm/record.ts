// A workload in a real kernel, from config to recording.

import type { ResolvedConfig } from '../../config/schema.js';
import { VtimeError } from '../../errors.js';
import { twinOf } from '../loader-input.js';
import type { Recording, RecordingInfo } from '../recording/schema.js';
import { boot, GuestError } from './boot.js';
import { buildInitramfs } from './initramfs.js';
import { prepareObserver } from './observers.js';
import { cacheFolder, fetchEmulator, fetchKernel } from './packages.js';
import { guestFiles, guestRun } from './port.js';
import { evenMemory } from './topology.js';
import { guestWorkload } from './workload.js';

export interface RecordOptions {
  config: ResolvedConfig;
  /** A name of bpf/objects, the path of a .bpf.o file, or a fair class: eevdf, cfs, eevdf-7.3. Default: as the policy. */
  scheduler?: string;
  /** Repeatable; otherwise several times as fast. Default: true. */
  exact?: boolean;
  /**
   * Exact mode: how often a second the emulator begins a new round of the CPUs at least; one of METRONOMES_HZ. A higher one
   * keeps the CPUs' clocks closer together, and more of their callbacks overlap. Default: 2048.
   */
  metronome_hz?: number;
  /** Lines added to the loader's input. */
  loaderLines?: readonly string[];
  /** Host time after which the guest counts as hung; default: ten minutes. */
  timeout_ms?: number;
  cache?: string;
  signal?: AbortSignal;
  /** What is being done. */
  say?: (what: string) => void;
  /** The guest's console. */
  onConsole?: (text: string) => void;
}

export interface Recorded {
  recording: Recording;
  /** Host time that the guest took. */
  wall_ms: number;
}

/** What the clock chip can do, without its two fastest rates. */
export const METRONOMES_HZ: readonly number[] = [256, 512, 1024, 2048, 4096, 8192];
const METRONOME_HZ = 2048;
const TIMEOUT_MS = 600_000;
/** Kernel, file system and the buffers of what observes; QEMU takes from the host only what is used. */
const MEMORY_MB = 1024;
const MEMORY_MB_PER_CPU = 40;

/** The scheduler that decides as the policy of a config does. */
function schedulerOf({ policy }: ResolvedConfig, cpus: number): string {
  const scheduler = policy.name === 'eevdf' ? policy.name : twinOf(policy, cpus)?.object;
  if (scheduler !== undefined) return scheduler;
  throw new VtimeError('vm_scheduler', `no real scheduler decides as policy ${policy.name} does`, {
    path: 'policy.name',
    value: policy.name,
    expected: 'a policy that has one (bpf/README.md), eevdf, or --scheduler',
  });
}

/** Fetches what is missing, boots, runs the workload and returns its recording. */
export async function recordKernel(options: RecordOptions): Promise<Recorded> {
  const { config, exact = true, cache = cacheFolder(), signal, say } = options;
  const metronome_hz = exact ? (options.metronome_hz ?? METRONOME_HZ) : 0;
  const workload = guestWorkload(config);
  const scheduler = options.scheduler ?? schedulerOf(config, workload.cpus);
  const fetching = { cache, ...(signal && { signal }), ...(say && { say }) };
  const {
    kernel: kind,
    observer,
    about,
    rows,
  } = await prepareObserver(scheduler, config, workload, {
    ...fetching,
    ...(options.loaderLines && { loaderLines: options.loaderLines }),
  });
  const { emulator, busybox } = await fetchEmulator(fetching);
  const kernel = await fetchKernel(kind, fetching);
  say?.(`booting ${kernel.release} on ${workload.cpus} CPUs`);
  const guest = await boot({
    emulator,
    kernel,
    initramfs: buildInitramfs({ busybox, kernel, workload, observer, metronome_hz, cache }),
    cpus: workload.places,
    memory_mb: evenMemory(workload.places, MEMORY_MB + MEMORY_MB_PER_CPU * workload.cpus),
    exact,
    timeout_ms: options.timeout_ms ?? TIMEOUT_MS,
    ...(signal && { signal }),
    ...(options.onConsole && { onConsole: options.onConsole }),
  });
  if (!guest.console.includes('vtime: done')) throw new GuestError('the guest gave up', guest.console);
  const files = guestFiles(guest.port);
  const { columns, length, dropped } = rows(files);
  if (dropped > 0) {
    throw new VtimeError('vm_dropped', `${dropped} events found no room in the guest's buffers`, {
      expected: 'a shorter workload',
    });
  }
  const { kernel: release, features, ...run } = guestInfo(files);
  const info: RecordingInfo = {
    kernel: release,
    emulator: emulator.version,
    mode: exact ? 'exact' : 'fast',
    metronome_hz,
    cpus: workload.cpus,
    ...about,
    features,
    config,
    cgroups: workload.cgroups.map(({ path, domain = -1 }) => ({ path, domain })),
    ...run,
    dropped,
  };
  const recording = { info, columns, length };
  return { recording, wall_ms: guest.wall_ms };
}

/** What the guest says about itself and about its run. */
function guestInfo(
  files: ReadonlyMap<string, Uint8Array>,
): Pick<RecordingInfo, 'kernel' | 'features' | 'tasks' | 'outcome' | 'start_ns' | 'duration_ns'> {
  const text = (name: string) => Buffer.from(files.get(name) ?? []).toString('utf8');
  const { tasks, outcome, start_ns, duration_ns } = guestRun(text('tasks'));
  return {
    kernel: text('release').trim(),
    features: text('features').trim(),
    tasks,
    outcome,
    start_ns: String(start_ns),
    duration_ns: String(duration_ns),
  };
}
