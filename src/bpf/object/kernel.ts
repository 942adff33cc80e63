// The kernel that an object is linked against, as far as it can be seen from BPF: what `vmlinux` BTF, the list of kfuncs and
// the kernel's config are to libbpf. Names are the kernel's.

/** One member of a struct. Anonymous structs and unions in between are left out: their members belong to the outer one. */
export interface KernelField {
  /** Bytes from the start of the struct; any i32, since an instruction's offset may be after linking. */
  offset: number;
  /** Size of the whole member, an array's included. */
  bytes: number;
  /** Integers: read with sign extension. */
  signed?: boolean;
  /** Bit fields: first bit, from the lowest of the byte at `offset`, and how many. */
  bits?: { first: number; count: number };
  /**
   * Name of the struct that the member is (with `bytes` its size) or points to (`pointer`). Only needed where accesses go on
   * inside a nested struct; through a pointer, the next access is a relocation of its own.
   */
  type?: string;
  pointer?: boolean;
  /** Arrays: number of elements. */
  count?: number;
}

export interface KernelStruct {
  bytes: number;
  fields: Readonly<Record<string, KernelField>>;
}

export interface Kernel {
  /** LINUX_KERNEL_VERSION: major << 16 | minor << 8 | patch. */
  version: number;
  /** Structs and unions by name, without `struct `. */
  structs: Readonly<Record<string, KernelStruct>>;
  /** Enums by name, each with its enumerators. */
  enums: Readonly<Record<string, Readonly<Record<string, bigint>>>>;
  /** CONFIG_… options that are set: `y` is 1n. All others are 0, as for weak `__kconfig` externs. */
  config: Readonly<Record<string, bigint>>;
  /** Kfuncs by name, e.g. `scx_bpf_dsq_insert___v2`. */
  kfuncs: { has(name: string): boolean };
  /** Helpers by name without `bpf_`, e.g. `map_lookup_elem`. */
  helpers: { has(name: string): boolean };
  /** Map types as in BpfMap. */
  map_types: { has(name: string): boolean };
  /** Members of sched_ext_ops that are called, e.g. `enqueue`. Others are refused if an object defines them. */
  ops: { has(name: string): boolean };
}
