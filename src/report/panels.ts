// What the figures share: panels side by side, colours, and how they state their n.

import { countRange, plural } from './format.js';
import { policyLabel } from './labels.js';
import type { Estimate } from './statistics.js';
import type { Point, Scenario, Summary } from './summary.js';
import { textWidth } from './vega.js';

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

export type Spec = Record<string, unknown>;

/** Width that the page gives a figure, px. */
export const PAGE_WIDTH = 1112;
export const GAP = 24;
export const ROW_HEIGHT = 18;
export const labelWidth = (labels: readonly string[]): number =>
  Math.min(230, Math.max(...labels.map((label) => textWidth(label))) + 8);

/** Panels side by side, at most three in a row. */
export function panels(specs: readonly Spec[], columns = 3): Spec {
  return { concat: specs, columns: Math.min(columns, specs.length), spacing: { row: 28, column: GAP } };
}

/** Width of the plot inside each of `n` panels that need `margins` px beside it, the first of a row `labels` px more. */
export function plotWidth(n: number, margins: number, labels: number): number {
  const columns = Math.min(3, n);
  const free = PAGE_WIDTH - labels - columns * margins - (columns - 1) * GAP;
  return Math.max(60, Math.min(520, Math.floor(free / columns)));
}

export const isRowStart = (i: number): boolean => i % 3 === 0;

export function contenders({ points, baseline }: Scenario): Point[] {
  return points.filter((point) => point !== baseline && point.cells.length > 0);
}

export function seedsText(estimates: readonly Estimate[]): string {
  const counts = [...new Set(estimates.map(({ n }) => n))].sort((a, b) => a - b);
  return counts.length <= 1 ? `n = ${plural(counts[0] ?? 0, 'seed')}` : `n = ${countRange(counts)} seeds`;
}

export function intervalText(estimates: readonly Estimate[]): string {
  const n = seedsText(estimates);
  return estimates.some(({ half }) => half !== undefined)
    ? `${n} per bar; whiskers: 95 % intervals over the seeds (Student’s t)`
    : `${n}, so there are no whiskers`;
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

export const groupName = (point: Point): string =>
  'policy' in point.values ? policyLabel(point.values.policy) : point.label;

/** Points of the same policy share a colour; the baseline has the first. */
export function groupColors(summary: Summary): Map<string, string> {
  const points = summary.scenarios.flatMap((scenario) => scenario.points);
  const names = [...new Set(points.map(groupName))];
  return new Map(names.map((name, i) => [name, GROUP_COLORS[i % GROUP_COLORS.length]]));
}

export const groupLegend = (colors: ReadonlyMap<string, string>, kind: LegendEntry['kind']): LegendEntry[] =>
  [...colors].map(([label, color]) => ({ label, color, kind }));

/** One point per policy, the middle one in grid order where a policy has several, and at most seven. */
export function representatives(points: readonly Point[]): Point[] {
  const groups = new Map<string, Point[]>();
  for (const point of points.filter(({ cells }) => cells.length > 0)) {
    groups.set(groupName(point), [...(groups.get(groupName(point)) ?? []), point]);
  }
  const chosen = [...groups.values()].map((group) => group[(group.length - 1) >> 1]);
  if (chosen.length <= GROUP_COLORS.length) return chosen;
  const step = (chosen.length - 1) / (GROUP_COLORS.length - 1);
  return GROUP_COLORS.map((_, i) => chosen[Math.round(i * step)]);
}
