// What host and engine agree on about BPF objects: numbers of callbacks and map types, the layout of a map's header.

/** Addresses of the engine's that a translated module has built in (assembly/core/layout.ts). */
export const BPF_READ_LOW: u32 = 0x0010_0000;
/** Distance from a task record to its extension record. */
export const BPF_TASK_EXTENSION: u32 = 0x0e90_0000;
export const BPF_STATE_AT: u32 = 0x1490_0000;
export const BPF_MAPS_AT: u32 = 0x14a0_0000;
/** Offsets from BPF_STATE_AT of what the host reads and writes (assembly/bpf/state.ts). */
export const BPF_CALL_SITE: u32 = 4;
export const BPF_MESSAGE: u32 = 0x1000;
export const BPF_TYPES: u32 = 0x42000;
export const BPF_MAX_TYPES: u32 = 256;
export const BPF_STORAGE_MAPS: u32 = 0x44000;
export const BPF_MAX_STORAGE_MAPS: u32 = 64;
export const BPF_COMMS: u32 = 0x50000;

// Members of sched_ext_ops that are called.
export const BPF_OP_SELECT_CPU: u32 = 0;
export const BPF_OP_ENQUEUE: u32 = 1;
export const BPF_OP_DEQUEUE: u32 = 2;
export const BPF_OP_DISPATCH: u32 = 3;
export const BPF_OP_TICK: u32 = 4;
export const BPF_OP_RUNNABLE: u32 = 5;
export const BPF_OP_RUNNING: u32 = 6;
export const BPF_OP_STOPPING: u32 = 7;
export const BPF_OP_QUIESCENT: u32 = 8;
export const BPF_OP_YIELD: u32 = 9;
export const BPF_OP_SET_WEIGHT: u32 = 10;
export const BPF_OP_SET_CPUMASK: u32 = 11;
export const BPF_OP_UPDATE_IDLE: u32 = 12;
export const BPF_OP_CPU_ACQUIRE: u32 = 13;
export const BPF_OP_CPU_RELEASE: u32 = 14;
export const BPF_OP_CPU_ONLINE: u32 = 15;
export const BPF_OP_CPU_OFFLINE: u32 = 16;
export const BPF_OP_INIT_TASK: u32 = 17;
export const BPF_OP_EXIT_TASK: u32 = 18;
export const BPF_OP_ENABLE: u32 = 19;
export const BPF_OP_DISABLE: u32 = 20;
export const BPF_OP_CGROUP_INIT: u32 = 21;
export const BPF_OP_CGROUP_EXIT: u32 = 22;
export const BPF_OP_CGROUP_SET_WEIGHT: u32 = 23;
export const BPF_OP_INIT: u32 = 24;
export const BPF_OP_EXIT: u32 = 25;
/** No member: the callback of a timer. */
export const BPF_OP_TIMER: u32 = 26;

/** SCX_OPS_… flags that change what the engine does. */
export const BPF_KEEP_BUILTIN_IDLE: u32 = 1;
export const BPF_ENQ_LAST: u32 = 2;

/** Bytes of a map's header, which is what a program has for the map. */
export const MAP_HEADER_BYTES: u32 = 128;
/** u32 enum bpf_map_type */
export const MAP_TYPE: u32 = 0;
export const MAP_KEY_BYTES: u32 = 4;
export const MAP_VALUE_BYTES: u32 = 8;
export const MAP_MAX_ENTRIES: u32 = 12;
/** u32 address of the values, in the region that programs write. */
export const MAP_VALUES: u32 = 16;
/** u32 bytes from a value to the next: a multiple of 8. */
export const MAP_STRIDE: u32 = 20;
/** u32 entries in use. */
export const MAP_COUNT: u32 = 24;
/** u32 queues: index of the head; hashes: first free slot + 1; ring buffers: next byte. */
export const MAP_HEAD: u32 = 28;
export const MAP_FLAGS: u32 = 32;
/** u32 hashes: address of u32 buckets (slot + 1), storage: of u32 addresses by task slot or cgroup index. */
export const MAP_TABLE: u32 = 36;
/** u32 number of buckets − 1. */
export const MAP_MASK: u32 = 40;
/** u32 hashes: address of u32 next (slot + 1). */
export const MAP_NEXT: u32 = 44;
/** u32 hashes: address of the keys, out of the programs' reach. */
export const MAP_KEYS: u32 = 48;
export const MAP_KEY_STRIDE: u32 = 52;
/** u32 per-CPU maps: number of copies; copy c lies behind c × max_entries values. */
export const MAP_CPUS: u32 = 56;
/** u32 maps of maps: header of the template. */
export const MAP_INNER: u32 = 60;
/** u32 hashes: slots used so far, from 0; LRU: the slot to reuse next. */
export const MAP_FRESH: u32 = 64;
/** u32 1: values hold timers or kptrs, which end with them. */
export const MAP_SPECIAL: u32 = 68;

// enum bpf_map_type
export const MAP_HASH: u32 = 1;
export const MAP_ARRAY: u32 = 2;
export const MAP_PERCPU_HASH: u32 = 5;
export const MAP_PERCPU_ARRAY: u32 = 6;
export const MAP_LRU_HASH: u32 = 9;
export const MAP_ARRAY_OF_MAPS: u32 = 12;
export const MAP_HASH_OF_MAPS: u32 = 13;
export const MAP_QUEUE: u32 = 22;
export const MAP_STACK: u32 = 23;
export const MAP_RINGBUF: u32 = 27;
export const MAP_TASK_STORAGE: u32 = 29;
export const MAP_CGRP_STORAGE: u32 = 32;
