// What the paper leaves out: an operating system below the services. Two tiers and the social network on one host with half as many
// CPUs as threads, under EEVDF and scheduling domains, beside a core for each thread.

import { fixed, percent, share } from '../report/format.js';
import { differs, type Estimate } from '../report/statistics.js';
import { latencyOverLoad } from '../services/report/figures.js';
import { KERNEL_HEADER, kernelCells } from '../services/run/kernel.js';
import { estimateText, loadText } from '../services/run/terminal.js';
import {
  type Context,
  type Experiment,
  judged,
  type ResultTable,
  together,
  type Verdict,
} from './experiment.js';
import {
  DOMAINS,
  type Measured,
  meanChange,
  measure,
  p99Change,
  type Scheduler,
  systems,
} from './scheduling-runs.js';

function changeText(change: Estimate | undefined): string {
  if (change === undefined) return '–';
  const text = `${percent(change.mean)} ± ${fixed(100 * (change.half ?? Number.NaN), 1)}`;
  return differs(change) ? text : `${text}, chance`;
}

function latencyTable(measured: Measured): ResultTable {
  return {
    title: `${measured.name}: latency`,
    header: [
      'scheduler',
      'load',
      'mean, ms',
      'p50, ms',
      'p99, ms',
      'p99.9, ms',
      'mean against dedicated',
      'p99 against dedicated',
    ],
    rows: measured.points.map((point) => {
      const dedicated = measured.at('dedicated', point.load);
      const changes = point === dedicated ? [] : [meanChange(point, dedicated), p99Change(point, dedicated)];
      return [
        point.scheduler,
        loadText(point),
        estimateText(point.mean_ms),
        ...([0.5, 0.99, 0.999] as const).map((q) => estimateText(point.quantiles_ms[q])),
        ...(point === dedicated ? ['', ''] : changes.map(changeText)),
      ];
    }),
    note: 'Dedicated: a core for each thread. The same seeds everywhere; ± 95 % intervals over them; “chance”: the interval of a difference includes zero.',
  };
}

function kernelTable({ name, points }: Measured): ResultTable {
  return {
    title: `${name}: what the kernel does`,
    header: ['scheduler', 'load', ...KERNEL_HEADER],
    rows: points
      .filter(({ kernel }) => kernel !== undefined)
      .map((point) => [point.scheduler, loadText(point), ...kernelCells(point.kernel)]),
    note: 'Counts are per request, of all threads.',
  };
}

const wasted = (measured: Measured, scheduler: Scheduler): string =>
  share(measured.at(scheduler).kernel?.wasted ?? Number.NaN);

function p99(measured: Measured, scheduler: Scheduler, load = measured.top): string {
  return `${estimateText(measured.at(scheduler, load).quantiles_ms[0.99], 3)} ms`;
}

const tails = (measured: Measured, schedulers: readonly Scheduler[]): string =>
  schedulers.map((scheduler) => `${scheduler} ${p99(measured, scheduler)}`).join('; ');

/** How far domains differ from one another and from a core for each thread, beyond chance. */
function domainVerdict(measured: Measured): Verdict {
  const among = measured.loads.flatMap((load) =>
    DOMAINS.slice(1).flatMap((scheduler) =>
      [meanChange, p99Change].map((change) =>
        change(measured.at(scheduler, load), measured.at('domains:1', load)),
      ),
    ),
  );
  const beyond = among.flatMap((change) => (change !== undefined && differs(change) ? [change] : []));
  const largest = Math.max(0, ...among.map((change) => Math.abs(change?.mean ?? 0)));
  const dedicated = measured.loads.map((load) => {
    const own = measured.at('domains:8', load);
    const other = measured.at('dedicated', load);
    return `${loadText(own)}: mean ${changeText(meanChange(own, other))}, p99 ${changeText(p99Change(own, other))}`;
  });
  return {
    claim: `${measured.name}: whether 1, 4 or 8 domains, and what they cost against a core for each thread`,
    found: `4 and 8 differ from 1 by at most ${percent(largest)}, beyond chance in ${beyond.length} of ${among.length} comparisons of mean and p99. 8 domains against dedicated, ${dedicated.join('; ')}`,
    outcome: 'shown',
  };
}

const shown = (claim: string, found: string): Verdict => ({ claim, found, outcome: 'shown' });

function verdictsOf(measured: Measured): Verdict[] {
  const { name } = measured;
  const load = loadText(measured.at('dedicated'));
  const used = measured.loads.map((own) =>
    share(measured.at('eevdf', own).kernel?.utilisation?.mean ?? Number.NaN, 0),
  );
  return [
    shown(
      `${name}: p99 at ${load}, 16 threads on 8 CPUs that are ${used[used.length - 1]} busy`,
      tails(measured, ['dedicated', 'eevdf', ...DOMAINS, 'global-vtime']),
    ),
    domainVerdict(measured),
    shown(
      `${name}: EEVDF leaves threads waiting beside idle CPUs, because load balancing takes none that ran in the last 500 µs`,
      `CPU time idle while a thread waits at ${load}: ${wasted(measured, 'eevdf')}, without that rule ${wasted(measured, 'eevdf, migration cost 0')}, domains:8 ${wasted(measured, 'domains:8')}; p99 ${tails(measured, ['eevdf', 'eevdf, migration cost 0'])}`,
    ),
    shown(
      `${name}: the network stack as interrupts on some of the same CPUs (realtime) against threads beside the others (fair)`,
      `p99 at ${load}, EEVDF: realtime ${p99(measured, 'eevdf, interrupts')}, fair ${p99(measured, 'eevdf')}, realtime without the rule of 500 µs ${p99(measured, 'eevdf, interrupts, migration cost 0')}; domains:8: realtime ${p99(measured, 'domains:8, interrupts')}, fair ${p99(measured, 'domains:8')}`,
    ),
    shown(
      `${name}: what stealing and the slice do`,
      `p99 at ${load}: ${tails(measured, ['domains:8', 'domains:8, no stealing', 'domains:8, slices of 20 µs'])}; CPU time idle while a thread waits without stealing: ${wasted(measured, 'domains:8, no stealing')}`,
    ),
  ];
}

async function run(context: Context) {
  const all = await together(systems(context), (system) => measure(context, system));
  const roomy = all.flatMap((measured) =>
    measured.roomy.map((point) => Math.abs(meanChange(point, measured.at('dedicated'))?.mean ?? Number.NaN)),
  );
  const figures = await together(all, async ({ name, points }) => {
    const curves = points.filter(({ scheduler }) => !scheduler.includes(','));
    const figure = await latencyOverLoad({ name, points: curves, knees: [] });
    return figure === undefined
      ? []
      : [{ ...figure, caption: `${name}, 16 threads on 8 CPUs (dedicated: 16 cores). ${figure.caption}` }];
  });
  return {
    verdicts: [
      judged(
        'With a CPU for each thread the scheduler does not matter (mean within 1 % of dedicated)',
        `at most ${percent(Math.max(...roomy), 2)}, threads being free to move`,
        Math.max(...roomy) < 0.01,
      ),
      ...all.flatMap(verdictsOf),
    ],
    tables: all.flatMap((measured) => [latencyTable(measured), kernelTable(measured)]),
    figures: figures.flat(),
    text: [
      'Both on one host: 8 NGINX, 4 memcached and 4 network threads; 14 instances of the social network’s services with a thread each and 2 network threads. Scheduled: 16 threads of the simulated kernel (6.11) on 8 ideal CPUs without costs, free to move; domains divide the CPUs, and threads are dealt out to them. What differs is the order alone.',
    ],
  };
}

export const scheduling: Experiment = {
  id: 'scheduling',
  title: 'The same services on a scheduler, two threads to a CPU',
  source: 'not in the paper',
  run,
};
