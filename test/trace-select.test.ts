// Selecting functions and minutes: deterministic, recorded in the provenance, and without random draws.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  countsMatrix,
  type FunctionRow,
  type FunctionSelection,
  functionRows,
  functionsToArrow,
  invocationTotals,
  makeTrace,
  type Provenance,
  selectFunctions,
  selectMinutes,
  type Trace,
  traceShape,
} from '../src/trace/index.js';
import { failure } from './support/traces.js';

const PROVENANCE: Provenance = { format: 'azure2019', inputs: [], rules: [], steps: [] };

function constant(name: string, ms: number | null): FunctionRow {
  return {
    function_id: `owner/app/${name}`,
    owner: 'owner',
    app: 'app',
    function: name,
    trigger: null,
    duration_average_ms: ms,
    duration_minimum_ms: ms,
    duration_maximum_ms: ms,
    duration_p0_ms: ms,
    duration_p1_ms: ms,
    duration_p25_ms: ms,
    duration_p50_ms: ms,
    duration_p75_ms: ms,
    duration_p99_ms: ms,
    duration_p100_ms: ms,
    duration_count: 1,
    memory_mb: null,
  };
}

/** Minutes 480 to 482. Invocations and load (calls × ms): alpha 6, 60 · beta 90, 9000 · gamma 30, 60 · delta 1, 9 · zero 9, 0. */
const TRACE: Trace = makeTrace(
  [
    constant('alpha', 10),
    constant('beta', 100),
    constant('gamma', 2),
    constant('delta', 9),
    constant('zero', 0),
  ],
  Uint32Array.of(1, 2, 3, 30, 30, 30, 10, 10, 10, 1, 0, 0, 3, 3, 3),
  { interval_ns: 60e9, first_minute: 480, intervals: 3 },
  PROVENANCE,
);

const names = (selection: FunctionSelection) =>
  functionRows(selectFunctions(TRACE, selection)).map((row) => row.function);

test('the most called functions, in trace order', () => {
  assert.equal(names({ functions: 2 }), ['beta', 'gamma']);
  assert.equal(names({ functions: 3 }), ['beta', 'gamma', 'zero']);
});

test('by offered load, ties in trace order', () => {
  // alpha and gamma both offer 60
  assert.equal(names({ functions: 2, by: 'offered' }), ['alpha', 'beta']);
});

test('eligible leaves out functions called once and functions of 0 ms', () => {
  assert.equal(names({ eligible: true }), ['alpha', 'beta', 'gamma']);
});

test('a limit on the mean duration', () => {
  assert.equal(names({ maximum_mean_ms: 9 }), ['gamma', 'delta', 'zero']);
});

test('no function above a share of the load: the largest leaves, the next enters', () => {
  // beta is 9000 of 9060, then gamma 60 and zero 9 × .5 ms: gamma .93; alpha .5 of the 120 with gamma
  assert.equal(names({ functions: 2, eligible: true, maximum_share: 0.5 }), ['alpha', 'gamma']);
  const { steps } = selectFunctions(TRACE, { functions: 2, eligible: true, maximum_share: 0.5 }).provenance;
  assert.equal(steps[0].left_out_as_dominant, ['owner/app/beta']);
});

test('by id or by a prefix that fits one function', () => {
  assert.equal(names({ ids: ['owner/app/gamma', 'be'] }), ['beta', 'gamma']);
});

test('by hash: a larger sample contains the smaller one, another seed differs', () => {
  const samples = [1, 2, 3, 4, 5].map((functions) => names({ functions, by: 'hash', seed: 7 }));
  for (let i = 1; i < samples.length; i++) {
    for (const name of samples[i - 1]) assert.ok(samples[i].includes(name));
  }
  const firsts = new Set(
    [0, 1, 2, 3, 4, 5, 6, 7].map((seed) => names({ functions: 1, by: 'hash', seed })[0]),
  );
  assert.ok(firsts.size > 1);
  assert.equal(names({ functions: 2, by: 'hash', seed: 0 }), names({ functions: 2, by: 'hash', seed: 0 }));
});

test('counts follow their functions, and the step is recorded', () => {
  const selected = selectFunctions(TRACE, { ids: ['alpha', 'gamma'] });
  assert.equal([...countsMatrix(selected)], [1, 2, 3, 10, 10, 10]);
  assert.equal(selected.provenance.steps[0].functions_before, 5);
  assert.equal(selected.provenance.steps[0].functions_after, 2);
  assert.equal(JSON.parse(selected.functions.schema.metadata.get('provenance')!), selected.provenance);
  assert.equal(TRACE.provenance.steps, []);
});

test('minutes are selected by their labels', () => {
  const window = selectMinutes(TRACE, { from: 481, minutes: 2 });
  assert.equal(traceShape(window), { interval_ns: 60e9, first_minute: 481, intervals: 2 });
  assert.equal([...invocationTotals(window)], [5, 60, 20, 0, 6]);
  assert.equal(functionsToArrow(selectMinutes(window, { from: 482, minutes: 1 })).length > 0, true);
});

test('impossible selections are errors that name the option', async () => {
  const code = async (selection: FunctionSelection) => {
    const error = await failure(() => selectFunctions(TRACE, selection));
    assert.is(error.exitCode, 2);
    return error.code;
  };
  assert.is(await code({ functions: 6 }), 'select_too_few');
  assert.is(await code({ functions: 0 }), 'select_value');
  assert.is(await code({ functions: 1.5 }), 'select_value');
  assert.is(await code({ maximum_share: 0 }), 'select_value');
  assert.is(await code({ maximum_mean_ms: 0.1 }), 'select_empty');
  assert.is(await code({ ids: ['owner'] }), 'select_ambiguous');
  assert.is(await code({ functions: 5, maximum_share: 0.1 }), 'select_share');
  const unknown = await failure(() => selectFunctions(TRACE, { ids: ['gama'] }));
  assert.is(unknown.message, 'no function "gama"; expected "gamma"?');
  for (const window of [
    { from: 479, minutes: 1 },
    { from: 481, minutes: 3 },
    { from: 480, minutes: 0 },
    { from: 480.5, minutes: 1 },
  ]) {
    assert.is((await failure(() => selectMinutes(TRACE, window))).code, 'select_minutes');
  }
});

test.run();
