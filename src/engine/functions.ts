// Functions as programs: phases become instructions of the container's worker task, and some functions poll where
// others wait.

import type { ResolvedServerless } from '../config/schema.js';
import { q32 } from '../config/units.js';
import type { Phase, ResolvedProfile } from '../trace/profiles.js';
import * as abi from './abi.js';
import type { ProgramCompiler } from './program.js';

/** How a busy poller waits. */
export type Archetype = 'io' | 'sibling' | 'barrier';

/** FNV-1a over the UTF-8 bytes: a name's hash, the same everywhere. */
export function hashName(name: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(name)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return hash;
}

function canPoll(profile: ResolvedProfile, archetype: Archetype): boolean {
  return profile.phases.some(({ kind }) => kind === (archetype === 'barrier' ? 'parallel' : 'io'));
}

/** Whole numbers in the proportion of the weights that add up to `total` (largest remainders). */
export function apportion(total: number, weights: readonly number[]): number[] {
  const sum = weights.reduce((a, b) => a + b, 0);
  const exact = weights.map((weight) => (total * weight) / sum);
  const whole = exact.map(Math.floor);
  const order = exact
    .map((value, i) => ({ i, rest: value - whole[i] }))
    .sort((a, b) => b.rest - a.rest || a.i - b.i);
  for (let k = 0; k < total - whole.reduce((a, b) => a + b, 0); ) whole[order[k++ % order.length].i]++;
  return whole;
}

/**
 * Which functions poll, and how: round(share × functions) of them, divided over the archetypes by weight; each takes the
 * next function, by hash of its name, that has a wait of that kind (an I/O phase, or a parallel region). Functions with
 * a single CPU burst have nothing to poll for.
 */
export function choosePollers(
  functions: readonly { function_id: string; profile: ResolvedProfile }[],
  { share, archetypes }: ResolvedServerless['pollers'],
): { pollers: Map<number, Archetype>; missing: number } {
  const kinds: Archetype[] = ['io', 'sibling', 'barrier'];
  const wanted = apportion(
    Math.round(share * functions.length),
    kinds.map((kind) => archetypes[kind]),
  );
  const order = functions
    .map(({ function_id }, i) => ({ i, hash: hashName(function_id) }))
    .sort((a, b) => (a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : a.i - b.i));
  const pollers = new Map<number, Archetype>();
  let missing = 0;
  kinds.forEach((kind, k) => {
    const fit = order.filter(({ i }) => !pollers.has(i) && canPoll(functions[i].profile, kind));
    for (const { i } of fit.slice(0, wanted[k])) pollers.set(i, kind);
    missing += Math.max(0, wanted[k] - fit.length);
  });
  return { pollers, missing };
}

/** CPUs in use over the uncontended time, pollers' waits included. */
export function cpusUsed(profile: ResolvedProfile, poller: Archetype | undefined): number {
  const io = profile.phases.reduce((sum, { kind, fraction }) => (kind === 'io' ? sum + fraction : sum), 0);
  if (poller === 'io') return profile.cpus_used + io;
  return poller === 'sibling' ? profile.cpus_used + 2 * io : profile.cpus_used;
}

/**
 * The loop of a container's worker: receive, the phases, hand the job to the control plane. Entry is the receive.
 * A parallel region of n threads is the worker itself and n − 1 children that meet at a barrier after each round.
 */
export function compileFunction(
  compiler: ProgramCompiler,
  profile: ResolvedProfile,
  poller: Archetype | undefined,
  cpus: number,
): number {
  const children: { site: number; emitBody: () => void }[] = [];
  const share = (fraction: number) => ({ flags: abi.FLAG_OF_JOB, value: q32(fraction) });
  const fork = (count: number, emitBody: () => void) => {
    children.push({ site: compiler.emit({ op: abi.OP_FORK, value: count }), emitBody });
  };
  const parallel = (phase: Extract<Phase, { kind: 'parallel' }>) => {
    const threads = phase.threads === 'all' ? cpus : phase.threads;
    const spin = phase.barrier === 'spin' || poller === 'barrier' ? abi.FLAG_SPIN : 0;
    const region = () => {
      compiler.emit({ op: abi.OP_SET, register: 0, value: phase.rounds });
      const start = compiler.emit({ op: abi.OP_RUN, ...share(phase.fraction / phase.rounds) });
      compiler.emit({ op: abi.OP_BARRIER, flags: abi.FLAG_OWN | spin });
      compiler.emit({ op: abi.OP_LOOP, register: 0, a: start });
    };
    fork(threads - 1, region);
    region();
    compiler.emit({ op: abi.OP_JOIN, flags: spin });
  };
  /** Polls while a sibling works. */
  const sibling = (fraction: number) => {
    fork(1, () => compiler.emit({ op: abi.OP_RUN, ...share(fraction) }));
    compiler.emit({ op: abi.OP_JOIN, flags: abi.FLAG_SPIN });
  };
  const emitPhase = (phase: Phase) => {
    if (phase.kind === 'cpu') compiler.emit({ op: abi.OP_RUN, ...share(phase.fraction) });
    else if (phase.kind === 'parallel') parallel(phase);
    else if (phase.kind === 'poll' ? phase.until === 'sibling' : poller === 'sibling')
      sibling(phase.fraction);
    else if (phase.kind === 'poll' || poller === 'io')
      compiler.emit({ op: abi.OP_SPIN, ...share(phase.fraction) });
    else {
      const { flags, value } = share(phase.fraction);
      compiler.emit({ op: abi.OP_SLEEP, flags: flags | (phase.disk ? abi.FLAG_DISK : 0), value });
    }
  };

  const entry = compiler.emit({ op: abi.OP_RECEIVE, flags: abi.FLAG_OWN });
  for (const phase of profile.phases) emitPhase(phase);
  compiler.emit({ op: abi.OP_CONTROL });
  compiler.emit({ op: abi.OP_JUMP, a: entry });
  for (const { site, emitBody } of children) {
    compiler.patch(site, compiler.next);
    emitBody();
    compiler.emit({ op: abi.OP_EXIT });
  }
  return entry;
}
