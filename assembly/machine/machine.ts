// The machine as a whole: takes over the model's tables and starts a run.

import { P_HZ } from '../abi';
import {
  FREQUENCY_TIME,
  IDLE_TABLE,
  MAX_IDLE_STATES,
  MAX_POWER_ROWS,
  MAX_TURBO_ROWS,
  PARAMS,
  POWER_TABLE,
  TURBO_TABLE,
} from '../core/layout';
import { frequencyReset } from './frequency';
import {
  cpuOffset,
  MC_BUSY_NS,
  MC_ENERGY,
  MC_HISTORY_LENGTH,
  MC_IDLE_ENTRIES,
  MC_IDLE_NS,
  MC_IDLE_SINCE,
  MC_PROMOTE_AT,
  MC_PROMOTED,
  MC_SINCE,
  MC_STATE,
  MP_ACTIVE,
  MP_BUSY,
  MP_DIRTY,
  MP_ENERGY,
  MP_IDLE_TIME,
  MP_QUIET_AT,
  MP_SINCE,
  MS_CPUS,
  MS_IDLE_STATES,
  MS_PACKAGES,
  MS_POWER_ROWS,
  MS_TICK_NS,
  MS_TURBO_ROWS,
  NEVER,
  packageOffset,
} from './record';

/** Takes over SECTION_TURBO, _IDLE_STATES and _CORE_POWER (abi/). False if one has more rows than there is room for. */
export function machineLoadTables(
  turbo: usize,
  turboRows: u32,
  idle: usize,
  idleStates: u32,
  power: usize,
  powerRows: u32,
): bool {
  if (turboRows > MAX_TURBO_ROWS || idleStates > MAX_IDLE_STATES || powerRows > MAX_POWER_ROWS) return false;
  memory.copy(TURBO_TABLE, turbo, (turboRows as usize) << 3);
  memory.fill(IDLE_TABLE, 0, 32);
  memory.copy(IDLE_TABLE, idle, (idleStates as usize) << 5);
  memory.copy(POWER_TABLE, power, (powerRows as usize) << 4);
  store<u32>(MS_TURBO_ROWS, turboRows);
  store<u32>(MS_IDLE_STATES, max(idleStates, 1));
  store<u32>(MS_POWER_ROWS, powerRows);
  return true;
}

/**
 * Start of a run at time 0, after parameters, topologyLoad and machineLoadTables: all CPUs have long been idle, in
 * their deepest state and at their lowest frequency (performance: at the limit), all uncores are quiet.
 */
export function machineReset(): void {
  const hz = load<u64>(PARAMS + P_HZ * 8);
  store<u64>(MS_TICK_NS, hz == 0 ? 0 : 1_000_000_000 / hz);
  memory.fill(FREQUENCY_TIME, 0, 1024 * 8);
  const deepest = load<u32>(MS_IDLE_STATES) - 1;
  for (let cpu: u32 = 0, cpus = load<u32>(MS_CPUS); cpu < cpus; cpu++) {
    const c = cpuOffset(cpu);
    store<u32>(c, deepest, MC_STATE);
    store<u32>(c, deepest, MC_PROMOTED);
    store<u64>(c, NEVER, MC_PROMOTE_AT);
    store<u64>(c, 0, MC_SINCE);
    store<u64>(c, 0, MC_ENERGY);
    store<u64>(c, 0, MC_BUSY_NS);
    store<u64>(c, 0, MC_IDLE_NS);
    store<u64>(c, 0, MC_IDLE_ENTRIES);
    store<u64>(c, 0, MC_IDLE_SINCE);
    store<u32>(c, 0, MC_HISTORY_LENGTH);
  }
  for (let pkg: u32 = 0, packages = load<u32>(MS_PACKAGES); pkg < packages; pkg++) {
    const p = packageOffset(pkg);
    store<u32>(p, 0, MP_BUSY);
    store<u32>(p, 0, MP_ACTIVE);
    store<u32>(p, 0, MP_DIRTY);
    store<u64>(p, 0, MP_SINCE);
    store<u64>(p, 0, MP_ENERGY);
    store<u64>(p, 0, MP_QUIET_AT);
    memory.fill(p + MP_IDLE_TIME, 0, 64);
  }
  frequencyReset();
}
