// Makes the committed recordings of test/recordings anew: `node bpf/vm/record-all.mjs [NAME...]`. Needs `npm run setup`.
// One boot takes half a minute to a few minutes, one after the other.

import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readRecording } from '../../dist/src/bpf/recording/file.js';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const fileOf = (name) => join(root, 'test/recordings', `${name}.arrow.gz`);

/** The task counts of the workloads on 4 CPUs; they grow with the machine. */
const COUNTS = {
  'sleepers-and-hogs': { hog: 5, sleeper: 8, rare: 3, unmapped: 2 },
  'pollers-and-forks': { poller: 4, parent: 3 },
  'oversubscribed-affinity': { roamer: 10, narrow: 3, victim: 2 },
  distribution: { long: 6, short: 12 },
};

/** Fair classes, of kernels of their own. */
const FAIR = ['eevdf', 'cfs'];

/** Time after the start of the run at which vtimes that are set to "now" pass 2^64. */
const WRAP_AFTER_NS = 200_000_000n;

/** Base of the vtimes; when the run starts is known from the recording without a base. */
function wrapBase(workload, cpus) {
  const { start_ns } = readRecording(fileOf(`${workload}-${cpus}`)).info;
  return 2n ** 64n - BigInt(start_ns) - WRAP_AFTER_NS;
}

/** Where in the steps of the workload a mask is, and the mask on n CPUs that corresponds to that on 4. */
const MASKS = {
  'oversubscribed-affinity': (n) => ({
    'programs.roamer.0.loop.do.1.affinity': `0-${n / 2 - 1}`,
    'programs.roamer.0.loop.do.4.affinity': `${n / 4}-${n - 1}`,
    'programs.roamer.0.loop.do.6.affinity': `0-${n - 1}`,
    'programs.mover.0.loop.do.0.affinity': `${n / 2}`,
    'programs.mover.0.loop.do.2.affinity': `0-${n - 1}`,
  }),
};

function settings(workload, cpus, variant) {
  const scale = cpus / 4;
  const fields = { 'policy.domains': 2 * scale };
  if (variant === 'as-coded') fields.policy = `{name: domains-as-coded, domains: ${2 * scale}, slice: 3ms}`;
  if (FAIR.includes(variant)) fields.policy = 'eevdf';
  if (fields.policy !== undefined) delete fields['policy.domains'];
  for (const [task, count] of Object.entries(COUNTS[workload])) {
    fields[`workload.tasks.${task}.count`] = count * scale;
  }
  for (const [path, mask] of Object.entries(MASKS[workload]?.(cpus) ?? {}))
    fields[`workload.${path}`] = `"${mask}"`;
  return Object.entries(fields).flatMap(([path, value]) => ['--set', `${path}=${value}`]);
}

function recording(workload, cpus, variant) {
  const name = [workload, variant, cpus].filter((part) => part !== '').join('-');
  const rodata = () => (variant === 'wrap' ? ['--rodata', `vtime_base=${wrapBase(workload, cpus)}`] : []);
  const scheduler = FAIR.includes(variant) ? ['--scheduler', variant] : [];
  const metronome = workload === 'distribution' ? ['--metronome', '8192'] : [];
  const options = () => [...settings(workload, cpus, variant), ...scheduler, ...metronome, ...rodata()];
  return { name, workload, cpus, options };
}

const WORKLOADS = ['sleepers-and-hogs', 'pollers-and-forks', 'oversubscribed-affinity'];
const recordings = [4, 8, 16].flatMap((cpus) => [
  ...WORKLOADS.flatMap((workload) => [recording(workload, cpus, ''), recording(workload, cpus, 'as-coded')]),
  recording('sleepers-and-hogs', cpus, 'wrap'),
]);
recordings.push(...['', ...FAIR].map((variant) => recording('distribution', 4, variant)));

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !recordings.some((recording) => recording.name === name));
if (unknown.length > 0) {
  console.error(
    `no recording ${unknown.join(', ')}; there are ${recordings.map(({ name }) => name).join(', ')}`,
  );
  process.exit(2);
}
for (const { name, workload, cpus, options } of recordings) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  execFileSync(
    process.execPath,
    [
      join(root, 'bin/vtime.js'),
      ...['kernel', 'record', join(root, 'bpf/vm/workloads', `${workload}.yaml`), '--cpus', String(cpus)],
      ...['-o', fileOf(name), ...options()],
    ],
    { stdio: 'inherit' },
  );
}
