// Files that a command writes: whole or not at all, and a path that can't be written is told before the work, not after it.

import { randomUUID } from 'node:crypto';
import { accessSync, constants, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { VtimeError } from '../errors.js';

function unwritable(path: string, reason: string): never {
  throw new VtimeError('output_unwritable', `cannot write: ${reason}`, {
    file: path,
    expected: 'the path of a file in a writable folder',
  });
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? String(error);

/** Refuses a path that can't become a file: a folder, or one whose nearest folder is no folder or not writable. */
export function checkOutput(path: string): void {
  try {
    if (path.endsWith('/') || statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
      unwritable(path, 'EISDIR');
    }
    let folder = dirname(resolve(path));
    while (statSync(folder, { throwIfNoEntry: false }) === undefined) folder = dirname(folder);
    if (!statSync(folder).isDirectory()) unwritable(path, 'ENOTDIR');
    accessSync(folder, constants.W_OK);
  } catch (error) {
    if (error instanceof VtimeError) throw error;
    unwritable(path, codeOf(error));
  }
}

/** Writes a file that the user named, its folder included; a reader sees the whole file or none. */
export function writeOutput(path: string, content: string | Uint8Array): void {
  checkOutput(path);
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? true;
  // A device or a pipe stays what it is.
  const draft = isFile ? `${path}.${randomUUID()}.tmp` : path;
  try {
    mkdirSync(dirname(resolve(path)), { recursive: true });
    writeFileSync(draft, content);
    if (isFile) renameSync(draft, path);
  } catch (error) {
    if (isFile) rmSync(draft, { force: true });
    unwritable(path, codeOf(error));
  }
}
