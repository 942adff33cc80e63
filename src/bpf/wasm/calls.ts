// Who calls whom: which functions have to be translated, and the limits on calls that the kernel's verifier sets.

import { BPF_CALL, BPF_JMP, BPF_LD, BPF_X, classOf, R10 } from '../object/instruction.js';
import type { BpfFunction, Instruction } from '../object/program.js';
import { type Blocks, readBlocks, refuse } from './blocks.js';
import { STACK_FRAMES } from './contract.js';

/** Helpers and kfuncs that call a function of the program before they return. */
const CALLERS = new Set([
  'for_each_map_elem',
  'loop',
  'user_ringbuf_drain',
  'bpf_rbtree_add',
  'bpf_rbtree_add_impl',
  'bpf_list_push_back_impl',
  'bpf_list_push_front_impl',
]);

/** A call that repeats at most this many calls in all, loops aside, is not worth counting. */
const UNCOUNTED_CALLS = 1000;

export interface FunctionCalls {
  index: number;
  blocks: Blocks;
  /** Subprograms called, with the position of one call each and how many there are. */
  callees: Map<number, { at: number; count: number }>;
  /** Functions whose address is taken, with one position each where it is. */
  pointers: Map<number, number>;
  maps: Set<number>;
  /** Helpers and kfuncs called, by name of the import, with the position of one call each. */
  imports: Map<string, { kind: 'helper' | 'kfunc'; name: string; at: number }>;
  /** It has any call. */
  calls: boolean;
  /** It refers to the frame pointer. */
  usesFrame: boolean;
  /** It calls a function of the program through a pointer, itself or inside a helper. */
  callsBack: boolean;
}

function isCall({ opcode }: Instruction): boolean {
  return classOf(opcode) === BPF_JMP && (opcode & 0xf0) === BPF_CALL;
}

function readCalls(fn: BpfFunction, index: number): FunctionCalls {
  const blocks = readBlocks(fn);
  const found: FunctionCalls = {
    index,
    blocks,
    callees: new Map(),
    pointers: new Map(),
    maps: new Set(),
    imports: new Map(),
    calls: false,
    usesFrame: false,
    callsBack: false,
  };
  for (const { first, end, jump } of blocks.blocks) {
    for (let at = first; at < (jump === undefined ? end : jump + 1); at++) {
      const instruction = fn.instructions[at];
      const { dst, src, target } = instruction;
      if (dst === R10 || src === R10) found.usesFrame = true;
      if (target?.kind === 'map' || target?.kind === 'data') found.maps.add(target.map);
      if (classOf(instruction.opcode) === BPF_LD && target?.kind === 'function')
        found.pointers.set(target.function, at);
      if (!isCall(instruction)) continue;
      found.calls = true;
      if (instruction.opcode & BPF_X) found.callsBack = true;
      else if (target?.kind === 'function') {
        const count = (found.callees.get(target.function)?.count ?? 0) + 1;
        found.callees.set(target.function, { at, count });
      } else if (target?.kind === 'helper' || target?.kind === 'kfunc') {
        const { kind, name } = target;
        found.imports.set(`bpf_${kind}_${name}`, { kind, name, at });
        if (CALLERS.has(name)) found.callsBack = true;
      }
    }
  }
  return found;
}

/** Reads what the roots reach, by index. Throws `bpf_instruction` for functions that no kernel would load. */
export function readCallGraph(functions: BpfFunction[], roots: number[]): Map<number, FunctionCalls> {
  const graph = new Map<number, FunctionCalls>();
  const work = [...roots];
  for (let index = work.pop(); index !== undefined; index = work.pop()) {
    if (graph.has(index)) continue;
    const calls = readCalls(functions[index], index);
    const used = [...calls.callees].map(([callee, { at }]): [number, number] => [callee, at]);
    for (const [other, at] of [...used, ...calls.pointers]) {
      if (!functions[other])
        refuse(functions[index], at, `refers to function ${other}, which does not exist`);
      work.push(other);
    }
    graph.set(index, calls);
  }
  return graph;
}

export interface CallLimits {
  /** Functions whose calls take from the budget: they could multiply work without a loop. */
  counted: Set<number>;
  /** Functions that may, through anything they call, call back into the program. */
  callsBack: Set<number>;
}

/** Refuses recursion and too deep nesting as the verifier does, and finds what has to be bounded while running. */
export function limitCalls(functions: BpfFunction[], graph: Map<number, FunctionCalls>): CallLimits {
  const frames = new Map<number, number>();
  const weights = new Map<number, number>();
  const callsBack = new Set<number>();
  const active = new Set<number>();
  const visit = (index: number, depth: number): void => {
    if (frames.has(index)) return;
    const { callees, callsBack: calls } = graph.get(index)!;
    active.add(index);
    let deepest = 0;
    let weight = 1;
    let back = calls;
    for (const [callee, { at, count }] of callees) {
      if (active.has(callee))
        refuse(functions[index], at, `recursion: ${functions[callee].name} is being called already`);
      // Nesting is bounded while descending, so that a long chain of functions is refused instead of followed.
      if (depth + 1 > 64) tooDeep(index, at);
      visit(callee, depth + 1);
      deepest = Math.max(deepest, frames.get(callee)!);
      weight += count * weights.get(callee)!;
      back ||= callsBack.has(callee);
      if (1 + deepest > STACK_FRAMES) tooDeep(index, at);
    }
    active.delete(index);
    frames.set(index, 1 + deepest);
    weights.set(index, weight);
    if (back) callsBack.add(index);
  };
  const tooDeep = (index: number, at: number): never =>
    refuse(functions[index], at, `calls nest deeper than ${STACK_FRAMES} frames`);
  for (const index of graph.keys()) visit(index, 1);
  const counted = new Set<number>();
  for (const [index, weight] of weights) if (weight > UNCOUNTED_CALLS) counted.add(index);
  return { counted, callsBack };
}
