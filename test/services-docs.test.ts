// The services file of docs/services.md is one, and every defect has its row there.

import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkServices } from '../src/services/check/index.js';
import { parseServices } from '../src/services/load.js';
import { runServices } from '../src/services/run/index.js';
import { COMPAT } from '../src/services/schema/run.js';

const TEXT = readFileSync('docs/services.md', 'utf8');
const [, EXAMPLE] = /```yaml\n(.*?)```/s.exec(TEXT) ?? ['', ''];

test('the example has nothing wrong with it, and runs', async () => {
  const services = parseServices(EXAMPLE);
  assert.equal(checkServices(services).list, []);
  const { summary } = await runServices(
    services,
    { rates: [10_000], requests: 2000, replications: 1 },
    { workers: 1 },
  );
  const [{ mean_ms, completed, arrived, tiers }] = summary.points;
  assert.is(completed, arrived);
  assert.equal(
    tiers.map(({ name, visits }) => [name, visits]),
    [
      ['front', 2],
      ['store', 1],
    ],
  );
  // Four hops of 30 µs; front twice 1.5 + 20 µs, store 9 µs, sends and receives of about 5 µs a hop: about 190 µs.
  const mean = mean_ms?.mean ?? 0;
  assert.ok(mean > 0.18 && mean < 0.2, `${mean} ms`);
});

test('every defect that can be switched on is explained', () => {
  for (const name of COMPAT) assert.ok(TEXT.includes(`| \`${name}\` |`), name);
});

test.run();
