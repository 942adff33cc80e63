// The guest's first file system: busybox, the workload runner, and what observes the run.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VtimeError } from '../../errors.js';
import { type CpioEntry, cpio } from './cpio.js';
import type { Kernel } from './packages.js';
import type { GuestWorkload } from './workload.js';

/** bpf/vm of the repository. */
const SOURCES = fileURLToPath(new URL('../../../../bpf/vm/', import.meta.url));

const RUNNER = ['workload.c', 'program.c', 'draw.c', 'model.c'];
const HEADERS = ['workload.h'];
const TRACE_DUMP = ['trace-dump.c'];
const METRONOME = ['metronome.c'];
/** The clock chip's frequency at rate 1 (metronome.c); each further rate halves it. */
const CHIP_HZ = 32768;
const FLAGS = ['-O2', '-Wall', '-static'];

/** Compiles a static program of bpf/vm unless the cache has it; returns its path. */
function compile(
  name: string,
  sources: readonly string[],
  headers: readonly string[],
  cache: string,
): string {
  if (!existsSync(SOURCES)) {
    throw new VtimeError('vm_sources', 'this installation has no sources of the virtual machine', {
      file: SOURCES,
      expected: 'a checkout of the repository',
    });
  }
  const hash = createHash('sha256').update(FLAGS.join(' '));
  for (const file of [...sources, ...headers]) hash.update(readFileSync(join(SOURCES, file)));
  const program = join(cache, 'build', `${name}-${hash.digest('hex').slice(0, 16)}`);
  if (existsSync(program)) return program;
  mkdirSync(join(cache, 'build'), { recursive: true });
  const part = `${program}.part-${process.pid}`;
  const files = sources.map((file) => join(SOURCES, file));
  try {
    execFileSync('gcc', [...FLAGS, '-o', part, ...files, '-lm'], { stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (error) {
    const { code, stderr } = error as NodeJS.ErrnoException & { stderr?: Buffer };
    const why = code === 'ENOENT' ? 'there is no gcc' : (stderr?.toString().split('\n')[0] ?? String(error));
    throw new VtimeError('vm_compiler', `cannot compile ${name}: ${why}`, {
      expected: 'gcc and libc6-dev; scripts/debian-packages.sh gcc libc6-dev installs them',
    });
  }
  renameSync(part, program);
  return program;
}

export interface Settings {
  [name: string]: string | number;
}

/** What records the run: a shell script with a function run_observed, and the files it needs. */
export interface Observer {
  /** File of bpf/vm that init sources. */
  script: string;
  settings: Settings;
  files: CpioEntry[];
}

/** Shell assignments; values hold no quotes. */
function settingsText(settings: Settings): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}='${value}'\n`)
    .join('');
}

/** cpu.weight that corresponds to cpu.shares, 1024 to 100 (sched_weight_to_cgroup() of the kernel). */
const cpuWeight = (shares: number) => Math.min(10_000, Math.max(1, Math.round((shares * 100) / 1024)));

/** What an observer is given to run; init reports what is in /out/errors. */
const RUN_WORKLOAD = '#!/bin/sh\nexec /bin/workload /workload >/out/tasks 2>/out/errors\n';

const FOLDERS = ['bin', 'dev', 'modules', 'out', 'proc', 'sys'];

export interface InitramfsOptions {
  /** Path of a static busybox. */
  busybox: string;
  kernel: Kernel;
  workload: GuestWorkload;
  observer: Observer;
  /** Of the metronome, a power of 2; 0: none. */
  metronome_hz: number;
  /** Where compiled programs are kept. */
  cache: string;
}

export function buildInitramfs({
  busybox,
  kernel,
  workload,
  observer,
  metronome_hz,
  cache,
}: InitramfsOptions): Uint8Array {
  const program = (path: string, file: string): CpioEntry => ({
    path,
    contents: readFileSync(file),
    executable: true,
  });
  const text = (path: string, contents: string): CpioEntry => ({ path, contents: Buffer.from(contents) });
  const cgroups = workload.cgroups.map(
    ({ path, shares }) => `${path} ${shares === undefined ? '-' : cpuWeight(shares)}\n`,
  );
  return cpio([
    ...FOLDERS.map((path): CpioEntry => ({ path, directory: true })),
    // The console of init until it has mounted /dev.
    { path: 'dev/console', device: [5, 1] },
    program('init', join(SOURCES, 'init')),
    program('bin/busybox', busybox),
    program('bin/workload', compile('workload', RUNNER, HEADERS, cache)),
    program('bin/trace-dump', compile('trace-dump', TRACE_DUMP, [], cache)),
    program('bin/metronome', compile('metronome', METRONOME, [], cache)),
    { path: 'bin/run-workload', contents: Buffer.from(RUN_WORKLOAD), executable: true },
    { path: 'observe', contents: readFileSync(join(SOURCES, observer.script)) },
    text('workload', workload.text),
    text('cgroups', cgroups.join('')),
    text(
      'settings',
      settingsText({
        ...observer.settings,
        ...(metronome_hz > 0 && { METRONOME_RATE: Math.log2(CHIP_HZ / metronome_hz) + 1 }),
      }),
    ),
    // Inserted by name, which is their order.
    ...kernel.modules.map(
      (file, i): CpioEntry => ({ path: `modules/${i}.ko`, contents: readFileSync(file) }),
    ),
    ...observer.files,
  ]);
}
