// Packages and nodes of a machine profile as QEMU's arguments. Caches are one per package there.

import { VtimeError } from '../../errors.js';

/** Where a CPU is, in the order of CPU numbers. */
export interface CpuPlace {
  package: number;
  node: number;
}

/** Runs of equal numbers: [number, first CPU, last CPU]. */
function runsOf(numbers: readonly number[]): [number: number, first: number, last: number][] {
  const runs: [number, number, number][] = [];
  numbers.forEach((number, cpu) => {
    const run = runs.at(-1);
    if (run?.[0] === number) run[2] = cpu;
    else runs.push([number, cpu, cpu]);
  });
  return runs;
}

/** `-smp` and, where there are several nodes, `-numa` with equal memory for each. */
export function topologyArguments(cpus: readonly CpuPlace[], memory_mb: number): string[] {
  const packages = runsOf(cpus.map((place) => place.package));
  const size = cpus.length / packages.length;
  // QEMU numbers CPUs package by package.
  const regular = packages.every(([number, first, last], i) => number === i && last - first + 1 === size);
  if (!regular) {
    throw new VtimeError('vm_topology', 'the packages of the machine profile are not equal or not in a row', {
      path: 'machine.profile',
      expected: 'a machine whose packages have the same number of CPUs, one after the other',
    });
  }
  const shape = packages.length === 1 ? '' : `,sockets=${packages.length},dies=1,cores=${size},threads=1`;
  const smp = ['-smp', `${cpus.length}${shape}`];
  const nodes = runsOf(cpus.map((place) => place.node));
  if (nodes.length === 1) return smp;
  const share = Math.floor(memory_mb / nodes.length);
  const numa = nodes.flatMap(([node, first, last]) => [
    ...['-object', `memory-backend-ram,id=memory${node},size=${share}M`],
    ...['-numa', `node,nodeid=${node},memdev=memory${node},cpus=${first}-${last}`],
  ]);
  return [...smp, ...numa];
}

/** Memory that divides evenly among the nodes. */
export function evenMemory(cpus: readonly CpuPlace[], memory_mb: number): number {
  const nodes = new Set(cpus.map((place) => place.node)).size;
  return Math.ceil(memory_mb / nodes) * nodes;
}
