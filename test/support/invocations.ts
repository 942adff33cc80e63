// Traces of a few invocations, and the cell in which nothing else takes time.

import type { ConfigInput } from '../../src/config/schema.js';
import { simulate } from '../../src/engine/simulate.js';
import { traceFromInvocations } from '../../src/trace/invocations.js';
import type { Trace } from '../../src/trace/schema.js';
import type { SimulationResult } from '../../src/types.js';

/** Function, arrival and duration, ms. */
export type Call = readonly [name: string, at_ms: number, duration_ms: number];

export function traceOf(calls: readonly Call[]): Trace {
  const function_ids = [...new Set(calls.map(([name]) => name))].sort();
  return traceFromInvocations(
    {
      function_ids,
      function_index: Uint32Array.from(calls, ([name]) => function_ids.indexOf(name)),
      start_ns: BigUint64Array.from(calls, ([, at]) => BigInt(Math.round(at * 1e6))),
      duration_ns: BigUint64Array.from(calls, ([, , duration]) => BigInt(Math.round(duration * 1e6))),
    },
    { format: 'invocations', inputs: [], rules: [], steps: [] },
  );
}

type Serverless = Omit<NonNullable<ConfigInput['workload']['serverless']>, 'trace'>;

/** Calls on an ideal machine: no overheads, no server masters, each function one CPU burst. */
export function serve(
  calls: readonly Call[],
  serverless: Serverless = {},
  rest: Partial<ConfigInput> = {},
): Promise<SimulationResult> {
  const config: ConfigInput = {
    machine: 'ideal-4',
    policy: { name: 'global-fifo', slice: '1000s' },
    kernel: { watchdog_timeout: '0s' },
    output: { invocations: 'all' },
    ...rest,
    workload: {
      serverless: {
        functions: { eligible: false },
        server_master: false,
        pollers: { share: 0 },
        ...serverless,
        worker: { before: '0s', after: '0s', concurrency: 'unlimited', ...serverless.worker },
        trace: 'given',
      },
    },
  };
  return simulate(config, { trace: traceOf(calls) });
}

export interface Served {
  name: string;
  arrival_ms: number;
  latency_ms: number;
  worker_ms: number;
  states_ns: number[];
  latency_ns: number;
}

/** Rows in order of completion. */
export function rowsOf({ invocations }: SimulationResult): Served[] {
  return (invocations?.toArray() ?? []).map((row) => {
    const value = row.toJSON() as Record<string, bigint | number | string>;
    const states = Object.keys(value).slice(
      Object.keys(value).indexOf('control_ns'),
      Object.keys(value).indexOf('container_start_ns') + 1,
    );
    return {
      name: String(value.class),
      arrival_ms: Number(value.arrival_ns) / 1e6,
      latency_ms: Number(value.latency_ns) / 1e6,
      worker_ms: Number(value.worker_duration_ns) / 1e6,
      latency_ns: Number(value.latency_ns),
      states_ns: states.map((state) => Number(value[state])),
    };
  });
}

/** "name@arrival: latency" of each row, in order of completion, ms. */
export const told = (result: SimulationResult): string[] =>
  rowsOf(result).map(({ name, arrival_ms, latency_ms }) => `${name}@${arrival_ms}: ${latency_ms}`);
