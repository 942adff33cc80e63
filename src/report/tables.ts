// The tables of the HTML report.

import {
  count,
  difference,
  milliseconds,
  scaled,
  scaleFor,
  seedList,
  share,
  significant,
  verdict,
} from './format.js';
import { type TableCell, type TableRow, tableHtml } from './markup.js';
import {
  type FunctionSummary,
  groupFailures,
  type Measure,
  meanOf,
  type Point,
  type Scenario,
  type Summary,
} from './summary.js';
import { markedValue, replicationsText } from './terminal.js';

function sectionRow(label: string, columns: number): TableRow[] {
  return label === '' ? [] : [{ class: 'section', cells: [{ text: label, span: columns, header: true }] }];
}

function differenceCell(point: Point, measure: Measure): TableCell {
  const value = point.relative[measure.key];
  const word = verdict(value);
  return {
    text: value === undefined ? '' : difference(value),
    class: word === 'open' ? 'diff' : `diff ${word}`,
  };
}

/** Load × policy: each measure with its interval, and its difference to the baseline. */
export function keyTable({ scenarios, measures }: Summary): string {
  const compared = scenarios.some(({ baseline, points }) => baseline !== undefined && points.length > 1);
  const scales = measures.map(({ key, unit }) =>
    scaleFor(
      unit,
      scenarios.flatMap(({ points }) => points.flatMap(({ absolute }) => absolute[key]?.mean ?? [])),
    ),
  );
  const width = compared ? 2 : 1;
  const header: TableRow[] = [
    {
      cells: [
        '',
        'n',
        ...measures.map(({ name }, i) => ({
          text: `${name}, ${scales[i].unit}`,
          span: width,
          class: 'group',
        })),
      ],
    },
  ];
  const rows = scenarios.flatMap(({ label, points, baseline }) => [
    ...sectionRow(label, 2 + width * measures.length),
    ...points.map(
      (point): TableRow => ({
        class: point === baseline ? 'baseline' : undefined,
        cells: [
          point === baseline ? `${point.label} (baseline)` : point.label,
          replicationsText(point),
          ...measures.flatMap((measure, i) => {
            const { half } = point.absolute[measure.key] ?? {};
            const value = markedValue(point, measure, scales[i]);
            // Beside a baseline the paired difference says more than the spread of the values.
            const alone = point === baseline || !compared;
            const own = half === undefined ? '' : `± ${scaled(half, scales[i])}`;
            if (!compared) return [`${value} ${own}`.trim()];
            return [value, alone ? { text: own, class: 'diff' } : differenceCell(point, measure)];
          }),
        ],
      }),
    ),
  ]);
  return tableHtml(header, rows);
}

interface MachineColumn {
  name: string;
  of: (point: Point) => string;
}

const perSecond = (point: Point, of: Parameters<typeof meanOf>[1]): string =>
  significant(meanOf(point, (m) => of(m) / m.duration_s));

const MACHINE_COLUMNS: readonly MachineColumn[] = [
  { name: 'CPUs busy', of: (p) => share(meanOf(p, (m) => m.utilization)) },
  {
    name: 'overhead of busy',
    of: (p) =>
      share(
        meanOf(p, (m) => m.overhead_share),
        2,
      ),
  },
  {
    name: 'CPUs idle while tasks waited, s',
    of: (p) => significant(meanOf(p, (m) => m.wasted_core_s.total)),
  },
  { name: 'runnable tasks', of: (p) => significant(meanOf(p, (m) => m.load_average)) },
  { name: 'worker’s queue, mean', of: (p) => significant(meanOf(p, (m) => m.worker_queue.mean)) },
  {
    name: 'power, W',
    of: (p) =>
      significant(
        meanOf(p, (m) => m.power_w),
        4,
      ),
  },
  { name: 'frequency, GHz', of: (p) => significant(meanOf(p, (m) => m.frequency_mhz) / 1000) },
  { name: 'polling, CPU s', of: (p) => significant(meanOf(p, (m) => m.polling_s)) },
  { name: 'wake-up to CPU, µs', of: (p) => significant(meanOf(p, (m) => m.wake_latency_us.mean)) },
  { name: 'switches /s', of: (p) => perSecond(p, (m) => m.switches) },
  { name: 'migrations /s', of: (p) => perSecond(p, (m) => m.migrations) },
  { name: 'steals /s', of: (p) => perSecond(p, (m) => m.steals) },
];

/** What the machine did at each point: means over the seeds. */
export function machineTable({ scenarios }: Summary): string {
  const header = [{ cells: ['', ...MACHINE_COLUMNS.map(({ name }) => name)] }];
  const rows = scenarios.flatMap(({ label, points, baseline }) => [
    ...sectionRow(label, 1 + MACHINE_COLUMNS.length),
    ...points
      .filter(({ cells }) => cells.length > 0)
      .map(
        (point): TableRow => ({
          class: point === baseline ? 'baseline' : undefined,
          cells: [point.label, ...MACHINE_COLUMNS.map(({ of }) => of(point))],
        }),
      ),
  ]);
  return tableHtml(header, rows);
}

/** What inter-arrival-time consistent hashing did; empty if no cell assigned anything. */
export function assignmentTable({ scenarios }: Summary): string {
  const rows = scenarios.flatMap(({ label, points }) => {
    const assigning = points.filter(
      (point) =>
        point.cells.length > 0 && meanOf(point, (m) => m.assignment.assigned + m.assignment.unmapped) > 0,
    );
    if (assigning.length === 0) return [];
    return [
      ...sectionRow(label, 6),
      ...assigning.map(
        (point): TableRow => ({
          cells: [
            point.label,
            count(meanOf(point, (m) => m.assignment.assigned)),
            share(
              meanOf(point, (m) => m.assignment.unmapped / (m.assignment.assigned + m.assignment.unmapped)),
            ),
            count(meanOf(point, (m) => m.assignment.reassigned)),
            significant(meanOf(point, (m) => m.assignment.buckets)),
            share(meanOf(point, (m) => m.assignment.largest_bucket_share)),
          ],
        }),
      ),
    ];
  });
  if (rows.length === 0) return '';
  const header = [
    { cells: ['', 'assigned', 'unmapped', 'reassigned', 'occupied buckets', 'largest bucket’s share'] },
  ];
  return tableHtml(header, rows);
}

/** The contender with the lowest mean latency at a load; without a baseline the only or first point. */
export function bestContender({ points, baseline }: Scenario): Point | undefined {
  const candidates = points.filter((point) => point !== baseline && point.absolute.latency !== undefined);
  if (baseline === undefined) return undefined;
  return candidates.sort((a, b) => a.absolute.latency!.mean - b.absolute.latency!.mean)[0];
}

export interface FunctionFacts {
  profiles: Record<string, string>;
  pollers: Record<string, string>;
}

/** Profile and polling archetype of each function, as the encoder states them. */
export function functionFacts({ input }: Summary): FunctionFacts {
  const statements = input.cells.flatMap((cell) => ('statements' in cell ? [cell.statements] : []))[0] ?? {};
  const record = (value: unknown): Record<string, string> =>
    typeof value === 'object' && value !== null ? (value as Record<string, string>) : {};
  return {
    profiles: record(record(statements.mapping).functions),
    pollers: record(statements.pollers),
  };
}

/** A hash shows its beginning; a name that someone gave stays whole. */
const shortName = (name: string): string => (/^[0-9a-f]{20,}$/.test(name) ? `${name.slice(0, 8)}…` : name);

function functionCells(
  { functions }: Point | { functions: FunctionSummary[] },
  best: Point | undefined,
  name: string,
): TableRow['cells'] {
  const own = functions.find((entry) => entry.name === name);
  const other = best?.functions.find((entry) => entry.name === name);
  const value = (entry: FunctionSummary | undefined) =>
    entry?.latency_ms === undefined ? '–' : milliseconds(entry.latency_ms.mean);
  const cells: TableRow['cells'] = [own === undefined ? '–' : count(own.invocations), value(own)];
  if (best === undefined) return cells;
  const word = verdict(other?.relative_latency);
  return [
    ...cells,
    value(other),
    {
      text: other?.relative_latency === undefined ? '–' : difference(other.relative_latency),
      class: word === 'open' ? 'diff' : `diff ${word}`,
    },
  ];
}

/** Invocations and mean latency per function, baseline against the best contender of each load. */
export function functionTable(summary: Summary): string {
  const columns = summary.scenarios
    .map((scenario) => ({
      scenario,
      reference: scenario.baseline ?? scenario.points[0],
      best: bestContender(scenario),
    }))
    .filter(({ reference }) => reference.functions.length > 0);
  if (columns.length === 0) return '';
  const totals = new Map<string, number>();
  for (const { name, invocations } of columns.flatMap(({ reference }) => reference.functions)) {
    totals.set(name, (totals.get(name) ?? 0) + invocations);
  }
  const names = [...totals]
    .filter(([, invocations]) => invocations > 0)
    .sort((a, b) => b[1] - a[1])
    .map(([name]) => name);
  const { profiles, pollers } = functionFacts(summary);
  const described = names.some((name) => profiles[name] !== undefined);
  const lead = described ? ['function', { text: 'profile', class: 'text' }] : ['function'];
  const header: TableRow[] = [
    {
      cells: [
        { text: '', span: lead.length },
        ...columns.map(({ scenario, reference, best }) => ({
          text: [scenario.label, best === undefined ? reference.label : `best is ${best.label}`]
            .filter(Boolean)
            .join(': '),
          span: best === undefined ? 2 : 4,
          class: 'group',
        })),
      ],
    },
    {
      cells: [
        ...lead,
        ...columns.flatMap(({ reference, best }) =>
          best === undefined ? ['calls', 'latency'] : ['calls', reference.label, 'best', 'difference'],
        ),
      ],
    },
  ];
  const rows = names.map((name): TableRow => {
    const profile = [profiles[name], pollers[name] === undefined ? '' : `polls (${pollers[name]})`].filter(
      Boolean,
    );
    return {
      cells: [
        { text: shortName(name), class: 'mono' },
        ...(described ? [{ text: profile.join(', '), class: 'text' }] : []),
        ...columns.flatMap(({ reference, best }) => functionCells(reference, best, name)),
      ],
    };
  });
  return tableHtml(header, rows);
}

/** Cells that did not end as planned, with their reasons. */
export function failureTable(summary: Summary): string {
  const text = (value: string): TableCell => ({ text: value, class: 'text' });
  const rows = groupFailures(summary).map(
    ({ place, outcome, reason, chain, seeds }): TableRow => ({
      cells: [place, text(seedList(seeds)), text(outcome), text([reason, ...chain].join('; '))],
    }),
  );
  return tableHtml([{ cells: ['cell', text('seeds'), text('outcome'), text('reason')] }], rows);
}

/** Functions that no run of the report called. */
export function uncalledFunctions({ scenarios }: Summary): number {
  const functions = scenarios.flatMap(({ points }) => points.flatMap((point) => point.functions));
  const called = new Set(functions.filter(({ invocations }) => invocations > 0).map(({ name }) => name));
  return new Set(functions.map(({ name }) => name)).size - called.size;
}
