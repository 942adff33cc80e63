// Which package, NUMA node and last-level cache a CPU belongs to.

import {
  LLC_MASKS,
  MACHINE_CPU_SHIFT,
  MACHINE_CPUS,
  MACHINE_PACKAGE_SHIFT,
  MACHINE_PACKAGES,
  MASK_BYTES,
  MAX_CPUS,
  MAX_PACKAGES,
  NODE_MASKS,
  PACKAGE_MASKS,
} from '../core/layout';
import {
  cpuOffset,
  MC_LLC,
  MC_NEXT,
  MC_NODE,
  MC_PACKAGE,
  MP_CORES,
  MP_FIRST,
  MS_CPUS,
  MS_PACKAGES,
  packageOffset,
} from './record';

/** One page of masks each for nodes and packages; an LLC holds at least one CPU. */
export const MAX_NODES: u32 = 64;

// @ts-ignore: decorator
@inline
export function cpuPackage(cpu: u32): u32 {
  return load<u32>(cpuOffset(cpu), MC_PACKAGE);
}

// @ts-ignore: decorator
@inline
export function cpuNode(cpu: u32): u32 {
  return load<u32>(cpuOffset(cpu), MC_NODE);
}

// @ts-ignore: decorator
@inline
export function cpuLlc(cpu: u32): u32 {
  return load<u32>(cpuOffset(cpu), MC_LLC);
}

// @ts-ignore: decorator
@inline
export function packageCount(): u32 {
  return load<u32>(MS_PACKAGES);
}

/** Address of the 64 B mask of all CPUs that share the CPU's package. */
// @ts-ignore: decorator
@inline
export function packageMask(cpu: u32): usize {
  return PACKAGE_MASKS + (cpuPackage(cpu) as usize) * MASK_BYTES;
}

// @ts-ignore: decorator
@inline
export function nodeMask(cpu: u32): usize {
  return NODE_MASKS + (cpuNode(cpu) as usize) * MASK_BYTES;
}

// @ts-ignore: decorator
@inline
export function llcMask(cpu: u32): usize {
  return LLC_MASKS + (cpuLlc(cpu) as usize) * MASK_BYTES;
}

function addToMask(mask: usize, cpu: u32): void {
  const word = mask + (((cpu >> 6) as usize) << 3);
  store<u64>(word, load<u64>(word) | ((1 as u64) << ((cpu & 63) as u64)));
}

/** Takes over SECTION_CPUS (abi/). False if a package, node, LLC or the number of CPUs exceeds its capacity. */
export function topologyLoad(section: usize, count: u32): bool {
  if (count == 0 || count > MAX_CPUS) return false;
  memory.fill(MACHINE_CPUS, 0, (MAX_CPUS as usize) << MACHINE_CPU_SHIFT);
  memory.fill(MACHINE_PACKAGES, 0, (MAX_PACKAGES as usize) << MACHINE_PACKAGE_SHIFT);
  memory.fill(PACKAGE_MASKS, 0, (MAX_PACKAGES * MASK_BYTES) as usize);
  memory.fill(NODE_MASKS, 0, (MAX_NODES * MASK_BYTES) as usize);
  memory.fill(LLC_MASKS, 0, (MAX_CPUS * MASK_BYTES) as usize);
  let packages: u32 = 0;
  // Downwards, so that each package's list, built by prepending, ascends.
  for (let cpu: u32 = count; cpu-- > 0; ) {
    const row = section + ((cpu as usize) << 4);
    const pkg = load<u32>(row);
    const node = load<u32>(row, 4);
    const llc = load<u32>(row, 8);
    if (pkg >= MAX_PACKAGES || node >= MAX_NODES || llc >= MAX_CPUS) return false;
    const c = cpuOffset(cpu);
    const p = packageOffset(pkg);
    store<u32>(c, pkg, MC_PACKAGE);
    store<u32>(c, node, MC_NODE);
    store<u32>(c, llc, MC_LLC);
    store<u32>(c, load<u32>(p, MP_FIRST), MC_NEXT);
    store<u32>(p, cpu + 1, MP_FIRST);
    store<u32>(p, load<u32>(p, MP_CORES) + 1, MP_CORES);
    addToMask(packageMask(cpu), cpu);
    addToMask(nodeMask(cpu), cpu);
    addToMask(llcMask(cpu), cpu);
    packages = max(packages, pkg + 1);
  }
  store<u32>(MS_CPUS, count);
  store<u32>(MS_PACKAGES, packages);
  return true;
}
