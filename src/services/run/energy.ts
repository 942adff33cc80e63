// What machines have used, over the replications of a point: from the start of a run to its end, its warm-up included.

import type { ServicesResult } from '../../engine/services.js';
import { type Estimate, estimate } from '../../report/statistics.js';
import type { ResolvedServices } from '../resolved.js';

export interface MachineEnergy {
  name: string;
  /** Mean power of its cores, and of what its packages have beside them. */
  cores_w?: Estimate;
  uncore_w?: Estimate;
  joules?: Estimate;
  /** Share of its cores' time in each idle state, shallow to deep. */
  idle: { state: string; share: number }[];
}

export interface EnergySummary {
  machines: MachineEnergy[];
  /** Of all machines: energy, mean power, energy per completed request. */
  joules?: Estimate;
  watts?: Estimate;
  joules_per_request?: Estimate;
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]) => sum(values) / values.length;

/** Nothing without a machine profile. */
export function energyOf(
  results: readonly ServicesResult[],
  { machines }: ResolvedServices,
): { energy?: EnergySummary } {
  if (results[0].machines.length === 0) return {};
  const totals = results.map(({ machines: used }) =>
    sum(used.map(({ cores_j, uncore_j }) => cores_j + uncore_j)),
  );
  const seconds = results.map(({ end_ns }) => end_ns * 1e-9);
  return {
    energy: {
      machines: results[0].machines.map(({ machine, cpus, idle_ns }, i) => {
        const own = results.map(({ machines: used }) => used[i]);
        return {
          name: machines[machine].name,
          cores_w: estimate(own.map(({ cores_j }, r) => cores_j / seconds[r])),
          uncore_w: estimate(own.map(({ uncore_j }, r) => uncore_j / seconds[r])),
          joules: estimate(own.map(({ cores_j, uncore_j }) => cores_j + uncore_j)),
          idle: idle_ns.map(({ state }, s) => ({
            state,
            share: mean(own.map(({ idle_ns: times }, r) => times[s].ns / (cpus * results[r].end_ns))),
          })),
        };
      }),
      joules: estimate(totals),
      watts: estimate(totals.map((total, r) => total / seconds[r])),
      joules_per_request: estimate(totals.map((total, r) => total / Math.max(1, results[r].completed))),
    },
  };
}
