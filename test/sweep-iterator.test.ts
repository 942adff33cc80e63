// sweep() as an async iterator: leaving its loop, in whatever way, leaves no threads behind.

import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { sweep } from '../src/index.js';
import { node, SPLIT } from './support/sweeps.js';
import { failure } from './support/traces.js';

/** Threads of this process, Node's own included. Only Linux tells. */
const threads = () => (process.platform === 'linux' ? readdirSync('/proc/self/task').length : 0);

/** Threads after they had time to end. */
async function settled(before: number): Promise<number> {
  for (let i = 0; i < 100 && threads() > before; i++) await sleep(20);
  return threads();
}

/** Node starts its own helper threads when they are first needed: a whole sweep has needed them all. */
for await (const _ of sweep(SPLIT, { workers: 2 }));
const before = threads();

test('after break, return and throw in the loop the workers have ended', async () => {
  let during = 0;
  for await (const _ of sweep(SPLIT, { workers: 2 })) {
    during = threads();
    break;
  }
  if (process.platform === 'linux') assert.ok(during > before, `${during} threads, ${before} before`);
  assert.is(await settled(before), before);

  const leave = async (): Promise<number> => {
    for await (const { seed } of sweep(SPLIT, { workers: 2 })) return seed;
    return -1;
  };
  assert.is.not(await leave(), -1);
  assert.is(await settled(before), before);

  const thrown = async (): Promise<void> => {
    for await (const _ of sweep(SPLIT, { workers: 2 })) throw new Error('enough');
  };
  assert.is(await thrown().catch(({ message }) => message), 'enough');
  assert.is(await settled(before), before);
});

test('after the signal, before or during the sweep, the workers have ended', async () => {
  const aborted = AbortSignal.abort();
  const early = await failure(async () => {
    for await (const _ of sweep(SPLIT, { workers: 2, signal: aborted }));
  });
  assert.is(early.exitCode, 130);
  assert.is(await settled(before), before);
  const controller = new AbortController();
  const late = await failure(async () => {
    for await (const _ of sweep(SPLIT, { workers: 2, signal: controller.signal })) controller.abort();
  });
  assert.is(late.exitCode, 130);
  assert.is(await settled(before), before);
});

test('a program that breaks out ends by itself', async () => {
  const script = `
    import { sweep } from './dist/src/index.js';
    import { SPLIT } from './dist/test/support/sweeps.js';
    for await (const cell of sweep(SPLIT, { workers: 2 })) { console.log(cell.outcome); break; }
  `;
  const { code, stdout, stderr } = await node(['--input-type=module', '-e', script]);
  assert.equal({ code, stdout, stderr }, { code: 0, stdout: 'completed\n', stderr: '' });
});

test.run();
