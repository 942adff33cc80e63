// The report of a services run, and comparisons with a reference.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadServices } from '../src/services/load.js';
import { compare } from '../src/services/report/compare.js';
import { servicesReport } from '../src/services/report/html.js';
import { readReference } from '../src/services/report/reference.js';
import { runServices } from '../src/services/run/index.js';
import { commandLine } from './support/command-line.js';
import { temporaryFolder } from './support/folder.js';

const root = temporaryFolder('services-report');

const REFERENCE = 'data/uqsim/reference.json';

test('the page: one file without scripts or requests, with figures, tables and the model', async () => {
  const services = { ...loadServices('data/uqsim/2tier_ngx_4_memc_1'), name: '2 tiers <b>' };
  const options = { rates: [10_000, 50_000], requests: 3000, replications: 2 };
  const { plan, summary } = await runServices(services, options, { workers: 1 });
  const html = await servicesReport(plan, summary, readReference(REFERENCE, '2tier_ngx_4_memc_1'));
  assert.not.match(html, /<script|<link|https?:\/\/|<b>|undefined|NaN/);
  assert.match(html, /<h1>2 tiers &lt;b&gt;<\/h1>/);
  for (const title of [
    'Services',
    'Latency over load',
    'Beside the reference',
    'Tiers',
    'Stages',
    'Provenance',
  ]) {
    assert.ok(html.includes(`<h2>${title}</h2>`), title);
  }
  // Dependencies, latency over load, distributions, utilisation, breakdown, stages of two models.
  assert.is(html.match(/<svg /g)?.length, 7);
  assert.match(html, /n = 2 replications per point/);
});

test('a comparison is relative, and tells whether the busiest tier is below 90 %', async () => {
  const services = loadServices('data/uqsim/2tier_ngx_4_memc_1');
  const { summary } = await runServices(
    services,
    { rates: [10_000, 11_000], requests: 2000, replications: 1 },
    { workers: 1 },
  );
  const [point] = summary.points;
  const [at] = readReference(REFERENCE, '2tier_ngx_4_memc_1').filter(({ kqps }) => kqps === 10);
  const comparisons = compare(summary, [{ ...at, mean_ms: (point.mean_ms?.mean ?? 0) / 1.5 }]);
  assert.is(comparisons.length, 1);
  assert.ok(Math.abs(comparisons[0].mean - 0.5) < 1e-12);
  assert.ok(comparisons[0].isBelow);
  // 2000 requests do not tell the 99.9 % quantile.
  assert.is(comparisons[0].quantiles[0.999], undefined);
});

test('mistakes of a reference', async () => {
  const file = join(root, 'reference.json');
  writeFileSync(file, '{"a": [{"kqps": 1, "mean_ms": "fast"}]}');
  const cases: [string, RegExp][] = [
    [`${REFERENCE}:3teir`, /the reference has no "3teir"; expected perhaps "3tier"/],
    ['nothing.json:a', /can't read the reference/],
    [`${file}:a`, /reference\.json a\[0\]\.mean_ms: expected a number/],
    ['a', /--reference is "a"; expected FILE:KEY/],
  ];
  for (const [reference, message] of cases) {
    const { exitCode, stderr } = await commandLine(
      'services',
      'run',
      'data/uqsim/derived/nginx_1',
      '--reference',
      reference,
    );
    assert.is(exitCode, 2);
    assert.match(stderr, message);
  }
});

test('vtime services run -o', async () => {
  const file = join(root, 'report.html');
  const args = [
    '--qps',
    '1k,20k',
    '--requests',
    '1000',
    '--replications',
    '1',
    '--reference',
    `${REFERENCE}:nginx_1proc`,
    '-o',
    file,
  ];
  const { exitCode, stdout, stderr } = await commandLine(
    'services',
    'run',
    'data/uqsim/derived/nginx_1',
    ...args,
  );
  assert.is(exitCode, 0, stderr);
  assert.match(stdout, /beside the reference\n +load +mean +p50/);
  assert.match(readFileSync(file, 'utf8'), /^<!doctype html>/);
});

test.run();
