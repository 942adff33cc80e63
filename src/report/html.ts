// The report as one HTML file: no script, no request, readable on paper.

import { stringify } from 'yaml';
import {
  type Figure,
  heatMapFigure,
  latencyFigure,
  relativeFigure,
  stateFigure,
  stintFigure,
  tradeOffFigure,
} from './figures.js';
import { type Finding, findings } from './findings.js';
import { largeCount, milliseconds, plural, seedList } from './format.js';
import { type HeatMap, heatMaps } from './heatmap.js';
import { escapeHtml, tableHtml } from './markup.js';
import { provenanceFacts, statementsOf } from './provenance.js';
import { STYLE } from './style.js';
import { MEASURES, meanOf, type Summary } from './summary.js';
import { assignmentTable, failureTable, functionTable, keyTable, machineTable } from './tables.js';
import { legendOfMarks } from './terminal.js';

const paragraph = (text: string, name?: string): string =>
  `<p${name === undefined ? '' : ` class="${name}"`}>${escapeHtml(text)}</p>`;

function section(title: string, ...parts: string[]): string {
  const body = parts.filter(Boolean).join('\n');
  return body === '' ? '' : `<section>\n<h2>${escapeHtml(title)}</h2>\n${body}\n</section>`;
}

function figureHtml(figure: Figure | undefined): string {
  if (figure === undefined) return '';
  const legend = figure.legend.map(
    ({ label, color, kind }) =>
      `<li class="${kind}"><i style="background:${color}"></i>${escapeHtml(label)}</li>`,
  );
  const list = legend.length === 0 ? '' : `<ul class="legend">${legend.join('')}</ul>\n`;
  return `<figure>\n${list}${figure.svg}\n<figcaption>${escapeHtml(figure.caption)}</figcaption>\n</figure>`;
}

function findingsHtml(all: readonly Finding[]): string {
  const groups = new Map<string, Finding[]>();
  for (const finding of all) groups.set(finding.scenario, [...(groups.get(finding.scenario) ?? []), finding]);
  const blocks = [...groups].map(([scenario, entries]) => {
    const items = entries.map(
      ({ topic, text }) => `<dt>${escapeHtml(topic)}</dt><dd>${escapeHtml(text)}</dd>`,
    );
    const title = scenario === '' ? '' : `<h3>${escapeHtml(scenario)}</h3>`;
    return { scenario, html: `<div>${title}<dl>${items.join('')}</dl></div>` };
  });
  const grid = (part: typeof blocks) =>
    part.length === 0
      ? ''
      : `<div class="findings${part.length === 1 ? ' one' : ''}">${part.map(({ html }) => html).join('\n')}</div>`;
  return (
    grid(blocks.filter(({ scenario }) => scenario === '')) +
    grid(blocks.filter(({ scenario }) => scenario !== ''))
  );
}

/** How many of the stated intervals leave out zero by chance alone. */
function chanceNote(summary: Summary): string {
  const intervals = summary.scenarios
    .flatMap(({ points }) => points.flatMap(({ relative }) => Object.values(relative)))
    .filter(({ half }) => half !== undefined).length;
  if (intervals === 0) return '';
  return paragraph(
    `Every interval is a 95 % interval over seeds. This report states ${intervals} differences; if there were none at all, about one in twenty of their intervals would still leave out zero, and the lowest of many contenders looks better than it is.`,
    'notes',
  );
}

async function heatMapHtml(maps: readonly HeatMap[]): Promise<string> {
  const parts: string[] = [];
  for (const measure of MEASURES) {
    const own = maps.filter((map) => map.measure === measure);
    if (own.length === 0) continue;
    parts.push(figureHtml(await heatMapFigure(own.filter(({ noise }) => noise === undefined))));
    for (const { scenario, noise } of own) {
      if (noise === undefined) continue;
      const where = [measure.name, scenario].filter(Boolean).join(', ');
      parts.push(`<p><strong>${escapeHtml(where)}: no map.</strong> ${escapeHtml(noise)}</p>`);
    }
  }
  return parts.join('\n');
}

function headHtml(summary: Summary): string {
  const { name, cells, seeds, events, input } = summary;
  const { machine, workload } = input.config;
  const simulated = summary.scenarios.flatMap(({ points }) => points).find((point) => point.cells.length > 0);
  const lines = [
    `${plural(cells, 'cell')}, ${seedList(seeds)}, ${largeCount(events)} events; machine ${machine.profile}, kernel ${input.config.kernel.version}`,
    ...(simulated === undefined
      ? []
      : [
          `${milliseconds(meanOf(simulated, (m) => m.duration_s) * 1000)} simulated per cell, ${largeCount(meanOf(simulated, (m) => m.arrived))} invocations or jobs arrive`,
        ]),
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
  for (const measure of summary.measures)
    comparisons.push(figureHtml(await relativeFigure(summary, measure)));
  const maps = heatMaps(
    summary,
    summary.measures.filter(({ key }) => key === 'energy' || key === 'latency'),
  );
  const functions = functionTable(summary);
  const assignment = assignmentTable(summary);
  const marks = legendOfMarks(summary).map((line) => paragraph(line, 'notes'));
  const definitions = summary.measures.map(({ name, meaning }) => `${name}: ${meaning}.`).join(' ');
  const body = [
    headHtml(summary),
    section('Findings', findingsHtml(findings(summary)), chanceNote(summary)),
    section('Key figures', keyTable(summary), ...marks, paragraph(definitions, 'notes')),
    summary.failures.length === 0 ? '' : section('Failures', failureTable(summary)),
    section('Relative to the baseline', figureHtml(await tradeOffFigure(summary)), ...comparisons),
    section('Two axes at once', await heatMapHtml(maps)),
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
            'Means over the seeds; “best” is the contender with the lowest mean latency at that load over all functions, and differences are paired by seed.',
            'notes',
          ),
    ),
    section('Provenance', provenanceHtml(summary)),
  ];
  const title = summary.name ?? 'vtime report';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${body.filter(Boolean).join('\n')}
</main>
</body>
</html>
`;
}
