// Rows of the self-test: a case whose right values are known, and what the engine makes of it.

import type { ConfigInput } from '../config/schema.js';
import { durationNs } from '../config/units.js';
import { simulate } from '../engine/simulate.js';
import type { WarmUp } from '../engine/warmup.js';
import { VtimeError } from '../errors.js';
import type { SimulationResult } from '../types.js';

/** `short`: consistent with the value, in seconds; `full`: within the bounds of the tests, 1 % for means, in minutes. */
export type Depth = 'short' | 'full';

/** How a run's warm-up is cut off: a fixed share of it, or where MSER-5 says. */
export type WarmUpRule = 'fixed' | 'mser-5';

export interface Check {
  quantity: string;
  value: number | string;
  expected: number | string;
  /** Largest deviation allowed; 0 where values are texts. */
  tolerance: number;
  /** Standard error of an estimate. */
  standard_error?: number;
  passed: boolean;
}

export interface Row {
  name: string;
  /** `closed form`: an estimate with an interval; `exact`: computed by hand, to the nanosecond unless said otherwise. */
  kind: 'closed form' | 'exact';
  run(depth: Depth, rule?: WarmUpRule): Promise<Check[]>;
}

/** A value that has to be hit, within `tolerance`. */
export function exact(
  quantity: string,
  value: number | string,
  expected: number | string,
  tolerance = 0,
): Check {
  const passed =
    typeof value === 'number' && typeof expected === 'number'
      ? Math.abs(value - expected) <= tolerance
      : value === expected;
  return { quantity, value, expected, tolerance, passed };
}

const REPLICATIONS = 10;
/** Two-sided 99.9 % quantile of Student's t with 9 degrees of freedom. */
const T_999 = 4.781;
/** A short run whose interval is wider than this share of the value tells nothing. */
const WIDEST = 0.2;
/** Share of a run that is cut off as warm-up. */
const WARM_UP = 0.05;

/** Expected value, and the bound of a full run as a share of it: 1 % for means, 2 % for quantiles. */
export interface Expected {
  value: number;
  bound: number;
}
export const mean = (value: number): Expected => ({ value, bound: 0.01 });
export const quantile = (value: number): Expected => ({ value, bound: 0.02 });

export interface Steady<Name extends string> {
  name: string;
  config: Omit<ConfigInput, 'run' | 'seed'>;
  /** Jobs per second, all sources together; without it, `max_arrivals` in the config ends the run. */
  rate?: number;
  /** Jobs over all replications. */
  jobs: Record<Depth, number>;
  measure(result: SimulationResult, window_s: number): Record<Name, number>;
  expected: Record<Name, Expected>;
}

/** A steady state estimated from independent replications, seeds 1 to 10. */
export function steady<Name extends string>(row: Steady<Name>): Row {
  return {
    name: row.name,
    kind: 'closed form',
    async run(depth, rule = 'fixed') {
      const jobs = row.jobs[depth] / REPLICATIONS;
      const samples: Record<Name, number>[] = [];
      for (let seed = 1; seed <= REPLICATIONS; seed++) {
        const config = sized(row, jobs, rule);
        const result = await simulate({ ...config, seed });
        if (result.outcome !== 'completed') {
          throw new VtimeError('selftest', `${row.name}: ${result.outcome}, ${result.reason?.message}`);
        }
        samples.push(row.measure(result, measuredSeconds(result)));
      }
      return Object.keys(row.expected).map((quantity) => {
        const name = quantity as Name;
        return estimate(
          quantity,
          samples.map((sample) => sample[name]),
          row.expected[name],
          depth,
        );
      });
    },
  };
}

/** The config of one replication with so many jobs. */
function sized(
  { config, rate }: Pick<Steady<string>, 'config' | 'rate'>,
  jobs: number,
  rule: WarmUpRule,
): ConfigInput {
  const output = { digest: false };
  if (rate === undefined) {
    const { workload } = config;
    const arrivals = workload.arrivals?.map((source) => ({ ...source, max_arrivals: Math.ceil(jobs) }));
    return {
      ...config,
      workload: { ...workload, arrivals },
      ...(rule === 'fixed' ? {} : { run: { warmup: rule } }),
      output,
    };
  }
  const horizon = Math.ceil(jobs / rate);
  const warmup = rule === 'fixed' ? `${Math.floor(horizon * WARM_UP)}s` : rule;
  return { ...config, run: { horizon: `${horizon}s`, warmup }, output };
}

/** From the end of the warm-up to that of the arrivals; NaN without one. */
function measuredSeconds({ config, provenance }: SimulationResult): number {
  const { horizon, warmup } = config.run;
  if (horizon === 'none' || horizon === 'trace') return Number.NaN;
  const cut_ns =
    warmup === 'mser-5' ? (provenance.statements.warm_up as WarmUp).ns : Number(durationNs(warmup));
  return (Number(durationNs(horizon)) - cut_ns) / 1e9;
}

function estimate(
  quantity: string,
  values: readonly number[],
  { value: expected, bound }: Expected,
  depth: Depth,
): Check {
  const value = values.reduce((sum, x) => sum + x, 0) / values.length;
  const squares = values.reduce((sum, x) => sum + (x - value) ** 2, 0);
  const standard_error = Math.sqrt(squares / (values.length - 1) / values.length);
  const tolerance = depth === 'full' ? bound * expected - 2 * standard_error : T_999 * standard_error;
  const informative = depth === 'full' || tolerance <= WIDEST * expected;
  const passed = informative && Math.abs(value - expected) <= tolerance;
  return { quantity, value, expected, tolerance, standard_error, passed };
}
