// Programs of the reference model: the steps of a config, walked as they are written.

import type { StepInput } from '../../src/config/schema/program.js';

/** The steps that the model knows, with times in ns. */
export type Operation =
  | { op: 'run' | 'sleep' | 'spin'; ns: number }
  | { op: 'yield' | 'block' | 'exit' }
  | { op: 'fork'; count: number; program: Program }
  | { op: 'join'; spins: boolean }
  | { op: 'barrier'; name: string; spins: boolean }
  | { op: 'wake'; task: number; member: number }
  | { op: 'signal' | 'spin_until'; name: string }
  | { op: 'affinity'; cpus: number[]; task?: number; member?: number };

export type Program = (Operation | { op: 'loop'; times: number; body: Program })[];

/** Operations one after the other; Infinity loops for ever. */
export function* walk(program: Program): Generator<Operation, void> {
  for (const step of program) {
    if (step.op !== 'loop') yield step;
    else for (let i = 0; i < step.times; i++) yield* walk(step.body);
  }
}

const wait = (spins: boolean) => (spins ? 'spin' : 'sleep');

/** The same program as the config writes it. `names` are the tasks'. */
export function stepsOf(program: Program, names: readonly string[]): StepInput[] {
  return program.map((step): StepInput => {
    switch (step.op) {
      case 'run':
        return { run: `${step.ns}ns` };
      case 'sleep':
        return { sleep: `${step.ns}ns` };
      case 'spin':
        return { spin: `${step.ns}ns` };
      case 'fork':
        return { fork: { count: step.count, program: stepsOf(step.program, names) } };
      case 'join':
        return { join: wait(step.spins) };
      case 'barrier':
        return { barrier: step.name, wait: wait(step.spins) };
      case 'wake':
        return { wake: names[step.task], member: step.member };
      case 'signal':
        return { signal: step.name };
      case 'spin_until':
        return { spin_until: step.name };
      case 'affinity': {
        const affinity = step.cpus.join(',');
        return step.task === undefined
          ? { affinity }
          : { affinity, task: names[step.task], member: step.member };
      }
      case 'loop':
        return {
          loop: { times: step.times === Infinity ? 'forever' : step.times, do: stepsOf(step.body, names) },
        };
      default:
        return step.op;
    }
  });
}
