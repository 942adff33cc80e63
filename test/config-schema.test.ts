// The JSON Schema that users' editors see, and the command that prints it.

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import * as z from 'zod';
import { loadConfig, parseConfig } from '../src/config/load.js';
import { configJsonSchema } from '../src/config/schema.js';
import { expandSweep } from '../src/sweep/grid.js';
import { temporaryFolder } from './support/folder.js';

const EXAMPLES = readdirSync('examples').filter((name) => /\.(yaml|json)$/.test(name));

test('there are examples, each valid in every cell', () => {
  assert.ok(EXAMPLES.length >= 9);
  for (const name of EXAMPLES) assert.ok(expandSweep(loadConfig(join('examples', name))).length >= 1, name);
});

test('the JSON Schema accepts the examples and refuses what the config refuses', () => {
  const schema = z.fromJSONSchema(configJsonSchema());
  for (const name of EXAMPLES) {
    const result = schema.safeParse(parse(readFileSync(join('examples', name), 'utf8')));
    assert.ok(result.success, `${name}: ${result.error?.message}`);
  }
  const workload = { tasks: [{ name: 'a', program: [{ run: '3ms' }] }] };
  assert.ok(schema.safeParse({ workload }).success);
  for (const wrong of [
    { workload, sed: 1 },
    { workload, kernel: { hz: 250 } },
    { workload, run: { horizon: 60 } },
    { workload, policy: { name: 'domains', domains: 0 } },
    { workload: { tasks: [{ name: 'a', program: [{ rum: '3ms' }] }] } },
    { workload: { serverless: { trace: 'x', pollers: { share: 10 } } } },
  ]) {
    assert.not(schema.safeParse(wrong).success, JSON.stringify(wrong));
  }
});

/** The command in its own process, from the built package. */
function vtimeConfig(...args: string[]) {
  const script = `import('./dist/src/cli/config.js').then((m) => m.configCommand().parseAsync(${JSON.stringify(args)}, { from: 'user' }))`;
  return spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' });
}

test('config check prints a config that reads back the same', () => {
  const result = vtimeConfig('check', 'examples/mm48.yaml');
  assert.is(result.status, 0);
  assert.match(result.stderr, /^examples\/mm48\.yaml: valid\n$/);
  const [cell] = expandSweep(loadConfig('examples/mm48.yaml'));
  assert.equal(expandSweep(parseConfig(result.stdout))[0].config, cell.config);
  const json = vtimeConfig('check', '--json', '--quiet', 'examples/mm48.yaml');
  assert.is(json.stderr, '');
  assert.equal(JSON.parse(json.stdout), cell.config);
});

test('config check lists the mistakes of all files and exits with 2', () => {
  const file = join(temporaryFolder('config'), 'wrong.yaml');
  writeFileSync(file, 'sed: 1\nworkload: {tasks: [{name: a, program: [{run: 1000}]}]}\n');
  const result = vtimeConfig('check', file, 'examples/mm1.yaml');
  assert.is(result.status, 2);
  assert.match(result.stderr, /wrong\.yaml:1:1 sed: unknown key "sed"; did you mean "seed"\?/);
  assert.match(result.stderr, /wrong\.yaml:2:\d+ workload\.tasks\[0\]\.program\[0\]\.run: 1000 has no unit/);
  assert.match(result.stderr, /mm1\.yaml: valid/);
});

test('config schema prints JSON Schema', () => {
  const result = vtimeConfig('schema');
  assert.is(result.status, 0);
  assert.is(JSON.parse(result.stdout).$schema, 'https://json-schema.org/draft/2020-12/schema');
});

test.run();
