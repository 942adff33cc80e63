// The model under construction: sections that several encoders append to, and the small tables (distributions, masks,
// programs) that they share.

import type { Time } from '../config/schema.js';
import { durationNs, parseCpuList, q32 } from '../config/units.js';
import { VtimeError } from '../errors.js';
import type { DurationDescription } from '../trace/duration.js';
import type { ClassKind } from '../types.js';
import * as abi from './abi.js';
import { Section } from './image.js';

/** A statistics class: what results are grouped by. */
export interface StatisticsClass {
  name: string;
  kind: ClassKind;
}

const MASK_BYTES = 64;

/** Integer nearest to a positive number, as needed for u64 fields. */
const integer = (value: number) => BigInt(Math.round(value));

export class Model {
  readonly params = new BigUint64Array(abi.P_COUNT);
  readonly cpus: number;
  readonly classes: StatisticsClass[] = [];
  /** CPUs of each mask, for messages. */
  readonly maskTexts: string[] = [];
  readonly sections = new Map<number, Section>([
    [abi.SECTION_CPUS, new Section(16)],
    [abi.SECTION_TURBO, new Section(8)],
    [abi.SECTION_IDLE_STATES, new Section(32)],
    [abi.SECTION_CORE_POWER, new Section(16)],
    [abi.SECTION_MASKS, new Section(MASK_BYTES)],
    [abi.SECTION_DOMAINS, new Section(8)],
    [abi.SECTION_DISTRIBUTIONS, new Section(abi.DIST_STRIDE)],
    [abi.SECTION_POINTS, new Section(16)],
    [abi.SECTION_PROGRAM, new Section(abi.INSTRUCTION_BYTES, 64)],
    [abi.SECTION_TASKS, new Section(abi.TT_STRIDE)],
    [abi.SECTION_SOURCES, new Section(abi.SRC_STRIDE)],
    [abi.SECTION_COUNTS, new Section(4, 1024)],
    [abi.SECTION_ARRIVALS, new Section(24)],
    [abi.SECTION_QUEUES, new Section(8)],
    [abi.SECTION_BARRIERS, new Section(8)],
    [abi.SECTION_FUNCTIONS, new Section(abi.FN_STRIDE)],
    [abi.SECTION_CGROUPS, new Section(abi.CG_STRIDE)],
    [abi.SECTION_EVENTS, new Section(32)],
  ]);
  readonly #masks = new Map<string, number>();
  readonly #cgroups = new Map<string, number>();
  readonly #distributions = new Map<string, number>();

  constructor(cpus: number) {
    this.cpus = cpus;
    this.mask(Array.from({ length: cpus }, (_, cpu) => cpu));
  }

  section(id: number): Section {
    return this.sections.get(id)!;
  }

  set(param: number, value: bigint | number): void {
    this.params[param] = BigInt(value);
  }

  /** Index of a new statistics class. */
  addClass(name: string, kind: ClassKind): number {
    this.classes.push({ name, kind });
    return this.classes.length - 1;
  }

  /** Adds a cgroup; returns its index + 1. */
  cgroup(
    name: string,
    given: { parent?: string; shares: number; quota_ns?: bigint; period_ns?: bigint; domain?: number },
  ): number {
    const cgroups = this.section(abi.SECTION_CGROUPS);
    const row = cgroups.add();
    cgroups.u32(row, abi.CG_PARENT, given.parent === undefined ? 0 : this.cgroupOf(given.parent));
    cgroups.u32(row, abi.CG_SHARES, given.shares);
    cgroups.u64(row, abi.CG_QUOTA, given.quota_ns ?? 0n);
    cgroups.u64(row, abi.CG_PERIOD, given.period_ns ?? 0n);
    cgroups.u32(row, abi.CG_DOMAIN, given.domain ?? abi.NONE);
    this.#cgroups.set(name, row + 1);
    return row + 1;
  }

  /** Index + 1 of a cgroup. */
  cgroupOf(name: string): number {
    const index = this.#cgroups.get(name);
    if (index === undefined) throw new VtimeError('config_reference', `no cgroup "${name}"`, { value: name });
    return index;
  }

  /** Index of the mask of these CPUs; 0 is all of the machine's. */
  mask(cpus: readonly number[]): number {
    const sorted = [...new Set(cpus)].sort((a, b) => a - b);
    const key = sorted.join(',');
    const known = this.#masks.get(key);
    if (known !== undefined) return known;
    const section = this.section(abi.SECTION_MASKS);
    const index = section.add();
    const words = new Array<bigint>(MASK_BYTES / 8).fill(0n);
    for (const cpu of sorted) words[cpu >> 6] |= 1n << BigInt(cpu & 63);
    words.forEach((word, i) => {
      section.u64(index, i * 8, word);
    });
    this.#masks.set(key, index);
    this.maskTexts.push(key);
    return index;
  }

  /** Index of the mask of a CPU list such as "0-3,8", or "all". */
  maskOf(list: string): number {
    return list === 'all' ? 0 : this.mask(parseCpuList(list));
  }

  #distribution(
    kind: number,
    parameters: readonly bigint[],
    points: readonly [bigint, bigint][] = [],
  ): number {
    const key = `${kind}:${parameters.join(',')}:${points.join(';')}`;
    const known = this.#distributions.get(key);
    if (known !== undefined) return known;
    const section = this.section(abi.SECTION_DISTRIBUTIONS);
    const index = section.add();
    const table = this.section(abi.SECTION_POINTS);
    section.u32(index, 0, kind);
    section.u32(index, 4, points.length);
    section.u64(index, 8, table.count);
    parameters.forEach((value, i) => {
      section.u64(index, 16 + i * 8, value);
    });
    for (const [probability, value] of points) {
      const row = table.add();
      table.u64(row, 0, probability);
      table.u64(row, 8, value);
    }
    this.#distributions.set(key, index);
    return index;
  }

  /** A time of the config that is always the same, ns; undefined if it is drawn. */
  constantOf(time: Time): bigint | undefined {
    return typeof time === 'string' ? durationNs(time) : undefined;
  }

  /** Index of a distribution of the config. */
  distribution(time: Time): number {
    if (typeof time === 'string') return this.#distribution(abi.DIST_CONSTANT, [durationNs(time)]);
    if ('uniform' in time) return this.#distribution(abi.DIST_UNIFORM, time.uniform.map(durationNs));
    if ('exponential' in time) return this.exponential(durationNs(time.exponential));
    if ('lognormal' in time) {
      const { median, sigma } = time.lognormal;
      return this.#distribution(abi.DIST_LOGNORMAL, [durationNs(median), q32(sigma)]);
    }
    if ('hyperexponential' in time) {
      const { p, means } = time.hyperexponential;
      return this.#distribution(abi.DIST_HYPEREXPONENTIAL, [q32(p), ...means.map(durationNs)]);
    }
    if ('pareto' in time) {
      const { minimum, shape } = time.pareto;
      return this.#distribution(abi.DIST_PARETO, [durationNs(minimum), q32(1 / shape)]);
    }
    const { points, step } = time.empirical;
    return this.#distribution(
      abi.DIST_EMPIRICAL,
      [step ? 1n : 0n],
      points.map(([p, value]): [bigint, bigint] => [q32(p), durationNs(value)]),
    );
  }

  exponential(mean_ns: bigint): number {
    return this.#distribution(abi.DIST_EXPONENTIAL, [mean_ns]);
  }

  /** Index of the distribution of a function's execution times. */
  durations(description: DurationDescription): number {
    if (description.kind === 'constant') {
      return this.#distribution(abi.DIST_CONSTANT, [integer(description.value_ns)]);
    }
    if (description.kind === 'lognormal') {
      const { median_ns, sigma } = description;
      return this.#distribution(abi.DIST_LOGNORMAL, [integer(median_ns), q32(sigma)]);
    }
    return this.#distribution(
      abi.DIST_EMPIRICAL,
      [0n],
      description.points.map(({ p, value_ns }): [bigint, bigint] => [q32(p), integer(value_ns)]),
    );
  }

  /** All sections, the parameters first. */
  finish(): Map<number, Section> {
    this.set(abi.P_CLASSES, Math.max(1, this.classes.length));
    const params = new Section(8, abi.P_COUNT);
    for (const value of this.params) params.u64(params.add(), 0, value);
    return new Map([[abi.SECTION_PARAMS, params], ...this.sections]);
  }
}

/** A list of the config by name, for references between its parts. */
export function indexByName(what: string, items: readonly { name: string }[]): (name: string) => number {
  const indices = new Map(items.map(({ name }, i) => [name, i]));
  return (name) => {
    const index = indices.get(name);
    if (index === undefined)
      throw new VtimeError('config_reference', `no ${what} "${name}"`, { value: name });
    return index;
  };
}
