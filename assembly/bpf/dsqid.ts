// DSQ ids of BPF programs: 64 bits that the program chooses, and the built-in ones.

import { MAX_CPUS, MAX_DSQS } from '../core/layout';
import { mix64 } from '../core/random';
import { DSQ_GLOBAL, DSQ_NONE, dsqCreate, dsqLocal, dsqNr } from '../kernel/dsq';
import { nrCpus } from '../kernel/mask';
import { DSQ_ID_SLOTS, DSQ_IDS } from './state';

const BUILTIN: u64 = 1 << 63;
const SCX_DSQ_GLOBAL: u64 = BUILTIN | 1;
const SCX_DSQ_LOCAL: u64 = BUILTIN | 2;
const SCX_DSQ_LOCAL_ON: u64 = BUILTIN | (1 << 62);

const EEXIST: i32 = 17;
const EINVAL: i32 = 22;
const ENOMEM: i32 = 12;

const FREE: u32 = 0;
const USED: u32 = 1;
const GONE: u32 = 2;

const MAX_USER_DSQS: u32 = MAX_DSQS - MAX_CPUS - 1;

/** User DSQs made so far; a destroyed one is not made again. */
let made: u32 = 0;

export function dsqIdsReset(): void {
  memory.fill(DSQ_IDS, 0, (DSQ_ID_SLOTS as usize) << 4);
  made = 0;
}

/** Address of the entry of an id, or of the free one where it would be. */
function entry(id: u64): usize {
  let i = (mix64(id) as u32) & (DSQ_ID_SLOTS - 1);
  while (true) {
    const e = DSQ_IDS + ((i as usize) << 4);
    const state = load<u32>(e, 12);
    if (state == FREE || (state == USED && load<u64>(e) == id)) return e;
    i = (i + 1) & (DSQ_ID_SLOTS - 1);
  }
}

/** Handle of a user DSQ, DSQ_NONE if there is none with this id. */
// @ts-ignore: decorator
@inline
export function userDsq(id: u64): u32 {
  const e = entry(id);
  return load<u32>(e, 12) == USED ? load<u32>(e, 8) : DSQ_NONE;
}

/** Handle of the DSQ with this id, seen from `cpu` (SCX_DSQ_LOCAL); DSQ_NONE if there is none. */
export function dsqOfId(id: u64, cpu: u32): u32 {
  if ((id & BUILTIN) == 0) return userDsq(id);
  if (id == SCX_DSQ_LOCAL) return dsqLocal(cpu);
  if ((id & SCX_DSQ_LOCAL_ON) == SCX_DSQ_LOCAL_ON) {
    const on = id as u32;
    return on < nrCpus ? dsqLocal(on) : DSQ_NONE;
  }
  return id == SCX_DSQ_GLOBAL ? DSQ_GLOBAL : DSQ_NONE;
}

/** scx_bpf_create_dsq(): 0 or a negative errno. */
export function createDsq(id: u64): i32 {
  if ((id & BUILTIN) != 0) return -EINVAL;
  const e = entry(id);
  if (load<u32>(e, 12) == USED) return -EEXIST;
  if (made == MAX_USER_DSQS) return -ENOMEM;
  store<u64>(e, id);
  store<u32>(e, dsqCreate(made), 8);
  store<u32>(e, USED, 12);
  made++;
  return 0;
}

/** scx_bpf_destroy_dsq(): false if tasks are on it. */
export function destroyDsq(id: u64): bool {
  const e = entry(id);
  if ((id & BUILTIN) != 0 || load<u32>(e, 12) != USED) return true;
  if (dsqNr(load<u32>(e, 8)) != 0) return false;
  store<u32>(e, GONE, 12);
  return true;
}
