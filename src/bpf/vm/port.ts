// What the guest sends through its port (bpf/vm/init): `file NAME LENGTH`, a newline and so many bytes for each file, at
// last a line `end`.

import { VtimeError } from '../../errors.js';

const NEWLINE = 10;

function damaged(what: string): never {
  throw new VtimeError('vm_output', `what the guest sent is damaged: ${what}`);
}

/** The files that the guest sent, by name. */
export function guestFiles(port: Uint8Array): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  for (let at = 0; ; ) {
    const end = port.indexOf(NEWLINE, at);
    if (end < 0) damaged('it ends early');
    const line = Buffer.from(port.subarray(at, end)).toString('latin1');
    if (line === 'end') return files;
    const [word, name, length, ...rest] = line.split(' ');
    const bytes = Number(length);
    if (word !== 'file' || rest.length > 0 || !/^\d+$/.test(length ?? '')) damaged(`no file at byte ${at}`);
    at = end + 1 + bytes;
    if (at > port.length) damaged(`${name} is incomplete`);
    files.set(name, port.subarray(end + 1, at));
  }
}

/** A task that was born in the guest. */
export interface GuestTask {
  pid: number;
  /** pid of the task that forked it, 0 for those that exist from the start. */
  parent: number;
  template: number;
  name: string;
}

export interface GuestRun {
  tasks: GuestTask[];
  outcome: string;
  /** CLOCK_MONOTONIC of the guest as the first task may begin. */
  start_ns: bigint;
  duration_ns: bigint;
}

/** What the workload runner printed. */
export function guestRun(text: string): GuestRun {
  const tasks = [...text.matchAll(/^task (\d+) (\d+) (\d+) (.*)$/gm)].map(
    ([, pid, parent, template, name]) => ({
      pid: Number(pid),
      parent: Number(parent),
      template: Number(template),
      name,
    }),
  );
  const end = /^end (\w+) (\d+) (\d+) (\d+)$/m.exec(text);
  if (end === null) damaged('the workload did not say how it ended');
  return { tasks, outcome: end[1], start_ns: BigInt(end[2]), duration_ns: BigInt(end[3]) };
}
