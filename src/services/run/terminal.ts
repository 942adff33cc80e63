// The summary of a services run as text.

import { fixed, share, significant } from '../../report/format.js';
import type { Estimate } from '../../report/statistics.js';
import { KERNEL_HEADER, kernelCells } from './kernel.js';
import { busiest, type Knee, type PointSummary, QUANTILES, type RunSummary } from './summary.js';

/** "0.3587 ± 0.0012": the half-width to the digits of the mean. */
export function estimateText(value: Estimate | undefined, digits = 4): string {
  if (value === undefined || !Number.isFinite(value.mean)) return '–';
  const text = significant(value.mean, digits);
  if (value.half === undefined || !Number.isFinite(value.half)) return text;
  const decimals = text.split('.')[1]?.length ?? 0;
  return `${text} ± ${fixed(value.half, decimals)}`;
}

export const loadText = ({ load, unit }: Pick<PointSummary, 'load' | 'unit'>): string =>
  Number.isFinite(load) ? fixed(load, Number.isInteger(load) ? 0 : 1) + (unit === '/s' ? '/s' : '') : 'own';

/** Loads as text, with the scheduler where points have different ones. */
export function pointLabels(points: readonly PointSummary[]): (point: PointSummary) => string {
  const several = new Set(points.map(({ scheduler }) => scheduler)).size > 1;
  return (point) => (several ? `${point.scheduler}, ${loadText(point)}` : loadText(point));
}

/** Columns padded to the widest cell; the first ones are text. */
function aligned(rows: readonly string[][], texts: number): string {
  const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)));
  const line = (row: string[]) =>
    row.map((cell, i) => (i < texts ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  ');
  return rows.map((row) => `${line(row).trimEnd()}\n`).join('');
}

function pointRows(points: readonly PointSummary[], several: boolean): string[][] {
  const unit = points.some(({ unit: own }) => own === 'clients') ? 'clients' : 'load';
  const header = [
    ...(several ? ['scheduler'] : []),
    unit,
    'throughput/s',
    'mean ms',
    ...QUANTILES.map((q) => `p${Number((100 * q).toPrecision(4))} ms`),
    'busiest',
    'used',
  ];
  return [
    header,
    ...points.map((point) => {
      const top = busiest(point);
      return [
        ...(several ? [point.scheduler] : []),
        loadText(point),
        estimateText(point.throughput_per_s, 5),
        estimateText(point.mean_ms),
        ...QUANTILES.map((q) => (point.unsupported.includes(q) ? '–' : estimateText(point.quantiles_ms[q]))),
        top?.name ?? '–',
        top === undefined ? '–' : share(top.utilisation),
      ];
    }),
  ];
}

/** A tier of a point: name, cores, share of their time used, visits per request, residence. */
export function tierCells({
  name,
  cores,
  utilisation,
  visits,
  mean_ms,
  p99_ms,
}: PointSummary['tiers'][number]): string[] {
  return [
    name,
    String(cores),
    utilisation === undefined ? '–' : share(utilisation.mean),
    significant(visits, 4),
    estimateText(mean_ms),
    estimateText(p99_ms),
  ];
}

/** Machines of the points that have a machine profile, below a header; none without one. */
export function energyRows(points: readonly PointSummary[]): string[][] {
  const label = pointLabels(points);
  const metered = points.flatMap((point) =>
    point.energy === undefined ? [] : [{ point, energy: point.energy }],
  );
  if (metered.length === 0) return [];
  const states = metered[0].energy.machines[0].idle.map(({ state }) => `in ${state}`);
  return [
    ['load', 'machine', 'cores W', 'uncore W', 'energy J', ...states],
    ...metered.flatMap(({ point, energy }) =>
      energy.machines.map(({ name, cores_w, uncore_w, joules, idle }, i) => [
        i === 0 ? label(point) : '',
        name,
        estimateText(cores_w),
        estimateText(uncore_w),
        estimateText(joules),
        ...idle.map(({ share: part }) => share(part)),
      ]),
    ),
  ];
}

function tierRows(points: readonly PointSummary[]): string[][] {
  const label = pointLabels(points);
  return [
    ['load', 'tier', 'cores', 'used', 'visits/request', 'mean ms', 'p99 ms'],
    ...points.flatMap((point) =>
      point.tiers.map((tier, i) => [i === 0 ? label(point) : '', ...tierCells(tier)]),
    ),
  ];
}

/** Points on a simulated kernel. */
export const onKernel = (points: readonly PointSummary[]): PointSummary[] =>
  points.filter(({ kernel }) => kernel !== undefined);

function kernelTable(points: readonly PointSummary[]): string {
  const rows = onKernel(points).map((point) => [
    point.scheduler,
    loadText(point),
    ...kernelCells(point.kernel),
  ]);
  return rows.length === 0 ? '' : `\n${aligned([['scheduler', 'load', ...KERNEL_HEADER], ...rows], 1)}`;
}

function energyTable(points: readonly PointSummary[]): string {
  const rows = energyRows(points);
  return rows.length === 0 ? '' : `\n${aligned(rows, 2)}`;
}

export function kneeText(
  { scheduler, sustained, saturated, capacity, bottleneck }: Knee,
  several: boolean,
): string {
  const who = several ? `${scheduler}: ` : '';
  if (sustained === undefined)
    return `${who}every load is beyond saturation; at most ${fixed(capacity, 0)}/s get through`;
  if (saturated === undefined)
    return `${who}no saturation up to ${fixed(sustained, 0)}/s; busiest: ${bottleneck}`;
  return `${who}saturates between ${fixed(sustained, 0)} and ${fixed(saturated, 0)}/s, at ${bottleneck}; at most ${fixed(capacity, 0)}/s get through`;
}

function warmupNotes(points: readonly PointSummary[]): string[] {
  const cuts = points.flatMap(({ warmup_ms = [] }) => warmup_ms);
  if (cuts.length === 0) return [];
  const label = pointLabels(points);
  const missed = points.filter(({ warmup_not_found }) => warmup_not_found > 0);
  return [
    `warm-up by mser-5: ${significant(Math.min(...cuts), 3)} to ${significant(Math.max(...cuts), 3)} ms cut off`,
    ...missed.map(
      (point) =>
        `${label(point)}: ${point.warmup_not_found} of ${point.seeds.length} runs are too short to tell their warm-up`,
    ),
  ];
}

/** Requests under way when a run ends are told beyond this share. */
const UNANSWERED_SHARE = 0.01;

/** Requests without a reply, power management, timeouts, connections that were waited for, deadlocks. */
export function pointNotes(points: readonly PointSummary[]): string[] {
  const label = pointLabels(points);
  return points.flatMap((point) => notesOf(point, label(point)));
}

function notesOf(point: PointSummary, at: string): string[] {
  const {
    arrived,
    completed,
    timeouts_per_request,
    attempts_per_request,
    given_up_share,
    waits,
    deadlock,
    power,
    energy,
    tiers,
  } = point;
  const unanswered = arrived - completed;
  return [
    ...(timeouts_per_request === 0 && unanswered > UNANSWERED_SHARE * arrived
      ? [`${at}: ${fixed(unanswered, 0)} of ${fixed(arrived, 0)} requests had no reply when the run ended`]
      : []),
    ...(power === undefined
      ? []
      : [
          `${at}: target missed in ${share(power.violations?.mean ?? Number.NaN, 2)} of the intervals, median tail ${estimateText(power.tail_ms)} ms; ${power.tiers.map(({ name, mhz }) => `${name} ${fixed(mhz?.mean ?? Number.NaN, 0)} MHz`).join(', ')}`,
        ]),
    ...(energy === undefined
      ? []
      : [
          `${at}: ${estimateText(energy.watts)} W, ${significant((energy.joules_per_request?.mean ?? Number.NaN) * 1000, 4)} mJ per request, from the start to the end of runs`,
        ]),
    ...tiers
      .filter(({ frequencies }) => frequencies.length > 1)
      .map(
        ({ name, frequencies }) =>
          `${at}: ${name} busy at ${frequencies.map(({ mhz, share: part }) => `${mhz} MHz ${share(part)}`).join(', ')}`,
      ),
    ...(timeouts_per_request > 0
      ? [
          `${at}: ${significant(timeouts_per_request, 3)} timeouts and ${significant(attempts_per_request, 3)} attempts per request; ${share(given_up_share, 2)} end without a reply`,
        ]
      : []),
    ...waits.map(
      ({ from, to, waited_share, mean_wait_ms, most_waiting }) =>
        `${at}: ${share(waited_share)} of the calls from ${from} to ${to} waited for a connection, ${significant(mean_wait_ms, 3)} ms on the mean, at most ${most_waiting} at once`,
    ),
    ...(deadlock === undefined ? [] : [`${at}: deadlocked`, ...deadlock.map((line) => `  ${line}`)]),
  ];
}

/** Tables of all points and of their tiers, and where the load saturates. */
export function runText(summary: RunSummary): string {
  const { points, knees } = summary;
  const label = pointLabels(points);
  const several = new Set(points.map(({ scheduler }) => scheduler)).size > 1;
  // The tiers at one load, or at the highest that each scheduler sustains.
  const shown =
    new Set(points.map(({ load }) => load)).size === 1
      ? points
      : points.filter((point) =>
          knees.some(({ scheduler, sustained }) => point.scheduler === scheduler && point.load === sustained),
        );
  const [{ seeds, measured, unsupported }] = points;
  const notes = [
    `n = ${seeds.length} replication${seeds.length === 1 ? '' : 's'}${seeds.length === 1 ? '' : '; ± 95 % intervals (Student’s t; quantiles by jackknife of merged histograms)'}`,
    ...(unsupported.length > 0 ? [`–: fewer than ten of ${fixed(measured, 0)} requests lie beyond it`] : []),
    ...warmupNotes(points),
    ...pointNotes(points),
    ...points
      .filter(({ outcomes }) =>
        Object.keys(outcomes).some((outcome) => outcome !== 'completed' && outcome !== 'horizon'),
      )
      .map(
        (point) =>
          `${label(point)}: ${Object.entries(point.outcomes)
            .map(([outcome, n]) => `${n} ${outcome}`)
            .join(', ')}`,
      ),
  ];
  return [
    aligned(pointRows(points, several), several ? 1 : 0),
    ...(shown.length === 0 ? [] : ['\n', aligned(tierRows(shown), 2)]),
    kernelTable(shown),
    energyTable(shown),
    ...knees.map((knee) => `\n${kneeText(knee, several)}\n`),
    '\n',
    ...notes.map((note) => `${note}\n`),
  ].join('');
}
