// One short boot for CI: `node bpf/vm/ci.mjs`. Records a committed workload anew on 4 CPUs and checks the recording.
// Exit status: 77 with a line `skipped: REASON` if packages or the compiler cannot be had, 1 for a difference.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readRecording, recordingToArrow } from '../../dist/src/bpf/recording/file.js';
import { recordKernel } from '../../dist/src/bpf/vm/record.js';
import { VtimeError } from '../../dist/src/errors.js';

const SKIPPED = 77;
/** Host time for the boot on a busy machine; it takes half a minute on a free one. */
const TIMEOUT_MS = 300_000;
/** What the machine lacks; anything else is our fault. */
const LACKS = ['vm_packages', 'vm_compiler', 'vm_loader'];

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

if (spawnSync('gcc', ['--version']).status !== 0) {
  spawnSync(join(root, 'scripts/debian-packages.sh'), ['gcc', 'libc6-dev'], { stdio: 'inherit' });
}

const committed = readRecording(join(root, 'test/recordings/sleepers-and-hogs-4.arrow.gz'));
const folder = mkdtempSync(join(tmpdir(), 'vtime-ci-'));
try {
  const { recording, wall_ms } = await recordKernel({
    config: committed.info.config,
    timeout_ms: TIMEOUT_MS,
    say: (text) => console.log(text),
  });
  console.log(`${recording.length} events in ${(wall_ms / 1000).toFixed(1)} s`);
  const equal = Buffer.from(recordingToArrow(recording)).equals(recordingToArrow(committed));
  const other = ['kernel', 'emulator', 'object_sha256'].filter(
    (name) => recording.info[name] !== committed.info[name],
  );
  const why =
    other.length > 0 ? `other ${other.join(', ')}` : 'another compiler of the runner, or a busy host';
  console.log(
    `${equal ? 'equal' : 'not equal'} to the committed recording${equal ? ', byte for byte' : ` (${why})`}`,
  );
  const out = join(folder, 'recording.arrow');
  writeFileSync(out, recordingToArrow(recording));
  const checked = spawnSync(process.execPath, [join(root, 'bin/vtime.js'), 'kernel', 'check', out], {
    stdio: 'inherit',
  });
  process.exitCode = checked.status === 0 ? 0 : 1;
} catch (error) {
  if (!(error instanceof VtimeError)) throw error;
  const lacks = LACKS.includes(error.code);
  console.log(lacks ? `skipped: ${error.message}` : error.message);
  process.exitCode = lacks ? SKIPPED : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
