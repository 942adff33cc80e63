// What feeds the kernel: arrival sources (SECTION_SOURCES) and serverless functions (SECTION_FUNCTIONS).

export const SRC_STRIDE: u32 = 128;
/** u32 SOURCE_ kind */
export const SRC_KIND: u32 = 0;
/** u32 DELIVER_ kind */
export const SRC_DELIVER: u32 = 4;
/** u32 task template (spawn), queue (send) or function */
export const SRC_TARGET: u32 = 8;
/** u32 most jobs alive at once, 0 = no limit; others are dropped */
export const SRC_LIMIT: u32 = 12;
/** u32 inter-arrival distribution (SOURCE_RENEWAL), or think time (SOURCE_CLOSED) */
export const SRC_DIST: u32 = 16;
/** u32 duration distribution, NONE = the program has its own lengths */
export const SRC_DURATION: u32 = 20;
/** u32 row of SECTION_COUNTS */
export const SRC_COUNT_ROW: u32 = 24;
/** u32 clients of a closed source */
export const SRC_CLIENTS: u32 = 28;
/** u64 most arrivals, 0 = no limit */
export const SRC_MAX_ARRIVALS: u32 = 32;
/** u64 first arrival not before, ns */
export const SRC_START: u32 = 40;
/** u32 statistics class */
export const SRC_STATS: u32 = 48;
/** u32 domain of the spawned tasks: NONE (the template's), a domain, DOMAIN_ROUND_ROBIN or DOMAIN_RANDOM */
export const SRC_DOMAIN: u32 = 52;
/** u32 jobs per arrival (SOURCE_RENEWAL) */
export const SRC_BATCH: u32 = 56;

export const DOMAIN_ROUND_ROBIN: u32 = 0xfffffffe;
export const DOMAIN_RANDOM: u32 = 0xfffffffd;

export const SOURCE_RENEWAL: u32 = 0;
export const SOURCE_COUNTS: u32 = 1;
export const SOURCE_LIST: u32 = 2;
export const SOURCE_CLOSED: u32 = 3;
/** From the window of arrivals that the host refills; rows as in SECTION_ARRIVALS, by time and then by source. */
export const SOURCE_STREAM: u32 = 4;

export const ARRIVAL_BYTES: u32 = 24;

export const DELIVER_SPAWN: u32 = 0;
export const DELIVER_QUEUE: u32 = 1;
export const DELIVER_FUNCTION: u32 = 2;

// ---- serverless functions (SECTION_FUNCTIONS) -----------------------------------------------------------

export const FN_STRIDE: u32 = 64;
/** u32 first instruction of the worker task: receives from its own queue, runs the profile, OP_CONTROL, jumps back */
export const FN_PC: u32 = 0;
/** u32 CPUs an invocation asks for */
export const FN_CPUS: u32 = 4;
/** u32 prewarmed containers */
export const FN_CONTAINERS: u32 = 8;
/** u32 statistics class */
export const FN_STATS: u32 = 12;
/** u64 inter-arrival time known before the run, ns (0 = none) */
export const FN_IAT: u32 = 16;
/** u64 hash of the function's name */
export const FN_HASH: u32 = 24;
/** u32 1: busy poller */
export const FN_POLLER: u32 = 32;
/** u32 domain of ASSIGN_STATIC, NONE = unmapped */
export const FN_DOMAIN: u32 = 36;
/** u64 execution time expected before any has been seen, ns */
export const FN_EXPECTED: u32 = 40;
/** u32 first instruction of a new container's worker task: receives, does the cold start's work, OP_CONTROL, jumps to FN_PC */
export const FN_COLD_PC: u32 = 48;
/** u32 memory of a container, MB */
export const FN_MEMORY_MB: u32 = 52;
