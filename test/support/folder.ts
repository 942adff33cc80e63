// Folders for what a test writes, gone when its process ends.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made: string[] = [];

function removeAll(): void {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
}

/** A new folder outside the repository. */
export function temporaryFolder(name: string): string {
  if (made.length === 0) {
    process.on('exit', removeAll);
    // A signal ends a process without `exit` unless someone listens.
    process.once('SIGINT', () => process.exit(130));
    process.once('SIGTERM', () => process.exit(143));
  }
  const folder = mkdtempSync(join(tmpdir(), `vtime-${name}-`));
  made.push(folder);
  return folder;
}
