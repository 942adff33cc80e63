// From a resolved config to the input of the workload runner (bpf/vm/workload.c): the programs that the engine would
// execute, in the engine's own instructions, as text.
//
//   vtime-workload 1
//   run SEED HORIZON_NS CPUS                          horizon 0: until the foreground has finished
//   mask WORD×8                                       hexadecimal, CPU 0 is bit 0 of the first
//   barrier PARTIES                                   events have 0
//   distribution KIND POINTS FIRST P0 P1 P2
//   point PROBABILITY_Q32 VALUE
//   instruction NAME FLAGS REGISTER A VALUE           flags: 1 draw from distribution A, 2 spins, 4 the family's barrier
//   hotplug AT_NS CPU ONLINE                          by time
//   task COMM CGROUP CLASS PRIORITY TEMPLATE ORDINAL PC MASK START_NS START_DISTRIBUTION BACKGROUND

import { NICE_WEIGHTS, policyDomains } from '../../config/placement.js';
import type { ResolvedConfig, ResolvedTask } from '../../config/schema.js';
import { durationNs } from '../../config/units.js';
import * as abi from '../../engine/abi.js';
import { encode } from '../../engine/encode.js';
import { readSections, type SectionPlace } from '../../engine/image.js';
import { VtimeError } from '../../errors.js';
import type { CpuPlace } from './topology.js';

/** Longest name of a task in the kernel, without its final 0. */
const COMM_LENGTH = 15;
/** The runner's cgroups are below this one. */
const CGROUP_ROOT = 'vtime';

const OPERATIONS = new Map<number, string>([
  [abi.OP_RUN, 'run'],
  [abi.OP_SLEEP, 'sleep'],
  [abi.OP_BLOCK, 'block'],
  [abi.OP_WAKE, 'wake'],
  [abi.OP_SPIN, 'spin'],
  [abi.OP_SPIN_EVENT, 'spin_event'],
  [abi.OP_SIGNAL, 'signal'],
  [abi.OP_FORK, 'fork'],
  [abi.OP_JOIN, 'join'],
  [abi.OP_BARRIER, 'barrier'],
  [abi.OP_YIELD, 'yield'],
  [abi.OP_EXIT, 'exit'],
  [abi.OP_SET, 'set'],
  [abi.OP_LOOP, 'loop'],
  [abi.OP_JUMP, 'jump'],
  [abi.OP_AFFINITY, 'affinity'],
  [abi.OP_BRANCH, 'branch'],
]);

const DISTRIBUTIONS = new Map<number, string>([
  [abi.DIST_CONSTANT, 'constant'],
  [abi.DIST_UNIFORM, 'uniform'],
  [abi.DIST_EXPONENTIAL, 'exponential'],
  [abi.DIST_LOGNORMAL, 'lognormal'],
  [abi.DIST_HYPEREXPONENTIAL, 'hyperexponential'],
  [abi.DIST_PARETO, 'pareto'],
  [abi.DIST_EMPIRICAL, 'empirical'],
]);

/** The nice value whose weight is nearest. */
export function niceOf(weight: number): number {
  const distances = NICE_WEIGHTS.map((known) => Math.abs(Math.log(known / weight)));
  return distances.indexOf(Math.min(...distances)) - 20;
}

/** A cgroup that the guest makes before anything starts. */
export interface GuestCgroup {
  /** Below the mount point of cgroup2. */
  path: string;
  /** Scheduling domain of its tasks, if the policy has domains. */
  domain?: number;
  /** cpu.shares of the config. */
  shares?: number;
}

export interface GuestWorkload {
  text: string;
  cgroups: GuestCgroup[];
  cpus: number;
  /** Where the CPUs are, by number. */
  places: readonly CpuPlace[];
  /** Names of the task templates by index. */
  templates: string[];
  /** 0: until the foreground has finished. */
  horizon_ns: bigint;
}

function refuse(path: string, what: string): never {
  throw new VtimeError('vm_workload', `the workload runner in the virtual machine has no ${what}`, {
    path,
    expected: 'tasks with programs of run, sleep, spin, fork, join, barriers, events, wake and affinity',
  });
}

function checkWorkload({ workload }: ResolvedConfig): void {
  if (workload.serverless !== undefined) refuse('workload.serverless', 'serverless workload');
  if (workload.arrivals.length > 0) refuse('workload.arrivals', 'arrivals');
  if (workload.queues.length > 0) refuse('workload.queues', 'job queues');
}

const domainCgroup = (domain: number) => `${CGROUP_ROOT}/domain-${domain}`;

/** Cgroups of the config by name, and one for each domain that tasks are put into directly. */
export function cgroupsOf(config: ResolvedConfig, cpus: number): Map<string, GuestCgroup> {
  const cgroups = new Map<string, GuestCgroup>();
  policyDomains(config.policy, cpus)?.forEach((_, domain) => {
    cgroups.set(`domain ${domain}`, { path: domainCgroup(domain), domain });
  });
  for (const { name, parent, shares, domain } of config.workload.cgroups) {
    const above = parent === undefined ? CGROUP_ROOT : cgroups.get(parent)!.path;
    cgroups.set(name, { path: `${above}/${name}`, shares, ...(domain === undefined ? {} : { domain }) });
  }
  return cgroups;
}

/** The scheduling class as the runner names it, with its priority. */
function schedulingOf(task: ResolvedTask): string {
  if (task.class === 'realtime') return `${task.realtime?.policy ?? 'fifo'} ${task.realtime?.priority ?? 50}`;
  return `${task.class} ${niceOf(task.weight)}`;
}

/** A name that fits into the kernel's, with its ordinal kept. */
function commOf(name: string, ordinal: number, count: number): string {
  const suffix = count === 1 ? '' : `/${ordinal}`;
  return `${name.replaceAll(/\s/g, '_').slice(0, COMM_LENGTH - suffix.length)}${suffix}`;
}

class ImageText {
  readonly #view: DataView;
  readonly #sections: Map<number, SectionPlace>;

  constructor(image: Uint8Array) {
    this.#view = new DataView(image.buffer, image.byteOffset, image.byteLength);
    this.#sections = readSections(this.#view, 0);
  }

  /** One line for each record of a section. */
  lines(section: number, line: (record: Record) => string): string[] {
    const place = this.#sections.get(section)!;
    return Array.from({ length: place.count }, (_, i) =>
      line(new Record(this.#view, place.offset + i * place.stride)),
    );
  }

  record(section: number, index: number): Record {
    const place = this.#sections.get(section)!;
    return new Record(this.#view, place.offset + index * place.stride);
  }
}

class Record {
  readonly #view: DataView;
  readonly #at: number;

  constructor(view: DataView, at: number) {
    this.#view = view;
    this.#at = at;
  }

  u8 = (offset: number) => this.#view.getUint8(this.#at + offset);
  u16 = (offset: number) => this.#view.getUint16(this.#at + offset, true);
  u32 = (offset: number) => this.#view.getUint32(this.#at + offset, true);
  u64 = (offset: number) => this.#view.getBigUint64(this.#at + offset, true);
}

const KNOWN_FLAGS = abi.FLAG_DRAW | abi.FLAG_DISK | abi.FLAG_SPIN | abi.FLAG_OWN;

function instructionLine(record: Record): string {
  const flags = record.u8(1);
  const name = OPERATIONS.get(record.u8(0));
  if (name === undefined || (flags & ~KNOWN_FLAGS) !== 0) {
    refuse('workload.programs', 'jobs: steps like finish, send, receive and run_share');
  }
  const bits =
    (flags & abi.FLAG_DRAW ? 1 : 0) | (flags & abi.FLAG_SPIN ? 2 : 0) | (flags & abi.FLAG_OWN ? 4 : 0);
  return `instruction ${name} ${bits} ${record.u16(2)} ${record.u32(4)} ${record.u64(8)}`;
}

function distributionLine(record: Record): string {
  const parameters = [16, 24, 32].map((offset) => record.u64(offset));
  return `distribution ${DISTRIBUTIONS.get(record.u32(0))} ${record.u32(4)} ${record.u64(8)} ${parameters.join(' ')}`;
}

function maskLine(record: Record): string {
  return `mask ${Array.from({ length: 8 }, (_, i) => record.u64(i * 8).toString(16)).join(' ')}`;
}

function hotplugLine(event: ResolvedConfig['run']['events'][number]): string {
  const [cpu, online] = 'offline' in event ? [event.offline, 0] : [event.online, 1];
  return `hotplug ${durationNs(event.at)} ${cpu} ${online}`;
}

/** One line for each task of a template. */
function taskLines(
  task: ResolvedTask,
  index: number,
  template: Record,
  domains: number,
  cgroups: ReadonlyMap<string, GuestCgroup>,
): string[] {
  return Array.from({ length: task.count }, (_, ordinal) => {
    const domain = task.domain === 'spread' ? ordinal % domains : task.domain;
    const key = task.cgroup ?? (domain === 'none' ? undefined : `domain ${domain}`);
    const cgroup = key === undefined ? '/' : cgroups.get(key)!.path;
    return [
      'task',
      commOf(task.name, ordinal, task.count),
      cgroup,
      schedulingOf(task),
      index,
      ordinal,
      template.u32(abi.TT_PC),
      template.u32(abi.TT_MASK),
      template.u64(abi.TT_START),
      template.u32(abi.TT_START_DIST),
      template.u32(abi.TT_BACKGROUND),
    ].join(' ');
  });
}

/**
 * The runner's input for a config whose workload consists of tasks. Steps mean what they mean in the simulator; sleeps and
 * bursts draw the same values (to 1e-7 of themselves). Weights become the nearest nice value.
 */
export function guestWorkload(config: ResolvedConfig): GuestWorkload {
  checkWorkload(config);
  const { image, machine } = encode(config);
  const cpus = machine.cpus.length;
  const text = new ImageText(image);
  const cgroups = cgroupsOf(config, cpus);
  const domains = policyDomains(config.policy, cpus)?.length ?? 0;
  const { run, workload } = config;
  const end = run.end === 'horizon' ? run.horizon : run.limit;
  const bounded = end !== 'none' && end !== 'trace' && end !== 'auto';
  const horizon_ns = bounded ? durationNs(end) : 0n;
  const lines = [
    'vtime-workload 1',
    `run ${config.seed} ${horizon_ns} ${cpus}`,
    ...text.lines(abi.SECTION_MASKS, maskLine),
    // Record 0 of the engine is never used, so that 0 can mean none.
    'barrier 0',
    ...text.lines(abi.SECTION_BARRIERS, (record) => `barrier ${record.u32(0)}`),
    ...text.lines(abi.SECTION_DISTRIBUTIONS, distributionLine),
    ...text.lines(abi.SECTION_POINTS, (record) => `point ${record.u64(0)} ${record.u64(8)}`),
    ...text.lines(abi.SECTION_PROGRAM, instructionLine),
    ...run.events.map(hotplugLine),
    ...workload.tasks.flatMap((task, i) =>
      taskLines(task, i, text.record(abi.SECTION_TASKS, i), domains, cgroups),
    ),
  ];
  return {
    text: `${lines.join('\n')}\n`,
    cgroups: [...cgroups.values()],
    cpus,
    places: machine.cpus,
    templates: workload.tasks.map(({ name }) => name),
    horizon_ns,
  };
}
