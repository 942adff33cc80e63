// What ran while a task starved. The run is repeated with its decisions recorded: it is deterministic, so nothing has to be
// kept while nobody knows yet that a task will starve.

import * as abi from './abi.js';
import { decisionsOf } from './decision-records.js';
import type { EncodedModel } from './encode.js';
import { readSections } from './image.js';
import { Simulation, takeTurn } from './simulation.js';

/** Stays on a CPU that one task began. */
export interface Stays {
  slot: number;
  /** Statistics class. */
  stats: number;
  count: number;
}

/** The model with recording of decisions switched on; `level` DECISIONS_DETAILED: with queues, waits and costs. */
export function recording(model: EncodedModel, level = 1): EncodedModel {
  const image = model.image.slice();
  const view = new DataView(image.buffer);
  const params = readSections(view, 0).get(abi.SECTION_PARAMS)!;
  view.setBigUint64(params.offset + params.stride * abi.P_DECISIONS, BigInt(level), true);
  return { ...model, image };
}

/** Who began to run on one of the CPUs from `since_ns` to the failure of the run, most often first. */
export async function staysSince(
  model: EncodedModel,
  since_ns: number,
  cpus: ReadonlySet<number>,
  signal?: AbortSignal,
): Promise<Stays[]> {
  const simulation = new Simulation(recording(model));
  const stays = new Map<string, Stays>();
  try {
    for (let slice = 1; !simulation.done; slice++) {
      simulation.step();
      const records = decisionsOf(simulation.drainDecisions());
      for (const { kind, time, cpu, task: slot, value: stats } of records) {
        if (kind !== abi.DECISION_RUN || time < since_ns || !cpus.has(cpu)) continue;
        const key = `${slot} ${stats}`;
        const known = stays.get(key);
        if (known === undefined) stays.set(key, { slot, stats, count: 1 });
        else known.count++;
      }
      await takeTurn(slice, signal);
    }
  } finally {
    simulation.close();
  }
  return [...stays.values()].sort((a, b) => b.count - a.count || a.slot - b.slot || a.stats - b.stats);
}
