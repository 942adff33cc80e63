// Figures of differences: each contender beside the baseline.

import { difference, percent, percentPlaces, verdict } from './format.js';
import type { HeatMap } from './heatmap.js';
import {
  contenders,
  type Figure,
  groupColors,
  groupLegend,
  groupName,
  intervalText,
  isRowStart,
  type LegendEntry,
  labelWidth,
  panels,
  plotWidth,
  ROW_HEIGHT,
  type Spec,
  seedsText,
} from './panels.js';
import { PAPER_CLAIMS } from './paper.js';
import { differs, type Estimate } from './statistics.js';
import type { Measure, Scenario, Summary } from './summary.js';
import { svg } from './vega.js';

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
  const claim = summary.jobs === 'invocations' ? PAPER_CLAIMS[key] : undefined;
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
  const decimals = percentPlaces(maps.flatMap(({ cells }) => cells.map(({ value }) => value.mean)));
  // Full colour stands for 1 % at least, so that small differences look small.
  const largest = Math.max(
    0.01,
    ...maps.flatMap(({ cells }) => cells.map(({ value }) => Math.abs(value.mean))),
  );
  const specs = maps.map(({ scenario, cells }) => {
    const values = cells.map(({ row, column, value }) => ({
      row,
      column,
      color: heatColor(value, largest),
      text: percent(value.mean, decimals).replace(' %', ''),
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
