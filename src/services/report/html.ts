// The report of a services run as one HTML file.

import { share, significant } from '../../report/format.js';
import { escapeHtml, tableHtml } from '../../report/markup.js';
import { figureHtml, page, paragraph, section } from '../../report/page.js';
import { VERSION } from '../../version.js';
import { servicesYaml } from '../convert.js';
import { servicesGraph } from '../graph/services.js';
import { modelNamed, stagesGraph } from '../graph/stages.js';
import { resolveServices } from '../resolve.js';
import type { RunPlan } from '../run/cells.js';
import { KERNEL_HEADER, kernelCells } from '../run/kernel.js';
import { busiest, QUANTILES, type RunSummary } from '../run/summary.js';
import {
  energyRows,
  estimateText,
  kneeText,
  loadText,
  onKernel,
  pointLabels,
  pointNotes,
  tierCells,
} from '../run/terminal.js';
import { COMPARISON_HEADER, compare, comparisonRows } from './compare.js';
import { latencyDistributions, latencyOverLoad, tierBreakdown, utilisationOverLoad } from './figures.js';
import type { ReferencePoint } from './reference.js';

/** Services whose stages are drawn. */
const MOST_STAGE_GRAPHS = 8;

function pointTable({ points }: RunSummary): string {
  const several = new Set(points.map(({ scheduler }) => scheduler)).size > 1;
  const header = [
    ...(several ? ['scheduler'] : []),
    points[0].unit === '/s' ? 'load' : 'clients',
    'throughput/s',
    'mean, ms',
    ...QUANTILES.map((q) => `p${Number((100 * q).toPrecision(4))}, ms`),
    'events/request',
    'busiest',
    'used',
  ];
  const rows = points.map((point) => {
    const top = busiest(point);
    return {
      cells: [
        ...(several ? [point.scheduler] : []),
        loadText(point),
        estimateText(point.throughput_per_s, 5),
        estimateText(point.mean_ms),
        ...QUANTILES.map((q) => (point.unsupported.includes(q) ? '–' : estimateText(point.quantiles_ms[q]))),
        significant(point.events_per_request, 3),
        top?.name ?? '–',
        top === undefined ? '–' : share(top.utilisation),
      ],
    };
  });
  return tableHtml([{ cells: header }], rows);
}

function tierTable({ points }: RunSummary): string {
  const label = pointLabels(points);
  const header = ['load', 'tier', 'cores', 'used', 'visits/request', 'mean, ms', 'p99, ms'];
  const rows = points.flatMap((point) =>
    point.tiers
      .filter(({ visits }) => visits > 0)
      .map((tier, i) => ({ cells: [i === 0 ? label(point) : '', ...tierCells(tier)] })),
  );
  return tableHtml([{ cells: header }], rows);
}

function energySection({ points }: RunSummary): string {
  const [header, ...rows] = energyRows(points);
  if (header === undefined) return '';
  return section(
    'Energy',
    tableHtml(
      [{ cells: header }],
      rows.map((cells) => ({ cells })),
    ),
    paragraph(
      'Mean power and energy from the start to the end of a run, warm-up included; share of the cores’ time in each idle state.',
      'notes',
    ),
  );
}

function comparison(summary: RunSummary, reference: readonly ReferencePoint[]): string {
  const rows = comparisonRows(compare(summary, reference));
  if (rows.length === 0) return '';
  return section(
    'Beside the reference',
    tableHtml(
      [{ cells: COMPARISON_HEADER }],
      rows.map((cells) => ({ cells })),
    ),
    paragraph(
      'Differences relative to the reference; utilisation absolute, of the tier where it is largest.',
      'notes',
    ),
  );
}

function kernelSection({ points }: RunSummary): string {
  const rows = onKernel(points).map((point) => ({
    cells: [point.scheduler, loadText(point), ...kernelCells(point.kernel)],
  }));
  if (rows.length === 0) return '';
  return section(
    'Kernel',
    tableHtml([{ cells: ['scheduler', 'load', ...KERNEL_HEADER] }], rows),
    paragraph(
      'Counts are per request, of all threads and network stacks; from the beginning of the run.',
      'notes',
    ),
  );
}

/** The whole page. */
export async function servicesReport(
  plan: RunPlan,
  summary: RunSummary,
  reference: readonly ReferencePoint[] = [],
): Promise<string> {
  const resolved = resolveServices(plan.services);
  // The loads are in the tables.
  const drawn = { ...resolved, client: { ...resolved.client, epochs: [] } };
  const [{ seeds }] = summary.points;
  const several = new Set(summary.points.map(({ scheduler }) => scheduler)).size > 1;
  const requests = summary.points.reduce((sum, { arrived }) => sum + arrived, 0);
  // A stage graph for each model that a service has, the first of which names it.
  const named = new Map(resolved.services.map(({ name, model }) => [model, name] as const).reverse());
  const stages = [...named.values()].reverse().slice(0, MOST_STAGE_GRAPHS);
  const body = [
    `<h1>${escapeHtml(summary.name)}</h1>`,
    paragraph(
      `${summary.points.length} load${summary.points.length === 1 ? '' : 's'}, ${seeds.length} replication${seeds.length === 1 ? '' : 's'} each (seeds ${seeds[0]}–${seeds[seeds.length - 1]}), ${requests.toLocaleString('en-US')} requests; vtime ${VERSION}`,
      'lead',
    ),
    ...pointNotes(summary.points).map((note) => paragraph(`${note}.`)),
    ...summary.knees.map((knee) => paragraph(`${kneeText(knee, several)}.`)),
    section(
      'Services',
      `<figure class="graph scroll">${servicesGraph(drawn, false)}<figcaption>Calls per request, where they are not one.</figcaption></figure>`,
    ),
    section(
      'Latency over load',
      figureHtml(await latencyOverLoad(summary, reference)),
      pointTable(summary),
      paragraph(
        'Mean and 95 % interval over replications (Student’s t); quantiles of merged histograms, intervals by jackknife. Throughput counts until the last reply.',
        'notes',
      ),
      figureHtml(await latencyDistributions(summary)),
    ),
    comparison(summary, reference),
    section(
      'Tiers',
      figureHtml(await utilisationOverLoad(summary)),
      figureHtml(await tierBreakdown(summary)),
      tierTable(summary),
    ),
    kernelSection(summary),
    energySection(summary),
    section(
      'Stages',
      ...stages.map(
        (name) =>
          `<h3>${escapeHtml(name)}</h3><div class="scroll">${stagesGraph(resolved, modelNamed(resolved, name), false)}</div>`,
      ),
    ),
    section(
      'Provenance',
      `<details><summary>Model with every default</summary><pre>${escapeHtml(servicesYaml(plan.services))}</pre></details>`,
    ),
  ];
  return page(summary.name, body);
}
