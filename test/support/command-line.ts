// The command line, run in this process.

import { main } from '../../src/cli/index.js';

export interface Outcome {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** What an action writes to the standard streams, kept from them. */
export async function captured(action: () => Promise<unknown>): Promise<Pick<Outcome, 'stdout' | 'stderr'>> {
  const written = { stdout: '', stderr: '' };
  const original = { stdout: process.stdout.write, stderr: process.stderr.write };
  for (const stream of ['stdout', 'stderr'] as const) {
    process[stream].write = (chunk: string | Uint8Array) => {
      written[stream] += chunk;
      return true;
    };
  }
  try {
    await action();
  } finally {
    Object.assign(process.stdout, { write: original.stdout });
    Object.assign(process.stderr, { write: original.stderr });
  }
  return written;
}

export async function commandLine(...args: string[]): Promise<Outcome> {
  const written = await captured(() => main(['node', 'vtime', ...args]));
  const exitCode = Number(process.exitCode ?? 0);
  process.exitCode = 0;
  return { exitCode, ...written };
}
