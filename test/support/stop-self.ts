// Imported before the command (`node --import`): the process signals itself once so many cells are in its journal, so that a
// stop comes in time however busy the machine is. Query: signal, cells (1 or more).

import { open } from 'node:fs/promises';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const query = new URL(import.meta.url).searchParams;
  const signal = query.get('signal') as NodeJS.Signals;
  let left = Number(query.get('cells'));
  const handle = await open('/dev/null');
  const prototype = Object.getPrototypeOf(handle) as typeof handle;
  await handle.close();
  // The journal is the one file that is appended to, a line for each cell.
  const { appendFile } = prototype;
  prototype.appendFile = async function (...parameters) {
    await appendFile.apply(this, parameters);
    if (--left === 0) process.kill(process.pid, signal);
  };
}
