// Programs given as text, run as the callbacks of a scheduler inside the engine. Map 0 of every object is its `.bss`, where
// programs leave what a test looks at: `save(k)` stores r0 in its k-th word.

import type { BpfMap, BpfObject, BpfType } from '../../src/bpf/object/program.js';
import type { BpfPolicy } from '../../src/bpf/runtime/policy.js';
import { policyParameters } from '../../src/bpf/runtime/policy.js';
import { prepareLinked } from '../../src/bpf/runtime/runtime.js';
import { configFrom } from '../../src/config/load.js';
import { resolveConfig } from '../../src/config/resolve.js';
import type { ConfigInput } from '../../src/config/schema.js';
import * as abi from '../../src/engine/abi.js';
import { encode } from '../../src/engine/encode.js';
import { readSections } from '../../src/engine/image.js';
import { Simulation } from '../../src/engine/simulation.js';
import { bpfObject } from './bpf-assembler.js';

const RESULT_WORDS = 256;

/** Stores r0 in word k of the results. */
export const save = (k: number) => `
  r9 = data 0 + ${8 * k}
  *(u64 *)(r9 + 0) = r0`;

/** Stores r0 in the next free word: word 0 counts the words behind it. */
export const append = `
  r8 = data 0 + 0
  r9 = *(u64 *)(r8 + 0)
  r9 += 1
  *(u64 *)(r8 + 0) = r9
  r9 <<= 3
  r8 += r9
  *(u64 *)(r8 + 0) = r0`;

export interface Program {
  /** Callbacks by name: text whose r1 points to the arguments. */
  ops: Record<string, string>;
  /** Further functions, numbered behind the callbacks in the order given. */
  functions?: string[];
  /** Maps behind `.bss`, numbered from 1. */
  maps?: Partial<BpfMap>[];
  types?: BpfType[];
  flags?: bigint;
}

/** What runs: a scheduler, and what it left. */
export interface Run {
  simulation: Simulation;
  /** Words of `.bss`. */
  words(): bigint[];
}

function objectOf({ ops, functions = [], maps = [], types = [], flags = 0n }: Program): BpfObject {
  const bss = { name: '.bss', value_bytes: 8 * RESULT_WORDS, data: new Uint8Array(8 * RESULT_WORDS) };
  const object = bpfObject([...Object.values(ops), ...functions], [bss, ...maps]);
  return {
    ...object,
    types,
    schedulers: [
      {
        variable: 'test',
        name: 'test',
        flags,
        timeout_ms: 0,
        exit_dump_len: 0,
        dispatch_max_batch: 0,
        hotplug_seq: 0n,
        callbacks: new Map(Object.keys(ops).map((name, i) => [name, i])),
      },
    ],
  };
}

/** A simulation with the program as its policy: enabled, nothing run yet. */
export function load(program: Program, config: Partial<ConfigInput> = {}): Run {
  const object = objectOf(program);
  const resolved = resolveConfig(
    configFrom({
      machine: 'ideal-4',
      kernel: '7.3',
      policy: 'global-fifo',
      workload: { tasks: [{ name: 'task', program: [{ run: '1ms' }] }] },
      run: { limit: '10s' },
      ...config,
    }),
  );
  const model = encode(resolved);
  const scheduler = prepareLinked(object, model.machine.cpus.length);
  const bpf: BpfPolicy = {
    file: { path: object.file },
    scheduler,
    flags: scheduler.ops.flags,
    domains: [],
    uptime_ns: 0n,
  };
  const view = new DataView(model.image.buffer, model.image.byteOffset);
  const params = readSections(view, 0).get(abi.SECTION_PARAMS)!.offset;
  for (const [param, value] of [[abi.P_POLICY, BigInt(abi.POLICY_BPF)] as const, ...policyParameters(bpf)]) {
    view.setBigUint64(params + 8 * param, value, true);
  }
  const simulation = new Simulation({ ...model, bpf });
  const { values } = scheduler.region.maps[0];
  return {
    simulation,
    words: () => [...new BigUint64Array(simulation.memory.buffer.slice(values, values + 8 * RESULT_WORDS))],
  };
}

/** Runs `init` alone; returns the first `count` words. */
export function results(
  init: string,
  count: number,
  program: Omit<Program, 'ops'> = {},
  config?: Partial<ConfigInput>,
): bigint[] {
  const text = `${init}\n r0 = 0\n exit`;
  return load({ ...program, ops: { init: text } }, config)
    .words()
    .slice(0, count);
}

/** Loads the program and runs to the end. */
export function run(program: Program, config?: Partial<ConfigInput>): Run {
  const loaded = load(program, config);
  while (!loaded.simulation.done) loaded.simulation.step();
  loaded.simulation.finish();
  return loaded;
}
