// Conservation laws are checked in exact integers at the end of every run, both sides counted by different code. One
// falsified number is an engine error, exit code 3.

import type { Vector } from 'apache-arrow';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { configFrom } from '../src/config/load.js';
import { resolveConfig } from '../src/config/resolve.js';
import type { ConfigInput } from '../src/config/schema.js';
import * as abi from '../src/engine/abi.js';
import { encode } from '../src/engine/encode.js';
import { STATE_COLUMNS } from '../src/engine/rows.js';
import { simulate } from '../src/engine/simulate.js';
import { Simulation } from '../src/engine/simulation.js';
import { EngineError } from '../src/errors.js';

const CONFIG: ConfigInput = {
  machine: 'ideal-4',
  policy: 'global-fifo',
  workload: {
    arrivals: [
      {
        name: 'jobs',
        rate: '3000/s',
        max_arrivals: 3000,
        spawn: { program: [{ run: { exponential: '1ms' } }] },
      },
    ],
  },
};

// assembly/core/counters.ts and layout.ts
const SOJOURN = 7;
const EXITED_CPU = 8;
const CPUS = 0x0010_0000;
const CPU_BYTES = 512;
const CPU_BUSY = 48;
const CPU_IDLE = 56;

/** Runs to the end, with `change` in the middle. */
function runWith(change: (simulation: Simulation, view: DataView) => void): void {
  const simulation = new Simulation(encode(resolveConfig(configFrom(CONFIG))));
  simulation.step(3000);
  assert.not.ok(simulation.done);
  change(simulation, new DataView(simulation.memory.buffer));
  while (!simulation.done) simulation.step();
  simulation.finish();
}

function add(view: DataView, address: number, amount: bigint): void {
  view.setBigUint64(address, view.getBigUint64(address, true) + amount, true);
}

function assertViolation(what: string, code: string, change: (s: Simulation, view: DataView) => void): void {
  try {
    runWith(change);
  } catch (error) {
    assert.instance(error, EngineError, `${what}: ${error}`);
    assert.is((error as EngineError).exitCode, 3);
    assert.is((error as EngineError).code, code, what);
    return;
  }
  assert.unreachable(`nobody noticed: ${what}`);
}

test('an untouched run ends well', () => {
  runWith(() => {});
});

test('one falsified counter between two slices is an engine error with exit code 3', () => {
  const counters: [string, number, string][] = [
    ['ARRIVED', abi.R_ARRIVED, 'engine_conservation'],
    ['COMPLETED', abi.R_COMPLETED, 'engine_conservation'],
    ['DROPPED', abi.R_DROPPED, 'engine_conservation'],
    ['NUMBER_AREA', abi.R_NUMBER_AREA, 'engine_little'],
    ['SOJOURN', SOJOURN, 'engine_little'],
    ['EXITED_CPU', EXITED_CPU, 'engine_cpu_time'],
  ];
  for (const [name, index, code] of counters) {
    assertViolation(name, code, ({ countersAddress }, view) => add(view, countersAddress + 8 * index, 1n));
  }
});

test('one nanosecond too much on one CPU is an engine error', () => {
  for (let cpu = 0; cpu < 4; cpu++) {
    for (const field of [CPU_BUSY, CPU_IDLE]) {
      assertViolation(`CPU ${cpu}`, 'engine_cpu_time', (_, view) =>
        add(view, CPUS + cpu * CPU_BYTES + field, 1n),
      );
    }
  }
});

test('a nanosecond moved from busy to idle is noticed although the sum is right', () => {
  assertViolation('busy to idle', 'engine_cpu_time', (_, view) => {
    add(view, CPUS + CPU_BUSY, -1n);
    add(view, CPUS + CPU_IDLE, 1n);
  });
});

test('the states of each invocation sum to its latency, under every policy', async () => {
  for (const policy of ['eevdf', 'domains:4', 'global-fifo', 'percpu-fifo', 'weighted-vtime:2']) {
    const { invocations, metrics, classes, cpus } = await simulate({
      machine: { profile: 'xeon-8160-2s', cpus: 8 },
      policy,
      workload: {
        serverless: {
          trace: 'azure2019-28',
          window: { start: '600min', length: '1min', history: '1min' },
          offered_load: 1.1,
          time_scale: 0.1,
          profiles: { mapping: 'nearest-duration' },
          pollers: { share: 0.3 },
        },
      },
      output: { invocations: 'all' },
    });
    const column = (name: string) => [...(invocations!.getChild(name) as Vector)].map(Number);
    const latency = column('latency_ns');
    const states = STATE_COLUMNS.map(column);
    assert.ok(latency.length > 100);
    for (const [row, ns] of latency.entries()) {
      assert.is(
        states.reduce((sum, values) => sum + values[row], 0),
        ns,
        `${policy}, row ${row}`,
      );
    }
    // The aggregates are those of the rows, and each CPU is busy or idle all the time.
    const mean = latency.reduce((a, b) => a + b) / latency.length / 1e6;
    assert.ok(Math.abs(metrics.latency_ms.mean / mean - 1) < 1e-9);
    assert.is(
      classes.reduce((sum, { completed }) => sum + completed, 0),
      metrics.completed,
    );
    assert.is(metrics.arrived, metrics.completed + metrics.dropped + metrics.in_system);
    for (const { busy_ns, idle_ns } of cpus) {
      assert.is(busy_ns + idle_ns, Math.round(metrics.duration_s * 1e9));
    }
  }
});

test('what is still in the system at the horizon is counted', async () => {
  const { metrics, outcome } = await simulate({
    ...CONFIG,
    workload: {
      arrivals: [{ name: 'jobs', rate: '8000/s', spawn: { program: [{ run: { exponential: '1ms' } }] } }],
    },
    run: { end: 'horizon', horizon: '500ms' },
  });
  assert.is(outcome, 'horizon');
  // Twice as much arrives as four CPUs can do.
  assert.ok(metrics.in_system > 1500);
  assert.is(metrics.arrived, metrics.completed + metrics.in_system);
});

test.run();
