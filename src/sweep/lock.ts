// One writer per store: a file `lock` that names the process. One left behind by a process that was killed is taken over.

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { VtimeError } from '../errors.js';

const LOCK = 'lock';

interface Holder {
  host: string;
  pid: number;
  /** Tells apart processes that had the same pid, where the system says so; else ''. */
  started: string;
  /** ISO 8601, UTC, for the message. */
  since: string;
}

/** Locks that this process holds. */
const held = new Set<string>();

/** When a process was started, in ticks of a boot; '' where /proc doesn't tell, undefined if it is gone. */
function startOf(pid: number): string | undefined {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it lives, and is another user's.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return undefined;
  }
  try {
    // The name in parentheses may hold anything; the start time is the 22nd field, the 20th behind it.
    const [, fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(/\) (?=[^)]*$)/);
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${fields.split(' ')[19]}`;
  } catch {
    return '';
  }
}

function isAlive({ host, pid, started }: Holder): boolean {
  // Of another machine's processes this one knows nothing.
  if (host !== hostname()) return true;
  const now = startOf(pid);
  return now !== undefined && (now === started || now === '' || started === '');
}

function holderOf(text: string): Holder | undefined {
  try {
    const { host, pid, started, since } = JSON.parse(text);
    return typeof host === 'string' && typeof pid === 'number' ? { host, pid, started, since } : undefined;
  } catch {
    return undefined;
  }
}

const code = (error: unknown) => (error as NodeJS.ErrnoException).code;

/** Creates the file with its content at once; false if it exists. */
async function create(path: string, text: string): Promise<boolean> {
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(draft, text);
    await link(draft, path);
    return true;
  } catch (error) {
    if (code(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Removes the lock of a dead process, unless another one has replaced it meanwhile. */
async function discard(path: string, seen: string): Promise<void> {
  const aside = `${path}.${randomUUID()}.tmp`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (code(error) === 'ENOENT') return;
    throw error;
  }
  if ((await readFile(aside, 'utf8')) !== seen) await link(aside, path).catch(() => {});
  await rm(aside, { force: true });
}

function locked(path: string, holder: Holder | undefined): VtimeError {
  const who =
    holder === undefined
      ? 'an unknown process'
      : `process ${holder.pid} on ${holder.host}, since ${holder.since}`;
  return new VtimeError('store_locked', `another sweep writes to this folder: ${who}`, {
    file: path,
    expected: 'one writer at a time; another -o, or delete the file if that process is gone',
  });
}

/** Takes the lock of a store; returns what gives it back. Throws store_locked if a living process has it. */
export async function lockStore(dir: string): Promise<() => Promise<void>> {
  const path = join(dir, LOCK);
  const self: Holder = {
    host: hostname(),
    pid: process.pid,
    started: startOf(process.pid) ?? '',
    since: new Date().toISOString(),
  };
  const text = `${JSON.stringify(self)}\n`;
  for (let attempt = 0; attempt < 3; attempt++) {
    if (await create(path, text)) {
      held.add(path);
      return async () => {
        held.delete(path);
        await rm(path, { force: true });
      };
    }
    const seen = await readFile(path, 'utf8').catch((error) => {
      if (code(error) === 'ENOENT') return undefined;
      throw error;
    });
    if (seen === undefined) continue;
    const holder = holderOf(seen);
    // The pid is this process's own, but it doesn't hold the lock: an earlier one had the same.
    const isOwn = holder?.host === self.host && holder.pid === self.pid && !held.has(path);
    if (holder === undefined || (isAlive(holder) && !isOwn)) throw locked(path, holder);
    await discard(path, seen);
  }
  throw locked(path, undefined);
}
