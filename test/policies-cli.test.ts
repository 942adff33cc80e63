// `vtime policies`: every policy, its parameters and their defaults, as the schema has them.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { POLICY_NAMES } from '../src/config/schema/policy.js';

async function vtime(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  try {
    return { code: 0, ...(await promisify(execFile)(process.execPath, ['bin/vtime.js', ...args])) };
  } catch (error) {
    return error as { code: number; stdout: string; stderr: string };
  }
}

test('lists every policy, each parameter with a description', async () => {
  const { code, stdout } = await vtime('policies', '--json');
  assert.is(code, 0);
  const policies = JSON.parse(stdout);
  assert.equal(
    policies.map(({ name }: { name: string }) => name),
    [...POLICY_NAMES],
  );
  for (const { name, description, parameters } of policies) {
    assert.ok(description, name);
    for (const parameter of parameters) assert.ok(parameter.description, `${name}.${parameter.name}`);
  }
});

test('prints defaults with their units', async () => {
  const { stdout } = await vtime('policies', 'nest');
  assert.match(stdout, /^nest: Tasks stay on warm cores/);
  assert.match(stdout, /remove_after +2ms/);
  assert.match(stdout, /reserve +5/);
  assert.match(stdout, /impatient_after +2/);
  const domains = await vtime('policies', 'domains');
  assert.match(domains.stdout, /domains +1 /);
});

test('a mistyped name suggests the near one', async () => {
  const { code, stderr } = await vtime('policies', 'nset');
  assert.is(code, 2);
  assert.match(stderr, /unknown policy "nset"; did you mean "nest"\?/);
});

test.run();
