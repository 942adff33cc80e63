// The runtime's own state: addresses behind BPF_STATE. Objects can read it and not write it.

import { BPF_CALL_SITE, BPF_COMMS, BPF_MAX_STORAGE_MAPS, BPF_MAX_TYPES, BPF_MESSAGE, BPF_STORAGE_MAPS, BPF_TYPES } from '../abi';
import { BPF_STATE } from '../core/layout';

/** i32: loop passes and calls that the running callback has left (src/bpf/wasm/contract.ts). */
export const BUDGET: usize = BPF_STATE;
/** u32: where the program is calling the engine, 1 + a site of its translation; 0 = it is not. */
export const CALL_SITE: usize = BPF_STATE + BPF_CALL_SITE;
/** u32 slot of the engine's table by callback, 0 = absent. */
export const OPS_SLOTS: usize = BPF_STATE + 0x40;
/** Arguments of callbacks under way, 64 B each. */
export const ARGUMENTS: usize = BPF_STATE + 0x200;
export const MAX_NESTING: u32 = 32;
/** What scx_bpf_error() said, and what the program printed last; NUL-terminated. */
export const MESSAGE: usize = BPF_STATE + BPF_MESSAGE;
export const PRINTED: usize = BPF_STATE + 0x1400;
export const MESSAGE_BYTES: u32 = 1024;
/** scx_init_task_args, scx_cgroup_init_args, scx_exit_info and other arguments by reference, 256 B each. */
export const INIT_TASK_ARGS: usize = BPF_STATE + 0x1800;
export const CGROUP_INIT_ARGS: usize = BPF_STATE + 0x1900;
export const EXIT_INFO: usize = BPF_STATE + 0x1a00;
export const CPU_RELEASE_ARGS: usize = BPF_STATE + 0x1b00;
/** Index passed to callbacks of array maps. */
export const KEY_SCRATCH: usize = BPF_STATE + 0x1c00;
/** CPUs that a higher class has. */
export const RELEASED_MASK: usize = BPF_STATE + 0x1d00;
/** The three arguments of bpf_trace_printk(). */
export const PRINTK_ARGUMENTS: usize = BPF_STATE + 0x1c80;
/** Key looked up in the platform's map. */
export const MAPPING_KEY: usize = BPF_STATE + 0x1c40;
/** Dispatch buffer of ops.dispatch(), 40 B an entry (bpf/insert.ts). */
export const DISPATCH_BUFFER: usize = BPF_STATE + 0x2000;
export const MAX_DISPATCH_BATCH: u32 = 128;
/** struct rq as BPF sees it, 64 B by CPU (bpf/cpu.ts). */
export const RQ_SHIFT: u32 = 6;
export const RQS: usize = BPF_STATE + 0x8000;
/** Winner tree over timers, and their records, 32 B (bpf/timer.ts). */
export const MAX_TIMERS: u32 = 1024;
export const TIMERS_TREE: usize = BPF_STATE + 0x10000;
export const TIMERS: usize = BPF_STATE + 0x14000;
/** DSQ ids, 16 B: u64 id, u32 handle, u32 state (bpf/dsqid.ts). */
export const DSQ_IDS: usize = BPF_STATE + 0x20000;
export const DSQ_ID_SLOTS: u32 = 8192;
/** Heads of the heap's free lists by size class, u32 (bpf/heap.ts). */
export const HEAP_FREE: usize = BPF_STATE + 0x40000;
/** Types that the object allocates, 16 B: u32 BTF id, u32 bytes, u32 offset of its bpf_refcount + 1. */
export const TYPES: usize = BPF_STATE + BPF_TYPES;
export const MAX_TYPES: u32 = BPF_MAX_TYPES;
/** Maps with storage by task or cgroup, u32 addresses of their headers. */
export const STORAGE_MAPS: usize = BPF_STATE + BPF_STORAGE_MAPS;
export const MAX_STORAGE_MAPS: u32 = BPF_MAX_STORAGE_MAPS;
/** comm of tasks, 16 B by statistics class. */
export const COMMS: usize = BPF_STATE + BPF_COMMS;
