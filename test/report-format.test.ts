// Numbers carry their unit, a real minus, and as many digits as their interval supports.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  countRange,
  difference,
  differenceRange,
  fixed,
  joules,
  largeCount,
  milliseconds,
  percent,
  scaled,
  scaleFor,
  seedList,
  significant,
  valueRange,
} from '../src/report/format.js';
import { axisName, domainCount, label, policyLabel } from '../src/report/labels.js';

test('fixed decimals, grouped thousands, a real minus', () => {
  assert.is(fixed(1234567.891, 2), '1,234,567.89');
  assert.is(fixed(-1234.5, 1), '−1,234.5');
  assert.is(fixed(-0.04, 1), '0.0');
  assert.is(fixed(Number.NaN, 1), '–');
  assert.is(significant(0.012345), '0.0123');
  assert.is(significant(12345.6), '12,346');
  assert.is(significant(0), '0');
});

test('a value by itself has the unit that suits it', () => {
  assert.is(milliseconds(0.25), '250 µs');
  assert.is(milliseconds(12.345), '12.3 ms');
  assert.is(milliseconds(65_432), '65.4 s');
  assert.is(joules(123.4), '123.4 J');
  assert.is(joules(12_345), '12.35 kJ');
  assert.is(largeCount(106_158_827), '106 million');
  assert.is(largeCount(2948), '2,948');
});

test('a column has one unit and one number of decimals', () => {
  const energy = scaleFor('J', [46_970, 89_950]);
  assert.equal(
    [46_970, 89_950].map((value) => scaled(value, energy)),
    ['46.97', '89.95'],
  );
  assert.is(energy.unit, 'kJ');
  const latency = scaleFor('ms', [127.9, 72_399.2]);
  assert.is(latency.unit, 'ms');
  assert.is(scaled(72_399.2, latency), '72,399');
  assert.is(scaleFor('ms', [0.02, 0.05]).unit, 'µs');
});

test('differences are percentages with a sign and their interval', () => {
  assert.is(percent(0.031), '+3.1 %');
  assert.is(percent(-0.0004), '0.0 %');
  assert.is(difference({ mean: -0.031, half: 0.004, n: 3 }), '−3.1 ± 0.4 %');
  assert.is(difference({ mean: -0.0038, half: 0.0009, n: 3 }), '−0.38 ± 0.09 %');
  assert.is(difference({ mean: 0.11, half: 0.26, n: 3 }), '+11 ± 26 %');
  assert.is(difference({ mean: 0.5, n: 1 }), '+50.0 %');
  assert.is(difference(undefined), '–');
  assert.is(differenceRange({ mean: -0.031, half: 0.004, n: 3 }), '−3.1 % [−3.5, −2.7]');
  assert.is(valueRange([0.02, -0.031]), 'from −3.1 to +2.0 %');
  assert.is(valueRange([0.002, 0.0013]), 'from +0.13 to +0.20 %');
});

test('seeds and counts as ranges', () => {
  assert.is(seedList([1]), 'seed 1');
  assert.is(seedList([1, 2, 3]), 'seeds 1–3');
  assert.is(seedList([1, 5, 9]), 'seeds 1, 5, 9');
  assert.is(countRange([5, 5]), '5');
  assert.is(countRange([1204, 3]), '3 to 1,204');
});

test('points are called what users write', () => {
  assert.is(axisName('workload.serverless.assignment.bucket_size'), 'bucket size');
  assert.is(policyLabel({ name: 'domains', domains: 8, slice: '3ms' }), 'domains:8');
  assert.is(policyLabel({ name: 'domains', domains: ['0-23', '24-47'] }), 'domains:2');
  assert.is(
    label({ 'a.bucket_size': '4s', policy: 'domains:8' }, ['a.bucket_size', 'policy']),
    'domains:8, bucket size 4s',
  );
  assert.is(domainCount({ policy: 'domains:16' }), 16);
  assert.is(domainCount({ policy: 'domains' }), 1);
  assert.is(domainCount({ policy: 'eevdf' }), undefined);
  assert.is(domainCount({ 'policy.domains': 48 }), 48);
});

test.run();
