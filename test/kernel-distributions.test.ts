// The simulator and a real kernel, each running freely on the same workload: how long tasks run, how long they wait.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readRecording } from '../src/bpf/recording/file.js';
import { compareSamples, recordedSamples, simulatedSamples } from '../src/bpf/replay/distributions.js';

const FOLDER = 'test/recordings';
const QUANTUM_NS = 1_000_000;

const test = suite('distributions beside a real kernel');

for (const name of readdirSync(FOLDER).filter((file) =>
  /^(distribution|sleepers-and-hogs|oversubscribed-affinity)-4\.arrow\.gz$/.test(file),
)) {
  test(`within 0.05 at the emulator's resolution: ${name}`, async () => {
    const recording = readRecording(join(FOLDER, name));
    const rows = compareSamples(recordedSamples(recording), await simulatedSamples(recording), QUANTUM_NS);
    for (const { quantity, resolved, recorded } of rows) {
      assert.ok(recorded > 100, `${quantity}: ${recorded} samples`);
      assert.ok(resolved <= 0.05, `${quantity}: ${resolved}`);
    }
  });
}

test.run();
