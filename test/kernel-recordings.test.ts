// The committed recordings of real kernels: whole, and consistent in themselves.

import { readdirSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readRecording } from '../src/bpf/recording/file.js';
import { RECORD_KINDS as KIND } from '../src/bpf/recording/schema.js';

const FOLDER = 'test/recordings';
const files = readdirSync(FOLDER).filter((name) => name.endsWith('.arrow.gz'));

test('there are recordings', () => {
  assert.ok(files.length > 0);
});

for (const file of files) {
  const { info, columns, length } = readRecording(`${FOLDER}/${file}`);
  const isFair = info.object_sha256 === '';
  const end = BigInt(info.start_ns) + BigInt(info.duration_ns);

  test(`${file}: complete, exact, of every task of its config`, () => {
    assert.is(info.dropped, 0);
    assert.is(info.mode, 'exact');
    assert.ok(length > 1000);
    const pids = new Set(columns.pid);
    for (const { pid, name } of info.tasks) assert.ok(pids.has(pid), `${name} (${pid}) has no event`);
  });

  test(`${file}: a task stops before it runs again, and its CPU time never falls`, () => {
    const running = new Set<number>();
    const exec = new Map<number, bigint>();
    for (let i = 0; i < length; i++) {
      const pid = columns.pid[i];
      const kind = columns.kind[i];
      if (kind !== KIND.running && kind !== KIND.stopping) continue;
      // Tracepoints are switched on while tasks run.
      if (kind === KIND.stopping && isFair && !exec.has(pid)) continue;
      assert.is(running.has(pid), kind === KIND.stopping, `row ${i}`);
      if (kind === KIND.running) running.add(pid);
      else running.delete(pid);
      assert.ok(columns.exec_ns[i] >= (exec.get(pid) ?? 0n), `row ${i}`);
      exec.set(pid, columns.exec_ns[i]);
    }
    // The tasks share so many CPUs from the making of the first to the end of the last.
    const used = [...exec.values()].reduce((sum, ns) => sum + ns, 0n);
    assert.ok(used <= BigInt(info.cpus) * (end - columns.time_ns[0]));
  });

  test(`${file}: times of different CPUs are swapped by a few of the emulator's turns at most`, () => {
    let latest = 0n;
    for (const time of columns.time_ns) {
      assert.ok(time + 5_000_000n > latest);
      if (time > latest) latest = time;
    }
  });
}

test.run();
