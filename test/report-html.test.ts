// The HTML report: one file that asks for nothing, escapes everything, and says what it shows.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../src/config/load.js';
import { Histogram } from '../src/engine/histogram.js';
import { exceedance, stintShares } from '../src/report/distributions.js';
import { htmlReport } from '../src/report/html.js';
import { LISTING_BUCKETS_US, LISTINGS } from '../src/report/paper.js';
import { originOf } from '../src/report/provenance.js';
import { type ReportInput, summarize } from '../src/report/summary.js';
import { expandSweep } from '../src/sweep/grid.js';
import { azureSweep, finished, smallSweep, storeOf } from './support/report-cells.js';

const htmlOf = (input: ReportInput): Promise<string> => htmlReport(summarize(input));
const count = (html: string, pattern: RegExp): number => html.match(pattern)?.length ?? 0;

test('a sweep over loads, policies and buckets fills every section', async () => {
  const html = await htmlOf(azureSweep(400));
  const titles = [...html.matchAll(/<h2>(.*?)<\/h2>/g)].map(([, title]) => title);
  assert.equal(titles, [
    'Findings',
    'Key figures',
    'Relative to the baseline',
    'Domains × bucket size',
    'Latency',
    'On the CPU',
    'Assignment to domains',
    'Functions',
    'Provenance',
  ]);
  // Every figure is an SVG with a text for those who can't see it, and a caption that states its n.
  assert.ok(count(html, /<svg /g) >= 8);
  assert.is(count(html, /<svg role="img" aria-label="[^"]+"/g), count(html, /<svg /g));
  const captions = [...html.matchAll(/<figcaption>(.*?)<\/figcaption>/g)].map(([, caption]) => caption);
  assert.is(captions.length, count(html, /<svg /g));
  for (const caption of captions) assert.match(caption, /n = \d/);
  // What the encoder states, with its units; 28 functions are tallied, not listed.
  assert.match(html, /counts × 194\.2/);
  assert.match(html, /0\.800 of the CPUs/);
  assert.match(html, /differ from the profile’s by 21\.0 % on average, 60\.0 % at most/);
  // The licence and the citation of the bundled trace.
  assert.match(html, /Creative Commons Attribution 4\.0/);
  assert.match(html, /Serverless in the Wild/);
});

test('nothing is fetched and nothing runs', async () => {
  const html = await htmlOf(azureSweep(100));
  assert.not.match(html, /https?:/);
  assert.not.match(html, /<script|<link|<iframe|<img|@import|url\((?!#)|src=|href=/);
  // What figures refer to is their own.
  const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  assert.is(new Set(ids).size, ids.length);
  for (const [, id] of html.matchAll(/url\(#([^)]+)\)/g)) assert.ok(ids.includes(id), id);
});

test('text from configs, traces and errors is escaped', async () => {
  const input = smallSweep(
    { replications: 2, baseline: { policy: 'eevdf' }, axes: { policy: ['eevdf', 'domains:1'] } },
    ({ values, replication }) =>
      values.policy === 'domains:1' && replication === 1
        ? { outcome: 'stalled', reason: { code: 'stall', message: 'task "<b>7</b>" & others' } }
        : {
            energy_j: 5,
            latencies: [1e6, 2e6],
            functions: [{ name: '<script>alert("f")</script>', latencies: [1e6] }],
          },
  );
  input.config.name = 'a <em>name</em>';
  for (const cell of input.cells) {
    if ('statements' in cell) cell.statements = { note: '<i>statement</i>' };
    cell.values = { ...cell.values, name: "<u>'axis'</u>" };
    if (cell.is_baseline) cell.values.name = '<s>base</s>';
  }
  const html = await htmlOf(input);
  assert.not.match(html, /<b>|<script|<em>|<i>statement|<u>|<s>/);
  for (const text of ['&lt;b&gt;7&lt;/b&gt;&quot; &amp; others', '&lt;em&gt;name', '&lt;i&gt;statement']) {
    assert.ok(html.includes(text), text);
  }
});

test('cells that stalled, deadlocked or failed are listed with their reasons', async () => {
  const input = smallSweep(
    { replications: 2, baseline: { policy: 'eevdf' }, axes: { policy: ['eevdf', 'domains:1', 'domains:2'] } },
    ({ values }) =>
      values.policy === 'domains:1'
        ? { outcome: 'deadlocked', reason: { code: 'deadlock', message: 'task a waits for b' } }
        : { energy_j: 5, latencies: [1e6] },
  );
  const last = input.cells.length - 1;
  const {
    outcome: _,
    metrics: _metrics,
    ...place
  } = finished(expandSweep(input.config)[last], { energy_j: 1, latencies: [] });
  input.cells[last] = {
    ...place,
    outcome: 'failed',
    error: { code: 'engine-trap', message: 'the engine trapped', exit_code: 3 },
  };
  const html = await htmlOf(input);
  assert.match(html, /<h2>Failures<\/h2>/);
  assert.match(html, /task a waits for b \(deadlock\)/);
  assert.match(html, /the engine trapped \(engine-trap\)/);
  assert.match(html, /3 of 6 cells did not end as planned \(2 deadlocked, 1 failed\)/);
  assert.match(html, /<td>1 of 2<\/td>/);
});

test('a single run makes a report without comparisons', async () => {
  const config = loadConfig('examples/mm48.yaml');
  const [cell] = expandSweep(config);
  const latencies = Array.from({ length: 2000 }, (_, i) => (i + 1) * 1e6);
  const html = await htmlOf(storeOf(config, [finished(cell, { energy_j: 0, latencies, stints: latencies })]));
  const titles = [...html.matchAll(/<h2>(.*?)<\/h2>/g)].map(([, title]) => title);
  assert.equal(titles.slice(0, 4), ['Findings', 'Key figures', 'Latency', 'On the CPU']);
  assert.match(html, /completed after 60\.0 s simulated: 2,000 of 2,000 jobs done; CPUs 50\.0 % busy/);
  assert.match(html, /global-fifo/);
  // No baseline, no interval, no energy on a machine without power figures.
  assert.not.match(html, /baseline\)|±|>Energy</);
});

test('a run in which nothing finished still makes a report', async () => {
  const config = loadConfig('examples/mm48.yaml');
  const [cell] = expandSweep(config);
  const stalled = {
    ...finished(cell, { energy_j: 0, latencies: [] }),
    outcome: 'stalled' as const,
    reason: { code: 'stall', message: 'task "web/1" runnable for 30 s' },
  };
  const html = await htmlOf(storeOf(config, [stalled]));
  assert.match(html, /1 of 1 cell did not end as planned \(1 stalled\)/);
  assert.match(html, /runnable for 30 s/);
});

test('stints fall into the buckets of the listings', () => {
  // 1.999 µs, 2 µs, 3.999 µs, 4 µs and 300 ms: below the first bucket, twice in [2, 4), in [4, 8), in the last.
  const shares = stintShares(Histogram.fromValues([1990, 2000, 3990, 4000, 300_000_000]));
  assert.equal(
    shares.filter(({ share }) => share > 0),
    [
      { from_us: 0, share: 0.2 },
      { from_us: 2, share: 0.4 },
      { from_us: 4, share: 0.2 },
      { from_us: 131072, share: 0.2 },
    ],
  );
  for (const { title, shares: listed } of Object.values(LISTINGS)) {
    assert.is(listed.length, LISTING_BUCKETS_US.length, title);
    // Rounded to three places, they add up to one.
    assert.ok(Math.abs(listed.reduce((sum, value) => sum + value, 0) - 1) < 0.006, title);
  }
  // "91.3 % of tasks spend less than 1 ms" sums the buckets through [1K, 2K); 94.7 % with one domain is less exact.
  const below = LISTINGS.eevdf.shares.slice(0, 10).reduce((sum, value) => sum + value, 0);
  assert.ok(Math.abs(below - 0.913) < 1e-9);
});

test('exceedance curves fall and end where ten observations are left', () => {
  const curve = exceedance(Histogram.fromValues(Array.from({ length: 1000 }, (_, i) => (i + 1) * 1e6)));
  assert.ok(curve.every(({ above }, i) => i === 0 || above < curve[i - 1].above));
  assert.ok(curve.every(({ x }, i) => i === 0 || x > curve[i - 1].x));
  // A curve's x is a bucket's upper end, so within 0.2 % of k ms when 1 − k/1000 lie above.
  for (const { x, above } of curve)
    assert.ok(Math.abs(x / (1000 * (1 - above)) - 1) < 0.003, `${x} ${above}`);
  assert.ok(curve[curve.length - 1].above >= 0.01);
});

test('only bundled traces have an origin to state', () => {
  assert.equal(
    originOf('azure2019-28').map(([name]) => name),
    ['Data: source', 'Data: licence', 'Data: cite'],
  );
  assert.equal(originOf('my/trace.arrow'), []);
});

test.run();
