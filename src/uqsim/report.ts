// The experiments as text and as one HTML page.

import { escapeHtml, tableHtml } from '../report/markup.js';
import { figureHtml, page, paragraph, section } from '../report/page.js';
import { VERSION } from '../version.js';
import type { Experiment, ExperimentResult, ResultTable, Verdict } from './experiment.js';

export interface Finished {
  experiment: Experiment;
  result: ExperimentResult;
  requests: number;
  seconds: number;
}

const MARKS: Record<Verdict['outcome'], string> = {
  confirmed: 'ok    ',
  refuted: 'FAILED',
  fitted: 'fitted',
  shown: 'shown ',
};

/** Verdicts of one experiment, a line each. */
export function verdictText({ experiment, result, seconds }: Finished): string {
  const lines = result.verdicts.map(
    ({ claim, found, outcome }) => `    ${MARKS[outcome]} ${claim}\n           ${found}\n`,
  );
  return `${experiment.title} (${experiment.source}, ${seconds.toFixed(1)} s)\n${lines.join('')}`;
}

function verdictTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ claim, found, outcome }) => ({
    cells: [
      { text: claim, class: 'text' },
      { text: found, class: 'text' },
      { text: outcome, class: outcome === 'refuted' ? 'text higher' : 'text' },
    ],
  }));
  return tableHtml(
    [
      {
        cells: [
          { text: 'claim', class: 'text' },
          { text: 'found', class: 'text' },
          { text: 'verdict', class: 'text' },
        ],
      },
    ],
    rows,
  );
}

function resultTable({ title, header, rows, note }: ResultTable): string {
  return [
    title === undefined ? '' : `<h3>${escapeHtml(title)}</h3>`,
    tableHtml(
      [{ cells: header }],
      rows.map((cells) => ({ cells })),
    ),
    note === undefined ? '' : paragraph(note, 'notes'),
  ].join('\n');
}

function experimentHtml({ experiment, result }: Finished): string {
  const { verdicts, figures, tables, text } = result;
  return section(
    `${experiment.title} (${experiment.source})`,
    ...text.map((part) => paragraph(part)),
    verdictTable(verdicts),
    ...figures.map((figure) => figureHtml(figure)),
    ...tables.map(resultTable),
  );
}

export function experimentsHtml(finished: readonly Finished[], quick: boolean): string {
  const requests = finished.reduce((sum, entry) => sum + entry.requests, 0);
  const verdicts = finished.flatMap(({ result }) => result.verdicts);
  const count = (outcome: Verdict['outcome']) =>
    verdicts.filter((verdict) => verdict.outcome === outcome).length;
  const body = [
    '<h1>µqSim’s experiments</h1>',
    paragraph(
      `${count('confirmed')} claims confirmed, ${count('refuted')} refuted, ${count('fitted')} fitted; ${requests.toLocaleString('en-US')} requests simulated${quick ? ' in a quick run' : ''}; vtime ${VERSION}`,
      'lead',
    ),
    ...finished.map(experimentHtml),
  ];
  return page('µqSim’s experiments', body);
}
