// Callbacks about cgroups: init() of all that exist when the object is enabled, of containers' when they are made.

import { BPF_OP_CGROUP_EXIT, BPF_OP_CGROUP_INIT, NONE } from '../abi';
import { fail, FAIL_BPF_CALLBACK } from '../core/failure';
import { CGROUP_SHIFT, MAX_CGROUPS } from '../core/layout';
import { CGROUP_NAMED, CGROUP_SHARES, namedCgroups } from '../kernel/group';
import { nrDomains } from '../policy/mapping';
import { cgroupPointer } from './cgroup';
import { callOp, IN_SLEEPABLE } from './context';
import { has } from './ops';
import { CGROUP_INIT_ARGS } from './state';

const PERIOD_US: u64 = 100000;

/** cpu.weight as BPF sees it: 100 stands for 1024 shares. */
function weightOf(cgroup: u32): u32 {
  const shares = cgroup >= CGROUP_NAMED && cgroup < MAX_CGROUPS ? load<u32>(cgroup << CGROUP_SHIFT, CGROUP_SHARES) : 1024;
  const weight = (shares * 100 + 512) / 1024;
  return weight < 1 ? 1 : weight > 10000 ? 10000 : weight;
}

function cgroupInit(cgroup: u32): void {
  memory.fill(CGROUP_INIT_ARGS, 0, 64);
  store<u32>(CGROUP_INIT_ARGS, weightOf(cgroup));
  store<u64>(CGROUP_INIT_ARGS, PERIOD_US, 8);
  store<u64>(CGROUP_INIT_ARGS, u64.MAX_VALUE, 16);
  const errno = callOp(BPF_OP_CGROUP_INIT, 0, IN_SLEEPABLE, cgroupPointer(cgroup), CGROUP_INIT_ARGS as u64, 0) as i32;
  if (errno != 0) fail(FAIL_BPF_CALLBACK, 0, BPF_OP_CGROUP_INIT, errno as u64);
}

/** The root, those of domains, and named ones in their order, parents first. */
export function cgroupsInit(): void {
  if (!has(BPF_OP_CGROUP_INIT)) return;
  cgroupInit(NONE);
  for (let d: u32 = 0; d < nrDomains; d++) cgroupInit(d);
  for (let i: u32 = 0; i < namedCgroups; i++) cgroupInit(CGROUP_NAMED + i);
}

/** A container's cgroup is made. */
export function cgroupMade(cgroup: u32): void {
  if (has(BPF_OP_CGROUP_INIT)) cgroupInit(cgroup);
}

export function cgroupExit(cgroup: u32): void {
  if (has(BPF_OP_CGROUP_EXIT)) callOp(BPF_OP_CGROUP_EXIT, 0, IN_SLEEPABLE, cgroupPointer(cgroup), 0, 0);
}
