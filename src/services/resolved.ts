// The resolved form of a services file: complete, in integers, with indices for names. What the encoder takes.
//
// Times are in ns, frequencies in MHz, sizes in bytes, probabilities and shares in [0, 1]. Distributions stay in the form of the
// config schema, which the encoder's Model.distribution takes. −1 stands for the client among services, instances and nodes, and
// for "none" elsewhere.

import type { Policy } from '../config/schema/policy.js';
import type { Config, Time } from '../config/schema.js';

/** Index of a name; NONE if there is none. */
export type Names = (name: string) => number;

export const CLIENT = -1;
export const NONE = -1;

export type Draw = 'exponential' | 'constant';
export type Counted = 'jobs' | 'connections' | 'bytes';

/** The time for what a stage took at once. */
export type StageDraw =
  | { kind: 'draw'; time: Time }
  /** Mean = base + each × count, rounded to a multiple of round_ns (halves up) unless that is 0. */
  | { kind: 'linear'; of: Counted; base_ns: number; each_ns: number; round_ns: number; draw: Draw }
  /**
   * The first of the ascending points [count, mean ns] whose count is not below the batch's. Above all: the last mean once, or as
   * many draws of it as ⌊count / last count⌋.
   */
  | {
      kind: 'table';
      of: Counted;
      points: readonly (readonly [number, number])[];
      beyond: 'repeat' | 'last';
      draw: Draw;
    };

/** A time with the setting that it was measured at; undefined = any. Chosen by `timeAt`. */
export interface StageTimeAt {
  frequency_mhz?: number;
  threads?: number;
  load_per_s?: number;
  time: StageDraw;
}

export interface ResolvedStage {
  name: string;
  /** Stages of one group are batched together; index of the first stage of the group. */
  group: number;
  /** One entry without settings, or those of a profile. */
  times: readonly StageTimeAt[];
  take: {
    /** first: from the front of the queue; connection: of the first job's connection; heads: of every connection that has any. */
    kind: 'first' | 'connection' | 'heads';
    /** Most jobs (of each connection, for heads); 0 = no bound. A plain stage is first 1. */
    limit: number;
  };
  /** Draws that are added up; exponential ones are rounded up. */
  repeat: { draw: Draw; number: number };
  blocks_thread: boolean;
  /** Most threads of an instance in the stage at once; 0 = no bound. */
  critical_section: number;
  leaves: 'network' | 'direct';
  /** time(f) = time × (1 − share + share × reference_frequency / f), for times without a frequency of their own. */
  frequency_share: number;
  /** For a request that has been through a stage with such a second share before; else the same. */
  frequency_share_again: number;
  /** Whether the second share was given: passing the stage marks the request. */
  marks_request: boolean;
}

export interface ResolvedPath {
  name: string;
  /** Indices into the model's stages. */
  stages: readonly number[];
  /** Positions in `stages`, the first to be served first. */
  priority: readonly number[];
  /** Of a visit that names no path. */
  probability: number;
}

export interface ResolvedModel {
  name: string;
  stages: readonly ResolvedStage[];
  paths: readonly ResolvedPath[];
  bind_connections: boolean;
  reference_frequency_mhz: number;
}

/** What executes the stages of an instance or of a machine's network stack. */
export interface ResolvedExecution {
  /** queue-pairs: `number` queues for what comes and as many for what goes, filled by one counter in turn. */
  kind: 'threads' | 'queues' | 'queue-pairs';
  number: number;
  /** Ascending. */
  cores: readonly number[];
  /** Cores of each thread or queue (of each pair: both), where they differ from `cores`. */
  pinned: readonly (readonly number[] | null)[];
}

export interface ResolvedServiceMachine {
  name: string;
  cores: number;
  /** What executes the network stack; undefined: it takes no time. */
  network?: ResolvedExecution;
}

export interface ResolvedInstance {
  name: string;
  service: number;
  model: number;
  machine: number;
  execution: ResolvedExecution;
  spawn?: { up_to: number; takes_ns: number; idle_ns: number };
  frequency_mhz: number;
  context_switch_ns: number;
}

export interface ResolvedService {
  name: string;
  model: number;
  instances: readonly number[];
  /** Instance that every job for the service passes first, and that sends new requests to the others in turn; NONE. */
  balancer: number;
}

export interface ResolvedEdge {
  /** Instance, or CLIENT. */
  from: number;
  to: number;
  /** Most requests at once from this instance to the other; 0 = no bound. */
  pool: number;
  /** One request at a time on each connection. */
  blocking: boolean;
}

export interface ResolvedNode {
  name: string;
  service: number;
  /** Path of the service's model; NONE = drawn. */
  path: number;
  /** Positions in the path, both included; last_stage −1 = the end of whichever path is drawn. */
  first_stage: number;
  last_stage: number;
  /** Nodes, or CLIENT. */
  next: readonly number[];
  /** Copies that must be there before the node begins. */
  parents: number;
  /** Node where the same thread goes on with the reply; NONE. */
  sync: number;
  /** No other job of the connection enters the service until this node has been left; NONE. */
  hold_connection: number;
}

export interface ResolvedRequest {
  name: string;
  probability: number;
  entry: number;
  nodes: readonly ResolvedNode[];
  /** Copies that go back to the client; the request ends with the last of them. */
  replies: number;
}

export interface ResolvedClient {
  loop: 'open' | 'closed';
  /** Open loop; mean time between requests until a time. Empty with `interarrival`. */
  epochs: readonly { until_ns: number; mean_ns: number; rate_per_s: number }[];
  arrivals: 'poisson' | 'constant';
  interarrival?: Time;
  /** Closed loop; 0 in an open one. */
  clients: number;
  think: Time;
  connections: number;
  /** Most requests; 0 = no bound. */
  requests: number;
  value_size: { draw: Draw; bytes: number };
  /** 0 = none. */
  timeout_ns: number;
  retries?: {
    max: number;
    backoff_ns: number;
    factor: number;
    /** 0 = no bound. */
    limit_ns: number;
    jitter: number;
    reconnect_ns: number;
  };
  from_intended_start: boolean;
}

export interface ResolvedPower {
  target_ns: number;
  quantile: number;
  interval_ns: number;
  controller: 'algorithm-1' | 'static' | 'pid' | 'race-to-idle';
  failing_list: boolean;
  /** Ascending; with a cap in steps finer than these, all of its steps. */
  frequencies_mhz: readonly number[];
  /** Services. */
  tiers: readonly number[];
  buckets: number;
  gain: { proportional: number; integral: number; derivative: number };
}

export interface ResolvedServices {
  name: string;
  seed: number;
  mode: 'dedicated' | 'scheduled';
  /** Of every machine; undefined: ideal cores that draw nothing. */
  profile?: string;
  scheduled?: {
    policy: Policy;
    kernel: Config['kernel'];
    pinned: boolean;
    network: 'realtime' | 'fair' | 'ext';
    oversubscription: number;
  };
  machines: readonly ResolvedServiceMachine[];
  network: {
    /** Model of the network stack; NONE. */
    stack: number;
    /** Its paths; NONE = takes no time. A hop within a machine is sent locally and not received. */
    send_local: number;
    send_remote: number;
    receive_remote: number;
    latency_ns: number;
    client_latency_ns: number;
    links: readonly { a: number; b: number; latency_ns: number }[];
  };
  models: readonly ResolvedModel[];
  services: readonly ResolvedService[];
  instances: readonly ResolvedInstance[];
  /** Directed. `all`: every instance reaches every other. The client reaches every entry. */
  edges: 'all' | readonly ResolvedEdge[];
  requests: readonly ResolvedRequest[];
  client: ResolvedClient;
  power?: ResolvedPower;
  run: {
    /** Last instant of arrivals; 0 = the number of requests ends the run. */
    duration_ns: number;
    end: 'drain' | 'horizon';
    /** A draining run ends here; 0 = never. */
    limit_ns: number;
    warmup: { method: 'fixed'; ns: number } | { method: 'mser-5' };
  };
  /** Only B3 and B12 are left to the engine; the others are worked into the numbers above. */
  compat: readonly string[];
}

function nearest<Key extends keyof StageTimeAt>(
  times: readonly StageTimeAt[],
  key: Key,
  value: number | undefined,
): readonly StageTimeAt[] {
  if (value === undefined) return times;
  const distance = (at: StageTimeAt) => {
    const known = at[key];
    return typeof known === 'number' ? Math.abs(known - value) : 0;
  };
  const least = Math.min(...times.map(distance));
  return times.filter((at) => distance(at) === least);
}

/** The entry measured nearest to a setting: by frequency, then threads, then load; the first of equals. */
export function timeAt(
  times: readonly StageTimeAt[],
  setting: { frequency_mhz?: number; threads?: number; load_per_s?: number },
): StageTimeAt {
  const byFrequency = nearest(times, 'frequency_mhz', setting.frequency_mhz);
  const byThreads = nearest(byFrequency, 'threads', setting.threads);
  return nearest(byThreads, 'load_per_s', setting.load_per_s)[0];
}
