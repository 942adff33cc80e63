// Results in memory as the Arrow tables that a store holds.

import { tableFromIPC } from 'apache-arrow';
import { loadEngine } from '../engine/module.js';
import type { CellPlace, ResultTables, SimulationResult, SweepCell } from '../types.js';
import { VERSION } from '../version.js';
import { cellFrom, finishedRecord } from './record.js';
import { ResultTables as TableBuilders } from './tables.js';

/** A single run as the only cell of its sweep. Its id is the hash of its config, which doesn't hash the inputs. */
function cellOf(result: SimulationResult, index: number): SweepCell {
  const { config, provenance } = result;
  const place: CellPlace = {
    cell_id: `${provenance.config_sha256}-${index}`,
    index,
    point: index,
    values: {},
    replication: 0,
    seed: config.seed,
    is_baseline: false,
    config,
    inputs: provenance.inputs.map((input) => ({ kind: 'trace', ...input })),
  };
  return cellFrom(place, finishedRecord(place.cell_id, result, 0));
}

/** Results of `simulate()`, or cells of `sweep()` or of a store, as Arrow tables; rows come in the order given. */
export function resultTables(results: readonly (SimulationResult | SweepCell)[]): ResultTables {
  const cells = results.map((result, i) => ('cell_id' in result ? result : cellOf(result, i)));
  const builders = new TableBuilders(cells);
  for (const cell of cells) builders.add(cell);
  const bytes = builders.bytes({ vtime: VERSION, engine_sha256: loadEngine().sha256 });
  return {
    results: tableFromIPC(bytes['results.arrow']),
    classes: tableFromIPC(bytes['classes.arrow']),
    histograms: tableFromIPC(bytes['histograms.arrow']),
  };
}
