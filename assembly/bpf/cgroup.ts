// struct cgroup as BPF sees it. The root stands for "no cgroup" of the model; the others are its domains, containers and
// named cgroups (kernel/spawn.ts), with id index + 2. Records are filled when first asked for.
//
//     0  u64 kn            struct kernfs_node *, at 8
//     8  u64 kn->id        0 = the record is not filled yet
//    16  u32 level
//    24  u64 dfl_cgrp      of struct css_set, at 24
//    32  u64 self.cgroup   struct cgroup_subsys_state, at 32
//    40  u64 self.parent

import { NONE } from '../abi';
import { BPF_CGROUP_SHIFT, BPF_CGROUPS, CGROUP_SHIFT, MAX_CGROUPS } from '../core/layout';
import { CGROUP_NAMED, CGROUP_PARENT } from '../kernel/group';
import { CGROUP_UNMAPPED } from '../kernel/spawn';
import { violate, VIOLATION_POINTER } from './context';

const KN: usize = 0;
const ID: usize = 8;
const LEVEL: usize = 16;
const CSS_SET: usize = 24;
const CSS: usize = 32;

const ROOT_ID: u64 = 1;

/** Root cgroup for "none", else the index itself. */
// @ts-ignore: decorator
@inline
function normal(cgroup: u32): u32 {
  return cgroup >= MAX_CGROUPS ? CGROUP_UNMAPPED : cgroup;
}

/** Index of the cgroup above, itself for the root. */
export function cgroupParent(cgroup: u32): u32 {
  if (cgroup < CGROUP_NAMED) return CGROUP_UNMAPPED;
  const parent = load<u32>(cgroup << CGROUP_SHIFT, CGROUP_PARENT);
  return parent == NONE ? CGROUP_UNMAPPED : parent;
}

/** struct cgroup * of a cgroup index, the root's for NONE. */
export function cgroupPointer(given: u32): u64 {
  const cgroup = normal(given);
  const r = BPF_CGROUPS + ((cgroup as usize) << BPF_CGROUP_SHIFT);
  if (load<u64>(r + ID) == 0) {
    const isRoot = cgroup == CGROUP_UNMAPPED;
    const parent: u64 = isRoot ? 0 : cgroupPointer(cgroupParent(cgroup));
    store<u64>(r + KN, (r + ID) as u64);
    store<u64>(r + ID, isRoot ? ROOT_ID : (cgroup as u64) + 2);
    store<u32>(r + LEVEL, isRoot ? 0 : load<u32>((parent as usize) + LEVEL) + 1);
    store<u64>(r + CSS_SET, r as u64);
    store<u64>(r + CSS, r as u64);
    store<u64>(r + CSS + 8, isRoot ? 0 : parent + (CSS as u64));
  }
  return r as u64;
}

/** struct css_set * of a cgroup index. */
export function cssSet(cgroup: u32): u64 {
  return cgroupPointer(cgroup) + (CSS_SET as u64);
}

/** Index of a struct cgroup * that a program gave. */
export function cgroupOf(pointer: u64): u32 {
  const at = pointer - (BPF_CGROUPS as u64);
  if (at >= (MAX_CGROUPS as u64) << BPF_CGROUP_SHIFT || (at & 63) != 0) violate(VIOLATION_POINTER, pointer);
  return (at >> BPF_CGROUP_SHIFT) as u32;
}

/** struct cgroup * of the ancestor on `level`, 0 if there is none. */
export function cgroupAncestor(pointer: u64, level: i32): u64 {
  let cgroup = cgroupOf(pointer);
  let at = load<u32>((cgroupPointer(cgroup) as usize) + LEVEL) as i32;
  if (level < 0 || level > at) return 0;
  while (at > level) {
    cgroup = cgroupParent(cgroup);
    at--;
  }
  return cgroupPointer(cgroup);
}

/** struct cgroup * of the cgroup with this id, 0 if there is none. */
export function cgroupWithId(id: u64): u64 {
  if (id == ROOT_ID) return cgroupPointer(NONE);
  return id >= 2 && id - 2 < (MAX_CGROUPS as u64) ? cgroupPointer((id - 2) as u32) : 0;
}
