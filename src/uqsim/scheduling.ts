// What the paper leaves out: an operating system below the services. Two tiers and the social network on one host with half as many
// CPUs as threads, under EEVDF and scheduling domains, beside a core for each thread.

import { fixed, percent, share, significant } from '../report/format.js';
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
      'mean, change',
      'p99, change',
    ],
    rows: measured.points.map((point) => {
      const dedicated = measured.at('dedicated', point.load);
      const changes = point === dedicated ? [] : [meanChange(point, dedicated), p99Change(point, dedicated)];
      return [
        point.scheduler,
        loadText(point),
        estimateText(point.mean_ms, 3),
        ...([0.5, 0.99, 0.999] as const).map((q) => estimateText(point.quantiles_ms[q], 3)),
        ...(point === dedicated ? ['', ''] : changes.map(changeText)),
      ];
    }),
    note: 'Changes are against dedicated, a core for each thread, with the same seeds; ± 95 % intervals over them; “chance”: the interval includes zero.',
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

const wasted = (measured: Measured, scheduler: Scheduler, load = measured.top): string =>
  share(measured.at(scheduler, load).kernel?.wasted ?? Number.NaN);

function p99(measured: Measured, scheduler: Scheduler, load = measured.top): string {
  const { quantiles_ms, arrived, seeds } = measured.at(scheduler, load);
  const text = `${estimateText(quantiles_ms[0.99], 3)} ms`;
  // A tail of a quarter of the run is a queue that has grown all the time.
  const length_ms = (1000 * arrived) / seeds.length / load;
  return (quantiles_ms[0.99]?.mean ?? 0) < length_ms / 4 ? text : `${text} (does not keep up)`;
}

const tails = (measured: Measured, schedulers: readonly Scheduler[], load = measured.top): string =>
  schedulers.map((scheduler) => `${scheduler} ${p99(measured, scheduler, load)}`).join('; ');

const shown = (claim: string, found: string): Verdict => ({ claim, found, outcome: 'shown' });

/** How far domains differ from one another and from a core for each thread, and what is beyond chance. */
function domainVerdict(measured: Measured): Verdict {
  const among = measured.loads.flatMap((load) =>
    DOMAINS.slice(1).flatMap((scheduler) =>
      [meanChange, p99Change].map((change) =>
        change(measured.at(scheduler, load), measured.at('domains:1', load)),
      ),
    ),
  );
  const beyond = among.filter((change) => change !== undefined && differs(change)).length;
  const largest = Math.max(0, ...among.map((change) => Math.abs(change?.mean ?? 0)));
  const dedicated = measured.loads.map((load) => {
    const [own, other] = [measured.at('domains:8', load), measured.at('dedicated', load)];
    return `${loadText(own)}: mean ${changeText(meanChange(own, other))}, p99 ${changeText(p99Change(own, other))}`;
  });
  return shown(
    `${measured.name}: 1, 4 or 8 domains, and 8 against a core for each thread`,
    `4 and 8 differ from 1 by at most ${share(largest)}, beyond chance in ${beyond} of ${among.length} comparisons of mean and p99. 8 against dedicated, ${dedicated.join('; ')}`,
  );
}

function verdictsOf(measured: Measured): Verdict[] {
  const { name, loads } = measured;
  const load = loadText(measured.at('dedicated'));
  const used = share(measured.at('eevdf').kernel?.utilisation?.mean ?? Number.NaN, 0);
  return [
    shown(
      `${name}: p99 at ${load}, where the 8 CPUs are ${used} busy`,
      tails(measured, ['dedicated', 'eevdf', ...DOMAINS, 'global-vtime']),
    ),
    domainVerdict(measured),
    shown(
      `${name}: EEVDF lets threads wait beside idle CPUs, which take none that ran in the last 500 µs (migration cost)`,
      loads
        .slice(-2)
        .map(
          (own) =>
            `${loadText(measured.at('eevdf', own))}: CPU time idle while a thread waits ${wasted(measured, 'eevdf', own)}, without that rule ${wasted(measured, 'eevdf, migration cost 0', own)}, domains:8 ${wasted(measured, 'domains:8', own)}; p99 ${tails(measured, ['eevdf', 'eevdf, migration cost 0', 'dedicated'], own)}`,
        )
        .join('. '),
    ),
    shown(
      `${name}: the network stack as interrupts on some of the CPUs (realtime), or as threads like the others (fair): p99 at ${load}`,
      `EEVDF: realtime ${p99(measured, 'eevdf, interrupts')}, fair ${p99(measured, 'eevdf')}; without the rule of 500 µs realtime ${p99(measured, 'eevdf, interrupts, migration cost 0')}, fair ${p99(measured, 'eevdf, migration cost 0')}. domains:8: realtime ${p99(measured, 'domains:8, interrupts')}, fair ${p99(measured, 'domains:8')}`,
    ),
    shown(
      `${name}: stealing and slices: p99 at ${load}`,
      `${tails(measured, ['domains:8', 'domains:8, no stealing', 'domains:8, slices of 20 µs'])}; CPU time idle while a thread waits without stealing ${wasted(measured, 'domains:8, no stealing')}`,
    ),
    shown(
      `${name}: with what a Xeon’s switches, dispatches and idle states cost: p99, and CPU time used`,
      [loads[0], loads[loads.length - 1]]
        .map((own) => {
          const each = (['eevdf', 'eevdf, Xeon', 'domains:8', 'domains:8, Xeon'] as const).map(
            (scheduler) =>
              `${scheduler} ${p99(measured, scheduler, own)} (${share(measured.at(scheduler, own).kernel?.utilisation?.mean ?? Number.NaN, 0)})`,
          );
          return `${loadText(measured.at('eevdf', own))}: ${each.join('; ')}`;
        })
        .join('. '),
    ),
  ];
}

/** What the kernel's counters say of why tails differ. */
function mechanisms(all: readonly Measured[]): string[] {
  const each = (value: (measured: Measured) => string) =>
    all.map((measured) => `${value(measured)} (${measured.name})`).join(', ');
  const kernel = (measured: Measured, scheduler: Scheduler) => measured.at(scheduler).kernel;
  const wake = (scheduler: Scheduler) =>
    each((own) => `${significant(kernel(own, scheduler)?.wake_mean_us ?? Number.NaN)} µs`);
  const per = (scheduler: Scheduler, key: 'steals' | 'preemptions' | 'pulls') =>
    each((own) => significant(kernel(own, scheduler)?.[key] ?? Number.NaN));
  return [
    `Domains: a woken thread gets its last CPU or an idle one of its domain; a CPU that runs out of work takes from its own domain, then from its neighbours. With eight domains of one CPU threads are stolen ${per('domains:8', 'steals')} times a request at the highest load, so that hardly a CPU is idle while a thread waits, and the number of domains decides where threads run, and hardly how long they wait. Without stealing it does: a domain then has to serve its own two threads alone.`,
    `EEVDF: a woken thread that finds no idle CPU waits in the queue of one. A CPU that becomes idle a little later leaves it there, because it ran within the last 500 µs, as all threads of stages this short have: threads are pulled ${per('eevdf', 'pulls')} times a request, without that rule ${per('eevdf, migration cost 0', 'pulls')}. From wake-up to CPU it takes ${wake('eevdf')}, under eight domains ${wake('domains:8')}, on the mean. What the social network still wastes without the rule has another reason: a CPU that is more than 85 % busy with a single thread ranks as busier than one where two wait, and balancing ends there with nothing to take (update_sd_pick_busiest() of 6.11).`,
    `Interrupts: tasks of the realtime class on four (two) of the eight CPUs, as threaded interrupts are. Each one takes the CPU from a thread at once: ${per('eevdf, interrupts', 'preemptions')} preemptions a request instead of ${per('eevdf', 'preemptions')}. Under EEVDF two threads that share such a CPU alternate at every interrupt, so that none of them waits for 500 µs and no idle CPU takes it; a thread that always has work is not placed anew either, and falls behind until periodic balancing moves it. The kernel would look sooner: it takes what realtime tasks use off a CPU’s capacity, the simulator does not, so that this tail is an upper bound.`,
    'Costs (Xeon: a context switch of 1.5 µs, a dispatch of a BPF scheduler of 10 µs, up to 133 µs to leave an idle state): at low load, where CPUs sleep between requests, waking them makes the tail. At high load dispatches take from the two tiers, whose stages are hardly longer, what domains gain by leaving no CPU idle; the social network’s stages are ten times as long, and domains stay ahead.',
    'Slices hardly matter: stages take 20 to 280 µs, and a slice of 3 ms lasts until the thread has nothing left to do.',
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
      : [
          {
            ...figure,
            caption: `${name}, 16 threads on 8 CPUs (dedicated: 16 cores). Curves that cannot be seen lie under others. ${figure.caption}`,
          },
        ];
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
      'Both on one host: 8 NGINX, 4 memcached and 4 network threads; 14 instances of the social network’s services with a thread each and 2 network threads. Scheduled: 16 threads of the simulated kernel (6.11) on 8 ideal CPUs with a tick and without costs, free to move; domains divide the CPUs, and threads are dealt out to them. What differs is the order alone.',
      ...mechanisms(all),
    ],
  };
}

export const scheduling: Experiment = {
  id: 'scheduling',
  title: 'The same services on a scheduler, two threads to a CPU',
  source: 'not in the paper',
  run,
};
