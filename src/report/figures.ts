// The figures of the report. Each states its n and what its whiskers are.

import { bucketLabel, type CurvePoint, exceedance, stintShares } from './distributions.js';
import { countRange, difference, percent, plural, verdict } from './format.js';
import type { HeatMap } from './heatmap.js';
import { domainCount, policyLabel } from './labels.js';
import { LISTINGS, PAPER_CLAIMS } from './paper.js';
import { differs, type Estimate } from './statistics.js';
import {
  type Measure,
  meanStates,
  type Point,
  pooledHistogram,
  type Scenario,
  type Summary,
} from './summary.js';
import { svg, textWidth } from './vega.js';

export interface LegendEntry {
  label: string;
  /** CSS colour. */
  color: string;
  kind: 'area' | 'line' | 'mark';
}

export interface Figure {
  svg: string;
  caption: string;
  legend: LegendEntry[];
}

type Spec = Record<string, unknown>;

/** Width that the page gives a figure, px. */
const PAGE_WIDTH = 1112;
const GAP = 24;
const ROW_HEIGHT = 18;
const labelWidth = (labels: readonly string[]): number =>
  Math.min(230, Math.max(...labels.map((label) => textWidth(label))) + 8);

/** Panels side by side, at most three in a row. */
function panels(specs: readonly Spec[], columns = 3): Spec {
  return { concat: specs, columns: Math.min(columns, specs.length), spacing: { row: 28, column: GAP } };
}

/** Width of the plot inside each of `n` panels that need `margins` px beside it, the first of a row `labels` px more. */
function plotWidth(n: number, margins: number, labels: number): number {
  const columns = Math.min(3, n);
  const free = PAGE_WIDTH - labels - columns * margins - (columns - 1) * GAP;
  return Math.max(60, Math.min(520, Math.floor(free / columns)));
}

const isRowStart = (i: number): boolean => i % 3 === 0;

function contenders({ points, baseline }: Scenario): Point[] {
  return points.filter((point) => point !== baseline && point.cells.length > 0);
}

function seedsText(estimates: readonly Estimate[]): string {
  const counts = [...new Set(estimates.map(({ n }) => n))].sort((a, b) => a - b);
  return counts.length <= 1 ? `n = ${plural(counts[0] ?? 0, 'seed')}` : `n = ${countRange(counts)} seeds`;
}

function intervalText(estimates: readonly Estimate[]): string {
  const n = seedsText(estimates);
  return estimates.some(({ half }) => half !== undefined)
    ? `${n} per bar; whiskers: 95 % intervals over the seeds (Student’s t)`
    : `${n}, so there are no whiskers`;
}

/** A range that holds every mean and, where they are not out of all proportion, every whisker; percent. */
function percentDomain(estimates: readonly Estimate[]): [number, number] {
  const limit = Math.max(0.01, 4 * Math.max(...estimates.map(({ mean }) => Math.abs(mean))));
  const low = Math.min(0, ...estimates.map(({ mean, half = 0 }) => Math.max(-limit, mean - half)));
  const high = Math.max(0, ...estimates.map(({ mean, half = 0 }) => Math.min(limit, mean + half)));
  const pad = 0.03 * (high - low);
  return [(low - pad) * 100, (high + pad) * 100];
}

/** One range for all panels unless that would flatten one of them to less than a quarter. */
function panelDomains(all: readonly Estimate[][]): { domains: [number, number][]; shared: boolean } {
  const own = all.map(percentDomain);
  const whole = percentDomain(all.flat());
  const shared = own.every(([low, high]) => high - low > (whole[1] - whole[0]) / 4);
  return { domains: shared ? own.map(() => whole) : own, shared };
}

const PERCENT_LABELS = "datum.value == 0 ? '0' : format(datum.value, '+~r')";

const VERDICT_COLORS = { lower: 'var(--lower)', higher: 'var(--higher)', open: 'var(--open)' };

const VERDICT_LEGEND: LegendEntry[] = [
  { label: 'lower than the baseline', color: VERDICT_COLORS.lower, kind: 'area' },
  { label: 'higher', color: VERDICT_COLORS.higher, kind: 'area' },
  { label: 'interval includes no difference', color: VERDICT_COLORS.open, kind: 'area' },
];

function relativePanel(
  scenario: Scenario,
  key: Measure['key'],
  domain: [number, number],
  width: number,
  labels: number | undefined,
): Spec {
  const values = contenders(scenario).flatMap((point) => {
    const value = point.relative[key];
    if (value === undefined) return [];
    const { mean, half } = value;
    const bounds = half === undefined ? {} : { low: (mean - half) * 100, high: (mean + half) * 100 };
    return [
      {
        label: point.label,
        mean: mean * 100,
        ...bounds,
        color: VERDICT_COLORS[verdict(value)],
        text: difference(value),
      },
    ];
  });
  const x = { type: 'quantitative', scale: { domain, nice: false } };
  const axis = { title: '% relative to the baseline', labelExpr: PERCENT_LABELS, tickCount: 5, grid: true };
  const y = {
    field: 'label',
    type: 'ordinal',
    sort: null,
    title: null,
    axis: {
      domain: false,
      ticks: false,
      labels: labels !== undefined,
      labelColor: 'var(--ink)',
      maxExtent: labels ?? 0,
    },
  };
  return {
    title: scenario.label,
    width,
    height: { step: ROW_HEIGHT },
    data: { values },
    encoding: { y },
    layer: [
      {
        mark: { type: 'bar', height: 10 },
        encoding: {
          x: { ...x, field: 'mean', axis },
          color: { field: 'color', type: 'nominal', scale: null, legend: null },
        },
      },
      {
        transform: [{ filter: 'isValid(datum.low)' }],
        mark: { type: 'rule', color: 'var(--ink)', strokeWidth: 1.25, clip: true },
        encoding: { x: { ...x, field: 'low' }, x2: { field: 'high' } },
      },
      {
        mark: { type: 'rule', color: 'var(--line)' },
        encoding: { x: { datum: 0, type: 'quantitative' }, y: null },
      },
      {
        mark: { type: 'text', align: 'left', baseline: 'middle' },
        encoding: { x: { value: width + 8 }, text: { field: 'text' } },
      },
    ],
  };
}

/** A measure relative to the baseline per contender and load: the paper's Figures 6 to 9. */
export async function relativeFigure(summary: Summary, measure: Measure): Promise<Figure | undefined> {
  const { key } = measure;
  const scenarios = summary.scenarios.filter((scenario) =>
    contenders(scenario).some(({ relative }) => relative[key] !== undefined),
  );
  if (scenarios.length === 0) return undefined;
  const estimates = scenarios.map((scenario) =>
    contenders(scenario).flatMap(({ relative }) => relative[key] ?? []),
  );
  const { domains, shared } = panelDomains(estimates);
  const labels = labelWidth(scenarios.flatMap((scenario) => contenders(scenario).map(({ label }) => label)));
  const width = plotWidth(scenarios.length, 96, labels);
  const specs = scenarios.map((scenario, i) =>
    relativePanel(scenario, key, domains[i], width, isRowStart(i) ? labels : undefined),
  );
  const baseline = scenarios[0].baseline!.label;
  const pairing =
    measure.quantile === undefined
      ? 'Paired by seed'
      : 'Seeds pooled before the quantile is taken; the interval is the jackknife’s over seeds';
  const claim = PAPER_CLAIMS[key];
  const caption = [
    `${measure.name} relative to ${baseline}: ${measure.meaning}.`,
    `${pairing}; ${intervalText(estimates.flat())}.`,
    shared ? '' : 'The panels’ scales differ.',
    claim === undefined ? '' : `The paper reports ${claim}.`,
  ];
  return {
    svg: await svg(panels(specs), `${measure.name} relative to ${baseline}`),
    caption: caption.filter(Boolean).join(' '),
    legend: VERDICT_LEGEND,
  };
}

const GROUP_COLORS = [
  'var(--c0)',
  'var(--c1)',
  'var(--c2)',
  'var(--c3)',
  'var(--c4)',
  'var(--c5)',
  'var(--c6)',
];

const groupName = (point: Point): string =>
  'policy' in point.values ? policyLabel(point.values.policy) : point.label;

/** Points of the same policy share a colour; the baseline has the first. */
function groupColors(summary: Summary): Map<string, string> {
  const points = summary.scenarios.flatMap((scenario) => scenario.points);
  const names = [...new Set(points.map(groupName))];
  return new Map(names.map((name, i) => [name, GROUP_COLORS[i % GROUP_COLORS.length]]));
}

const groupLegend = (colors: ReadonlyMap<string, string>, kind: LegendEntry['kind']): LegendEntry[] =>
  [...colors].map(([label, color]) => ({ label, color, kind }));

/** Energy against latency, both relative to the baseline: what is gained and what it costs. */
export async function tradeOffFigure(summary: Summary): Promise<Figure | undefined> {
  const colors = groupColors(summary);
  const scenarios = summary.scenarios.flatMap(({ label, ...scenario }) => {
    const both = contenders({ label, ...scenario }).flatMap((point) => {
      const { energy, latency } = point.relative;
      return energy === undefined || latency === undefined ? [] : [{ point, energy, latency }];
    });
    return both.length === 0 ? [] : [{ label, both }];
  });
  if (scenarios.length === 0) return undefined;
  const width = plotWidth(scenarios.length, 56, 0);
  const specs = scenarios.map(({ label, both }) => {
    const values = both.map(({ point, energy, latency }) => ({
      energy: energy.mean * 100,
      energy_low: (energy.mean - (energy.half ?? 0)) * 100,
      energy_high: (energy.mean + (energy.half ?? 0)) * 100,
      latency: latency.mean * 100,
      latency_low: (latency.mean - (latency.half ?? 0)) * 100,
      latency_high: (latency.mean + (latency.half ?? 0)) * 100,
      color: colors.get(groupName(point)),
    }));
    const axis = { labelExpr: PERCENT_LABELS, tickCount: 5 };
    const scaleOf = (estimates: Estimate[]) => ({ domain: percentDomain(estimates), nice: false });
    const x = { type: 'quantitative', scale: scaleOf(both.map(({ energy }) => energy)) };
    const y = { type: 'quantitative', scale: scaleOf(both.map(({ latency }) => latency)) };
    const color = { field: 'color', type: 'nominal', scale: null, legend: null };
    const whisker = { type: 'rule', clip: true, opacity: 0.35, strokeWidth: 1 };
    return {
      title: label,
      width,
      height: Math.round(Math.min(260, width * 0.85)),
      data: { values },
      layer: [
        { mark: { type: 'rule', color: 'var(--line)' }, encoding: { x: { datum: 0, type: 'quantitative' } } },
        { mark: { type: 'rule', color: 'var(--line)' }, encoding: { y: { datum: 0, type: 'quantitative' } } },
        {
          mark: whisker,
          encoding: {
            x: { ...x, field: 'energy_low' },
            x2: { field: 'energy_high' },
            y: { ...y, field: 'latency' },
            color,
          },
        },
        {
          mark: whisker,
          encoding: {
            y: { ...y, field: 'latency_low' },
            y2: { field: 'latency_high' },
            x: { ...x, field: 'energy' },
            color,
          },
        },
        {
          mark: { type: 'point', filled: true, size: 46, opacity: 1 },
          encoding: {
            x: { ...x, field: 'energy', axis: { ...axis, title: 'energy, %' } },
            y: { ...y, field: 'latency', axis: { ...axis, title: 'mean latency, %' } },
            color,
          },
        },
      ],
    };
  });
  const baseline = summary.scenarios.find((scenario) => scenario.baseline)!.baseline!;
  const used = new Map(
    [...colors].filter(([name]) =>
      scenarios.some(({ both }) => both.some(({ point }) => groupName(point) === name)),
    ),
  );
  return {
    svg: await svg(panels(specs), `Energy against mean latency, relative to ${baseline.label}`),
    caption: `Energy against mean latency, both relative to ${baseline.label} (the crossing of the lines) at the same load. Left and below is better. One point per contender; ${intervalText(scenarios.flatMap(({ both }) => both.map(({ energy }) => energy))).replace('per bar', 'per point')}. The panels’ scales differ.`,
    legend: groupLegend(used, 'mark'),
  };
}

/** A map is coloured by steps, so that CSS can supply the colours: four below zero, zero, four above. */
function heatColor({ mean }: Estimate, largest: number): string {
  const step = Math.round((4 * mean) / largest);
  return step === 0 ? 'var(--heat0)' : `var(--heat${step < 0 ? 'minus' : 'plus'}${Math.abs(step)})`;
}

/** Those maps of one measure that show more than noise. */
export async function heatMapFigure(maps: readonly HeatMap[]): Promise<Figure | undefined> {
  if (maps.length === 0) return undefined;
  const [{ measure, rowName, columnName }] = maps;
  const largest = Math.max(...maps.flatMap(({ cells }) => cells.map(({ value }) => Math.abs(value.mean))));
  const specs = maps.map(({ scenario, cells }) => {
    const values = cells.map(({ row, column, value }) => ({
      row,
      column,
      color: heatColor(value, largest),
      text: percent(value.mean).replace(' %', ''),
      ink:
        Math.abs(value.mean) > 0.6 * largest
          ? 'var(--heat-ink)'
          : differs(value)
            ? 'var(--ink)'
            : 'var(--muted)',
    }));
    const axis = { domain: false, ticks: false, labelAngle: 0, labelColor: 'var(--ink)' };
    return {
      title: scenario,
      width: { step: 64 },
      height: { step: 30 },
      data: { values },
      encoding: {
        x: { field: 'column', type: 'ordinal', sort: null, title: columnName, axis },
        y: { field: 'row', type: 'ordinal', sort: null, title: rowName, axis },
      },
      layer: [
        {
          mark: { type: 'rect', stroke: 'var(--page)', strokeWidth: 2 },
          encoding: { color: { field: 'color', type: 'nominal', scale: null, legend: null } },
        },
        {
          mark: { type: 'text' },
          encoding: {
            text: { field: 'text' },
            color: { field: 'ink', type: 'nominal', scale: null, legend: null },
          },
        },
      ],
    };
  });
  const estimates = maps.flatMap(({ cells }) => cells.map(({ value }) => value));
  return {
    svg: await svg(panels(specs), `${measure.name} by ${rowName} and ${columnName}`),
    caption: `${measure.name} by ${rowName} and ${columnName}, % relative to the baseline. ${seedsText(estimates)} per cell; grey numbers are those whose 95 % interval over the seeds includes no difference.`,
    legend: [],
  };
}

/** One point per policy, the middle one in grid order where a policy has several, and at most seven. */
function representatives(points: readonly Point[]): Point[] {
  const groups = new Map<string, Point[]>();
  for (const point of points.filter(({ cells }) => cells.length > 0)) {
    groups.set(groupName(point), [...(groups.get(groupName(point)) ?? []), point]);
  }
  const chosen = [...groups.values()].map((group) => group[(group.length - 1) >> 1]);
  if (chosen.length <= GROUP_COLORS.length) return chosen;
  const step = (chosen.length - 1) / (GROUP_COLORS.length - 1);
  return GROUP_COLORS.map((_, i) => chosen[Math.round(i * step)]);
}

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
      return histogram.count < 100 ? [] : [{ point, count: histogram.count, curve: exceedance(histogram) }];
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
          title: 'share of invocations above',
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
    svg: await svg(panels(specs), 'Share of invocations above each latency'),
    caption: `Latency distributions: the share of invocations that took longer, both axes logarithmic. Histograms of all seeds merged, n = ${countRange(counts)} invocations per curve; a curve ends where ten are left.`,
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

function listingOf(point: Point): (typeof LISTINGS)[string] | undefined {
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
    const listing = listingOf(point);
    const values = shares.map(({ from_us, share }, i) => ({
      bucket: bucketLabel(from_us),
      share: share * 100,
      ...(listing !== undefined && i > 0 ? { paper: listing.shares[i - 1] * 100 } : {}),
    }));
    const y = { type: 'quantitative', scale: { zero: true } };
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
  const compared = shown.some(({ point }) => listingOf(point) !== undefined);
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

const STATES = [
  ['running', 'running', 'var(--s1)'],
  ['cold', 'cold CPU or cache', 'var(--s2)'],
  ['io', 'I/O', 'var(--s3)'],
  ['siblings', 'siblings', 'var(--s4)'],
  ['control', 'control plane', 'var(--s5)'],
  ['preempted', 'preempted', 'var(--s6)'],
  ['local_queue', 'local queue', 'var(--s7)'],
  ['run_queue', 'run queue or DSQ', 'var(--s8)'],
  ['worker_queue', 'worker’s queue', 'var(--s9)'],
] as const;

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
  const occurring = STATES.filter(([state]) =>
    scenarios.some(({ rows }) => rows.some(({ states }) => states[state] > 0)),
  );
  const specs = scenarios.map(({ label, rows }, i) => ({
    title: label,
    width,
    height: { step: ROW_HEIGHT },
    data: {
      values: rows.flatMap(({ point, states }) => {
        let from = 0;
        return occurring.map(([state, , color]) => {
          const start = from;
          from += states[state];
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
        axis: { title: 'ms per invocation', tickCount: 5, labelExpr: "format(datum.value, ',~r')" },
      },
      x2: { field: 'to' },
      color: { field: 'color', type: 'nominal', scale: null, legend: null },
    },
  }));
  const replications = scenarios.flatMap(({ rows }) => rows.map(({ point }) => point.cells.length));
  const n = [...new Set(replications)].sort((a, b) => a - b).join(' or ');
  return {
    svg: await svg(panels(specs), 'Time per invocation by state'),
    caption: `Where an invocation’s time goes: mean time in each state, which add up to the mean latency. Means over n = ${n} seeds. The panels’ scales differ.`,
    legend: occurring.map(([, label, color]) => ({ label, color, kind: 'area' })),
  };
}
