// A folder of the release against the release's own results: as it should be, and with the numbered defects that matter switched on.

import { fixed, percent } from '../report/format.js';
import type { Figure } from '../report/panels.js';
import { CONFIDENCE, tQuantile } from '../report/statistics.js';
import { type Comparison, compare, SATURATION_LIMIT } from '../services/report/compare.js';
import { latencyOverLoad, utilisationOverLoad } from '../services/report/figures.js';
import type { RunSummary } from '../services/run/summary.js';
import type { Services } from '../services/schema.js';
import { type Context, judged, type ResultTable, type Verdict } from './experiment.js';
import { isRepeated, type ReleasePoint, type RepeatedPoint, readRelease } from './release.js';

const MEAN_BOUND = 0.01;
const QUANTILE_BOUND = 0.02;
const UTILISATION_BOUND = 0.01;
/** p99.9 of a few seconds is too noisy to be held to. */
const HELD = [
  [0.5, 'p50_ms'],
  [0.9, 'p90_ms'],
  [0.95, 'p95_ms'],
  [0.99, 'p99_ms'],
] as const;

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
 * By how much two samples of one distribution may differ, relative to it: t times the standard error of the difference. The release's
 * is `error` over `jobs` requests; vtime's follows from it, for `arrived` requests. Bonferroni: 95 % for all `comparisons` together.
 */
function chance(error: number, { runs, jobs }: RepeatedPoint, arrived: number, comparisons: number): number {
  const t = tQuantile(runs - 1, 1 - (1 - CONFIDENCE) / comparisons);
  return t * error * Math.sqrt(1 + jobs / arrived);
}

const load = (value: number) => `${value.toLocaleString('en-US')}/s`;

function verdictsOf(key: string, summary: RunSummary, release: readonly ReleasePoint[]): Verdict[] {
  const held = release.filter(isRepeated).flatMap((at) =>
    compare(summary, [at]).map((own) => ({
      at,
      own,
      arrived: summary.points.find(({ load }) => load === own.load)?.arrived ?? 0,
    })),
  );
  const tiers = held.reduce((sum, { at }) => sum + Object.keys(at.util).length, 0);
  const means = worstOf(
    held.map(({ at, own, arrived }) => ({
      difference: own.mean,
      bound: MEAN_BOUND,
      chance: chance(at.error.mean_ms, at, arrived, held.length),
      load: own.load,
    })),
  );
  const quantiles = worstOf(
    held.flatMap(({ at, own, arrived }) =>
      HELD.flatMap(([q, name]): Difference[] => {
        const difference = own.quantiles[q];
        const allowed = chance(at.error[name], at, arrived, held.length * HELD.length);
        return difference === undefined
          ? []
          : [{ difference, bound: QUANTILE_BOUND, chance: allowed, load: own.load }];
      }),
    ),
  );
  const used = worstOf(
    held.map(({ at, own, arrived }) => ({
      difference: own.utilisation,
      bound: UTILISATION_BOUND,
      chance: chance(at.error.util, at, arrived, tiers),
      load: own.load,
    })),
  );
  const found = ({ difference, chance: allowed, load: at }: Difference) =>
    `${percent(difference, 2)} at ${load(at)}, where chance allows ± ${fixed(allowed * 100, 2)} %`;
  return [
    judged(
      `${key}: mean within 1 % of the release, beyond chance (loads below ${SATURATION_LIMIT * 100} % of saturation)`,
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
  release: readonly ReleasePoint[],
  defects: Defects,
): ResultTable {
  const [own, released] = [compare(right, release), compare(asReleased, release)];
  const cells = (comparison: Comparison | undefined) =>
    comparison === undefined
      ? ['–', '–', '–']
      : [percent(comparison.mean, 2), quantileText(comparison, 0.5), quantileText(comparison, 0.99)];
  const rows = release.flatMap((point) => {
    const { kqps, mean_ms, p99_ms } = point;
    const at = (all: Comparison[]) =>
      all.find((comparison) => Math.abs(comparison.load - kqps * 1000) < 1e-6 * comparison.load);
    const comparison = at(own);
    if (comparison === undefined) return [];
    return [
      [
        load(kqps * 1000),
        String(isRepeated(point) ? point.runs : 1),
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
      'runs of the release',
      'mean, ms',
      'p99, ms',
      ...measures,
      ...(defects.length > 0 ? measures.map((name) => `${name}, as released`) : []),
      'utilisation',
    ],
    rows,
    note: `Differences from the release; where it ran once only, beyond saturation, nothing is held against it.${defects.length > 0 ? ` As released: with ${defects.join(', ')}.` : ''}`,
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
  const release = readRelease(key).filter(({ kqps }) => kqps <= most);
  const services = context.released(folder);
  const [{ sim_seconds = 3 }] = release;
  const options = {
    rates: release.map(({ kqps }) => kqps * 1000),
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
  const figures = [await latencyOverLoad(both, release), await utilisationOverLoad(right)].filter(
    (figure) => figure !== undefined,
  );
  const shorter = context.quick
    ? ' Beyond saturation latency grows with the length of the run; these are shorter than the reference’s.'
    : '';
  return {
    key,
    right,
    asReleased,
    verdicts: verdictsOf(key, asReleased, release),
    table: tableOf(key, right, asReleased, release, defects),
    figures: figures.map((figure) => ({ ...figure, caption: `${key}. ${figure.caption}${shorter}` })),
  };
}
