// Recordings of the real schedulers in a real kernel (test/recordings/ORIGIN.md): the simulated core and the native policy
// decide the same, record by record.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readRecording } from '../src/bpf/recording/file.js';
import { replay } from '../src/bpf/replay/replay.js';
import { consistentLimit, consistentShare } from '../src/bpf/replay/report.js';
import type { ReplayResult } from '../src/bpf/replay/verdicts.js';

const FOLDER = 'test/recordings';
/** Recordings of sched_ext objects; the fair class has no dispatch to compare. */
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.arrow.gz') && !/eevdf|cfs/.test(name));

const test = suite('recordings of a real kernel');
const results: ReplayResult[] = [];

test('there are some', () => {
  assert.ok(FILES.length >= 3, FILES.join(', '));
});

for (const name of FILES) {
  test(`every decision is explained: ${name}`, () => {
    const result = replay(readRecording(join(FOLDER, name)));
    results.push(result);
    assert.equal(result.unexplained, []);
    assert.ok(result.decisions.move.exact > 300, `${result.decisions.move.exact} moves`);
  });
}

test('few decisions need an overlap', () => {
  for (const cpus of new Set(results.map((result) => result.cpus))) {
    const share = consistentShare(results.filter((result) => result.cpus === cpus));
    assert.ok(share <= (consistentLimit(cpus) ?? 1), `${cpus} CPUs: ${share}`);
  }
});

test.run();
