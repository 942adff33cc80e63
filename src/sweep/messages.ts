// What the main thread and the workers of a pool tell each other.

import type { ResolvedConfig } from '../config/schema.js';
import type { Engine } from '../engine/module.js';
import type { SharedTrace } from './identity.js';
import type { CellRecord } from './record.js';

/** Given to each worker once. */
export interface WorkerSetup {
  engine: Engine;
  traces: SharedTrace[];
  /** BPF objects by the paths that configs know them by. */
  objects: ReadonlyMap<string, Uint8Array>;
}

/** One cell to simulate. */
export interface CellTask {
  cell_id: string;
  /** Unique among the cells of the sweep. */
  index: number;
  config: ResolvedConfig;
}

/** From a worker, while it works on a cell and when it is done with one. */
export type WorkerMessage =
  | {
      type: 'progress';
      index: number;
      events: number;
      /** Simulated share of the cell, 0…1; 0 if its end is unknown. */
      done: number;
    }
  | {
      type: 'cell';
      index: number;
      outcome: CellRecord['outcome'];
      events: number;
      /** For the journal. */
      line: string;
      /** Arrow IPC file with the rows of output.invocations. */
      invocations?: Uint8Array;
      /** Model image, if the engine failed on it. */
      model?: Uint8Array;
    };
