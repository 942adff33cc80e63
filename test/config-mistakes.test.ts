// Malformed configs: every mistake with its place and what would have been right, all of them at once.

import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parse } from 'yaml';
import { configFrom } from '../src/config/load.js';
import { ConfigError } from '../src/config/mistakes.js';
import { expandSweep } from '../src/sweep/grid.js';
import { mistakesIn, ONE_JOB, refuses } from './support/mistakes.js';

test('the text itself: syntax, duplicates, emptiness', () => {
  assert.equal(mistakesIn(''), ['c.yaml:1:1: the config is empty']);
  assert.equal(mistakesIn('[1, 2]'), ['c.yaml:1:1: expected a mapping, got a list']);
  assert.match(mistakesIn(`seed: 1\nseed: 2\n${ONE_JOB}`)[0], /^c\.yaml:2:1: Map keys must be unique/);
  assert.match(mistakesIn('workload: [')[0], /^c\.yaml:1:\d+: Flow sequence/);
  assert.equal(mistakesIn('seed: 1'), ['c.yaml:1:1 workload: missing; expected a mapping']);
});

test('top level: unknown keys suggest the near name', () => {
  refuses('sed: 4', '1:1 sed: unknown key "sed"; did you mean "seed"?');
  refuses('seed: -1', '1:7 seed: expected a whole number of at least 0, got -1');
  refuses('seed: 1.5', '1:7 seed: expected a whole number of at least 0 or "random", got 1.5');
  refuses('seed: often', '1:7 seed: expected a whole number of at least 0 or "random", got "often"');
  // Neither a safe integer nor below the bound, and said once.
  refuses(
    'seed: 99999999999999999999',
    '1:7 seed: expected a whole number from 0 to 9007199254740991, got 100000000000000000000',
  );
  refuses('seed: 1e400', '1:7 seed: expected a whole number of at least 0 or "random", got Infinity');
  assert.equal(mistakesIn('x'.repeat(1000)), [`c.yaml:1:1: expected a mapping, got "${'x'.repeat(60)}"…`]);
  refuses('name: 7', '1:7 name: expected a text, got 7');
  refuses(
    'zzz: 1',
    '1:1 zzz: unknown key "zzz"; known keys are name, seed, machine, kernel, policy, workload, run, output, sweep',
  );
});

test('all mistakes are reported at once, in the order of the file', () => {
  const found = mistakesIn(
    [
      'seed: x',
      'kernel: {hz: 250}',
      'policy: {name: global-fifo, slice: 3, slcie: 3ms}',
      'workload:',
      '  tasks:',
      '    - {name: a, program: [{run: 5}, {slep: 1s}, {receive: q}]}',
      'run: {horizon: 5}',
    ].join('\n'),
  );
  assert.equal(
    found.map((line) => line.replace(/: .*/, '')),
    [
      'c.yaml:1:7 seed',
      'c.yaml:2:14 kernel.hz',
      'c.yaml:3:36 policy.slice',
      'c.yaml:3:39 policy.slcie',
      'c.yaml:6:33 workload.tasks[0].program[0].run',
      'c.yaml:6:38 workload.tasks[0].program[1].slep',
      'c.yaml:7:16 run.horizon',
    ],
  );
  // A mistake in another section doesn't hide what is wrong with a well-formed workload.
  const both = mistakesIn('seed: x\nworkload: {tasks: [{name: a, program: nothing}]}');
  assert.is(both.length, 2);
});

/** All paths of a value, its own included. */
function pathsOf(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [path];
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [path, ...keys.flatMap((key) => pathsOf(Reflect.get(value, key), [...path, key]))];
}

test('whatever stands anywhere in a config, it is accepted or refused, and nothing else happens', () => {
  const examples = readdirSync('examples').map((name) => parse(readFileSync(`examples/${name}`, 'utf8')));
  const anything = fc.oneof(
    fc.constantFrom<unknown>(
      '',
      '3ms',
      '-1s',
      '50%',
      '0-3',
      'all',
      'none',
      0,
      -1,
      0.5,
      1e300,
      null,
      true,
      [],
      {},
    ),
    fc.jsonValue({ maxDepth: 2 }),
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...examples),
      fc.nat(),
      anything,
      fc.boolean(),
      (example, pick, value, add) => {
        const config = structuredClone(example);
        const paths = pathsOf(config).filter((path) => path.length > 0);
        const path = paths[pick % paths.length];
        const parent = path.slice(0, -1).reduce((inner, key) => inner[key], config);
        if (add) Object.assign(parent, { [`${path.at(-1)}x`]: value });
        else parent[path[path.length - 1]] = value;
        try {
          expandSweep(configFrom(config));
        } catch (error) {
          assert.instance(error, ConfigError, String((error as Error).stack));
        }
      },
    ),
    { numRuns: 400 },
  );
});

test('a name that every JavaScript object has is no program', () => {
  assert.equal(mistakesIn('workload: {tasks: [{name: a, program: toString}]}'), [
    'c.yaml:1:39 workload.tasks[0].program: unknown program "toString"; there is no program',
  ]);
});

test('aliases and tags that mean nothing are refused', () => {
  assert.match(mistakesIn(`${ONE_JOB}\nname: *label`)[0], /Unresolved alias/);
  assert.match(mistakesIn(`${ONE_JOB}\nname: !label x`)[0], /^c\.yaml:2:7: Unresolved tag: !label/);
  const bomb = `a: &a [${Array(12).fill('x').join()}]\nb: &b [${Array(12).fill('*a').join()}]\nc: [${Array(99).fill('*b').join()}]`;
  assert.match(mistakesIn(bomb)[0], /Excessive alias count/);
  assert.match(mistakesIn(`${'['.repeat(20000)}`)[0], /c\.yaml/);
});

test('JSON is read with the same places', () => {
  const text =
    '{\n\t"workload": {\n\t\t"tasks": [\n\t\t\t{"name": "a", "program": [{"run": 3}]}\n\t\t]\n\t}\n}\n';
  assert.match(mistakesIn(text)[0], /^c\.yaml:4:38 workload\.tasks\[0\]\.program\[0\]\.run: 3 has no unit/);
});

test.run();
