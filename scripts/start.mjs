// npm start: the bundled Azure trace through EEVDF and scheduling domains, and the report.
// `npm start -- --quick`, or CI=true: a tenth of the window.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setup } from './setup.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const OUT = 'out';
const CONFIG = 'examples/azure.yaml';
const args = process.argv.slice(2);
const unknown = args.filter((arg) => arg !== '--quick');
if (unknown.length > 0) {
  process.stderr.write(`unknown option ${unknown[0]}; expected --quick or nothing\n`);
  process.exit(2);
}
const isQuick = args.includes('--quick') || process.env.CI === 'true';

function vtime(...command) {
  const { status, signal } = spawnSync(process.execPath, [join(ROOT, 'bin', 'vtime.js'), ...command], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  // Interrupted: what is finished is in out/, and the next start goes on.
  if (status !== 0) process.exit(status ?? (signal === 'SIGINT' ? 130 : 1));
}

/** The option that ends arrivals after a tenth of the config's window. */
async function tenth() {
  const { loadConfig } = await import('../dist/src/config/load.js');
  const { durationNs, formatDuration } = await import('../dist/src/config/units.js');
  const { length } = loadConfig(join(ROOT, CONFIG)).workload.serverless.window;
  return ['--set', `run.horizon=${formatDuration(durationNs(length) / 10n)}`];
}

// Ctrl-C reaches the child as well, which ends in its own way.
process.on('SIGINT', () => {});
setup();
const started = performance.now();
vtime('sweep', CONFIG, '--out', OUT, ...(isQuick ? await tenth() : []));
vtime('report', OUT, '--quiet');

const { cells, events, events_per_s, workers } = JSON.parse(
  readFileSync(join(ROOT, OUT, 'run.json'), 'utf8'),
);
const count = (value) => Math.round(value).toLocaleString('en-US');
const speed =
  events_per_s > 0
    ? `${count(events_per_s)} events per second on ${workers} threads`
    : 'all from an earlier run';
process.stdout.write(
  `\n${cells.total} cells, ${count(events)} events, ${speed}\n` +
    `${((performance.now() - started) / 1000).toFixed(1)} s with the report\n` +
    `report: ${OUT}/report.html\n`,
);
