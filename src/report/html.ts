// The report as one HTML file: no script, no request, readable on paper.

import { stringify } from 'yaml';
import { heatMapFigure, relativeFigure, tradeOffFigure } from './comparison-figures.js';
import { latencyFigure, stateFigure, stintFigure } from './distribution-figures.js';
import { type Finding, findings } from './findings.js';
import { countRange, largeCount, milliseconds, plural, seedList } from './format.js';
import { type HeatMap, heatMaps } from './heatmap.js';
import { escapeHtml, tableHtml } from './markup.js';
import { figureHtml, page, paragraph, section } from './page.js';
import { provenanceFacts, statementsOf } from './provenance.js';
import { MEASURES, type Summary } from './summary.js';
import {
  assignmentTable,
  failureTable,
  functionTable,
  keyTable,
  machineTable,
  uncalledFunctions,
} from './tables.js';
import { legendOfMarks } from './terminal.js';

/** Findings side by side: a row per topic, a column per scenario. Many scenarios come one below the other. */
function findingsHtml(all: readonly Finding[]): string {
  const whole = all.filter(({ scenario }) => scenario === '');
  const list = (entries: readonly Finding[]) =>
    entries.length === 0
      ? ''
      : `<dl class="findings">${entries.map(({ topic, text }) => `<dt>${escapeHtml(topic)}</dt><dd>${escapeHtml(text)}</dd>`).join('')}</dl>`;
  const scenarios = [...new Set(all.map(({ scenario }) => scenario))].filter(Boolean);
  if (scenarios.length === 0 || scenarios.length > 4) {
    const lists = scenarios.map(
      (scenario) =>
        `<h3>${escapeHtml(scenario)}</h3>${list(all.filter((finding) => finding.scenario === scenario))}`,
    );
    return list(whole) + lists.join('\n');
  }
  const topics = [...new Set(all.filter(({ scenario }) => scenario !== '').map(({ topic }) => topic))];
  const rows = topics.map((topic) => ({
    cells: [
      { text: topic, header: true },
      ...scenarios.map((scenario) => ({
        text: all.find((finding) => finding.scenario === scenario && finding.topic === topic)?.text ?? '',
        class: 'text',
      })),
    ],
  }));
  const header = [{ cells: ['', ...scenarios.map((text) => ({ text, class: 'text' }))] }];
  return list(whole) + tableHtml(header, rows, 'findings');
}

/** How many of the stated intervals leave out zero by chance alone. */
function chanceNote(summary: Summary): string {
  const intervals = summary.scenarios
    .flatMap(({ points }) => points.flatMap(({ relative }) => Object.values(relative)))
    .filter(({ half }) => half !== undefined);
  const baselines = [...new Set(summary.scenarios.flatMap(({ baseline }) => baseline?.label ?? []))];
  if (intervals.length === 0) return '';
  return paragraph(
    `Differences are relative to ${baselines.join(', ')} at the same load, paired by seed: the same arrivals and service times under both. Brackets hold 95 % intervals over the seeds (Student’s t; n = ${countRange(intervals.map(({ n }) => n))}). This report states ${intervals.length} differences; if there were none at all, about one in twenty of their intervals would still leave out zero, and the lowest of many contenders looks better than it is.`,
    'notes',
  );
}

function colorNote({ scenarios }: Summary): string {
  const compared = scenarios.some(({ points }) =>
    points.some(({ relative }) => relative.energy !== undefined),
  );
  return compared
    ? paragraph(
        'Means over n seeds, beside the baseline’s ± its 95 % interval, beside the others’ the paired difference ± its 95 % interval: blue where lower, orange where higher, grey where the interval includes no difference.',
        'notes',
      )
    : '';
}

/** The maps that show something, and in place of the others why they do not. */
async function heatMapHtml(maps: readonly HeatMap[]): Promise<string> {
  const parts: string[] = [];
  const reasons = new Map<string, string[]>();
  for (const measure of MEASURES) {
    const own = maps.filter((map) => map.measure === measure);
    parts.push(figureHtml(await heatMapFigure(own.filter(({ noise }) => noise === undefined))));
    for (const { scenario, noise } of own) {
      if (noise === undefined) continue;
      const where = [measure.name, scenario].filter(Boolean).join(', ');
      reasons.set(noise, [...(reasons.get(noise) ?? []), where]);
    }
  }
  for (const [noise, places] of reasons) {
    parts.push(`<p><strong>${escapeHtml(places.join('; '))}: no map.</strong> ${escapeHtml(noise)}</p>`);
  }
  return parts.filter(Boolean).join('\n');
}

function mapTitle([first]: readonly HeatMap[]): string {
  if (first === undefined) return '';
  const title = `${first.rowName} × ${first.columnName}`;
  return title[0].toUpperCase() + title.slice(1);
}

function timeRange(times: readonly number[]): string {
  const [low, high] = [Math.min(...times), Math.max(...times)].map(milliseconds);
  return low === high ? low : `${low} to ${high}`;
}

function headHtml(summary: Summary): string {
  const { name, cells, seeds, events, input } = summary;
  const { machine, workload } = input.config;
  const results = summary.scenarios.flatMap(({ points }) => points.flatMap((point) => point.cells));
  const times = results.map(({ metrics }) => metrics.duration_s * 1000);
  const arrivals = countRange(results.map(({ metrics }) => metrics.arrived));
  const lines = [
    `${plural(cells, 'cell')}, ${seedList(seeds)}, ${largeCount(events)} events; machine ${machine.profile}, kernel ${input.config.kernel.version}`,
    ...(results.length === 0
      ? []
      : [`${timeRange(times)} simulated per cell; ${arrivals} ${summary.jobs} arrive`]),
    ...(workload.serverless === undefined ? [] : [`trace ${workload.serverless.trace}`]),
  ];
  const title = name ?? (cells === 1 ? 'vtime run' : 'vtime sweep');
  return `<h1>${escapeHtml(title)}</h1>\n${lines.map((line) => paragraph(line, 'lead')).join('\n')}`;
}

function provenanceHtml(summary: Summary): string {
  const factRows = (facts: readonly (readonly [string, string])[]) =>
    facts.map(([name, value]) => ({ cells: [name, { text: value, class: 'text' }] }));
  const { run, config } = summary.input;
  const wall = `${milliseconds(run.wall_s * 1000)} with ${plural(run.workers, 'worker')} on ${plural(run.host_cpus, 'CPU')}, ${largeCount(run.events_per_s)} events/s, Node ${run.node}`;
  return [
    tableHtml([], factRows([...provenanceFacts(summary), ['Last run', wall]])),
    '<h3>Statements of the encoder</h3>',
    tableHtml([], factRows(statementsOf(summary))),
    `<details><summary>Config with every default</summary><pre>${escapeHtml(stringify(config))}</pre></details>`,
  ].join('\n');
}

/** The whole page. */
export async function htmlReport(summary: Summary): Promise<string> {
  const comparisons: string[] = [];
  for (const measure of summary.measures) {
    const figure = await relativeFigure(summary, measure);
    if (figure === undefined) continue;
    // One legend serves all of them.
    comparisons.push(figureHtml(comparisons.length === 0 ? figure : { ...figure, legend: [] }));
  }
  const maps = heatMaps(
    summary,
    summary.measures.filter(({ key }) => key === 'energy' || key === 'latency'),
  );
  const functions = functionTable(summary);
  const uncalled = uncalledFunctions(summary);
  const assignment = assignmentTable(summary);
  const marks = legendOfMarks(summary).map((line) => paragraph(line, 'notes'));
  const definitions = summary.measures.map(({ name, meaning }) => `${name}: ${meaning}.`).join(' ');
  const body = [
    headHtml(summary),
    section('Findings', findingsHtml(findings(summary)), chanceNote(summary)),
    section('Key figures', keyTable(summary), colorNote(summary), ...marks, paragraph(definitions, 'notes')),
    summary.failures.length === 0 ? '' : section('Failures', failureTable(summary)),
    section('Relative to the baseline', figureHtml(await tradeOffFigure(summary)), ...comparisons),
    section(mapTitle(maps), await heatMapHtml(maps)),
    section('Latency', figureHtml(await latencyFigure(summary)), figureHtml(await stateFigure(summary))),
    section('On the CPU', figureHtml(await stintFigure(summary)), machineTable(summary)),
    section(
      'Assignment to domains',
      assignment,
      assignment === ''
        ? ''
        : paragraph(
            'Means over the seeds. Unmapped: no domain had free CPUs. Buckets are of inter-arrival times; if the largest holds nearly everything, the assignment is first-fit.',
            'notes',
          ),
    ),
    section(
      'Functions',
      functions,
      functions === ''
        ? ''
        : paragraph(
            `${uncalled === 0 ? '' : `${plural(uncalled, 'function')} of the trace never called here. `}Means over the seeds; “best” is the contender with the lowest mean latency at that load over all functions, and differences are paired by seed.`,
            'notes',
          ),
    ),
    section('Provenance', provenanceHtml(summary)),
  ];
  return page(summary.name ?? 'vtime report', body);
}
