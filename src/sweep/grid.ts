// The grid of a sweep: from axes to resolved configs, in the order in which results are reported.

import { canonicalJson } from '../config/canonical.js';
import { ConfigError, type Mistake, placesOf } from '../config/mistakes.js';
import { getByPath, setPaths } from '../config/paths.js';
import { drawSeed, resolveConfig } from '../config/resolve.js';
import type { Config, ResolvedConfig, Sweep } from '../config/schema.js';

export interface Cell {
  /** Position in the grid, replications included. */
  index: number;
  /** Position without replications: cells of one point differ in the seed only. */
  point: number;
  /** What the axes and the case set, by config path, as written. */
  values: Record<string, unknown>;
  replication: number;
  /** Whether the sweep's `baseline` matches this cell. */
  is_baseline: boolean;
  config: ResolvedConfig;
}

type Values = Record<string, unknown>;

/** All combinations, the last axis varying fastest. */
function product(axes: readonly [string, readonly unknown[]][]): Values[] {
  return axes.reduce<Values[]>(
    (points, [path, values]) =>
      points.flatMap((point) => values.map((value) => ({ ...point, [path]: value }))),
    [{}],
  );
}

/** The points in grid order: case by case, each multiplied by the common axes. */
function gridPoints(sweep: Sweep): { values: Values; path: (string | number)[] }[] {
  const axes = Object.entries(sweep.axes);
  const cases = sweep.cases ?? [{}];
  return cases.flatMap((fields, i) => {
    const own = Object.entries(fields).map(([path, value]): [string, unknown[]] => [
      path,
      // A list of lists stands for several values that are lists themselves, like domains given by CPU lists.
      Array.isArray(value) ? value : [value],
    ]);
    const path = sweep.cases === undefined ? ['sweep', 'axes'] : ['sweep', 'cases', i];
    return product([...axes.filter(([axis]) => !(axis in fields)), ...own]).map((values) => ({
      values,
      path,
    }));
  });
}

/** Whether each path of `wanted` has that value (or one of the list) in the cell. */
function matches(wanted: Values, values: Values, config: Config): boolean {
  return Object.entries(wanted).every(([path, value]) => {
    const accepted = (Array.isArray(value) ? value : [value]).map(canonicalJson);
    const actual = [values[path], getByPath(config, path)];
    if (path === 'policy') actual.push(config.policy.name);
    return actual.some((candidate) => candidate !== undefined && accepted.includes(canonicalJson(candidate)));
  });
}

function valuesText(values: Values): string {
  return Object.entries(values)
    .map(([path, value]) => `${path}=${typeof value === 'string' ? value : canonicalJson(value)}`)
    .join(', ');
}

/**
 * The cells of a sweep in grid order: points in order, replications fastest. The seed of a replication is the config's
 * seed plus its number. A config without a sweep is one cell. Throws a ConfigError with the mistakes of all cells.
 */
export function expandSweep(config: Config): Cell[] {
  const { sweep, ...base } = config;
  if (sweep === undefined) {
    return [
      { index: 0, point: 0, values: {}, replication: 0, is_baseline: false, config: resolveConfig(config) },
    ];
  }
  const locate = placesOf(config);
  const seed = base.seed === 'random' ? drawSeed() : base.seed;
  const mistakes = new Map<string, Mistake>();
  const report = (message: string, path: (string | number)[]) => {
    if (!mistakes.has(message)) mistakes.set(message, { path, message, ...locate(path, true) });
  };
  const cells: Cell[] = [];
  const excluded = (sweep.exclude ?? []).map(() => 0);
  let points = 0;
  for (const { values, path } of gridPoints(sweep)) {
    try {
      const candidate = setPaths({ ...base, seed }, values);
      const exclusion = (sweep.exclude ?? []).findIndex((wanted) => matches(wanted, values, candidate));
      if (exclusion >= 0) {
        excluded[exclusion]++;
        continue;
      }
      const resolved = resolveConfig(candidate);
      const isBaseline = sweep.baseline !== undefined && matches(sweep.baseline, values, candidate);
      for (let replication = 0; replication < sweep.replications; replication++) {
        cells.push({
          index: cells.length,
          point: points,
          values,
          replication,
          is_baseline: isBaseline,
          config: { ...resolved, seed: resolved.seed + replication },
        });
      }
      points++;
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      for (const mistake of error.mistakes) {
        const field = mistake.path.join('.');
        report(`${field === '' ? '' : `${field}: `}${mistake.message} (cell ${valuesText(values)})`, path);
      }
    }
  }
  excluded.forEach((count, i) => {
    if (count === 0 && mistakes.size === 0) report('excludes no cell', ['sweep', 'exclude', i]);
  });
  if (mistakes.size === 0) {
    if (cells.length === 0) report('the sweep has no cells', ['sweep']);
    else if (sweep.baseline !== undefined && !cells.some((cell) => cell.is_baseline)) {
      report('no cell matches the baseline', ['sweep', 'baseline']);
    }
  }
  if (mistakes.size > 0) throw new ConfigError([...mistakes.values()]);
  return cells;
}
