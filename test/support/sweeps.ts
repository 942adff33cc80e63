// Small sweeps, folders for their stores, and the command line as a user starts it.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigInput } from '../../src/index.js';
import { temporaryFolder } from './folder.js';

const root = temporaryFolder('sweep');
let folders = 0;

/** The path of a folder that does not exist yet. */
export function freshFolder(): string {
  return join(root, `out-${folders++}`);
}

/** A config file with this content. */
export function configFile(config: ConfigInput): string {
  const file = join(root, `config-${folders++}.json`);
  writeFileSync(file, JSON.stringify(config));
  return file;
}

/** Exponential customers, split over domains: 3 domain counts × 2 seeds = 6 cells of some thousand events. */
export const SPLIT: ConfigInput = {
  name: 'split',
  machine: 'ideal-4',
  kernel: { watchdog_timeout: '0s' },
  policy: { name: 'domains', slice: '1000h', steal: 'none' },
  workload: {
    arrivals: [
      {
        name: 'customers',
        rate: '3/s',
        spawn: { program: [{ run: { exponential: '1s' } }], domain: 'random' },
      },
    ],
  },
  run: { horizon: '500s', warmup: '10s' },
  sweep: { replications: 2, baseline: { 'policy.domains': 1 }, axes: { 'policy.domains': [1, 2, 4] } },
};

/** Two jobs of 10 s on one CPU, the second behind the first: it waits for longer than the watchdog allows. */
export const STALLING: ConfigInput = {
  machine: 'ideal-1',
  kernel: { watchdog_timeout: '1s' },
  policy: { name: 'global-fifo', slice: '1000h' },
  workload: { tasks: [{ name: 'job', count: 2, program: [{ run: '10s' }] }] },
};

export const TABLES = ['results.arrow', 'classes.arrow', 'histograms.arrow'];

/** SHA-256 of each table of a store. */
export function tableHashes(out: string): Record<string, string> {
  return Object.fromEntries(
    TABLES.map((file) => [
      file,
      createHash('sha256')
        .update(readFileSync(join(out, file)))
        .digest('hex'),
    ]),
  );
}

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a script with Node; `onStart` may send it signals. */
export function node(
  args: string[],
  onStart?: (kill: (signal: NodeJS.Signals) => void) => void,
): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const written = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].setEncoding('utf8').on('data', (text: string) => {
        written[stream] += text;
      });
    }
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, ...written }));
    onStart?.((signal) => child.kill(signal));
  });
}

/** Runs the `vtime` command. */
export function vtime(...args: string[]): Promise<Finished> {
  return node(['bin/vtime.js', ...args]);
}
