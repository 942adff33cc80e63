// What the data say, in words. Every sentence carries its interval and n; a difference within the seeds' spread is
// called none.

import { count, difference, differenceRange, plural, quantity, seedList, share } from './format.js';
import { differs } from './statistics.js';
import type { Measure, Point, Scenario, Summary } from './summary.js';

export interface Finding {
  /** "offered load 0.8", or '' for what concerns the whole report. */
  scenario: string;
  /** What the sentences are about, e.g. a measure. */
  topic: string;
  text: string;
}

type Ranked = { point: Point; mean: number; half?: number; n: number };

function ranked({ points, baseline }: Scenario, { key }: Measure): Ranked[] {
  return points
    .flatMap((point) => {
      const relative = point === baseline ? undefined : point.relative[key];
      return relative === undefined ? [] : [{ point, ...relative }];
    })
    .sort((a, b) => a.mean - b.mean);
}

/** "Of 13: 10 lower, 1 higher, 2 open." */
function tally(entries: readonly Ranked[]): string {
  const lower = entries.filter((entry) => differs(entry) && entry.mean < 0).length;
  const higher = entries.filter((entry) => differs(entry) && entry.mean > 0).length;
  const open = entries.length - lower - higher;
  const parts = [
    lower > 0 ? `${lower} lower` : '',
    higher > 0 ? `${higher} higher` : '',
    open > 0 ? `${open} within the seeds’ spread` : '',
  ].filter(Boolean);
  if (entries.length === 1) return '';
  if (parts.length === 1) return ` All ${entries.length} ${parts[0].replace(/^\d+ /, '')}.`;
  return ` Of ${entries.length}: ${parts.join(', ')}.`;
}

function againstBaseline(scenario: Scenario, measure: Measure): string | undefined {
  const entries = ranked(scenario, measure);
  if (entries.length === 0) return undefined;
  const stated = (entry: Ranked) => `${differenceRange(entry)} with ${entry.point.label}`;
  const lowest = entries[0];
  const highest = entries[entries.length - 1];
  if (lowest.half === undefined) {
    const range = entries.length === 1 ? stated(lowest) : `From ${stated(lowest)} to ${stated(highest)}`;
    return `${range}; one seed, so nothing tells these differences from chance.`;
  }
  const clear = entries.filter(differs);
  if (clear.length === 0) {
    const widest = -lowest.mean > highest.mean ? lowest : highest;
    return `No difference beyond the seeds’ spread; the largest is ${stated(widest)}.`;
  }
  const least = clear[0].mean < 0 ? `Lowest: ${stated(clear[0])}. ` : 'None lower. ';
  const last = clear[clear.length - 1];
  const most = last.mean > 0 ? `Highest: ${stated(last)}.` : '';
  return `${least}${most}`.trim() + tally(entries);
}

/** The contender that saves energy at the least latency. */
function tradeOff({ points }: Scenario): string | undefined {
  const both = points.filter(
    ({ relative }) => relative.energy?.half !== undefined && relative.latency !== undefined,
  );
  if (both.length < 2) return undefined;
  const savers = both
    .filter(({ relative }) => relative.energy!.mean < 0 && differs(relative.energy!))
    .sort((a, b) => a.relative.latency!.mean - b.relative.latency!.mean);
  if (savers.length === 0) return 'No contender saves energy beyond the seeds’ spread.';
  const { label, relative } = savers[0];
  const costs = differs(relative.latency!) ? '' : ', not beyond the seeds’ spread';
  return `Of the ${savers.length} that save${savers.length === 1 ? 's' : ''} energy, ${label} has the lowest mean latency: energy ${difference(relative.energy)}, latency ${difference(relative.latency)}${costs}.`;
}

function absoluteFindings({ points, label }: Scenario, measures: readonly Measure[]): Finding[] {
  return measures.flatMap(({ key, name, unit }) => {
    const values = points
      .flatMap((point) => {
        const value = point.absolute[key];
        return value === undefined ? [] : [{ point, value }];
      })
      .sort((a, b) => a.value.mean - b.value.mean);
    if (values.length === 0) return [];
    const stated = ({ point, value }: (typeof values)[number]) => {
      const half = value.half === undefined ? '' : ` ± ${quantity(value.half, unit)}`;
      return `${quantity(value.mean, unit)}${half}${points.length === 1 ? '' : ` (${point.label})`}`;
    };
    const last = values[values.length - 1];
    const text =
      values.length === 1 ? `${stated(values[0])}.` : `From ${stated(values[0])} to ${stated(last)}.`;
    return [{ scenario: label, topic: name, text }];
  });
}

function wholeReport(summary: Summary): Finding[] {
  const { failures, cells, seeds, scenarios } = summary;
  const findings: Finding[] = [];
  const say = (topic: string, text: string) => findings.push({ scenario: '', topic, text });
  if (failures.length > 0) {
    const kinds = ['stalled', 'deadlocked', 'failed'].flatMap((kind) => {
      const n = failures.filter(({ cell }) => cell.outcome === kind).length;
      return n === 0 ? [] : [`${n} ${kind}`];
    });
    say(
      'Failures',
      `${failures.length} of ${plural(cells, 'cell')} did not end as planned (${kinds.join(', ')}); they are left out of every mean and listed below.`,
    );
  }
  const [only] = scenarios.flatMap(({ points }) => points.flatMap((point) => point.cells));
  if (cells === 1 && only !== undefined) {
    const { arrived, completed, duration_s, utilization } = only.metrics;
    const jobs = arrived === 0 ? '' : `: ${count(completed)} of ${count(arrived)} ${summary.jobs} done`;
    say(
      'Outcome',
      `${only.outcome} after ${quantity(duration_s * 1000, 'ms')} simulated${jobs}; CPUs ${share(utilization)} busy.`,
    );
  }
  if (cells > 1 && scenarios.every(({ baseline }) => baseline === undefined)) {
    say('Baseline', 'The sweep names none, so values are absolute and not compared pairwise.');
  }
  if (cells > 1 && seeds.length === 1) {
    say('Replications', `Only ${seedList(seeds)}: there are no intervals, and differences may be chance.`);
  }
  return findings;
}

/** Sentences for the head of the report, scenario by scenario. */
export function findings(summary: Summary): Finding[] {
  const result = wholeReport(summary);
  for (const scenario of summary.scenarios) {
    const compared = scenario.points.some(({ relative }) => Object.keys(relative).length > 0);
    if (!compared) {
      result.push(...absoluteFindings(scenario, summary.measures));
      continue;
    }
    for (const measure of summary.measures) {
      const text = againstBaseline(scenario, measure);
      if (text !== undefined) result.push({ scenario: scenario.label, topic: measure.name, text });
    }
    const text = tradeOff(scenario);
    if (text !== undefined) result.push({ scenario: scenario.label, topic: 'Trade-off', text });
  }
  return result;
}
