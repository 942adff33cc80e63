// The report as a table for a terminal or a pipe.

import { findings } from './findings.js';
import { difference, largeCount, plural, type Scale, scaled, scaleFor, seedList } from './format.js';
import { groupFailures, type Measure, type Point, type Scenario, type Summary } from './summary.js';

/** Columns padded to their widest entry; the first is left-aligned, the others right-aligned. */
function columns(rows: readonly (readonly string[])[], gap = '  '): string[] {
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)));
  return rows.map((row) =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i])))
      .join(gap)
      .trimEnd(),
  );
}

/** "3", or "2 of 3" when cells did not end as planned. */
export function replicationsText({ cells, failures }: Point): string {
  return failures.length === 0
    ? String(cells.length)
    : `${cells.length} of ${cells.length + failures.length}`;
}

/** The value of a measure with its marks: "≥" censored by jobs without an end, "~" too few observations. */
export function markedValue(point: Point, measure: Measure, scale: Scale): string {
  const value = point.absolute[measure.key];
  if (value === undefined) return '–';
  const censored = point.censored.includes(measure.key) ? '≥' : '';
  const unsupported = point.unsupported.includes(measure.key) ? '~' : '';
  return `${censored}${unsupported}${scaled(value.mean, scale)}`;
}

interface Block {
  header: string[][];
  rows: string[][];
}

/** One measure: its name and unit above its values and, against a baseline, the differences. */
function measureBlock({ points, baseline }: Scenario, measure: Measure): Block {
  const scale = scaleFor(
    measure.unit,
    points.flatMap(({ absolute }) => absolute[measure.key]?.mean ?? []),
  );
  const values = points.map((point) => [markedValue(point, measure, scale)]);
  if (baseline === undefined || points.length === 1) {
    return { header: [[measure.short], [scale.unit]], rows: values };
  }
  const differences = points.map((point) =>
    point === baseline ? '' : difference(point.relative[measure.key]).replace(/ %$/, ''),
  );
  return {
    header: [
      [measure.short, ''],
      [scale.unit, '± %'],
    ],
    rows: values.map(([value], i) => [value, differences[i]]),
  };
}

/** The table of a scenario, in as many blocks of measures as the width asks for. */
function scenarioTables(scenario: Scenario, measures: readonly Measure[], width: number): string[] {
  const { points, baseline } = scenario;
  const names: Block = {
    header: [
      ['', ''],
      ['', 'n'],
    ],
    rows: points.map((point) => [
      point === baseline ? `${point.label} (baseline)` : point.label,
      replicationsText(point),
    ]),
  };
  const render = (blocks: readonly Block[]): string[] => {
    const join = (part: (block: Block) => string[][]) =>
      part(names).map((_, i) => blocks.flatMap((b) => part(b)[i]));
    return columns([...join(({ header }) => header), ...join(({ rows }) => rows)]);
  };
  const tables: string[][] = [];
  let blocks: Block[] = [names];
  for (const block of measures.map((measure) => measureBlock(scenario, measure))) {
    const wider = [...blocks, block];
    if (blocks.length > 1 && render(wider).some((line) => line.length > width)) {
      tables.push(render(blocks));
      blocks = [names, block];
    } else blocks = wider;
  }
  tables.push(render(blocks));
  return tables.flatMap((lines, i) => (i === 0 ? lines : ['', ...lines]));
}

/** Marks that occur, explained. */
export function legendOfMarks(summary: Summary): string[] {
  const points = summary.scenarios.flatMap((scenario) => scenario.points);
  const notes: string[] = [];
  if (points.some(({ unsupported }) => unsupported.length > 0)) {
    notes.push('~ fewer than ten observations lie beyond this quantile');
  }
  if (points.some(({ censored }) => censored.length > 0)) {
    notes.push('≥ a lower bound: jobs were still in the system when the run ended');
  }
  return notes;
}

/** Lines for stdout, at most `width` characters where a table allows it. */
export function terminalReport(summary: Summary, width = 140): string {
  const { scenarios, measures, seeds, cells, events, failures, name } = summary;
  const baselines = new Set(scenarios.flatMap(({ baseline }) => baseline?.label ?? []));
  const lines = [
    `${name === undefined ? '' : `${name}: `}${plural(cells, 'cell')}, ${seedList(seeds)}, ${largeCount(events)} events`,
  ];
  if (baselines.size > 0) {
    lines.push(
      `± relative to ${[...baselines].join(', ')} at the same load, paired by seed; 95 % interval over the n seeds`,
    );
  }
  for (const scenario of scenarios) {
    lines.push('');
    if (scenario.label !== '') lines.push(scenario.label);
    lines.push(...scenarioTables(scenario, measures, width));
  }
  const notes = legendOfMarks(summary);
  const keys = new Set(measures.map(({ key }) => key));
  if (keys.has('latency_p99')) notes.unshift('p99: of the latencies of all seeds pooled');
  if (keys.has('cost'))
    notes.unshift('cost: latency × CPU utilisation; duration: call into the container, no queue');
  if (notes.length > 0) lines.push('', ...notes);
  if (failures.length > 0) {
    lines.push('', `${plural(failures.length, 'cell')} left out:`);
    for (const { place, outcome, reason, chain, seeds: own } of groupFailures(summary)) {
      lines.push(`  ${place}, ${seedList(own)}: ${outcome}: ${reason}`);
      for (const line of chain) lines.push(`    ${line}`);
    }
  }
  const outcome = findings(summary).find(({ topic }) => topic === 'Outcome');
  if (outcome !== undefined) lines.push('', outcome.text);
  return `${lines.join('\n')}\n`;
}
