// A linked BPF object: what the ELF side produces and what the translator to Wasm takes. Relocations are resolved to
// names and indices here, never to addresses; CO-RE has been applied.

/** What a relocated immediate or a call refers to. */
export type Target =
  /** The map with this index in `maps` (LD_IMM64 of a map). */
  | { kind: 'map'; map: number }
  /** `offset` bytes into the value of a data map (.rodata, .data, .bss, .kconfig, an arena's globals). */
  | { kind: 'data'; map: number; offset: number }
  /** A function of the object: a call of it, or its address for a callback. */
  | { kind: 'function'; function: number }
  | { kind: 'helper'; id: number; name: string }
  | { kind: 'kfunc'; name: string }
  /** An immediate that linking has decided: a CO-RE value, a weak symbol that does not exist (0n). */
  | { kind: 'value'; value: bigint }
  /** Must not be reached: `what` names the kernel field, type or function that vtime does not have. */
  | { kind: 'missing'; what: string };

/** One instruction; LD_IMM64 is one entry with `slots` 2, so that jump targets are indices into `instructions`. */
export interface Instruction {
  opcode: number;
  dst: number;
  src: number;
  /** Offset of a memory access, any i32 after CO-RE; for jumps the index of the target instruction. */
  offset: number;
  /** Signed 32-bit immediate; for LD_IMM64 all 64 bits. */
  imm: bigint;
  target?: Target;
  /** Byte offset in its section, as a disassembler shows it divided by 8. */
  index: number;
  /** Source line, if the object has line information. */
  line?: string;
}

export interface BpfFunction {
  name: string;
  /** ELF section: `.text`, `struct_ops/…`. Only functions that a callback can reach are here. */
  section: string;
  instructions: Instruction[];
  /** Number of parameters that BTF states, else 5. */
  parameters: number;
}

export interface BpfMap {
  name: string;
  /** Kernel's name without prefix: HASH, ARRAY, PERCPU_ARRAY, QUEUE, STACK, RINGBUF, TASK_STORAGE, CGRP_STORAGE, ARENA, … */
  type: string;
  key_bytes: number;
  value_bytes: number;
  max_entries: number;
  flags: number;
  /** Index of the inner map's template in `maps` (ARRAY_OF_MAPS, HASH_OF_MAPS). */
  inner?: number;
  /** Initial value of a data map; maps of maps: initial slots by key. */
  data?: Uint8Array;
  slots?: Map<number, number>;
  read_only: boolean;
  /** What the kernel manages inside the value. */
  special: SpecialField[];
  /** Global variables of a data map, by name. */
  variables: Variable[];
}

/** A part of a value that the kernel manages. */
export interface SpecialField {
  /** bpf_timer, bpf_spin_lock, bpf_wq, bpf_refcount, bpf_list_head, bpf_list_node, bpf_rb_root, bpf_rb_node, kptr, … */
  kind: string;
  /** Bytes from the start of the value. */
  offset: number;
  /** kptr: the struct it points to. Heads and roots: the struct that they contain. */
  type?: string;
  /** Heads and roots: name of the node's member in that struct. */
  node?: string;
}

/** A global variable; arrays are flat. */
export interface Variable {
  name: string;
  /** Bytes from the start of the data map's value. */
  offset: number;
  /** Of the whole variable. */
  bytes: number;
  /** `u64`, `i32`, `bool`, … of an element; the struct's name if it is none of these. */
  type: string;
  /** Number of elements: 1 if it is no array. */
  count: number;
}

/** One struct_ops map: a scheduler. */
export interface StructOps {
  /** Name of the variable, and sched_ext_ops.name. */
  variable: string;
  name: string;
  flags: bigint;
  timeout_ms: number;
  exit_dump_len: number;
  dispatch_max_batch: number;
  hotplug_seq: bigint;
  /** Callback name (`enqueue`, …) → index in `functions`. */
  callbacks: Map<string, number>;
}

/** A type of the object itself that it allocates (bpf_obj_new) or names by its id. */
export interface BpfType {
  /** BTF id: the value that the program passes. */
  id: number;
  name: string;
  bytes: number;
  special: SpecialField[];
}

export interface BpfObject {
  file: string;
  license: string;
  functions: BpfFunction[];
  maps: BpfMap[];
  schedulers: StructOps[];
  types: BpfType[];
}
