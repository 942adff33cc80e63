// From steps to instructions (assembly/abi/, OP_…). A program that falls off its end exits.

import type { Step, Time } from '../config/schema.js';
import { q32 } from '../config/units.js';
import { VtimeError } from '../errors.js';
import * as abi from './abi.js';
import type { Model } from './model.js';

/** What names inside programs stand for. */
export interface Names {
  queue(name: string): number;
  barrier(name: string): number;
  event(name: string): number;
  /** Index of the task template. */
  task(name: string): number;
}

interface Instruction {
  op: number;
  flags?: number;
  register?: number;
  a?: number;
  value?: bigint | number;
}

const MAX_NESTING = 4;

export class ProgramCompiler {
  readonly #model: Model;
  readonly #programs: Readonly<Record<string, Step[]>>;
  readonly #names: Names;
  readonly #entries = new Map<string, number>();
  /** Fork bodies that have to be emitted, and the instructions that wait for their address. */
  #pending: { program: string | Step[]; site: number }[] = [];

  constructor(model: Model, programs: Readonly<Record<string, Step[]>>, names: Names) {
    this.#model = model;
    this.#programs = programs;
    this.#names = names;
  }

  /** Entry of a named program or of steps in place; every named program is compiled once. */
  compile(program: string | Step[]): number {
    const entry = this.#body(program);
    for (let fork = this.#pending.shift(); fork !== undefined; fork = this.#pending.shift()) {
      this.patch(fork.site, this.#body(fork.program));
    }
    return entry;
  }

  /** Address of the next instruction. */
  get next(): number {
    return this.#model.section(abi.SECTION_PROGRAM).count;
  }

  emit({ op, flags = 0, register = 0, a = 0, value = 0 }: Instruction): number {
    const section = this.#model.section(abi.SECTION_PROGRAM);
    const at = section.add();
    section.u8(at, 0, op);
    section.u8(at, 1, flags);
    section.u16(at, 2, register);
    section.u32(at, 4, a);
    section.u64(at, 8, value);
    return at;
  }

  /** Sets the jump target of an instruction emitted earlier. */
  patch(at: number, target: number): void {
    this.#model.section(abi.SECTION_PROGRAM).u32(at, 4, target);
  }

  #body(program: string | Step[]): number {
    const known = typeof program === 'string' ? this.#entries.get(program) : undefined;
    if (known !== undefined) return known;
    const entry = this.next;
    if (typeof program === 'string') this.#entries.set(program, entry);
    const steps = typeof program === 'string' ? this.#programs[program] : program;
    if (steps === undefined)
      throw new VtimeError('config_reference', `no program "${program}"`, { value: program });
    this.#steps(steps, 0);
    this.emit({ op: abi.OP_EXIT });
    return entry;
  }

  #time(op: number, time: Time, flags = 0): void {
    const constant = this.#model.constantOf(time);
    if (constant !== undefined) this.emit({ op, flags, value: constant });
    else this.emit({ op, flags: flags | abi.FLAG_DRAW, a: this.#model.distribution(time) });
  }

  #share(op: number, fraction: number, flags = 0): void {
    this.emit({ op, flags: flags | abi.FLAG_OF_JOB, value: q32(fraction) });
  }

  #steps(steps: readonly Step[], depth: number): void {
    for (const step of steps) this.#step(step, depth);
  }

  #step(step: Step, depth: number): void {
    const disk = (value: { disk: boolean }) => (value.disk ? abi.FLAG_DISK : 0);
    const spin = (wait: 'sleep' | 'spin') => (wait === 'spin' ? abi.FLAG_SPIN : 0);
    if (step === 'yield') this.emit({ op: abi.OP_YIELD });
    else if (step === 'exit') this.emit({ op: abi.OP_EXIT });
    else if (step === 'finish') this.emit({ op: abi.OP_FINISH });
    else if (step === 'block') this.emit({ op: abi.OP_BLOCK });
    else if ('run' in step) this.#time(abi.OP_RUN, step.run);
    else if ('sleep' in step) this.#time(abi.OP_SLEEP, step.sleep, disk(step));
    else if ('spin' in step) this.#time(abi.OP_SPIN, step.spin);
    else if ('run_share' in step) this.#share(abi.OP_RUN, step.run_share);
    else if ('sleep_share' in step) this.#share(abi.OP_SLEEP, step.sleep_share, disk(step));
    else if ('spin_share' in step) this.#share(abi.OP_SPIN, step.spin_share);
    else if ('spin_until' in step)
      this.emit({ op: abi.OP_SPIN_EVENT, a: this.#names.event(step.spin_until) });
    else if ('signal' in step) this.emit({ op: abi.OP_SIGNAL, a: this.#names.event(step.signal) });
    else if ('join' in step) this.emit({ op: abi.OP_JOIN, flags: spin(step.join) });
    else if ('barrier' in step) this.#barrier(step.barrier, spin(step.wait));
    else if ('receive' in step) this.#receive(step, depth);
    else if ('send' in step) this.emit({ op: abi.OP_SEND, a: this.#names.queue(step.send) });
    else if ('wake' in step)
      this.emit({ op: abi.OP_WAKE, a: this.#names.task(step.wake), value: step.member });
    else if ('affinity' in step) this.#affinity(step);
    else if ('fork' in step) this.#fork(step.fork);
    else if ('loop' in step) this.#loop(step.loop, depth);
    else this.#branch(step.branch, depth);
  }

  #barrier(name: string, flags: number): void {
    if (name === 'family') this.emit({ op: abi.OP_BARRIER, flags: flags | abi.FLAG_OWN });
    else this.emit({ op: abi.OP_BARRIER, flags, a: this.#names.barrier(name) });
  }

  #receive(
    { receive, idle, set_up }: { receive: string; idle?: Step[]; set_up?: Step[] },
    depth: number,
  ): void {
    const take = { op: abi.OP_RECEIVE, a: this.#names.queue(receive) };
    const otherwise = idle ?? set_up;
    if (otherwise === undefined) {
      this.emit(take);
      return;
    }
    // An attempt; if there was a job, past what is done otherwise.
    const attempt = this.emit({ ...take, flags: abi.FLAG_TRY, value: this.next + 2 });
    const taken = this.emit({ op: abi.OP_JUMP });
    if (idle === undefined) this.emit(take);
    this.#steps(otherwise, depth);
    if (idle !== undefined) this.emit({ op: abi.OP_JUMP, a: attempt });
    this.patch(taken, this.next);
  }

  #affinity({ affinity, task, member = 0 }: { affinity: string; task?: string; member?: number }): void {
    const target = task === undefined ? 0n : (BigInt(this.#names.task(task) + 1) << 32n) | BigInt(member);
    this.emit({ op: abi.OP_AFFINITY, a: this.#model.maskOf(affinity), value: target });
  }

  #fork({ count, program }: { count: number | 'cpus'; program: string | Step[] }): void {
    const value = count === 'cpus' ? this.#model.cpus : count;
    this.#pending.push({ program, site: this.emit({ op: abi.OP_FORK, value }) });
  }

  #loop({ times, do: steps }: { times: number | 'forever'; do: Step[] }, depth: number): void {
    if (times === 'forever') {
      const start = this.next;
      this.#steps(steps, depth);
      this.emit({ op: abi.OP_JUMP, a: start });
      return;
    }
    if (depth >= MAX_NESTING)
      throw new VtimeError('config_value', `loops nest more than ${MAX_NESTING} deep`);
    this.emit({ op: abi.OP_SET, register: depth, value: times });
    const start = this.next;
    this.#steps(steps, depth + 1);
    this.emit({ op: abi.OP_LOOP, register: depth, a: start });
  }

  #branch(branch: { probability: number; then: Step[]; else: Step[] }, depth: number): void {
    const choice = this.emit({ op: abi.OP_BRANCH, value: q32(branch.probability) });
    this.#steps(branch.else, depth);
    const end = this.emit({ op: abi.OP_JUMP });
    this.patch(choice, this.next);
    this.#steps(branch.then, depth);
    this.patch(end, this.next);
  }
}
