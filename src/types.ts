// The public surface: what goes in and what comes out. Units are in the names.

import type { Table } from 'apache-arrow';
import type { Config, ConfigInput, ResolvedConfig } from './config/schema.js';
import type { Histogram } from './engine/histogram.js';
import type { Trace } from './trace/schema.js';

export type { Config, ConfigInput, Histogram, ResolvedConfig, Trace };

/** How a run ended. `stalled` and `deadlocked` are results, with a reason; engine errors throw. */
export type Outcome = 'completed' | 'horizon' | 'stalled' | 'deadlocked';

/** A distribution over jobs or stays on a CPU. A quantile that the sample cannot support is listed in `unsupported`. */
export interface Distribution {
  count: number;
  mean: number;
  min: number;
  max: number;
  p50: number;
  p90: number;
  p95: number;
  p99: number;
  p99_9: number;
  /** Quantiles with fewer than ten observations above them, e.g. ["p99_9"]. */
  unsupported: string[];
}

/** Mean time per job in each state, ms; the parts sum to the mean latency. */
export interface StateTimes {
  control: number;
  worker_queue: number;
  run_queue: number;
  local_queue: number;
  preempted: number;
  running: number;
  cold: number;
  io: number;
  siblings: number;
  /** Runnable while its cgroup had used up its quota. */
  quota: number;
  /** Its container starts (cold start as a delay). */
  container_start: number;
}

export type ClassKind = 'function' | 'source' | 'tasks' | 'control-plane' | 'server-masters';

/** One statistics class: a function, an arrival source, a group of tasks. */
export interface ClassResult {
  name: string;
  kind: ClassKind;
  arrived: number;
  completed: number;
  dropped: number;
  /** Their clients gave up. */
  timed_out: number;
  cold_starts: number;
  /** Jobs that arrived after the warm-up and completed; the distributions are over them. */
  measured: number;
  latency_ms: Distribution;
  worker_duration_ms: Distribution;
  /** Stays on a CPU of the class's tasks. */
  stint_us: Distribution;
  /** From wake-up to CPU. */
  wake_latency_us: Distribution;
  /** Mean CPU time per job. */
  cpu_ms: number;
  /** Mean of latency × CPU time / worker duration. */
  cost_ms: number;
  /** Mean uncontended duration. */
  uncontended_ms: number;
  states_ms: StateTimes;
}

export interface Metrics {
  events: number;
  /** Simulated time. */
  duration_s: number;
  arrived: number;
  completed: number;
  /** By a full queue or limit, or because the container did not start. */
  dropped: number;
  /** Left after their clients had given up. */
  timed_out: number;
  /** Still in the system at the end; their latencies are not in the distributions. */
  in_system: number;
  measured: number;
  /** Over all measured jobs, so weighted by each function's share of invocations. */
  latency_ms: Distribution;
  worker_duration_ms: Distribution;
  cpu_ms: number;
  cost_ms: number;
  states_ms: StateTimes;
  stint_us: Distribution;
  wake_latency_us: Distribution;
  response_ms: Distribution;
  // Over the trace, or the whole run without one: not while a trace's backlog drains.
  /** Busy CPU time / (CPUs × time), 0…1. */
  utilization: number;
  /** Costs of switches, migrations and dispatches as a share of busy time. */
  overhead_share: number;
  /**
   * CPU time idle while tasks waited, s: at any instant as many CPUs as there are both idle CPUs and waiting tasks. By what
   * kept them apart; the parts sum to the total.
   */
  wasted_core_s: {
    total: number;
    /** The CPU is leaving an idle state. */
    exit_latency: number;
    /** No idle CPU is in the task's mask. */
    affinity: number;
    /** The task waits in a shared DSQ that an idle CPU serves, and nobody told that CPU. */
    no_kick: number;
    /** The task's domain is busy, another is not. */
    domain: number;
    /** The task waits in the queue of one busy CPU, to be balanced at a tick or later. */
    cpu_queue: number;
  };
  /** Mean number of runnable tasks. */
  load_average: number;
  /** What /proc/loadavg would say, sampled every 5 s: the last one of the run, mean and highest. */
  load_average_1min: { final: number; mean: number; max: number };
  worker_queue: { mean: number; peak: number };
  energy_j: number;
  energy_cores_j: number;
  energy_uncore_j: number;
  power_w: number;
  /** Busy time weighted. */
  frequency_mhz: number;
  /** CPU time spent polling. */
  polling_s: number;
  switches: number;
  migrations: number;
  wakeups: number;
  preemptions: number;
  dispatches: number;
  steals: number;
  kicks: number;
  balance_pulls: number;
  newidle_pulls: number;
  peak_tasks: number;
  /** Containers made beyond the prewarmed ones. */
  containers_grown: number;
  containers: {
    cold_starts: number;
    /** Cold starts that failed; their invocations are dropped. */
    failures: number;
    evicted: number;
    /** Started by the keep-alive policy before their invocation. */
    prewarmed: number;
  };
  /** Invocations that passed the worker's queue by. */
  bypassed: number;
  /** Timed-out invocations that had begun to run and were served to the end. */
  abandoned: number;
  assignment: {
    assigned: number;
    unmapped: number;
    reassigned: number;
    /** Functions that consistent hashing moved to another domain. */
    rebalanced: number;
    buckets: number;
    /** Share of the fullest bucket, 0…1. */
    largest_bucket_share: number;
  };
  /** Judgements of busy-poll detection (domains-as-coded), by whether the task had polled. */
  poll_detection: {
    /** Pollers taken for pollers. */
    true_positives: number;
    false_positives: number;
    false_negatives: number;
    true_negatives: number;
  };
  /** When the watchdog gave all ext tasks to the fair class (on_stall: fallback), simulated time; 0 = never. */
  fallback_s: number;
  /** Fingerprint of every scheduling decision, hexadecimal. */
  schedule_digest: string;
}

export interface CpuResult {
  cpu: number;
  busy_ns: number;
  idle_ns: number;
  overhead_ns: number;
  energy_j: number;
  switches: number;
  migrations_in: number;
  idle_entries: number;
}

/** Tasks that ran while another one waited for the CPU. */
export interface Served {
  /** e.g. `task "hog/1" (pid 2)`, `tasks of "requests"` */
  who: string;
  class?: 'ext' | 'fair' | 'realtime';
  /** Times that it was given a CPU. */
  count: number;
}

/** A task that waits, or jobs that wait in a queue. */
export interface ChainStep {
  /** e.g. `task "b" (pid 2)`, `3 jobs` */
  who: string;
  pid?: number;
  class?: 'ext' | 'fair' | 'realtime';
  /** e.g. "0-3,8" */
  allowed_cpus?: string;
  state: 'runnable' | 'running' | 'sleeping' | 'blocked' | 'polling' | 'queued';
  since_ns: number;
  /** The queue that it is in, or what it waits for: `in the local DSQ of CPU 5`, `for event "full"`. */
  where?: string;
  /** Tasks that could end the wait, each of them. */
  held_by?: string[];
  /** Why nobody will end it. */
  because?: string;
  /** What began to run since then on the CPUs `served_on`, most often first. */
  served?: Served[];
  served_on?: string;
}

/** Why a run stalled or deadlocked. */
export interface FailureReason {
  code: string;
  message: string;
  task?: string;
  cpu?: number;
  since_ns?: number;
  /** Simulated time of the failure. */
  end_ns?: number;
  /** A starved task, then what its CPU runs; of a deadlock the cycle of waits, or the waits that nobody can end. */
  chain?: ChainStep[];
}

/** What a run was made from. */
export interface Provenance {
  version: string;
  engine_sha256: string;
  config_sha256: string;
  seed: number;
  inputs: { file: string; sha256: string }[];
  /** Stated by the encoder: load scale, offered load, mapping errors, trace repairs. */
  statements: Record<string, unknown>;
}

export interface SimulationResult {
  outcome: Outcome;
  reason?: FailureReason;
  config: ResolvedConfig;
  metrics: Metrics;
  classes: ClassResult[];
  /** Mergeable, ns; class undefined = all classes merged. */
  histograms: { kind: HistogramKind; class: string; histogram: Histogram }[];
  cpus: CpuResult[];
  provenance: Provenance;
  /** With output.invocations: one row per (sampled) finished invocation. */
  invocations?: Table;
  /** With output.decisions: one row per wake-up, and per beginning and end of a stay on a CPU, in order. */
  decisions?: Table;
}

export type HistogramKind = 'latency' | 'worker_duration' | 'stint' | 'wake_latency' | 'response';

export interface Progress {
  /** Simulated time so far, ns. */
  time_ns: number;
  /** Expected end, ns, if known. */
  end_ns?: number;
  events: number;
}

export interface SimulateOptions {
  /** Trace to use instead of the one the config names. */
  trace?: Trace;
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
}

/** Every kind with all classes merged; latency and worker duration also for each class that has values. */
export interface StoredHistogram {
  kind: HistogramKind;
  /** Class name; '' = all classes merged. */
  class: string;
  /** Values in ns. */
  readonly histogram: Histogram;
}

export interface InputHash {
  kind: 'machine' | 'trace' | 'profiles' | 'times' | 'object';
  /** Name without its folder. */
  file: string;
  sha256: string;
}

/** Where a cell is in its grid, and what it is. */
export interface CellPlace {
  /** SHA-256 of everything that decides the result (identity.ts). */
  cell_id: string;
  /** Position in the grid, replications included. */
  index: number;
  /** Position without replications: cells of one point differ in the seed only. */
  point: number;
  /** What axes and cases set, by config path, as written. {} for a single run. */
  values: Record<string, unknown>;
  replication: number;
  seed: number;
  is_baseline: boolean;
  /** Files without their folders. */
  config: ResolvedConfig;
  inputs: InputHash[];
}

export interface FinishedCell extends CellPlace {
  outcome: Outcome;
  /** With `stalled` and `deadlocked`. */
  reason?: FailureReason;
  metrics: Metrics;
  classes: ClassResult[];
  histograms: StoredHistogram[];
  /** Stated by the encoder: load scale, offered load, mapping errors, trace repairs. */
  statements: Record<string, unknown>;
  /** With output.invocations, from `sweep()`; a store keeps them in files of their own. */
  invocations?: Table;
}

/** A cell without a result: its input was refused, or the engine failed. */
export interface FailedCell extends CellPlace {
  outcome: 'failed';
  error: { code: string; message: string; exit_code: number };
}

export type SweepCell = FinishedCell | FailedCell;

/** What run.json says beside the config. */
export interface RunInfo {
  vtime: string;
  node: string;
  engine_sha256: string;
  config_sha256: string;
  /** ISO 8601, UTC. */
  started_at: string;
  wall_s: number;
  /** Logical CPUs of the host. */
  host_cpus: number;
  workers: number;
  cells: {
    total: number;
    simulated: number;
    resumed: number;
    failed: number;
    stalled: number;
    deadlocked: number;
  };
  /** Events of all cells. */
  events: number;
  /** Of the cells simulated in this run, per second of its wall time. */
  events_per_s: number;
  /** SHA-256 of the Arrow files. */
  files: Record<string, string>;
}

export interface Store {
  dir: string;
  /** In grid order. */
  cells: SweepCell[];
  /** The config as given, defaults filled in; with its sweep, if it has one. */
  config: Config;
  run: RunInfo;
}

export interface JournalDamage {
  /** 1-based line where it begins. */
  line: number;
  /** Bytes that were cut off, or passed over if good lines follow. */
  bytes: number;
  /** Whether they were at the end, and are gone. */
  cut: boolean;
}

export interface SweepProgress {
  cells: number;
  cells_done: number;
  /** Of cells_done: taken from the journal of an earlier run. */
  cells_resumed: number;
  failed: number;
  stalled: number;
  /** Simulated in this run, those of unfinished cells included. */
  events: number;
  /** 0…1, unfinished cells included. */
  done: number;
}

export interface SweepOptions {
  /** Threads; default: one per available CPU. */
  workers?: number;
  /** Takes the place of the trace that the config names. */
  trace?: Trace;
  /** Stops the sweep with an AbortedError; what is finished stays in the store. */
  signal?: AbortSignal;
  onProgress?: (progress: SweepProgress) => void;
}

export interface RunSweepOptions extends SweepOptions {
  /** Folder of the result store. */
  out: string;
  /** Each cell that this run simulates, as it finishes. */
  onCell?: (cell: SweepCell) => void;
  /** A damaged journal, which goes on without the damaged lines. */
  onDamage?: (damage: JournalDamage, file: string) => void;
}

/** Results as Arrow tables, as the store of a sweep holds them. */
export interface ResultTables {
  /** One row per run: outcome, seed, what the sweep varies, every metric; reason, config and inputs as JSON. */
  results: Table;
  /** One row per run and statistics class. */
  classes: Table;
  /** One row per run, kind and class; the buckets of each histogram, mergeable. */
  histograms: Table;
}

/** A stretch of an invocation's time in one state. */
export interface ExplainedInterval {
  state: keyof StateTimes;
  /** Since the arrival. */
  from_ns: number;
  length_ns: number;
  /** Where the task that serves the job runs, or waits. */
  cpu?: number;
  class?: 'fair' | 'ext';
  /** Of time in the control plane: how long a task of it ran for the job; the rest is waiting. */
  control_ran_ns?: number;
  /** Queues it waited in, in order. */
  queues: string[];
  /** Who was served before it from where it waited, by statistics class: how often. */
  behind: Record<string, number>;
}

/** Where an invocation's time went. */
export interface Explanation {
  /** Number among all arrivals, from 1. */
  number: number;
  class: string;
  arrival_ns: number;
  /** To its response; to the end of the run if it has none. */
  latency_ns: number;
  /** False: still in the system at the end. */
  finished: boolean;
  /** In order of time; the lengths sum to the latency. */
  intervals: ExplainedInterval[];
}

export type TaskState =
  | 'running'
  | 'polling'
  | 'switch'
  | 'cold'
  | 'waiting'
  | 'preempted'
  | 'quota'
  | 'sleeping'
  | 'blocked';

/** Tasks that had a CPU meanwhile. */
export interface Ahead {
  /** e.g. `task "hog/1" (pid 2)`, `tasks of "requests"` */
  who: string;
  /** Stays on a CPU. */
  count: number;
  length_ns: number;
}

/** All the time that a task spent in one state at one place. */
export interface TimePart {
  state: TaskState;
  /** The CPU it ran on, the queue it waited in, what it was blocked in; '' if there is nothing to say. */
  where: string;
  length_ns: number;
  times: number;
  longest_ns: number;
  /** Beginning of the longest stretch, simulated time. */
  longest_from_ns: number;
  /** Waiting or preempted: who had the CPU meanwhile, longest first; of a shared DSQ those that it served, if it did. */
  behind: Ahead[];
  /** Preempted: who took the CPU, most often first. */
  by: { who: string; count: number }[];
}

/** What the task was doing at the end of the run, or of the window. */
export interface LastStretch {
  state: TaskState;
  where: string;
  since_ns: number;
  length_ns: number;
  behind: Ahead[];
}

/** Where a task's time went. */
export interface TaskExplanation {
  /** e.g. `task "worker/7" (pid 8)` */
  task: string;
  pid: number;
  /** The time that is explained, simulated time: from its first wake-up to its exit, unless a window is narrower. */
  from_ns: number;
  until_ns: number;
  /** False: it had not exited by then. */
  exited: boolean;
  /** By state; sums to until_ns − from_ns. */
  states: { state: TaskState; length_ns: number; times: number }[];
  /** By state and place, longest first; sums to the same. */
  parts: TimePart[];
  /** What it was doing at the end, if it had not exited. */
  last?: LastStretch;
  /** How the run ended, if that was before its exit. */
  outcome?: Outcome;
  /** Why it stalled or deadlocked. */
  reason?: FailureReason;
}

export interface ExplainOptions {
  /** Trace to use instead of the one the config names. */
  trace?: Trace;
  signal?: AbortSignal;
}

export interface ExplainTaskOptions extends ExplainOptions {
  /** Explain what is between these simulated times only. */
  from_ns?: number;
  until_ns?: number;
}
