// What every benchmark here needs: one CPU for all of it, CPU time instead of wall time, and the middle of several runs.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';

/** Pins this process's main thread, and what it starts from now on, to the last CPU. False without taskset. */
export function pin(): boolean {
  const cpu = availableParallelism() - 1;
  return spawnSync('taskset', ['-c', '-p', String(cpu), String(process.pid)]).status === 0;
}

/** CPU time that `action` takes, ns. Other processes on the machine don't count, as they would in wall time. */
export function cpuTimeNs(action: () => void): number {
  const before = process.cpuUsage();
  action();
  const { user, system } = process.cpuUsage(before);
  return (user + system) * 1000;
}

export interface Spread {
  median: number;
  min: number;
  max: number;
}

export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  return { median, min: sorted[0], max: sorted[sorted.length - 1] };
}

export function formatSpread({ median, min, max }: Spread, digits = 2): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;
}

/** Date, kind of processor, Node: what a figure depends on. */
export function circumstances(): string {
  const [{ model }, ...others] = cpus();
  const date = new Date().toISOString().slice(0, 10);
  return `${date}, ${model}, ${1 + others.length} CPUs, Node ${process.version}`;
}

export const COMPILER = 'g++';
const COMPILER_FLAGS = ['-std=c++20', '-O3', '-march=native', '-Wall', '-Wextra'];

/** Compiles bench/native/<name>.cpp unless its program is newer; returns the program's path. */
export function compileNative(name: string): string {
  const source = `bench/native/${name}.cpp`;
  const program = `build/bench/${name}`;
  if (existsSync(program) && statSync(program).mtimeMs > statSync(source).mtimeMs) return program;
  mkdirSync('build/bench', { recursive: true });
  const { status, stderr, error } = spawnSync(COMPILER, [...COMPILER_FLAGS, source, '-o', program], {
    encoding: 'utf8',
  });
  if (status !== 0) {
    throw new Error(`${COMPILER} ${source}: ${error?.message ?? stderr} (Debian: apt-get install g++)`);
  }
  return program;
}

/** Runs a program that prints one JSON object. */
export function runJson<T>(program: string, ...args: string[]): T {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? stderr}`);
  return JSON.parse(stdout) as T;
}
