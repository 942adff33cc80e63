// simulateServices(): resolved services in, what requests and instances went through out.

import { AbortedError } from '../errors.js';
import type { ResolvedServices } from '../services/resolved.js';
import type { Outcome, SimulateOptions } from '../types.js';
import * as abi from './abi.js';
import { Histogram } from './histogram.js';
import { readSections, type SectionPlace } from './image.js';
import { type Deadlock, deadlockOf } from './services-deadlock.js';
import { END_TO_END, type EncodedServices, encodeServices } from './services-model.js';
import { requestClass } from './services-routes.js';
import { outcomeOf } from './simulate.js';
import { Simulation } from './simulation.js';

/** Slices between two looks at the event loop. */
const SLICES_PER_TURN = 50;

export interface InstanceResult {
  name: string;
  /** Index of the service; −1: a network stack. */
  service: number;
  machine: number;
  cores: number;
  threads: number;
  /** Time that its cores were held, ns; in scheduled mode CPU time of its threads. */
  busy_ns: number;
  /** busy / (cores × duration) */
  utilisation: number;
  /** busy_ns at each of its frequencies, ascending. */
  busy_by_mhz: FrequencyTime[];
  /** Visits that have ended. */
  visits: number;
  /** What threads took from queues, and the jobs in it. */
  batches: number;
  jobs: number;
  /** From arrival at the service to the end of the visit, ns; measured requests only. Empty for network stacks. */
  residence: Histogram;
}

/** What the kernel below the services did, from the beginning of the run. */
export interface KernelResult {
  cpus: number;
  switches: number;
  /** Switches to a task that ran on another CPU before. */
  migrations: number;
  wakeups: number;
  /** Switches away from a task that could have run on. */
  preemptions: number;
  /** Tasks that a policy took from another domain's queue. */
  steals: number;
  /** Tasks that the fair class's load balancing moved. */
  pulls: number;
  /** CPU time idle while a thread that may run there waits for a CPU, ns. */
  wasted_ns: number;
  /** From a thread's wake-up until it has a CPU, ns. */
  wake_latency: Histogram;
}

export interface FrequencyTime {
  mhz: number;
  ns: number;
}

/** What a machine has used, with a machine profile. */
export interface MachineResult {
  /** Index of the machine. */
  machine: number;
  cpus: number;
  cores_j: number;
  uncore_j: number;
  /** Time of its cores in each idle state of the profile, shallow to deep, ns. */
  idle_ns: { state: string; ns: number }[];
}

export interface EdgeResult {
  /** Index of the instance; −1: the client. */
  from: number;
  to: number;
  /** Calls that took a connection, and those of them that waited for one. */
  calls: number;
  waited: number;
  waited_ns: number;
  most_waiting: number;
}

/** What an interval of the power management has seen, and the frequencies that it ran at. */
export interface IntervalResult {
  end_ns: number;
  /** Requests that ended in it. */
  requests: number;
  /** The quantile under control of their latencies; Infinity if none ended although some were under way, NaN if there were none. */
  tail_ns: number;
  /** The client's rate at its end. */
  rate_per_s: number;
  /** Mean power of all machines; without a machine profile 0. */
  power_w: number;
  /** In the order of the tiers under control. */
  tiers: { tail_ns: number; mhz: number }[];
}

export interface ServicesResult {
  outcome: Outcome;
  /** End of the run, ns. */
  end_ns: number;
  events: number;
  arrived: number;
  completed: number;
  in_system: number;
  /** From the client's side, ns; measured requests only. */
  latency: Histogram;
  /** By kind of request. */
  requests: { name: string; latency: Histogram }[];
  instances: InstanceResult[];
  /** The machines in use; empty without a machine profile. */
  machines: MachineResult[];
  client: {
    requests: number;
    /** Requests are tried again after a timeout. */
    attempts: number;
    timeouts: number;
    /** Requests whose last attempt timed out; they have no latency. */
    given_up: number;
  };
  /** Scheduled mode only. */
  kernel?: KernelResult;
  /** Outcome deadlocked: who waits for whom. */
  deadlock?: Deadlock;
  /** Edges with a pool or with blocking connections. */
  edges: EdgeResult[];
  /** Empty without power management. */
  intervals: IntervalResult[];
  /** Latencies in the order in which requests began, in batches of equal numbers of requests. */
  series: LatencySeries;
}

/** Batches of 5 × 2^k requests that began one after the other; the last one may have fewer. */
export interface LatencySeries {
  /** When the first request of each batch began, ns. */
  start_ns: Float64Array;
  /** Mean latency, ns; NaN where no request has ended. */
  mean_ns: Float64Array;
  /** Requests that have ended. */
  ended: Float64Array;
}

/** Runs resolved services to their end. Errors: VtimeError (capacity), EngineError, AbortedError. */
export async function simulateServices(
  services: ResolvedServices,
  { signal, onProgress }: Pick<SimulateOptions, 'signal' | 'onProgress'> = {},
): Promise<ServicesResult> {
  const model = encodeServices(services);
  const simulation = new Simulation(model);
  for (let slice = 0; !simulation.done; slice++) {
    simulation.step();
    if (slice % SLICES_PER_TURN !== SLICES_PER_TURN - 1) continue;
    onProgress?.({
      time_ns: Number(simulation.time_ns),
      ...(model.horizon_ns > 0n ? { end_ns: Number(model.horizon_ns) } : {}),
      events: simulation.counter(abi.R_EVENTS),
    });
    if (signal !== undefined) await new Promise(setImmediate);
    if (signal?.aborted) throw new AbortedError('aborted', 'the run was interrupted');
  }
  simulation.finish();
  return decodeServices(simulation, model);
}

function seriesOf(view: DataView, section: SectionPlace | undefined): LatencySeries {
  const { offset, count, stride } = section ?? { offset: 0, count: 0, stride: 0 };
  const column = (field: number) =>
    Float64Array.from({ length: count }, (_, i) =>
      Number(view.getBigUint64(offset + i * stride + field, true)),
    );
  const [start_ns, sums, ended] = [column(0), column(8), column(16)];
  return { start_ns, mean_ns: sums.map((sum, i) => sum / ended[i]), ended };
}

function decodeServices(simulation: Simulation, model: EncodedServices): ServicesResult {
  const address = simulation.result();
  const view = new DataView(simulation.memory.buffer);
  const sections = readSections(view, address);
  const histograms = sections.get(abi.SECTION_HISTOGRAMS)!;
  const buckets = sections.get(abi.SECTION_BUCKETS)!.offset;
  const latencies = new Map<string, Histogram>();
  let wake_latency = Histogram.empty;
  for (let i = 0; i < histograms.count; i++) {
    const { kind, classId, histogram } = Histogram.decode(
      view,
      histograms.offset + i * histograms.stride,
      buckets,
    );
    if (kind === abi.HISTOGRAM_LATENCY) latencies.set(model.classes[classId].name, histogram);
    if (kind === abi.HISTOGRAM_WAKE_LATENCY) wake_latency = wake_latency.merge(histogram);
  }
  const rows = sections.get(abi.SECTION_SV_RESULTS)!;
  const end_ns = simulation.counter(abi.R_END_NS);
  const of = (row: number, field: number) =>
    Number(view.getBigUint64(rows.offset + row * rows.stride + field * 8, true));
  const waits = sections.get(abi.SECTION_SV_WAITS);
  const steps = stepsOf(view, sections.get(abi.SECTION_SV_STEPS)!, model);
  const machines = machinesOf(view, sections, model);
  return {
    outcome: outcomeOf(simulation),
    end_ns,
    events: simulation.counter(abi.R_EVENTS),
    arrived: simulation.counter(abi.R_ARRIVED),
    completed: simulation.counter(abi.R_COMPLETED),
    in_system: simulation.counter(abi.R_ALIVE),
    latency: latencies.get(END_TO_END) ?? Histogram.empty,
    series: seriesOf(view, sections.get(abi.SECTION_SV_SERIES)),
    requests: model.services.requests.map(({ name }, _, { length }) => ({
      name,
      latency: latencies.get(length === 1 ? END_TO_END : requestClass(name)) ?? Histogram.empty,
    })),
    machines,
    instances: model.instances.map(({ name, service, machine, cores, threads, mhz }, row) => ({
      name,
      service,
      machine,
      cores,
      threads,
      busy_ns: of(row, abi.SVR_BUSY_NS),
      utilisation: end_ns === 0 ? 0 : of(row, abi.SVR_BUSY_NS) / (cores * end_ns),
      busy_by_mhz: steps.get(row) ?? [{ mhz: mhz[0], ns: of(row, abi.SVR_BUSY_NS) }],
      visits: of(row, abi.SVR_VISITS),
      batches: of(row, abi.SVR_BATCHES),
      jobs: of(row, abi.SVR_JOBS),
      residence: (service >= 0 ? latencies.get(name) : undefined) ?? Histogram.empty,
    })),
    ...(model.services.mode === 'dedicated' ? {} : { kernel: kernelOf(simulation, model, wake_latency) }),
    ...(waits === undefined ? {} : { deadlock: deadlockOf(view, waits, model) }),
    client: clientOf(view, sections.get(abi.SECTION_SV_CLIENT_RESULTS)!),
    edges: edgesOf(view, sections.get(abi.SECTION_SV_EDGE_RESULTS)!, model),
    intervals: intervalsOf(view, sections.get(abi.SECTION_SV_INTERVALS)!, model),
  };
}

/** Causes of assembly/kernel/wasted.ts. */
const WASTED_CAUSES = 5;

function kernelOf(
  simulation: Simulation,
  { machine }: EncodedServices,
  wake_latency: Histogram,
): KernelResult {
  return {
    cpus: machine.cpus.length,
    switches: simulation.counter(abi.R_SWITCHES),
    migrations: simulation.counter(abi.R_MIGRATIONS),
    wakeups: simulation.counter(abi.R_WAKEUPS),
    preemptions: simulation.counter(abi.R_PREEMPTIONS),
    steals: simulation.counter(abi.R_STEALS),
    pulls: simulation.counter(abi.R_BALANCE_PULLS) + simulation.counter(abi.R_NEWIDLE_PULLS),
    wasted_ns: Array.from({ length: WASTED_CAUSES }, (_, cause) =>
      simulation.counter(abi.R_WASTED + cause),
    ).reduce((sum, ns) => sum + ns, 0),
    wake_latency,
  };
}

/** Busy time by frequency of each instance with several steps, by its row. */
function stepsOf(view: DataView, { offset, count, stride }: SectionPlace, { instances }: EncodedServices) {
  const steps = new Map<number, FrequencyTime[]>();
  for (let i = 0; i < count; i++) {
    const at = offset + i * stride;
    const row = view.getUint32(at, true);
    const mhz = instances[row].mhz[view.getUint32(at + 4, true)];
    steps.set(row, [...(steps.get(row) ?? []), { mhz, ns: Number(view.getBigUint64(at + 8, true)) }]);
  }
  return steps;
}

const PJ = 1e-12;

function machinesOf(
  view: DataView,
  sections: ReadonlyMap<number, SectionPlace>,
  { metered, machine }: EncodedServices,
): MachineResult[] {
  const field = (section: number, row: number, index: number) => {
    const { offset, stride } = sections.get(section)!;
    return Number(view.getBigUint64(offset + row * stride + index * 8, true));
  };
  return metered.map(({ machine: index, firstCpu, cpus, packages }) => {
    const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
    const ofPackages = (key: number) => sum(packages.map((p) => field(abi.SECTION_PACKAGE_RESULTS, p, key)));
    const ofCpus = Array.from({ length: cpus }, (_, i) => field(abi.SECTION_CPU_RESULTS, firstCpu + i, 3));
    return {
      machine: index,
      cpus,
      cores_j: sum(ofCpus) * PJ,
      uncore_j: ofPackages(0) * PJ,
      idle_ns: machine.idle_states.map(({ name }, state) => ({ state: name, ns: ofPackages(1 + state) })),
    };
  });
}

const NOTHING_CAME_BACK = (1n << 64n) - 1n;

function intervalsOf(
  view: DataView,
  { offset, count, stride }: SectionPlace,
  { services }: EncodedServices,
): IntervalResult[] {
  const field = (row: number, index: number) => view.getBigUint64(offset + row * stride + index * 8, true);
  return Array.from({ length: count }, (_, i) => {
    const requests = Number(field(i, abi.INTERVAL_REQUESTS));
    const tail = field(i, abi.INTERVAL_TAIL_NS);
    const since = (index: number) =>
      BigInt.asUintN(64, field(i, index) - (i === 0 ? 0n : field(i - 1, index)));
    return {
      end_ns: Number(field(i, abi.INTERVAL_END_NS)),
      requests,
      tail_ns:
        tail === NOTHING_CAME_BACK ? Number.POSITIVE_INFINITY : requests === 0 ? Number.NaN : Number(tail),
      rate_per_s: Number(field(i, abi.INTERVAL_RATE)),
      // pJ / ns = mW
      power_w: Number(since(abi.INTERVAL_ENERGY)) / Number(since(abi.INTERVAL_END_NS)) / 1000,
      tiers: services.power!.tiers.map((_tier, t) => ({
        tail_ns: Number(field(i, abi.INTERVAL_TIERS + 2 * t)),
        mhz: services.power!.frequencies_mhz[Number(field(i, abi.INTERVAL_TIERS + 2 * t + 1))],
      })),
    };
  });
}

function clientOf(view: DataView, { offset }: SectionPlace): ServicesResult['client'] {
  const field = (index: number) => Number(view.getBigUint64(offset + index * 8, true));
  return {
    requests: field(abi.SVO_REQUESTS),
    attempts: field(abi.SVO_ATTEMPTS),
    timeouts: field(abi.SVO_TIMEOUTS),
    given_up: field(abi.SVO_GIVEN_UP),
  };
}

function edgesOf(
  view: DataView,
  { offset, stride }: SectionPlace,
  { services }: EncodedServices,
): EdgeResult[] {
  const bounded =
    services.edges === 'all' ? [] : services.edges.filter(({ pool, blocking }) => pool !== 0 || blocking);
  return bounded.map(({ from, to }, i) => {
    const field = (index: number) => Number(view.getBigUint64(offset + i * stride + index * 8, true));
    return { from, to, calls: field(0), waited: field(1), waited_ns: field(2), most_waiting: field(3) };
  });
}
