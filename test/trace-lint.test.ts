// vtime trace lint: a named finding for each quirk, with count, places and severity; --strict.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Finding, lintTrace, RULES } from '../src/trace/index.js';
import { DURATION_HEADER, folderOf } from './support/traces.js';

const HEADER = 'HashOwner,HashApp,HashFunction,Trigger,1,2';
const duration = (f: string, average = 5, count = 3, minimum = 5, maximum = 5) =>
  `o,a,${f},${average},${count},${minimum},${maximum},5,5,5,5,5,5,5`;

const DAY = Array.from({ length: 1440 }, (_, i) => i + 1);

const find = (findings: Finding[], rule: string) => findings.find((finding) => finding.rule === rule);

/** Quirks of public copies of the data: what the table holds, which rule names it, how often, and where first. */
const quirks: { rule: string; count: number; place: string; files: Record<string, string> }[] = [
  {
    rule: 'durations.count-disagrees',
    count: 1,
    place: 'o/a/f',
    files: {
      'i.csv': `HashOwner,HashApp,HashFunction,Trigger,${DAY.join(',')}\no,a,f,http,${DAY.map(() => 19).join(',')}\n`,
      'd.csv': `${DURATION_HEADER}\n${duration('f', 5, 124_573_109)}\n`,
    },
  },
  {
    rule: 'durations.average-zero',
    count: 1,
    place: 'o/a/f',
    files: { 'i.csv': `${HEADER}\no,a,f,http,1,2\n`, 'd.csv': `${DURATION_HEADER}\n${duration('f', 0)}\n` },
  },
  {
    rule: 'durations.average-outside',
    count: 1,
    place: 'o/a/f',
    files: { 'i.csv': `${HEADER}\no,a,f,http,1,2\n`, 'd.csv': `${DURATION_HEADER}\n${duration('f', 9)}\n` },
  },
  {
    rule: 'invocations.minute-cap',
    count: 2,
    place: 'i.csv:2:12',
    files: { 'i.csv': `${HEADER}\no,a,f,http,15000,15000\n` },
  },
  {
    rule: 'invocations.duplicate-key',
    count: 1,
    place: 'i.csv:3',
    files: { 'i.csv': `${HEADER}\no,a,f,http,1,2\no,a,f,http,1,2\n` },
  },
  {
    rule: 'invocations.split-key',
    count: 1,
    place: 'i.csv:3',
    files: { 'i.csv': `${HEADER}\no,a,f,http,1,2\no,a,f,queue,1,2\n` },
  },
  {
    rule: 'durations.missing',
    count: 1,
    place: 'o/a/f',
    files: { 'i.csv': `${HEADER}\no,a,f,http,1,2\n` },
  },
  {
    rule: 'durations.orphan',
    count: 1,
    place: 'd.csv:2',
    files: { 'i.csv': `${HEADER}\no,a,f,http,1,2\n`, 'd.csv': `${DURATION_HEADER}\n${duration('g')}\n` },
  },
  {
    rule: 'memory.orphan',
    count: 1,
    place: 'm.csv:2',
    files: {
      'i.csv': `${HEADER}\no,a,f,http,1,2\n`,
      'm.csv': 'HashOwner,HashApp,SampleCount,AverageAllocatedMb\no,b,1,1\n',
    },
  },
  {
    rule: 'invocations.nan',
    count: 2,
    place: 'i.csv:2:12',
    files: { 'i.csv': `${HEADER}\no,a,f,http,NaN,\n` },
  },
  {
    rule: 'header.late-start',
    count: 1,
    place: 'i.csv:1',
    files: { 'i.csv': 'HashOwner,HashApp,HashFunction,Trigger,480,481\no,a,f,http,1,1\n' },
  },
  {
    rule: 'header.reordered',
    count: 1,
    place: 'i.csv:1',
    files: { 'i.csv': 'HashFunction,HashOwner,HashApp,1\nf,o,a,1\n' },
  },
  {
    rule: 'header.minute-names',
    count: 1,
    place: 'i.csv:1',
    files: { 'i.csv': 'HashOwner,HashApp,HashFunction,minute_1\no,a,f,1\n' },
  },
  {
    rule: 'header.no-trigger',
    count: 1,
    place: 'i.csv:1',
    files: { 'i.csv': 'HashOwner,HashApp,HashFunction,1\no,a,f,1\n' },
  },
  {
    rule: 'keys.function-reused',
    count: 1,
    place: 'o/b/f',
    files: { 'i.csv': `${HEADER}\no,a,f,http,1,2\no,b,f,http,1,2\n` },
  },
];

for (const { rule, count, place, files } of quirks) {
  test(rule, async () => {
    const { findings, errors } = await lintTrace([folderOf(files)]);
    const finding = find(findings, rule);
    assert.is(errors, 0);
    assert.is(finding?.count, count);
    assert.is(finding?.places[0], place);
    assert.is(finding?.severity, RULES[rule as keyof typeof RULES].severity);
  });
}

test('a finding names its first five places', async () => {
  const rows = Array.from({ length: 8 }, (_, i) => `o,a,f${i},http,NaN,1`);
  const { findings } = await lintTrace([folderOf({ 'i.csv': `${HEADER}\n${rows.join('\n')}\n` })]);
  const nan = find(findings, 'invocations.nan')!;
  assert.is(nan.count, 8);
  assert.equal(
    nan.places,
    [2, 3, 4, 5, 6].map((line) => `i.csv:${line}:13`),
  );
});

test('a clean trace has no findings but the partial day', async () => {
  const { findings, warnings } = await lintTrace([
    folderOf({ 'i.csv': `${HEADER}\no,a,f,http,1,2\n`, 'd.csv': `${DURATION_HEADER}\n${duration('f')}\n` }),
  ]);
  assert.is(warnings, 0);
  assert.equal(
    findings.map(({ rule }) => rule),
    ['header.partial-day'],
  );
});

test('what import would refuse is an error with its place', async () => {
  const { findings, errors, format } = await lintTrace([
    folderOf({ 'i.csv': `${HEADER}\no,a,f,http,1,x\n` }),
  ]);
  assert.is(errors, 1);
  assert.is(format, null);
  assert.equal(findings[0].places, ['i.csv:2:14']);
  assert.is(findings[0].action, 'refused');
});

test.run();
