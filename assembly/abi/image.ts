// The model image and the result image: header and model sections. Plain constants, so that the same file compiles as
// AssemblyScript (engine) and as TypeScript (host).
//
// An image is little-endian:
//
//   0   u32  magic            IMAGE_MAGIC
//   4   u32  version          IMAGE_VERSION
//   8   u32  byte length of the whole image
//   12  u32  number of sections n
//   16  u64  engine hash (first 8 bytes of the SHA-256 of the Wasm module; 0 in a model image = not checked)
//   24  u64  reserved, 0
//   32  n ×  { u32 section id, u32 record count, u32 byte offset from the image start, u32 record stride }
//   ...      section bodies, each aligned to 8 bytes
//
// Times are u64 nanoseconds, work is MHz·ns (run length at a frequency in MHz times that frequency),
// power is mW, energy is mW·ns = pJ, probabilities are fractions of 2^32.

export const IMAGE_MAGIC: u32 = 0x494d5456; // "VTMI"
export const IMAGE_VERSION: u32 = 1;
export const IMAGE_HEADER_BYTES: u32 = 32;
export const IMAGE_SECTION_BYTES: u32 = 16;
export const NONE: u32 = 0xffffffff;

/** u64 array indexed by the P_ constants. */
export const SECTION_PARAMS: u32 = 1;
/** Per CPU, 16 B: u32 package, u32 node, u32 llc, u32 reserved. */
export const SECTION_CPUS: u32 = 2;
/** Turbo limit by active cores, 8 B: u32 active cores up to and including, u32 MHz. Ascending; the last row holds for more. */
export const SECTION_TURBO: u32 = 3;
/** Idle states, shallow to deep, 32 B: u64 exit latency ns, u64 target residency ns, u64 power mW, u64 flags (1: counts as inactive for turbo). */
export const SECTION_IDLE_STATES: u32 = 4;
/** Core power while running, 16 B: u64 MHz, u64 mW. Ascending, one row per frequency step; looked up by the nearest row not below. */
export const SECTION_CORE_POWER: u32 = 5;
/** CPU masks, 64 B each (512 bits). Mask 0 is "all CPUs of the machine". */
export const SECTION_MASKS: u32 = 6;
/** Scheduling domains, 8 B: u32 mask index, u32 reserved. They don't overlap. */
export const SECTION_DOMAINS: u32 = 7;
/** Distributions, 64 B: u32 kind, u32 point count, u64 first point index, then six u64 parameters (see the DIST_ constants). */
export const SECTION_DISTRIBUTIONS: u32 = 8;
/** Points of empirical distributions, 16 B: u64 cumulative probability (fraction of 2^32, last = 2^32), u64 value. */
export const SECTION_POINTS: u32 = 9;
/** Instructions, 16 B: u8 op, u8 flags, u16 reg, u32 a, u64 value (see the OP_ constants). */
export const SECTION_PROGRAM: u32 = 10;
/** Tasks that exist from the start, 64 B (see the TT_ offsets). */
export const SECTION_TASKS: u32 = 11;
/** Arrival sources, 128 B (see the SRC_ offsets). */
export const SECTION_SOURCES: u32 = 12;
/** Invocation counts, u32, row-major: source × interval. */
export const SECTION_COUNTS: u32 = 13;
/** Explicit arrivals in time order, ARRIVAL_BYTES each: u64 time ns, u64 duration ns (0 = draw), u32 source, u32 reserved. */
export const SECTION_ARRIVALS: u32 = 14;
/** Job queues, 8 B: u32 capacity (0 = unbounded), u32 reserved. */
export const SECTION_QUEUES: u32 = 15;
/** Barriers and events, 8 B: u32 parties, u32 flags. */
export const SECTION_BARRIERS: u32 = 16;
/** Serverless functions, 64 B (see the FN_ offsets); function i is fed by source i of its kind. */
export const SECTION_FUNCTIONS: u32 = 17;

/** Cgroups of the fair class, 64 B (see the CG_ offsets); parents come before their children. */
export const SECTION_CGROUPS: u32 = 18;
/** What is done to the machine at a time, 32 B in time order: u64 time ns, u32 EVENT_ kind, u32 CPU. */
export const SECTION_EVENTS: u32 = 19;
