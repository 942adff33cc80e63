// Policies are compared on the same arrivals and the same service times: draws belong to the invocation, not to whoever
// asks first. coord-sim#129, cluster-experiments#107, hsma6_des_book#66.

import type { Table } from 'apache-arrow';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../src/config/load.js';
import type { ConfigInput } from '../src/config/schema.js';
import { simulate } from '../src/engine/simulate.js';
import { expandSweep } from '../src/sweep/grid.js';

const POLICIES = [
  'eevdf',
  'domains:1',
  'domains:8',
  'global-fifo',
  'global-vtime',
  'percpu-fifo',
  'weighted-vtime:8',
];

/** Columns of each invocation, in the order of (class, ordinal). */
function byInvocation(table: Table, columns: readonly string[]): string[] {
  const column = (name: string) => table.getChild(name)!;
  const rows = Array.from({ length: table.numRows }, (_, i) => ({
    class: String(column('class').get(i)),
    ordinal: Number(column('ordinal').get(i)),
    values: columns.map((name) => String(column(name).get(i))).join(' '),
  }));
  rows.sort((a, b) => (a.class < b.class ? -1 : a.class > b.class ? 1 : a.ordinal - b.ordinal));
  return rows.map(({ class: name, ordinal, values }) => `${name} ${ordinal} ${values}`);
}

function serverless(policy: string, seed = 1): ConfigInput {
  return {
    seed,
    machine: 'xeon-8160-2s',
    policy,
    workload: {
      serverless: {
        trace: 'azure2019-28',
        window: { start: '600min', length: '1min', history: '1min' },
        offered_load: 0.8,
        time_scale: 0.5,
      },
    },
    output: { invocations: 'all' },
  };
}

async function rows(config: ConfigInput, columns: readonly string[]): Promise<string[]> {
  const { invocations, metrics } = await simulate(config);
  assert.is(invocations!.numRows, metrics.completed);
  return byInvocation(invocations!, columns);
}

test('coord-sim#129: every policy sees the same invocations, each with the same duration', async () => {
  const reference = await rows(serverless('eevdf'), ['arrival_ns', 'uncontended_ns']);
  assert.ok(reference.length > 500);
  for (const policy of POLICIES) {
    assert.equal(await rows(serverless(policy), ['arrival_ns', 'uncontended_ns']), reference, policy);
  }
});

test('times drawn inside programs are the same under every policy, whoever serves the job', async () => {
  const config = (policy: string): ConfigInput => ({
    machine: 'ideal-8',
    policy,
    workload: {
      arrivals: ['a', 'b'].map((name) => ({
        name,
        rate: '1500/s',
        max_arrivals: 2000,
        spawn: {
          program: [
            { run: { exponential: '1ms' } },
            { sleep: { lognormal: { median: '1ms', sigma: 1 } } },
            // biome-ignore lint/suspicious/noThenProperty: the config's word
            { branch: { probability: 0.3, then: [{ run: { exponential: '5ms' } }] } },
          ],
        },
      })),
    },
    output: { invocations: 'all' },
  });
  const columns = ['arrival_ns', 'cpu_ns', 'running_ns', 'io_ns'];
  const reference = await rows(config('eevdf'), columns);
  assert.is(reference.length, 4000);
  for (const policy of POLICIES) assert.equal(await rows(config(policy), columns), reference, policy);
});

test('cluster-experiments#107: 0 is a seed, the same again and unlike 1', async () => {
  const columns = ['arrival_ns', 'uncontended_ns'];
  const zero = await rows(serverless('eevdf', 0), columns);
  assert.equal(await rows(serverless('eevdf', 0), columns), zero);
  assert.not.equal(await rows(serverless('eevdf', 1), columns), zero);
});

test('hsma6_des_book#66: replications have seeds and streams of their own, pairwise different', async () => {
  const config = loadConfig('examples/mm1.yaml');
  config.run = { ...config.run, horizon: '1000s', warmup: '0s' };
  config.output = { ...config.output, invocations: 'all' };
  config.sweep = { axes: {}, replications: 5 };
  const streams: bigint[][] = [];
  for (const cell of expandSweep(config)) {
    const { invocations } = await simulate(cell.config);
    // The first 500 inter-arrival times, and service times.
    const arrivals = [...invocations!.getChild('arrival_ns')!].slice(0, 500).map(BigInt);
    streams.push(arrivals.map((time, i) => time - (arrivals[i - 1] ?? 0n)));
    streams.push([...invocations!.getChild('running_ns')!].slice(0, 500).map(BigInt));
  }
  const seen = new Set<bigint>();
  // Not one of 10 × 500 draws occurs twice, so no stream is another's shifted either: with times spread over 10⁹ ns,
  // two equal ones among them are a matter of about 1 %.
  for (const stream of streams) for (const draw of stream) seen.add(draw);
  assert.ok(seen.size >= 10 * 500 - 3, `${seen.size}`);
});

test.run();
