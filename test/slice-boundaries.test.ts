// A run is handled in slices of so many events, up to some time; where they end leaves no trace in the result image.

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { configFrom } from '../src/config/load.js';
import { resolveConfig } from '../src/config/resolve.js';
import type { ConfigInput } from '../src/config/schema.js';
import { type EncodedModel, encode } from '../src/engine/encode.js';
import { readTraces } from '../src/engine/simulate.js';
import { Simulation } from '../src/engine/simulation.js';

const IMAGE_LENGTH = 8;

async function modelOf(input: ConfigInput): Promise<EncodedModel> {
  const config = resolveConfig(configFrom(input));
  const { trace, times } = await readTraces(config);
  return encode(config, trace, times);
}

interface Slice {
  events: number;
  /** The slice ends at most so much later, ns; undefined: whenever. */
  span?: bigint;
}

/** The result image of a run in slices: the given ones over and over. */
function resultImage(model: EncodedModel, slices: readonly Slice[]): Buffer {
  const simulation = new Simulation(model);
  for (let i = 0; !simulation.done; i++) {
    const { events, span } = slices[i % slices.length];
    if (span === undefined) simulation.step(events);
    else simulation.step(events, simulation.time_ns + span);
    // Nothing happens for longer than a span: move on.
    if (span !== undefined && !simulation.done) simulation.step(1);
  }
  simulation.finish();
  const address = simulation.result();
  const view = new DataView(simulation.memory.buffer, address);
  return Buffer.from(new Uint8Array(simulation.memory.buffer, address, view.getUint32(IMAGE_LENGTH, true)));
}

const slice: fc.Arbitrary<Slice> = fc.record(
  { events: fc.integer({ min: 1, max: 3000 }), span: fc.bigInt({ min: 0n, max: 50_000_000n }) },
  { requiredKeys: ['events'] },
);

function assertIndependent(model: EncodedModel, runs: number): void {
  const whole = resultImage(model, [{ events: 2 ** 31 - 1 }]);
  fc.assert(
    fc.property(fc.array(slice, { minLength: 1, maxLength: 20 }), (slices) => {
      assert.ok(resultImage(model, slices).equals(whole), 'another result image');
    }),
    { seed: 1, numRuns: runs },
  );
}

const hogsAndSleepers: ConfigInput['workload'] = {
  programs: {
    closed: [
      {
        loop: { times: 'forever', do: [{ sleep: { exponential: '5ms' } }, { run: { exponential: '2ms' } }] },
      },
    ],
    family: [
      {
        fork: { count: 3, program: [{ run: { exponential: '3ms' } }, { barrier: 'family' }, { run: '1ms' }] },
      },
      { barrier: 'family' },
      { join: 'spin' },
    ],
  },
  tasks: [
    { name: 'sleepers', count: 20, program: 'closed', background: true },
    { name: 'hogs', count: 5, program: [{ run: '300ms' }] },
  ],
  arrivals: [{ name: 'families', rate: '100/s', max_arrivals: 60, spawn: { program: 'family' } }],
};

test('EEVDF on a machine with ticks, idle states and turbo', async () => {
  assertIndependent(
    await modelOf({
      machine: { profile: 'xeon-8160-2s', cpus: 8 },
      policy: 'eevdf',
      workload: hogsAndSleepers,
    }),
    30,
  );
});

test('weighted vtime in 4 domains with stealing', async () => {
  assertIndependent(
    await modelOf({
      machine: { profile: 'xeon-8160-2s', cpus: 8 },
      policy: { name: 'weighted-vtime', domains: 4 },
      workload: hogsAndSleepers,
    }),
    30,
  );
});

test('functions of a trace in 8 domains', async () => {
  assertIndependent(
    await modelOf({
      machine: 'xeon-8160-2s',
      policy: 'domains:8',
      workload: {
        serverless: {
          trace: 'azure2019-28',
          window: { start: '600min', length: '1min', history: '1min' },
          offered_load: 0.8,
          time_scale: 0.05,
        },
      },
    }),
    12,
  );
});

test.run();
