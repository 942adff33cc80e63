// From the result image to a result: names, units, distributions.

import type {
  ClassResult,
  CpuResult,
  Distribution,
  HistogramKind,
  Metrics,
  SimulationResult,
  StateTimes,
} from '../types.js';
import * as abi from './abi.js';
import type { EncodedModel } from './encode.js';
import { Histogram } from './histogram.js';
import { readSections, type SectionPlace } from './image.js';
import type { EngineMemory } from './module.js';

const KINDS: HistogramKind[] = ['latency', 'worker_duration', 'stint', 'wake_latency', 'response'];

export const STATES = [
  'control',
  'worker_queue',
  'run_queue',
  'local_queue',
  'preempted',
  'running',
  'cold',
  'io',
  'siblings',
  'quota',
  'container_start',
] as const satisfies readonly (keyof StateTimes)[];

const QUANTILES = [
  ['p50', 0.5],
  ['p90', 0.9],
  ['p95', 0.95],
  ['p99', 0.99],
  ['p99_9', 0.999],
] as const;

/** Summary of a histogram of ns in a unit of `unit_ns`. */
export function distribution(histogram: Histogram, unit_ns: number): Distribution {
  const value = (p: number) => histogram.quantile(p) / unit_ns;
  return {
    count: histogram.count,
    mean: histogram.mean / unit_ns,
    min: histogram.min / unit_ns,
    max: histogram.max / unit_ns,
    p50: value(0.5),
    p90: value(0.9),
    p95: value(0.95),
    p99: value(0.99),
    p99_9: value(0.999),
    unsupported: QUANTILES.filter(([, p]) => !histogram.supports(p)).map(([name]) => name),
  };
}

type Decoded = Pick<SimulationResult, 'metrics' | 'classes' | 'histograms' | 'cpus'>;

const MS = 1e6;
const US = 1e3;

class Reader {
  readonly #view: DataView;
  readonly #sections: Map<number, SectionPlace>;

  constructor(view: DataView, address: number) {
    this.#view = view;
    this.#sections = readSections(view, address);
  }

  section(id: number): SectionPlace {
    return this.#sections.get(id)!;
  }

  /** u64 number `field` of record `row`. */
  big(id: number, row: number, field: number): bigint {
    const { offset, stride } = this.section(id);
    return this.#view.getBigUint64(offset + row * stride + field * 8, true);
  }

  number(id: number, row: number, field: number): number {
    return Number(this.big(id, row, field));
  }

  histograms(classes: EncodedModel['classes']): SimulationResult['histograms'] {
    const { offset, count, stride } = this.section(abi.SECTION_HISTOGRAMS);
    const buckets = this.section(abi.SECTION_BUCKETS).offset;
    return Array.from({ length: count }, (_, i) => {
      const { kind, classId, histogram } = Histogram.decode(this.#view, offset + i * stride, buckets);
      return { kind: KINDS[kind], class: classes[classId]?.name ?? '', histogram };
    });
  }
}

const ratio = (a: number, b: number) => (b === 0 ? Number.NaN : a / b);

function statesOf(sums: readonly number[], jobs: number): StateTimes {
  return Object.fromEntries(
    STATES.map((name, i) => [name, ratio(sums[i], jobs) / MS]),
  ) as unknown as StateTimes;
}

/** Reads the result image at `address`. */
export function decode(memory: EngineMemory, address: number, model: EncodedModel): Decoded {
  const reader = new Reader(new DataView(memory.buffer), address);
  const histograms = reader.histograms(model.classes);
  const ofClass = (kind: HistogramKind, name: string) =>
    histograms.find((entry) => entry.kind === kind && entry.class === name)?.histogram ?? Histogram.empty;
  const classes = model.classes.map(({ name, kind }, row): ClassResult => {
    const value = (field: number) => reader.number(abi.SECTION_CLASS_RESULTS, row, field);
    const measured = value(abi.CLS_MEASURED);
    return {
      name,
      kind,
      arrived: value(abi.CLS_ARRIVED),
      completed: value(abi.CLS_COMPLETED),
      dropped: value(abi.CLS_DROPPED),
      timed_out: value(abi.CLS_TIMED_OUT),
      cold_starts: value(abi.CLS_COLD_STARTS),
      measured,
      latency_ms: distribution(ofClass('latency', name), MS),
      worker_duration_ms: distribution(ofClass('worker_duration', name), MS),
      stint_us: distribution(ofClass('stint', name), US),
      wake_latency_us: distribution(ofClass('wake_latency', name), US),
      cpu_ms: ratio(value(abi.CLS_CPU_NS), measured) / MS,
      cost_ms: ratio(value(abi.CLS_COST_NS), measured) / MS,
      uncontended_ms: ratio(value(abi.CLS_DURATION_NS), measured) / MS,
      states_ms: statesOf(
        STATES.map((_, s) => value(abi.CLS_STATES_NS + s)),
        measured,
      ),
    };
  });
  const cpus = Array.from({ length: reader.section(abi.SECTION_CPU_RESULTS).count }, (_, cpu): CpuResult => {
    const value = (field: number) => reader.number(abi.SECTION_CPU_RESULTS, cpu, field);
    return {
      cpu,
      busy_ns: value(0),
      idle_ns: value(1),
      overhead_ns: value(2),
      energy_j: value(3) / 1e12,
      switches: value(4),
      migrations_in: value(5),
      idle_entries: value(6),
    };
  });
  return { metrics: metricsOf(reader, model, histograms, cpus), classes, histograms, cpus };
}

function metricsOf(
  reader: Reader,
  model: EncodedModel,
  histograms: SimulationResult['histograms'],
  cpus: readonly CpuResult[],
): Metrics {
  const summary = (counter: number) => reader.number(abi.SECTION_SUMMARY, counter, 0);
  const merged = (kind: HistogramKind) =>
    histograms
      .filter((entry) => entry.kind === kind)
      .reduce((all, { histogram }) => all.merge(histogram), Histogram.empty);
  const overClasses = (field: number) =>
    model.classes.reduce((sum, _, row) => sum + reader.number(abi.SECTION_CLASS_RESULTS, row, field), 0);
  const end_ns = summary(abi.R_END_NS);
  const measured = overClasses(abi.CLS_MEASURED);
  const busy_ns = cpus.reduce((sum, cpu) => sum + cpu.busy_ns, 0);
  const energy_cores_j = summary(abi.R_ENERGY_CORES) / 1e12;
  const energy_uncore_j = summary(abi.R_ENERGY_UNCORES) / 1e12;
  const trace_ns =
    model.horizon_ns > 0n && model.statements.window !== undefined ? Number(model.horizon_ns) : end_ns;
  const assigned = summary(abi.R_ASSIGNED);
  return {
    events: summary(abi.R_EVENTS),
    duration_s: end_ns / 1e9,
    arrived: summary(abi.R_ARRIVED),
    completed: summary(abi.R_COMPLETED),
    dropped: summary(abi.R_DROPPED),
    timed_out: summary(abi.R_TIMED_OUT),
    in_system: summary(abi.R_ALIVE),
    measured,
    latency_ms: distribution(merged('latency'), MS),
    worker_duration_ms: distribution(merged('worker_duration'), MS),
    cpu_ms: ratio(overClasses(abi.CLS_CPU_NS), measured) / MS,
    cost_ms: ratio(overClasses(abi.CLS_COST_NS), measured) / MS,
    states_ms: statesOf(
      STATES.map((_, s) => overClasses(abi.CLS_STATES_NS + s)),
      measured,
    ),
    stint_us: distribution(merged('stint'), US),
    wake_latency_us: distribution(merged('wake_latency'), US),
    response_ms: distribution(merged('response'), MS),
    utilization: ratio(summary(abi.R_WINDOW_BUSY), cpus.length * trace_ns),
    overhead_share: ratio(
      cpus.reduce((sum, cpu) => sum + cpu.overhead_ns, 0),
      busy_ns,
    ),
    wasted_core_s: wastedOf((cause) => summary(abi.R_WASTED + cause) / 1e9),
    load_average: ratio(summary(abi.R_WINDOW_RUNNABLE), trace_ns),
    load_average_1min: {
      final: summary(abi.R_LOAD_AVERAGE) / 2048,
      mean: ratio(summary(abi.R_LOAD_AVERAGE_SUM), summary(abi.R_LOAD_AVERAGE_SAMPLES)) / 2048,
      max: summary(abi.R_LOAD_AVERAGE_MAX) / 2048,
    },
    worker_queue: { mean: ratio(summary(abi.R_WINDOW_QUEUE), trace_ns), peak: summary(abi.R_QUEUE_PEAK) },
    energy_j: energy_cores_j + energy_uncore_j,
    energy_cores_j,
    energy_uncore_j,
    power_w: ratio(energy_cores_j + energy_uncore_j, trace_ns / 1e9),
    frequency_mhz: frequencyOf(reader),
    polling_s: summary(abi.R_POLL_NS) / 1e9,
    switches: summary(abi.R_SWITCHES),
    migrations: summary(abi.R_MIGRATIONS),
    wakeups: summary(abi.R_WAKEUPS),
    preemptions: summary(abi.R_PREEMPTIONS),
    dispatches: summary(abi.R_DISPATCHES),
    steals: summary(abi.R_STEALS),
    kicks: summary(abi.R_KICKS),
    balance_pulls: summary(abi.R_BALANCE_PULLS),
    newidle_pulls: summary(abi.R_NEWIDLE_PULLS),
    peak_tasks: summary(abi.R_PEAK_TASKS),
    containers_grown: summary(abi.R_CONTAINERS_GROWN),
    containers: {
      cold_starts: summary(abi.R_COLD_STARTS),
      failures: summary(abi.R_COLD_FAILURES),
      evicted: summary(abi.R_EVICTED),
      prewarmed: summary(abi.R_PREWARMED),
    },
    bypassed: summary(abi.R_BYPASSED),
    abandoned: summary(abi.R_ABANDONED),
    assignment: {
      assigned,
      unmapped: summary(abi.R_UNMAPPED),
      reassigned: summary(abi.R_REASSIGNMENTS),
      rebalanced: summary(abi.R_REBALANCED),
      buckets: summary(abi.R_BUCKETS_OCCUPIED),
      largest_bucket_share: ratio(summary(abi.R_BUCKET_LARGEST), assigned),
    },
    poll_detection: {
      true_positives: summary(abi.R_POLLERS_FOUND),
      false_positives: summary(abi.R_POLLERS_MISTAKEN),
      false_negatives: summary(abi.R_POLLERS_MISSED),
      true_negatives: summary(abi.R_POLLERS_CLEARED),
    },
    fallback_s: summary(abi.R_FALLBACK_NS) / 1e9,
    schedule_digest: reader.big(abi.SECTION_SUMMARY, abi.R_DIGEST, 0).toString(16).padStart(16, '0'),
  };
}

/** Wasted-core time by cause, in the order of assembly/kernel/wasted.ts. */
function wastedOf(cause: (number: number) => number): Metrics['wasted_core_s'] {
  const [exit_latency, affinity, no_kick, domain, cpu_queue] = [0, 1, 2, 3, 4].map(cause);
  return {
    total: exit_latency + affinity + no_kick + domain + cpu_queue,
    exit_latency,
    affinity,
    no_kick,
    domain,
    cpu_queue,
  };
}

/** Mean frequency over busy time, MHz. */
function frequencyOf(reader: Reader): number {
  let weighted = 0;
  let total = 0;
  for (let row = 0; row < reader.section(abi.SECTION_FREQUENCY_RESULTS).count; row++) {
    const ns = reader.number(abi.SECTION_FREQUENCY_RESULTS, row, 1);
    weighted += reader.number(abi.SECTION_FREQUENCY_RESULTS, row, 0) * ns;
    total += ns;
  }
  return ratio(weighted, total);
}
