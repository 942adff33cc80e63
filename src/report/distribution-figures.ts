// Figures of distributions and shares, each policy by itself.

import { bucketLabel, type CurvePoint, exceedance, stintShares } from './distributions.js';
import { countRange } from './format.js';
import { domainCount } from './labels.js';
import {
  type Figure,
  GAP,
  groupColors,
  groupLegend,
  groupName,
  isRowStart,
  labelWidth,
  PAGE_WIDTH,
  panels,
  plotWidth,
  ROW_HEIGHT,
  representatives,
} from './panels.js';
import { LISTINGS } from './paper.js';
import { meanStates, type Point, pooledHistogram, type Scenario, type Summary } from './summary.js';
import { svg } from './vega.js';

/** 1, 2, 5, 10, … between these bounds; powers of ten alone if that would be more than eight. */
function logTicks(low: number, high: number): number[] {
  const decades = Array.from(
    { length: Math.ceil(Math.log10(high)) - Math.floor(Math.log10(low)) + 1 },
    (_, i) => 10 ** (Math.floor(Math.log10(low)) + i),
  );
  const inside = (value: number) => value >= low && value <= high;
  const all = decades.flatMap((decade) => [decade, 2 * decade, 5 * decade]).filter(inside);
  return all.length > 8 ? decades.filter(inside) : all;
}

/** Complementary distribution functions of the latency. */
export async function latencyFigure(summary: Summary): Promise<Figure | undefined> {
  const colors = groupColors(summary);
  const scenarios = summary.scenarios.flatMap(({ label, points }) => {
    const curves = representatives(points).flatMap((point) => {
      const histogram = pooledHistogram(point, 'latency');
      const curve = exceedance(histogram);
      return curve.length < 2 ? [] : [{ point, count: histogram.count, curve }];
    });
    return curves.length === 0 ? [] : [{ label, curves }];
  });
  if (scenarios.length === 0) return undefined;
  const width = plotWidth(scenarios.length, 56, 0);
  const ticksOf = (curves: { curve: CurvePoint[] }[]) => {
    const xs = curves.flatMap(({ curve }) => curve.map(({ x }) => x)).filter((x) => x > 0);
    return logTicks(Math.min(...xs), Math.max(...xs));
  };
  const specs = scenarios.map(({ label, curves }) => ({
    title: label,
    width,
    height: 230,
    data: {
      values: curves.flatMap(({ point, curve }) =>
        curve.filter(({ x }) => x > 0).map((at) => ({ ...at, color: colors.get(groupName(point)) })),
      ),
    },
    mark: { type: 'line', strokeWidth: 1.6, interpolate: 'linear' },
    encoding: {
      x: {
        field: 'x',
        type: 'quantitative',
        scale: { type: 'log', nice: false },
        axis: { title: 'latency, ms', values: ticksOf(curves), labelExpr: "format(datum.value, ',~r')" },
      },
      y: {
        field: 'above',
        type: 'quantitative',
        scale: { type: 'log', nice: false, domainMax: 1 },
        axis: {
          title: `share of ${summary.jobs} above`,
          values: [1, 0.5, 0.1, 0.01, 0.001, 0.0001, 0.00001],
          labelExpr: "format(100 * datum.value, '~r') + ' %'",
        },
      },
      detail: { field: 'color', type: 'nominal' },
      color: { field: 'color', type: 'nominal', scale: null, legend: null },
    },
  }));
  const shown = scenarios.flatMap(({ curves }) => curves);
  const counts = shown.map(({ count }) => count);
  const used = new Map<string, string>();
  for (const { point } of shown) {
    const name = groupName(point);
    used.set(point.label, colors.get(name)!);
  }
  return {
    svg: await svg(panels(specs), `Share of ${summary.jobs} above each latency`),
    caption: `Latency distributions: the share of ${summary.jobs} that took longer, both axes logarithmic. Histograms of all seeds merged, n = ${countRange(counts)} ${summary.jobs} per curve; a curve ends where ten are left.`,
    legend: groupLegend(used, 'line'),
  };
}

/** The baseline, the fewest and the most domains: what the paper's listings show. */
function listedPoints({ points, baseline }: Scenario): Point[] {
  const candidates = representatives(points);
  const byDomains = candidates
    .filter(({ values }) => domainCount(values) !== undefined)
    .sort((a, b) => domainCount(a.values)! - domainCount(b.values)!);
  const chosen =
    byDomains.length > 0 ? [baseline, byDomains[0], byDomains[byDomains.length - 1]] : candidates.slice(0, 3);
  return [...new Set(chosen)].filter((point) => point !== undefined && point.cells.length > 0) as Point[];
}

/** The listings are of a worker's machine; other workloads have nothing to compare with. */
function listingOf({ jobs }: Summary, point: Point): (typeof LISTINGS)[string] | undefined {
  if (jobs !== 'invocations') return undefined;
  const domains = domainCount(point.values);
  return LISTINGS[domains === undefined ? groupName(point) : `domains:${domains}`];
}

/** CPU time per stint on a CPU, beside the paper's listings. */
export async function stintFigure(summary: Summary): Promise<Figure | undefined> {
  const shown = summary.scenarios.flatMap((scenario) =>
    listedPoints(scenario).flatMap((point) => {
      const histogram = pooledHistogram(point, 'stint');
      return histogram.count === 0 ? [] : [{ scenario, point, histogram }];
    }),
  );
  if (shown.length === 0) return undefined;
  const perRow = Math.max(...summary.scenarios.map((scenario) => listedPoints(scenario).length));
  const width = perRow === 1 ? 520 : Math.floor((PAGE_WIDTH - perRow * 40 - (perRow - 1) * GAP) / perRow);
  const specs = shown.map(({ scenario, point, histogram }) => {
    const shares = stintShares(histogram);
    const listing = listingOf(summary, point);
    const values = shares.map(({ from_us, share }, i) => ({
      bucket: bucketLabel(from_us),
      share: share * 100,
      paper: listing !== undefined && i > 0 ? listing.shares[i - 1] * 100 : null,
    }));
    const highest = Math.max(...values.map(({ share, paper }) => Math.max(share, paper ?? 0)));
    const y = { type: 'quantitative', scale: { domain: [0, 1.08 * highest], nice: false } };
    return {
      title: [point.label, scenario.label].filter(Boolean).join(', '),
      width,
      height: 110,
      data: { values },
      encoding: {
        x: {
          field: 'bucket',
          type: 'ordinal',
          sort: null,
          axis: {
            title: 'from µs (each to twice that)',
            labelAngle: 0,
            ticks: false,
            labelFontSize: 9,
            labelOverlap: true,
          },
        },
      },
      layer: [
        {
          mark: { type: 'bar', color: 'var(--accent)' },
          encoding: { y: { ...y, field: 'share', axis: { title: '% of stints', tickCount: 4 } } },
        },
        {
          transform: [{ filter: 'isValid(datum.paper)' }],
          mark: { type: 'tick', color: 'var(--higher)', thickness: 2.5 },
          encoding: { y: { ...y, field: 'paper' } },
        },
      ],
    };
  });
  const compared = shown.some(({ point }) => listingOf(summary, point) !== undefined);
  const counts = shown.map(({ histogram }) => histogram.count);
  return {
    svg: await svg(panels(specs, perRow), 'CPU time per stint'),
    caption: `CPU time per stint (one stay of a task on a CPU), all tasks, all seeds merged; n = ${countRange(counts)} stints per panel.${compared ? ' Marks are the paper’s Listings 1 to 3 (its trace1, a medium load, for the same scheduler) and stand in every row.' : ''}`,
    legend: compared
      ? [
          { label: 'simulated', color: 'var(--accent)', kind: 'area' },
          { label: 'paper', color: 'var(--higher)', kind: 'line' },
        ]
      : [],
  };
}

/** States from useful to wasted, with label and colour; a state without an entry comes last, by its own name. */
const STATES: readonly (readonly [state: string, label: string, color: string])[] = [
  ['running', 'running', 'var(--s1)'],
  ['cold', 'cold CPU or cache', 'var(--s2)'],
  ['io', 'I/O', 'var(--s3)'],
  ['siblings', 'siblings', 'var(--s4)'],
  ['control', 'control plane', 'var(--s5)'],
  ['quota', 'out of quota', 'var(--s10)'],
  ['preempted', 'preempted', 'var(--s6)'],
  ['local_queue', 'local queue', 'var(--s7)'],
  ['run_queue', 'run queue or DSQ', 'var(--s8)'],
  ['worker_queue', 'worker’s queue', 'var(--s9)'],
];

/** Where the latency goes, state by state. */
export async function stateFigure(summary: Summary): Promise<Figure | undefined> {
  const scenarios = summary.scenarios.flatMap(({ label, points }) => {
    const rows = points.flatMap((point) => {
      const states = meanStates(point);
      return states === undefined ? [] : [{ point, states }];
    });
    return rows.length === 0 ? [] : [{ label, rows }];
  });
  if (scenarios.length === 0) return undefined;
  const labels = labelWidth(scenarios.flatMap(({ rows }) => rows.map(({ point }) => point.label)));
  const width = plotWidth(scenarios.length, 16, labels);
  const seen = new Set(
    scenarios.flatMap(({ rows }) =>
      rows.flatMap(({ states }) => Object.keys(states).filter((state) => states[state] > 0)),
    ),
  );
  const unlisted = [...seen].filter((state) => STATES.every(([listed]) => listed !== state));
  const occurring = [
    ...STATES.filter(([state]) => seen.has(state)),
    ...unlisted.map((state) => [state, state.replaceAll('_', ' '), 'var(--muted)'] as const),
  ];
  const specs = scenarios.map(({ label, rows }, i) => ({
    title: label,
    width,
    height: { step: ROW_HEIGHT },
    data: {
      values: rows.flatMap(({ point, states }) => {
        let from = 0;
        return occurring.map(([state, , color]) => {
          const start = from;
          from += states[state] ?? 0;
          return { label: point.label, from: start, to: from, color };
        });
      }),
    },
    mark: { type: 'bar', height: 12 },
    encoding: {
      y: {
        field: 'label',
        type: 'ordinal',
        sort: null,
        title: null,
        axis: {
          domain: false,
          ticks: false,
          labels: isRowStart(i),
          labelColor: 'var(--ink)',
          maxExtent: isRowStart(i) ? labels : 0,
        },
      },
      x: {
        field: 'from',
        type: 'quantitative',
        axis: {
          title: `ms per ${summary.jobs.slice(0, -1)}`,
          tickCount: 5,
          labelExpr: "format(datum.value, ',~r')",
        },
      },
      x2: { field: 'to' },
      color: { field: 'color', type: 'nominal', scale: null, legend: null },
    },
  }));
  const replications = scenarios.flatMap(({ rows }) => rows.map(({ point }) => point.cells.length));
  const means = `Means over n = ${countRange(replications)} ${Math.max(...replications) === 1 ? 'seed' : 'seeds'}`;
  return {
    svg: await svg(panels(specs), 'Time by state'),
    caption: `Where the time goes: mean per ${summary.jobs.slice(0, -1)} in each state; the states add up to the mean latency. ${means}.${scenarios.length > 1 ? ' The panels’ scales differ.' : ''}`,
    legend: occurring.map(([, label, color]) => ({ label, color, kind: 'area' })),
  };
}
