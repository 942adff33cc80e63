// What becomes of a guest that ends well, panics, hangs, or is given up: with a shell script in QEMU's place.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type BootOptions, boot, GuestError } from '../src/bpf/vm/boot.js';
import { AbortedError } from '../src/errors.js';

/** A guest that does what the script says; it runs where QEMU would write console and port. */
const guest = (script: string, more: Partial<BootOptions> = {}) =>
  boot({
    emulator: { command: '/bin/sh', prefix: ['-c', script, 'qemu'], version: '0' },
    kernel: { release: '7.3', image: 'vmlinuz', config: 'config', modules: [] },
    initramfs: new Uint8Array([1, 2, 3]),
    cpus: [{ package: 0, node: 0 }],
    memory_mb: 64,
    exact: true,
    timeout_ms: 20_000,
    ...more,
  });

async function failure(running: Promise<unknown>): Promise<Error> {
  try {
    await running;
  } catch (error) {
    assert.instance(error, Error);
    return error as Error;
  }
  throw new Error('the guest ended well');
}

test('console and port come back as they were written', async () => {
  const { port, console } = await guest("printf 'vtime: done\\r\\n' >console; printf 'end\\n' >port");
  assert.is(port.toString(), 'end\n');
  assert.is(console, 'vtime: done\r\n');
});

test('a panic, an exit code and silence are told apart, with the last lines of the console', async () => {
  const panic = await failure(guest("printf 'one\\nKernel panic - not syncing: no init\\n' >console"));
  assert.instance(panic, GuestError);
  assert.match(panic.message, /panicked.*\n {2}one\n {2}Kernel panic - not syncing/);
  const code = await failure(guest("echo 'no such machine' >&2; exit 3"));
  assert.match(code.message, /ended with code 3: no such machine \(its console is empty\)/);
  assert.is((code as GuestError).exitCode, 1);
});

test('a guest that hangs is stopped after its time', async () => {
  const begin = Date.now();
  const hung = await failure(guest('echo waiting >console; exec sleep 30', { timeout_ms: 300 }));
  assert.match(hung.message, /did not finish within 0\.3 s.*\n {2}waiting/);
  assert.ok(Date.now() - begin < 10_000);
});

test('an abort stops it at once, also one that came before', async () => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 200);
  const aborted = await failure(guest('exec sleep 30', { signal: controller.signal }));
  assert.instance(aborted, AbortedError);
  assert.instance(await failure(guest('exec sleep 30', { signal: controller.signal })), AbortedError);
});

test.run();
