// What records a run in the guest: a sched_ext scheduler that records itself, or the kernel's tracepoints of the fair class.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ResolvedConfig } from '../../config/schema.js';
import { nearestName, VtimeError } from '../../errors.js';
import { loaderInput } from '../loader-input.js';
import { openObject } from '../object/open.js';
import { loaderRecords } from '../recording/records.js';
import type { RecordingColumns, RecordingInfo } from '../recording/schema.js';
import { TRACEPOINTS, tracepointRows } from '../recording/tracepoints.js';
import type { Observer, Settings } from './initramfs.js';
import { type FetchOptions, fetchLoaderLibraries, type KernelKind } from './packages.js';
import type { GuestWorkload } from './workload.js';

const OBJECTS = fileURLToPath(new URL('../../../../bpf/objects/', import.meta.url));
const BUILD = fileURLToPath(new URL('../../../../bpf/build.mjs', import.meta.url));
const LOADER = fileURLToPath(new URL('../../../../build/vtime-load', import.meta.url));
const RECORDING_SUFFIX = '.record.bpf.o';
const SUFFIX = '.bpf.o';

/** Half a million records of 64 bytes. */
const RING_MB = 32;
/** Per CPU; an event takes some 60 bytes. */
const TRACE_KB = 16384;

/** The fair classes of kernels: their settings in the guest. */
const FAIR: Record<string, { kernel: KernelKind; settings: Settings }> = {
  // What 6.12 has and 6.11 has not is switched off.
  eevdf: {
    kernel: 'eevdf',
    settings: {
      FEATURES: 'NO_DELAY_DEQUEUE NO_DELAY_ZERO NO_PREEMPT_SHORT NO_PLACE_REL_DEADLINE NO_NI_RANDOM',
      BASE_SLICE_NS: 3_000_000,
      NO_FAIR_SERVER: 1,
    },
  },
  cfs: { kernel: 'cfs', settings: {} },
  'eevdf-7.3': { kernel: 'ext', settings: { NO_FAIR_SERVER: 1 } },
};

export interface PreparedObserver {
  kernel: KernelKind;
  observer: Observer;
  about: Pick<RecordingInfo, 'scheduler' | 'object_sha256' | 'loader_input'>;
  /** Rows of what the guest sent. */
  rows(files: ReadonlyMap<string, Uint8Array>): {
    columns: RecordingColumns;
    length: number;
    dropped: number;
  };
}

const textOf = (files: ReadonlyMap<string, Uint8Array>, name: string) =>
  Buffer.from(files.get(name) ?? []).toString('utf8');

function fairObserver(scheduler: string): PreparedObserver {
  const { kernel, settings } = FAIR[scheduler];
  return {
    kernel,
    observer: tracing(settings),
    about: { scheduler, object_sha256: '', loader_input: '' },
    rows: tracedRows,
  };
}

/** The recording object of a name like `domains`, or of a path. */
function objectFile(scheduler: string): string {
  if (scheduler.endsWith(SUFFIX)) {
    const recording = scheduler.endsWith(RECORDING_SUFFIX)
      ? scheduler
      : `${scheduler.slice(0, -SUFFIX.length)}${RECORDING_SUFFIX}`;
    const found = [recording, scheduler].find(existsSync);
    if (found !== undefined) return found;
    throw new VtimeError('vm_object', 'no such object', { file: scheduler });
  }
  const file = join(OBJECTS, `${scheduler}${RECORDING_SUFFIX}`);
  if (existsSync(file)) return file;
  const known = existsSync(OBJECTS)
    ? readdirSync(OBJECTS).filter((name) => name.endsWith(RECORDING_SUFFIX))
    : [];
  const names = [...known.map((name) => name.slice(0, -RECORDING_SUFFIX.length)), ...Object.keys(FAIR)];
  const near = nearestName(scheduler, names);
  const hint = near === undefined ? '' : `; did you mean "${near}"?`;
  throw new VtimeError('vm_scheduler', `no scheduler "${scheduler}"${hint}`, {
    value: scheduler,
    expected: `${names.join(', ')}, or the path of a ${SUFFIX} file`,
  });
}

/** Builds the loader; returns its path. */
async function buildLoader(options: FetchOptions): Promise<string> {
  const root = await fetchLoaderLibraries(options);
  const environment = {
    ...process.env,
    VTIME_LIBBPF: root,
    LIBRARY_PATH: join(root, 'usr', 'lib', 'x86_64-linux-gnu'),
    CPATH: join(root, 'usr', 'include'),
  };
  try {
    execFileSync(process.execPath, [BUILD, '--loader'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: environment,
    });
  } catch (error) {
    const said = (error as { stderr?: Buffer }).stderr?.toString().trim().split('\n').slice(-3).join('; ');
    throw new VtimeError('vm_loader', `cannot build the loader: ${said || String(error)}`, {
      expected: 'gcc and libc6-dev; scripts/debian-packages.sh gcc libc6-dev installs them',
    });
  }
  return LOADER;
}

export interface ObserverOptions extends FetchOptions {
  /** Lines added to the loader's input, like `rodata vtime_base 1`. */
  loaderLines?: readonly string[];
}

/** Kernel and settings of tracepoints; `dropped` counts what was overwritten. */
function tracing(settings: Settings): Observer {
  return {
    script: 'observe-trace',
    settings: { ...settings, TRACE_KB, TRACE_EVENTS: TRACEPOINTS.join(' ') },
    files: [],
  };
}

const tracedRows: PreparedObserver['rows'] = (files) =>
  tracepointRows(files.get('trace') ?? new Uint8Array(), textOf(files, 'formats'), textOf(files, 'stats'));

const recordedRows: PreparedObserver['rows'] = (files) =>
  loaderRecords(files.get('recording') ?? new Uint8Array());

async function extObserver(
  scheduler: string,
  config: ResolvedConfig,
  workload: GuestWorkload,
  { loaderLines = [], ...options }: ObserverOptions,
): Promise<PreparedObserver> {
  const path = objectFile(scheduler);
  const object = readFileSync(path);
  const name = basename(path).replace(RECORDING_SUFFIX, '').replace(SUFFIX, '');
  const told = loaderInput(name, config, workload.cpus, workload.cgroups);
  const loader = readFileSync(await buildLoader(options));
  const text = `${told}${loaderLines.map((line) => `${line}\n`).join('')}`;
  const records = openObject(object, path).maps.maps.some((map) => map.name === 'records');
  const observer: Observer = records
    ? { script: 'observe-ext', settings: { RING_MB }, files: [] }
    : tracing({ LOADER: '/bin/vtime-load /scheduler /loader-input --' });
  observer.files.push(
    { path: 'scheduler', contents: object },
    { path: 'loader-input', contents: Buffer.from(text) },
    { path: 'bin/vtime-load', contents: loader, executable: true },
  );
  return {
    kernel: 'ext',
    observer,
    about: {
      scheduler: name,
      object_sha256: createHash('sha256').update(object).digest('hex'),
      loader_input: text,
    },
    rows: records ? recordedRows : tracedRows,
  };
}

/** Prepares the recording of a scheduler: a name of bpf/objects, the path of an object, or a fair class. */
export async function prepareObserver(
  scheduler: string,
  config: ResolvedConfig,
  workload: GuestWorkload,
  options: ObserverOptions,
): Promise<PreparedObserver> {
  if (Object.hasOwn(FAIR, scheduler)) return fairObserver(scheduler);
  return extObserver(scheduler, config, workload, options);
}
