// Boots a kernel in QEMU without any device but a console and one port. With `exact` the guest's clock counts
// instructions, so that a run repeats bit for bit.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseCpuList } from '../../config/units.js';
import { AbortedError, SimulationError } from '../../errors.js';
import type { Emulator, Kernel } from './packages.js';
import { type CpuPlace, topologyArguments } from './topology.js';

/** One guest instruction takes 2^1 ns. `shift=auto` and ioeventfd would tie the guest to the host's time. */
const EXACT = [
  '-accel',
  'tcg,thread=single',
  '-icount',
  'shift=1,align=off,sleep=off',
  '-rtc',
  'base=2026-01-01T00:00:00,clock=vm',
];
/** The chip's interrupts stay masked while it is the metronome (bpf/vm/metronome.c). */
const NO_CLOCK_CHIP = 'initcall_blacklist=cmos_init';
/** The self-tests of the kernel's cryptography would use CPUs for seconds beside the workload. */
const COMMAND_LINE = 'console=ttyS0 nokaslr panic=-1 quiet noautogroup cryptomgr.notests';
const FAST = ['-accel', 'tcg,thread=multi'];
/**
 * QEMU's main loop wakes up after each timer of the guest. If it finds one due while the thread of the vCPUs waits for the
 * big lock, it runs it and interrupts their round: 1 of 9 runs differed on a busy host. On one host CPU the two threads
 * take turns, and that does not happen as long as the main loop's short turn is not split.
 */
function onOneCpu(command: string, args: string[]): [command: string, args: string[]] {
  const taskset = '/usr/bin/taskset';
  const allowed = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  if (!existsSync(taskset) || allowed === undefined) return [command, args];
  const cpus = parseCpuList(allowed);
  return [taskset, ['-c', String(cpus[process.pid % cpus.length]), command, ...args]];
}

const CONSOLE_LINES_SHOWN = 20;
const POLL_MS = 500;

export interface BootOptions {
  emulator: Emulator;
  kernel: Kernel;
  initramfs: Uint8Array;
  cpus: readonly CpuPlace[];
  /** Divides evenly among the nodes. */
  memory_mb: number;
  /** Repeatable, on one thread of the host; otherwise as fast as it goes. */
  exact: boolean;
  /** Host time after which the guest counts as hung. */
  timeout_ms: number;
  signal?: AbortSignal;
  /** New text of the guest's console. */
  onConsole?: (text: string) => void;
}

export interface BootResult {
  /** All that the guest wrote to its port. */
  port: Buffer;
  console: string;
  wall_ms: number;
}

/** QEMU's arguments; files are named by their place in the working folder. */
export function emulatorArguments({ cpus, memory_mb, exact, kernel }: BootOptions): string[] {
  return [
    ...(exact ? EXACT : FAST),
    ...['-seed', '1', '-cpu', 'max', '-m', `${memory_mb}M`],
    ...topologyArguments(cpus, memory_mb),
    ...['-kernel', kernel.image, '-initrd', 'initramfs'],
    ...['-append', exact ? `${COMMAND_LINE} ${NO_CLOCK_CHIP}` : COMMAND_LINE],
    ...['-nodefaults', '-no-user-config', '-nographic', '-no-reboot', '-monitor', 'none'],
    // Files never make the guest wait, unlike pipes.
    ...['-serial', 'file:console', '-device', 'virtio-serial-pci,ioeventfd=off'],
    ...['-chardev', 'file,id=port,path=port', '-device', 'virtserialport,chardev=port,name=vtime'],
  ];
}

/** The last lines that a guest wrote, without the firmware's escape sequences. */
export function lastLines(text: string, lines = CONSOLE_LINES_SHOWN): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal would obey
  const plain = text.replaceAll(/\x1b(\[[0-9;?]*[A-Za-z]|c)|\r/g, '');
  return plain
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-lines)
    .map((line) => `  ${line}`)
    .join('\n');
}

/** A guest that did not get to its end. */
export class GuestError extends SimulationError {
  constructor(what: string, console: string) {
    const said = lastLines(console);
    super(
      'vm_guest',
      `${what}${said === '' ? ' (its console is empty)' : `; its console ended with\n${said}`}`,
    );
  }
}

/** Runs the guest until it powers off. */
export async function boot(options: BootOptions): Promise<BootResult> {
  const { emulator, initramfs, exact, timeout_ms, signal, onConsole } = options;
  const folder = mkdtempSync(join(tmpdir(), 'vtime-vm-'));
  const begin = performance.now();
  const read = (name: string) => {
    try {
      return readFileSync(join(folder, name));
    } catch {
      return Buffer.alloc(0);
    }
  };
  try {
    writeFileSync(join(folder, 'initramfs'), initramfs);
    const args = [...emulator.prefix, ...emulatorArguments(options)];
    const [command, given] = exact ? onOneCpu(emulator.command, args) : [emulator.command, args];
    const child = spawn(command, given, {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    let ended: 'itself' | 'timeout' | 'signal' = 'itself';
    child.stderr.on('data', (chunk) => {
      said += chunk;
    });
    const stop = (why: 'timeout' | 'signal') => {
      ended = why;
      child.kill('SIGKILL');
    };
    const abort = () => stop('signal');
    const timer = setTimeout(() => stop('timeout'), timeout_ms);
    let shown = 0;
    const watch = setInterval(() => {
      const text = read('console').toString('latin1');
      if (text.length > shown) onConsole?.(text.slice(shown));
      shown = text.length;
    }, POLL_MS);
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted) abort();
    // Killed with this process, whatever ends it, and the folder with it: a second Ctrl-C waits for nothing.
    const orphan = () => {
      child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    };
    process.once('exit', orphan);
    let code: number | null;
    try {
      code = await new Promise<number | null>((resolve, reject) => {
        child.on('error', reject);
        child.on('close', resolve);
      });
    } finally {
      clearTimeout(timer);
      clearInterval(watch);
      signal?.removeEventListener('abort', abort);
      process.off('exit', orphan);
    }
    const console = read('console').toString('latin1');
    if (signal?.aborted) throw new AbortedError('aborted', 'interrupted; the virtual machine was stopped');
    if ((ended as string) === 'timeout') {
      throw new GuestError(`the guest did not finish within ${timeout_ms / 1000} s`, console);
    }
    if (code !== 0) throw new GuestError(`QEMU ended with code ${code}: ${said.trim()}`, console);
    if (/Kernel panic/.test(console)) throw new GuestError('the guest kernel panicked', console);
    return { port: read('port'), console, wall_ms: performance.now() - begin };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
