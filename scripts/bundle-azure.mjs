// Makes data/azure2019 from the public 100-function sample of Azure Functions 2019, day 1 (see
// data/azure2019/ORIGIN.md): node scripts/bundle-azure.mjs SAMPLE_FOLDER data/azure2019
// SAMPLE_FOLDER holds one invocations, one durations and one memory table. Needs `npm run build:ts`.
// Rows are copied byte for byte, in the order of the source; headers as they are.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { functionRows, readTrace, selectFunctions } from '../dist/src/trace/index.js';

/** The rule, explained in ORIGIN.md. */
const RULE = { eligible: true, maximum_mean_ms: 3000, functions: 28, by: 'invocations', maximum_share: 0.25 };

const [source, target] = process.argv.slice(2);
if (!source || !target) {
  process.stderr.write('usage: node scripts/bundle-azure.mjs SAMPLE_FOLDER TARGET_FOLDER\n');
  process.exit(2);
}

const trace = selectFunctions(await readTrace(source), RULE);
const keep = new Set(functionRows(trace).map((row) => row.function_id));

for (const name of readdirSync(source).filter((file) => file.endsWith('.csv'))) {
  const [header, ...lines] = readFileSync(join(source, name), 'utf8').trimEnd().split('\n');
  const columns = header.trimEnd().split(',');
  const fields = ['HashOwner', 'HashApp', 'HashFunction'].map((key) => columns.indexOf(key));
  const rows = lines.filter((line) => {
    const cells = line.split(',');
    return keep.has(fields.map((i) => cells[i]).join('/'));
  });
  const table = /duration/.test(name) ? 'durations' : /memory/.test(name) ? 'memory' : 'invocations';
  writeFileSync(join(target, `${table}.csv`), `${[header, ...rows].join('\n')}\n`);
  process.stderr.write(`${table}.csv: ${rows.length} rows\n`);
}
process.stderr.write(`${JSON.stringify(trace.provenance.steps, null, 2)}\n`);
