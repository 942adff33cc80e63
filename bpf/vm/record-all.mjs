// Makes the committed recordings of test/recordings anew: `node bpf/vm/record-all.mjs [NAME...]`. Needs `npm run setup`.
// One boot takes half a minute to a few minutes, one after the other.

import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const workloads = ['sleepers-and-hogs', 'pollers-and-forks', 'oversubscribed-affinity'];
const AS_CODED = 'policy={name: domains-as-coded, domains: 2, slice: 3ms}';

/** vtime begins 5.2 s before 2^64 on the guest's clock: the tasks start at about 9 s, and the clock passes it among them. */
const WRAP = 2n ** 64n - 9_000_000_000n;

const recordings = workloads.flatMap((workload) =>
  [4, 8].flatMap((cpus) => [
    { name: `${workload}-${cpus}`, workload, cpus, options: [] },
    { name: `${workload}-as-coded-${cpus}`, workload, cpus, options: ['--set', AS_CODED] },
  ]),
);
recordings.push(
  ...[4, 8].map((cpus) => ({
    name: `sleepers-and-hogs-wrap-${cpus}`,
    workload: 'sleepers-and-hogs',
    cpus,
    options: ['--rodata', `vtime_base=${WRAP}`],
  })),
);

const wanted = process.argv.slice(2);
for (const { name, workload, cpus, options } of recordings) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  execFileSync(
    process.execPath,
    [
      join(root, 'bin/vtime.js'),
      ...['kernel', 'record', join(root, 'bpf/vm/workloads', `${workload}.yaml`), '--cpus', String(cpus)],
      ...['-o', join(root, 'test/recordings', `${name}.arrow.gz`), ...options],
    ],
    { stdio: 'inherit' },
  );
}
