// Files and folders that a user names for results: what can't be written is told before the work, and a file is written whole
// or not at all. Errors (exit code 2): output_unwritable.

import { randomUUID } from 'node:crypto';
import { accessSync, constants, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { VtimeError } from './errors.js';

/** How the name of a file ends that is being written. */
export const DRAFT_SUFFIX = '.tmp';

const A_FILE = 'the path of a file in a writable folder';
const A_FOLDER = 'the path of a folder that is writable, or can be made';

function unwritable(file: string, error: unknown, expected: string): VtimeError {
  const reason = (error as NodeJS.ErrnoException).code ?? String(error);
  return new VtimeError('output_unwritable', `cannot write: ${reason}`, { file, expected });
}

/** A refusal with the code that the system would give. */
const refusal = (code: string) => Object.assign(new Error(code), { code });

const statOf = (path: string) => statSync(path, { throwIfNoEntry: false });

/** Refuses a folder that is none, or that can't be made because the nearest one above is no folder or not writable. */
function checkWritable(path: string): void {
  let folder = resolve(path);
  while (statOf(folder) === undefined) folder = dirname(folder);
  if (!statSync(folder).isDirectory()) throw refusal('ENOTDIR');
  accessSync(folder, constants.W_OK);
}

function checkFile(path: string): void {
  if (path === '') throw refusal('ENOENT');
  if (path.endsWith('/') || statOf(path)?.isDirectory()) throw refusal('EISDIR');
  checkWritable(dirname(resolve(path)));
}

/** Folders one by one: Node's own recursion never ends where a file system has no room for them, as in /proc. */
function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let folder = resolve(path); statOf(folder) === undefined; folder = dirname(folder))
    missing.push(folder);
  for (const folder of missing.reverse()) {
    try {
      mkdirSync(folder);
    } catch (error) {
      // Another process was faster.
      if (!statOf(folder)?.isDirectory()) throw error;
    }
  }
}

/** Refuses a path that can't become a file. */
export function checkOutput(path: string): void {
  try {
    checkFile(path);
  } catch (error) {
    throw unwritable(path, error, A_FILE);
  }
}

/** Refuses a path that can't become a folder. */
export function checkOutputFolder(path: string): void {
  try {
    if (path === '') throw refusal('ENOENT');
    checkWritable(path);
  } catch (error) {
    throw unwritable(path, error, A_FOLDER);
  }
}

/** Makes a folder for results, unless it is there. */
export function makeOutputFolder(path: string): void {
  checkOutputFolder(path);
  try {
    makeFolder(path);
  } catch (error) {
    throw unwritable(path, error, A_FOLDER);
  }
}

/** Writes a file, its folder included; a reader sees the whole file or none. */
export function writeOutput(path: string, content: string | Uint8Array): void {
  checkOutput(path);
  // A device or a pipe stays what it is.
  const isFile = statOf(path)?.isFile() ?? true;
  const draft = isFile ? `${path}.${randomUUID()}${DRAFT_SUFFIX}` : path;
  try {
    makeFolder(dirname(resolve(path)));
    writeFileSync(draft, content);
    if (isFile) renameSync(draft, path);
  } catch (error) {
    if (isFile) rmSync(draft, { force: true });
    throw unwritable(path, error, A_FILE);
  }
}
