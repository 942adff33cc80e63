// 48 servers at ρ = 0.9 in k domains that don't help each other, customers choosing one at random: k queues
// M/M/(48/k), each with load 43.2/k. Erlang C gives the mean wait
//   k         1      2      4      8      16     48
//   Wq     .0776  .2150  .5334 1.2335  2.7235     9
// in mean services. examples/split48.yaml is the sweep; the cells here are shorter than it takes for 1 %.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../src/config/load.js';
import { simulate } from '../src/engine/simulate.js';
import { expandSweep } from '../src/sweep/grid.js';
import { assertConsistent, type Estimate } from './support/replications.js';

const EXPECTED = new Map([
  [1, 0.0776337],
  [2, 0.214967],
  [4, 0.533369],
  [8, 1.233543],
  [16, 2.723537],
  [48, 9],
]);

/** Erlang C over k − a. */
function wait(servers: number, load: number): number {
  let term = 1;
  let sum = 0;
  for (let i = 0; i < servers; i++) {
    sum += term;
    term *= load / (i + 1);
  }
  const waiting = term / (1 - load / servers);
  return waiting / (sum + waiting) / (servers - load);
}

test('the closed form gives the published row', () => {
  for (const [k, expected] of EXPECTED) {
    assert.ok(Math.abs(wait(48 / k, 43.2 / k) / expected - 1) < 1e-4, `${k}: ${wait(48 / k, 43.2 / k)}`);
  }
});

test('48 cores split into k domains without stealing, as one sweep', async () => {
  const config = loadConfig('examples/split48.yaml');
  config.run = { ...config.run, horizon: '6000s', warmup: '500s' };
  // The example's cases have run lengths of their own; here they all have the short one.
  const cases = config.sweep!.cases!.map(({ 'policy.domains': domains }) => ({ 'policy.domains': domains }));
  config.sweep = { ...config.sweep!, cases, replications: 4 };
  const waits = new Map<number, number[]>();
  for (const cell of expandSweep(config)) {
    const { metrics, outcome } = await simulate(cell.config);
    assert.is(outcome, 'completed');
    const domains = cell.values['policy.domains'] as number;
    const wq = (metrics.latency_ms.mean - metrics.states_ms.running) / 1e3;
    waits.set(domains, [...(waits.get(domains) ?? []), wq]);
    assert.is(metrics.steals, 0);
  }
  assert.equal([...waits.keys()], [...EXPECTED.keys()]);
  for (const [k, samples] of waits) {
    const mean = samples.reduce((a, b) => a + b, 0) / samples.length;
    const variance = samples.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (samples.length - 1);
    const estimate: Estimate = { mean, standard_error: Math.sqrt(variance / samples.length) };
    // The wait of 48 servers is the tail of a rare event, that of single servers an average over 48 of them.
    assertConsistent(`Wq of ${k} domains`, estimate, EXPECTED.get(k)!, k <= 2 ? 0.06 : 0.03);
  }
});

test.run();
