// From resolved services to a model image: instances with their stages and queues, routes, network and client.

import {
  NONE,
  type ResolvedExecution,
  type ResolvedInstance,
  type ResolvedModel,
  type ResolvedServices,
  type ResolvedStage,
} from '../services/resolved.js';
import * as abi from './abi.js';
import { type EncodedModel, encodeRun, encodeSystem } from './encode.js';
import { buildImage, Section } from './image.js';
import type { Model } from './model.js';
import { addTemplates, coresLeft, cpusOf, Domains, type Platform, platformOf } from './services-platform.js';
import { addList, cumulate, RouteEncoder } from './services-routes.js';
import { addTimings } from './services-times.js';

/** The class of requests as a whole among the statistics classes. */
export const END_TO_END = 'end to end';

const SECTIONS: readonly [number, number][] = [
  [abi.SECTION_SV_MACHINES, abi.SVM_STRIDE],
  [abi.SECTION_SV_INSTANCES, abi.SVI_STRIDE],
  [abi.SECTION_SV_CORES, 8],
  [abi.SECTION_SV_LISTS, 4],
  [abi.SECTION_SV_PATHS, abi.SVP_STRIDE],
  [abi.SECTION_SV_STAGES, abi.SVS_STRIDE],
  [abi.SECTION_SV_TIMINGS, abi.SVT_STRIDE],
  [abi.SECTION_SV_POINTS, 16],
  [abi.SECTION_SV_SERVICES, 16],
  [abi.SECTION_SV_NODES, abi.SVN_STRIDE],
  [abi.SECTION_SV_ROUTES, 16],
  [abi.SECTION_SV_WIRES, 8],
  [abi.SECTION_SV_LINKS, 16],
  [abi.SECTION_SV_CLIENT, 8],
  [abi.SECTION_SV_EPOCHS, 16],
  [abi.SECTION_SV_EDGES, 16],
  [abi.SECTION_SV_REACH, 16],
];

const KINDS = {
  threads: abi.KIND_THREADS,
  queues: abi.KIND_QUEUES,
  'queue-pairs': abi.KIND_QUEUE_PAIRS,
} as const;

/** An encoded model of services. */
export interface EncodedServices extends EncodedModel {
  services: ResolvedServices;
  /** Instances in the order of SECTION_SV_INSTANCES: those of services, then network stacks by machine. */
  instances: readonly EncodedInstance[];
  /** With a machine profile: where the CPUs of the machines in use are. */
  metered: readonly MeteredMachine[];
}

export interface EncodedInstance {
  name: string;
  service: number;
  machine: number;
  cores: number;
  threads: number;
  /** Of its frequency steps, ascending. */
  mhz: readonly number[];
}

export interface MeteredMachine {
  machine: number;
  firstCpu: number;
  cpus: number;
  packages: readonly number[];
}

/** Frequency steps of an instance, ascending, the one it begins with, and its tier. */
interface Frequencies {
  mhz: readonly number[];
  step: number;
  tier: number;
}

export function encodeServices(services: ResolvedServices): EncodedServices {
  const platform = platformOf(services);
  const { config, machine } = platform;
  const { model, bpf } = encodeSystem(config, machine);
  for (const [id, stride] of SECTIONS) model.sections.set(id, new Section(stride));
  if (services.scheduled !== undefined) {
    // Domains are those of the machines, and the program of every thread is one instruction.
    model.sections.set(abi.SECTION_DOMAINS, new Section(8));
    const program = model.section(abi.SECTION_PROGRAM);
    program.u8(program.add(), 0, abi.OP_SERVE);
  }
  const stats = model.addClass(END_TO_END, 'source');
  const encoder = new ServicesEncoder(model, services, platform);
  const instances = encoder.encode(stats);
  const horizon_ns = BigInt(services.run.duration_ns);
  encodeRun(model, config, horizon_ns);
  return {
    config,
    image: buildImage(model.finish()),
    classes: model.classes,
    machine,
    horizon_ns,
    taskNames: [],
    masks: model.maskTexts,
    statements: {},
    ...(bpf === undefined ? {} : { bpf }),
    services,
    instances,
    metered: meteredOf(services, platform),
  };
}

function meteredOf(services: ResolvedServices, { firstCpu, machine }: Platform): MeteredMachine[] {
  if (firstCpu === undefined || services.profile === undefined) return [];
  return [...firstCpu].map(([index, first]) => {
    const own = machine.cpus.slice(first, first + cpusOf(services, index));
    const packages = [...new Set(own.map((cpu) => cpu.package))];
    return { machine: index, firstCpu: first, cpus: own.length, packages };
  });
}

class ServicesEncoder {
  readonly #model: Model;
  readonly #services: ResolvedServices;
  /** First core of each machine among all. */
  readonly #firstCore: number[] = [];

  readonly #platform: Platform;
  readonly #domains: Domains | undefined;

  constructor(model: Model, services: ResolvedServices, platform: Platform) {
    this.#model = model;
    this.#services = services;
    this.#platform = platform;
    const { firstCpu } = platform;
    if (services.scheduled !== undefined) this.#domains = new Domains(model, services, firstCpu!);
    const cores = model.section(abi.SECTION_SV_CORES);
    services.machines.forEach((machine, m) => {
      this.#firstCore.push(cores.count);
      const first = services.profile === undefined ? undefined : firstCpu?.get(m);
      const cpus = cpusOf(services, m);
      for (let i = 0; i < machine.cores; i++) {
        const row = cores.add();
        cores.u32(row, 0, m);
        cores.u32(row, 4, first === undefined || i >= cpus ? abi.NONE : first + i);
      }
    });
  }

  encode(stats: number): EncodedServices['instances'] {
    const { instances, machines, models, network } = this.#services;
    const all: EncodedInstance[] = [];
    const note = (
      name: string,
      service: number,
      machine: number,
      execution: ResolvedExecution,
      mhz: readonly number[],
    ) =>
      all.push({
        name,
        service,
        machine,
        mhz,
        cores: coresLeft(this.#services, execution),
        threads: execution.kind === 'threads' ? execution.number : execution.cores.length,
      });
    for (const instance of instances) {
      const { spawn, machine } = instance;
      // Threads that may be made exist from the start, without work.
      const execution =
        spawn === undefined ? instance.execution : { ...instance.execution, number: spawn.up_to };
      const frequencies = this.#frequencies(instance);
      const row = this.#instance(models[instance.model], machine, execution, frequencies);
      const stats = this.#model.addClass(instance.name, 'source');
      const rows = this.#model.section(abi.SECTION_SV_INSTANCES);
      rows.u32(row, abi.SVI_STATS, stats);
      rows.u32(row, abi.SVI_ACTIVE, instance.execution.number);
      rows.u32(row, abi.SVI_SWITCH_NS, instance.context_switch_ns);
      rows.u64(row, abi.SVI_SPAWN_NS, spawn?.takes_ns ?? 0);
      rows.u64(row, abi.SVI_IDLE_NS, spawn?.idle_ns ?? 0);
      this.#tasks(row, { machine, execution, network: false, stats });
      note(instance.name, instance.service, machine, execution, frequencies.mhz);
    }
    const used = new Set(instances.map(({ machine }) => machine));
    const rows = this.#model.section(abi.SECTION_SV_MACHINES);
    machines.forEach((machine, m) => {
      const row = rows.add();
      rows.u32(row, abi.SVM_NETWORK, abi.NONE);
      if (machine.network === undefined || network.stack === NONE || !used.has(m)) return;
      const stack = models[network.stack];
      const instance = this.#instance(stackModel(stack, network), m, machine.network);
      this.#model.section(abi.SECTION_SV_INSTANCES).u32(instance, abi.SVI_STATS, abi.NONE);
      this.#tasks(instance, {
        machine: m,
        execution: machine.network,
        network: true,
        stats: this.#networkStats(),
      });
      rows.u32(row, abi.SVM_NETWORK, instance);
      note(`network of ${machine.name}`, NONE, m, machine.network, [stack.reference_frequency_mhz]);
    });
    new RouteEncoder(this.#model, this.#services).encode(stats);
    return all;
  }

  /** Scheduled mode: the tasks of an instance. */
  #tasks(
    row: number,
    where: { machine: number; execution: ResolvedExecution; network: boolean; stats: number },
  ): void {
    if (this.#domains === undefined) return;
    const first = addTemplates(this.#model, this.#services, this.#platform, this.#domains, where);
    this.#model.section(abi.SECTION_SV_INSTANCES).u32(row, abi.SVI_TEMPLATE, first);
  }

  /** One statistics class for the tasks of all network stacks. */
  #networkStats(): number {
    this.#network ??= this.#domains === undefined ? abi.NONE : this.#model.addClass('network', 'tasks');
    return this.#network;
  }
  #network: number | undefined;

  #list(numbers: readonly number[]): number {
    return addList(this.#model, numbers);
  }

  #instance(
    model: ResolvedModel,
    machine: number,
    execution: ResolvedExecution,
    frequencies: Frequencies = { mhz: [model.reference_frequency_mhz], step: 0, tier: abi.NONE },
  ): number {
    const rows = this.#model.section(abi.SECTION_SV_INSTANCES);
    const row = rows.add();
    const core = (c: number) => this.#firstCore[machine] + c;
    rows.u32(row, abi.SVI_KIND, KINDS[execution.kind]);
    rows.u32(row, abi.SVI_COUNT, execution.number);
    rows.u32(row, abi.SVI_ACTIVE, execution.number);
    rows.u32(row, abi.SVI_CORES, this.#list(execution.cores.map(core)));
    rows.u32(row, abi.SVI_CORE_COUNT, execution.cores.length);
    rows.u32(row, abi.SVI_PINNING, this.#pinning(execution, core));
    rows.u32(row, abi.SVI_MACHINE, machine);
    rows.u32(row, abi.SVI_FLAGS, this.#flags(model));
    rows.u32(row, abi.SVI_TEMPLATE, abi.NONE);
    rows.u32(row, abi.SVI_TIER, frequencies.tier);
    rows.u32(row, abi.SVI_STEP, frequencies.step);
    rows.u32(row, abi.SVI_STEPS, frequencies.mhz.length);
    rows.u32(row, abi.SVI_MHZ, this.#list(frequencies.mhz));
    const paths = this.#model.section(abi.SECTION_SV_PATHS);
    rows.u32(row, abi.SVI_PATHS, paths.count);
    rows.u32(row, abi.SVI_PATH_COUNT, model.paths.length);
    const cumulative = cumulate(model.paths.map(({ probability }) => probability));
    const stages = this.#model.section(abi.SECTION_SV_STAGES);
    const setting = {
      reference_mhz: model.reference_frequency_mhz,
      threads: execution.kind === 'threads' ? execution.number : execution.cores.length,
      load_per_s: this.#services.client.epochs[0]?.rate_per_s,
      cast_factors: this.#services.compat.includes('B3-frequency-casts'),
    };
    model.paths.forEach(({ stages: own, priority }, p) => {
      const path = paths.add();
      paths.u32(path, abi.SVP_STAGES, stages.count);
      paths.u32(path, abi.SVP_STAGE_COUNT, own.length);
      paths.u32(path, abi.SVP_PRIORITY, this.#list(priority));
      paths.u64(path, abi.SVP_PROBABILITY, cumulative[p]);
      for (const s of own) {
        const stage = model.stages[s];
        this.#stage(stage, addTimings(this.#model, stage, frequencies.mhz, setting));
      }
    });
    return row;
  }

  /** Steps of an instance: those of the power management if its service is under control, else its own frequency only. */
  #frequencies({ service, frequency_mhz }: ResolvedInstance): Frequencies {
    const { power } = this.#services;
    const tier = power?.tiers.indexOf(service) ?? -1;
    if (power === undefined || tier < 0) return { mhz: [frequency_mhz], step: 0, tier: abi.NONE };
    const mhz = power.frequencies_mhz;
    const nearest = mhz.reduce(
      (best, f, i) => (Math.abs(f - frequency_mhz) < Math.abs(mhz[best] - frequency_mhz) ? i : best),
      0,
    );
    return { mhz, step: power.controller === 'static' ? nearest : mhz.length - 1, tier };
  }

  #flags(model: ResolvedModel): number {
    const { compat } = this.#services;
    return (
      (model.bind_connections ? abi.SV_BIND : 0) |
      (compat.includes('B12-ties-reversed') ? abi.SV_REVERSE_TIES : 0)
    );
  }

  #pinning({ kind, number, pinned }: ResolvedExecution, core: (c: number) => number): number {
    if (pinned.every((own) => own === null) || kind === undefined) return abi.NONE;
    const lists = Array.from({ length: number }, (_, i) => {
      const own = pinned[i] ?? [];
      return own.length === 0 ? [0, 0] : [this.#list(own.map(core)), own.length];
    });
    return this.#list(lists.flat());
  }

  #stage(stage: ResolvedStage, timing: number): void {
    const stages = this.#model.section(abi.SECTION_SV_STAGES);
    const row = stages.add();
    const { kind, limit } = stage.take;
    const take =
      kind === 'connection'
        ? abi.TAKE_CONNECTION
        : kind === 'heads'
          ? abi.TAKE_HEADS
          : limit === 1
            ? abi.TAKE_ONE
            : abi.TAKE_ALL;
    stages.u32(row, abi.SVS_TAKE, take);
    stages.u32(row, abi.SVS_LIMIT, limit);
    stages.u32(
      row,
      abi.SVS_FLAGS,
      (stage.blocks_thread ? abi.STAGE_BLOCKS : 0) |
        (stage.leaves === 'network' ? abi.STAGE_NETWORK : 0) |
        (stage.marks_request ? abi.STAGE_PASSES : 0),
    );
    stages.u32(row, abi.SVS_IDENTITY, stage.group);
    stages.u32(row, abi.SVS_TIMING, timing);
    stages.u32(row, abi.SVS_REPEAT, stage.repeat.number);
    stages.u32(row, abi.SVS_REPEAT_DRAWN, stage.repeat.draw === 'exponential' ? 1 : 0);
    stages.u32(row, abi.SVS_CRITICAL, stage.critical_section);
  }
}

/** The stack's legs as paths in the order of the engine's hops; the third, receiving locally, is never taken. */
function stackModel(stack: ResolvedModel, network: ResolvedServices['network']): ResolvedModel {
  const legs = [network.send_local, network.send_remote, NONE, network.receive_remote];
  const none = { name: '', stages: [], priority: [], probability: 0 };
  return { ...stack, paths: legs.map((leg) => (leg === NONE ? none : stack.paths[leg])) };
}
