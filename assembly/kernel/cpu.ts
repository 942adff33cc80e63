// CPU records. Handle c = cpu << CPU_SHIFT.
//
//     0  4 × u64 lanes       event keys: completion, idle exit, tick, balance (kernel/events.ts)
//    32  u32 curr            running task, 0 = idle
//    36  u32 flags           CPU_… below
//    40  u64 state_since     busy/idle time is integrated up to here
//    48  u64 busy_ns
//    56  u64 idle_ns
//    64  u64 overhead_ns     switch, migration and dispatch costs, part of busy_ns
//    72  u64 work_begin      from here on the running task makes progress (later than now while costs are paid)
//    80  u64 switches
//    88  u64 migrations_in
//    96  u32 mhz             frequency the running task was timed with
//   100  u32 cold_ns         exit latency of the idle state just left
//   104  u64 cost            costs of the current switch, for attribution
//   112  u32 nr_ext          ext tasks on this run queue (running or queued anywhere)
//   116  u32 reserved
//   128  128 B fair run queue (kernel/fairrq.ts)
//   256  256 B load balancing (kernel/scheddomain.ts)

import { CPUS } from '../core/layout';

export const CPU_LANES: usize = CPUS + 0;
export const CPU_CURR: usize = CPUS + 32;
export const CPU_FLAGS: usize = CPUS + 36;
export const CPU_STATE_SINCE: usize = CPUS + 40;
export const CPU_BUSY_NS: usize = CPUS + 48;
export const CPU_IDLE_NS: usize = CPUS + 56;
export const CPU_OVERHEAD_NS: usize = CPUS + 64;
export const CPU_WORK_BEGIN: usize = CPUS + 72;
export const CPU_SWITCHES: usize = CPUS + 80;
export const CPU_MIGRATIONS: usize = CPUS + 88;
export const CPU_MHZ: usize = CPUS + 96;
export const CPU_COLD_NS: usize = CPUS + 100;
export const CPU_COST: usize = CPUS + 104;
export const CPU_NR_EXT: usize = CPUS + 112;
/** Fair run queue: fields are named in kernel/fairrq.ts. */
export const CPU_FAIR: usize = CPUS + 128;
/** Load balancing: fields are named in kernel/scheddomain.ts. */
export const CPU_BALANCE: usize = CPUS + 256;

/** It is leaving an idle state; schedule() runs at the idle-exit event. */
export const CPU_WAKING: u32 = 1;
export const CPU_OFFLINE: u32 = 2;
/** What it runs may no longer be allowed here: schedule() looks (kernel/affinity.ts). */
export const CPU_PUSHES: u32 = 4;
