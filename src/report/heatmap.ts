// Domain count × bucket size, or whatever two axes a sweep varies, as a map; and whether there is anything to see in it.

import { canonicalJson } from '../config/canonical.js';
import { share, significant, valueRange } from './format.js';
import { axisName, domainCount, valueText } from './labels.js';
import { type BlockTest, blockTest, type Estimate } from './statistics.js';
import type { Measure, Point, Scenario, Summary } from './summary.js';

/** Fewer invocations of the median function leave its inter-arrival time, which decides its bucket, unknown. */
const MINIMUM_REPEATS = 10;
/** A map is drawn when so large a spread between cells would be this unlikely if no cell mattered. */
const SIGNIFICANCE = 0.05;

/** Cells closer together than this, relative to the baseline, show nothing worth a colour. */
const AGREEMENT = 1e-4;

interface Dimension {
  name: string;
  /** Undefined where a point has no place on it. */
  of: (point: Point) => string | undefined;
}

export interface HeatMapCell {
  row: string;
  column: string;
  /** Relative to the baseline, as a fraction; without a baseline to the mean of the map. */
  value: Estimate;
}

export interface HeatMap {
  scenario: string;
  measure: Measure;
  rowName: string;
  columnName: string;
  cells: HeatMapCell[];
  /** Why it is not drawn, with the numbers; undefined if it is. */
  noise?: string;
}

/** The two dimensions of the map, number of domains and bucket size first. */
function dimensionsOf(summary: Summary, points: readonly Point[]): [Dimension, Dimension] | undefined {
  const distinct = (of: Dimension['of']) =>
    new Set(points.map(of).filter((value) => value !== undefined)).size;
  const paths = [...new Set(points.flatMap(({ values }) => Object.keys(values)))]
    .filter((path) => !summary.scenarioAxes.includes(path))
    .sort((a, b) => Number(b.endsWith('.bucket_size')) - Number(a.endsWith('.bucket_size')));
  const domains: Dimension = {
    name: 'domains',
    of: ({ values }) => domainCount(values)?.toString(),
  };
  const dimensions = paths.map((path): Dimension => {
    if (path === 'policy' && distinct(domains.of) > 1) return domains;
    return {
      name: axisName(path),
      of: ({ values }) => (path in values ? valueText(path, values[path]) : undefined),
    };
  });
  const varying = dimensions.filter(({ of }) => distinct(of) > 1);
  const rows = varying.includes(domains) ? domains : varying[0];
  const columns = varying.find((dimension) => dimension !== rows);
  return rows !== undefined && columns !== undefined ? [rows, columns] : undefined;
}

/** Values of a measure per cell of the map and seed, as logarithms: what seeds change, they change by factors. */
function logRows(points: readonly Point[], of: NonNullable<Measure['of']>): number[][] {
  const seeds = points[0].cells.map(({ seed }) => seed);
  const shared = seeds.filter((seed) =>
    points.every(({ cells }) => cells.some((cell) => cell.seed === seed)),
  );
  return points.map(({ cells }) =>
    shared.map((seed) => Math.log(of(cells.find((cell) => cell.seed === seed)!.metrics))),
  );
}

function medianRepeats({ points }: Scenario): { median: number; functions: number } | undefined {
  const { functions } = points.find((point) => point.functions.length > 0) ?? { functions: [] };
  const counts = functions
    .filter(({ kind, invocations }) => kind === 'function' && invocations > 0)
    .map(({ invocations }) => invocations);
  if (counts.length === 0) return undefined;
  return { median: counts.sort((a, b) => a - b)[counts.length >> 1], functions: counts.length };
}

function noiseIn(
  scenario: Scenario,
  cells: readonly HeatMapCell[],
  test: BlockTest | undefined,
  seeds: number,
): string | undefined {
  const means = cells.map(({ value }) => value.mean);
  if (Math.max(...means) - Math.min(...means) < AGREEMENT) {
    return `The ${cells.length} cells agree within ${share(AGREEMENT, 2)}.`;
  }
  const range = `The ${cells.length} cells range ${valueRange(means)}`;
  if (test === undefined)
    return `${range}; with one seed nothing tells differences between them from chance.`;
  const repeats = medianRepeats(scenario);
  if (repeats !== undefined && repeats.median < MINIMUM_REPEATS) {
    return `Too few repeats: the median of the ${repeats.functions} functions that occur is called ${significant(repeats.median, 2)} times in a run, and fewer than ${MINIMUM_REPEATS} calls leave its inter-arrival time, and so its bucket, unknown.`;
  }
  if (test.p < SIGNIFICANCE) return undefined;
  const alike = test.p > 0.99 ? 'more than 99 %' : share(test.p, 0);
  return `${range}, which is within the seeds’ spread: under one seed a cell strays by ${significant(test.residual * 100, 2)} % (standard deviation), and cells that did not differ at all would look this different in ${alike} of sweeps (F = ${significant(test.f)}; analysis of variance with seeds as blocks, n = ${seeds}).`;
}

/** One map per scenario and measure; none if the grid has no two axes beside the scenario's. */
export function heatMaps(summary: Summary, measures: readonly Measure[]): HeatMap[] {
  return summary.scenarios.flatMap((scenario) => {
    const points = scenario.points.filter((point) => point !== scenario.baseline && point.cells.length > 0);
    const dimensions = dimensionsOf(summary, points);
    if (dimensions === undefined) return [];
    const [rows, columns] = dimensions;
    const placed = points.filter((point) => rows.of(point) !== undefined && columns.of(point) !== undefined);
    const places = new Set(placed.map((point) => canonicalJson([rows.of(point), columns.of(point)])));
    // Two axes that only ever vary together, or a third one beside them, make no map.
    if (placed.length < 4 || places.size !== placed.length) return [];
    return measures.flatMap((measure): HeatMap[] => {
      const { of } = measure;
      if (of === undefined) return [];
      const relative = placed.every((point) => point.relative[measure.key] !== undefined);
      const absolute = placed.flatMap((point) => point.absolute[measure.key]?.mean ?? []);
      if (!relative && absolute.length < placed.length) return [];
      const mean = absolute.reduce((sum, value) => sum + value, 0) / absolute.length;
      const cells = placed.map((point): HeatMapCell => {
        const own = point.absolute[measure.key]!;
        const half = own.half === undefined ? undefined : own.half / mean;
        return {
          row: rows.of(point)!,
          column: columns.of(point)!,
          value: relative ? point.relative[measure.key]! : { mean: own.mean / mean - 1, half, n: own.n },
        };
      });
      const logs = logRows(placed, of);
      return [
        {
          scenario: scenario.label,
          measure,
          rowName: rows.name,
          columnName: columns.name,
          cells,
          noise: noiseIn(scenario, cells, blockTest(logs), logs[0].length),
        },
      ];
    });
  });
}
