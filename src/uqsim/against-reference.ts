// A folder of the release against the release's own results: as it should be, and with the numbered defects that matter switched on.

import { fixed, percent } from '../report/format.js';
import type { Figure } from '../report/panels.js';
import type { Estimate } from '../report/statistics.js';
import { type Comparison, compare, SATURATION_LIMIT } from '../services/report/compare.js';
import { latencyOverLoad, utilisationOverLoad } from '../services/report/figures.js';
import { type ReferencePoint, readReference } from '../services/report/reference.js';
import { type PointSummary, QUANTILES, type RunSummary } from '../services/run/summary.js';
import type { Services } from '../services/schema.js';
import { REFERENCE } from './data.js';
import { type Context, judged, type ResultTable, type Verdict } from './experiment.js';

const MEAN_BOUND = 0.01;
const QUANTILE_BOUND = 0.02;
const UTILISATION_BOUND = 0.01;
/** p99.9 of the reference's few seconds is too noisy to be held to. */
const HELD = QUANTILES.filter((q) => q <= 0.99);

export type Defects = Services['compat'];

export interface AgainstReference {
  key: string;
  /** Without defects. */
  right: RunSummary;
  /** With those switched on; the same as `right` if there are none. */
  asReleased: RunSummary;
  verdicts: Verdict[];
  table: ResultTable;
  figures: Figure[];
}

interface Difference {
  difference: number;
  bound: number;
  /** What chance adds to the bound. */
  chance: number;
  load: number;
}

/** The difference that comes closest to what is allowed, or goes furthest beyond, and whether all are within. */
function worstOf(values: readonly Difference[]): { worst: Difference; holds: boolean } {
  const excess = ({ difference, bound, chance }: Difference) => Math.abs(difference) / (bound + chance);
  const worst = values.reduce<Difference>(
    (most, own) => (excess(own) > excess(most) ? own : most),
    values[0] ?? { difference: 0, bound: 1, chance: 0, load: 0 },
  );
  return { worst, holds: excess(worst) <= 1 };
}

/**
 * Half the relative 95 % prediction interval for one more run of `jobs` requests, from the interval of a mean over n runs of L requests
 * each: t s √(1/n + L/jobs), where the interval's half is t s / √n. The reference is one such run.
 */
function chance(value: Estimate | undefined, { arrived, seeds }: PointSummary, jobs: number): number {
  if (value?.half === undefined || !(value.mean > 0)) return 0;
  const n = seeds.length;
  return (value.half / value.mean) * Math.sqrt(1 + (n * (arrived / n)) / jobs);
}

const load = (value: number) => `${value.toLocaleString('en-US')}/s`;

function verdictsOf(key: string, summary: RunSummary, reference: readonly ReferencePoint[]): Verdict[] {
  const comparisons = compare(summary, reference).filter(({ isBelow }) => isBelow);
  const at = (own: Comparison) => {
    const point = summary.points.find((candidate) => candidate.load === own.load) as PointSummary;
    const jobs =
      reference.find(({ kqps }) => Math.abs(kqps * 1000 - own.load) < 1e-6 * own.load)?.jobs ?? point.arrived;
    return { point, jobs };
  };
  const means = worstOf(
    comparisons.map((own) => {
      const { point, jobs } = at(own);
      return {
        difference: own.mean,
        bound: MEAN_BOUND,
        chance: chance(point.mean_ms, point, jobs),
        load: own.load,
      };
    }),
  );
  const quantiles = worstOf(
    comparisons.flatMap((own) =>
      HELD.flatMap((q): Difference[] => {
        const difference = own.quantiles[q];
        const { point, jobs } = at(own);
        const allowed = chance(point.quantiles_ms[q], point, jobs);
        return difference === undefined
          ? []
          : [{ difference, bound: QUANTILE_BOUND, chance: allowed, load: own.load }];
      }),
    ),
  );
  const used = worstOf(
    comparisons.map((own) => {
      const { point, jobs } = at(own);
      const busiest = Math.max(
        ...point.tiers.map(({ utilisation }) => (utilisation?.mean ?? 0) * chance(utilisation, point, jobs)),
      );
      return { difference: own.utilisation, bound: UTILISATION_BOUND, chance: busiest, load: own.load };
    }),
  );
  const found = ({ difference, chance: allowed, load: at }: Difference) =>
    `${percent(difference, 2)} at ${load(at)}, where chance allows ± ${fixed(allowed * 100, 2)} %`;
  const range = `loads with the busiest tier below ${SATURATION_LIMIT * 100} %`;
  return [
    judged(
      `${key}: mean within 1 % of the reference, beyond chance (${range})`,
      found(means.worst),
      means.holds,
    ),
    judged(`${key}: p50 to p99 within 2 %, beyond chance`, found(quantiles.worst), quantiles.holds),
    judged(
      `${key}: utilisation within 0.01, beyond chance`,
      `${used.worst.difference.toFixed(3)} at ${load(used.worst.load)}, where chance allows ± ${fixed(used.worst.chance, 3)}`,
      used.holds,
    ),
  ];
}

function tableOf(
  key: string,
  right: RunSummary,
  asReleased: RunSummary,
  reference: readonly ReferencePoint[],
  defects: Defects,
): ResultTable {
  const [own, released] = [compare(right, reference), compare(asReleased, reference)];
  const cells = (comparison: Comparison | undefined) =>
    comparison === undefined
      ? ['–', '–', '–']
      : [percent(comparison.mean, 2), quantileText(comparison, 0.5), quantileText(comparison, 0.99)];
  const rows = reference.flatMap(({ kqps, mean_ms, p99_ms }) => {
    const at = (all: Comparison[]) =>
      all.find((comparison) => Math.abs(comparison.load - kqps * 1000) < 1e-6 * comparison.load);
    const comparison = at(own);
    if (comparison === undefined) return [];
    return [
      [
        load(kqps * 1000),
        mean_ms.toPrecision(4),
        p99_ms.toPrecision(4),
        ...cells(comparison),
        ...(defects.length > 0 ? cells(at(released)) : []),
        comparison.utilisation.toFixed(3),
      ],
    ];
  });
  const measures = ['mean', 'p50', 'p99'];
  return {
    title: key,
    header: [
      'load',
      'reference mean, ms',
      'p99, ms',
      ...measures,
      ...(defects.length > 0 ? measures.map((name) => `${name}, as released`) : []),
      'utilisation',
    ],
    rows,
    note: `Differences from the reference, which is one run; held to the tolerance and what chance allows for one run of its length.${defects.length > 0 ? ` As released: with ${defects.join(', ')}.` : ''}`,
  };
}

const quantileText = ({ quantiles }: Comparison, q: 0.5 | 0.99) =>
  quantiles[q] === undefined ? '–' : percent(quantiles[q], 2);

export interface Series {
  /** Name in reference.json. */
  key: string;
  folder?: string;
  defects: Defects;
  /** Highest load, thousands per second. */
  most?: number;
  /** Requests per run of a quick one. */
  quickRequests?: number;
}

/**
 * Runs a series of reference.json at its loads. In a full run each point takes the reference's simulated seconds, so that points beyond
 * saturation compare too.
 */
export async function againstReference(
  context: Context,
  { key, folder = key, defects, most = Number.POSITIVE_INFINITY, quickRequests = 15_000 }: Series,
): Promise<AgainstReference> {
  const reference = readReference(REFERENCE, key).filter(({ kqps }) => kqps <= most);
  const services = context.released(folder);
  const [{ sim_seconds = 3 }] = reference;
  const options = {
    rates: reference.map(({ kqps }) => kqps * 1000),
    replications: context.choose(4, 10),
    ...(context.quick ? { requests: quickRequests } : { duration: `${sim_seconds}s` }),
  };
  const [right, withDefects] = await Promise.all([
    context.run(services, options),
    defects.length === 0 ? undefined : context.run({ ...services, compat: defects }, options),
  ]);
  const asReleased = withDefects ?? right;
  const named = (summary: RunSummary, scheduler: string) =>
    summary.points.map((point) => ({ ...point, scheduler }));
  const both: RunSummary =
    defects.length === 0
      ? right
      : {
          ...right,
          points: [...named(right, 'vtime'), ...named(asReleased, `vtime with ${defects.join(', ')}`)],
          knees: [],
        };
  const figures = [await latencyOverLoad(both, reference), await utilisationOverLoad(right)].filter(
    (figure) => figure !== undefined,
  );
  const shorter = context.quick
    ? ' Beyond saturation latency grows with the length of the run; these are shorter than the reference’s.'
    : '';
  return {
    key,
    right,
    asReleased,
    verdicts: verdictsOf(key, asReleased, reference),
    table: tableOf(key, right, asReleased, reference, defects),
    figures: figures.map((figure) => ({ ...figure, caption: `${key}. ${figure.caption}${shorter}` })),
  };
}
