// One short boot for CI: `node bpf/vm/ci.mjs`. Records a committed workload anew on 4 CPUs and checks the recording.
// Exit status: 77 with a line `skipped: REASON` if packages or the compiler cannot be had, 1 for a difference.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readRecording, recordingToArrow } from '../../dist/src/bpf/recording/file.js';

const NAME = 'sleepers-and-hogs-4';
const SKIPPED = 77;
/** Host time for the boot on a busy machine; it takes half a minute on a free one. */
const TIMEOUT = '5min';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const vtime = join(root, 'bin/vtime.js');

function skip(reason) {
  console.log(`skipped: ${reason.trim()}`);
  process.exit(SKIPPED);
}

if (spawnSync('gcc', ['--version']).status !== 0) {
  const installed = spawnSync(join(root, 'scripts/debian-packages.sh'), ['gcc', 'libc6-dev'], {
    encoding: 'utf8',
  });
  if (installed.status !== 0) skip('gcc cannot be installed');
}

const folder = mkdtempSync(join(tmpdir(), 'vtime-ci-'));
try {
  const out = join(folder, 'recording.arrow.gz');
  const config = join(root, 'bpf/vm/workloads/sleepers-and-hogs.yaml');
  const recorded = spawnSync(
    process.execPath,
    [vtime, 'kernel', 'record', config, '--cpus', '4', '-o', out, '--timeout', TIMEOUT],
    { encoding: 'utf8' },
  );
  process.stdout.write(recorded.stdout);
  process.stderr.write(recorded.stderr);
  // What cannot be fetched or compiled is the machine's; what the guest does is ours.
  if (recorded.status === 2) skip(recorded.stderr.split('\n').at(-2) ?? 'no reason given');
  if (recorded.status !== 0) process.exit(1);
  const now = readRecording(out);
  const committed = readRecording(join(root, 'test/recordings', `${NAME}.arrow.gz`));
  const equal = Buffer.from(recordingToArrow(now)).equals(recordingToArrow(committed));
  const same = ['kernel', 'emulator', 'object_sha256'].filter(
    (name) => now.info[name] !== committed.info[name],
  );
  console.log(
    equal
      ? 'equal to the committed recording, byte for byte'
      : `not equal to the committed recording (${same.length > 0 ? `other ${same.join(', ')}` : 'other compiler of the runner?'})`,
  );
  execFileSync(process.execPath, [vtime, 'kernel', 'check', out], { stdio: 'inherit' });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
