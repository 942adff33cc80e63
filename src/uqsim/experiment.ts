// What an experiment of `vtime uqsim` is: runs, and what they say about a claim.

import type { ServicesResult } from '../engine/services.js';
import type { Figure } from '../report/panels.js';
import { loadServices } from '../services/load.js';
import { planRuns, type RunOptions } from '../services/run/cells.js';
import { type RunPool, RunsProgress } from '../services/run/pool.js';
import { type RunSummary, summariseRuns } from '../services/run/summary.js';
import { type Services, type ServicesInput, servicesSchema } from '../services/schema.js';
import { DATA } from './data.js';

/** `fitted`: a parameter was chosen so that it comes out; `shown`: nothing in the sources to hold it against. */
export type Outcome = 'confirmed' | 'refuted' | 'fitted' | 'shown';

export interface Verdict {
  claim: string;
  found: string;
  outcome: Outcome;
}

export interface ResultTable {
  title?: string;
  header: string[];
  rows: string[][];
  note?: string;
}

export interface ExperimentResult {
  verdicts: Verdict[];
  tables: ResultTable[];
  figures: Figure[];
  /** Paragraphs. */
  text: string[];
}

export interface Experiment {
  id: string;
  title: string;
  /** Of the paper. */
  source: string;
  run(context: Context): Promise<ExperimentResult>;
}

export interface ContextOptions {
  quick: boolean;
  /** Runs that don't depend on one another go there together. */
  pool: RunPool;
  onProgress?: (progress: RunsProgress) => void;
}

/** What one experiment runs on. */
export class Context {
  readonly quick: boolean;
  readonly #pool: RunPool;
  readonly #onProgress: ContextOptions['onProgress'];
  readonly #progress = new RunsProgress();
  /** Requests simulated so far. */
  requests = 0;

  constructor({ quick, pool, onProgress }: ContextOptions) {
    this.quick = quick;
    this.#pool = pool;
    this.#onProgress = onProgress;
  }

  /** The first value in a quick run, the second in a full one. */
  choose<Value>(quick: Value, full: Value): Value {
    return this.quick ? quick : full;
  }

  /** A model of data/uqsim, as the reference was measured with: 320 connections, 65 µs everywhere. */
  released(folder: string): Services {
    return loadServices(`${DATA}/${folder}`);
  }

  model(input: ServicesInput): Services {
    return servicesSchema.parse(input);
  }

  async #ran(services: Services, options: RunOptions) {
    const plan = planRuns(services, options);
    const models = plan.cells.map((cell) => cell.services);
    const note = this.#progress.add(models.length);
    const ran = await this.#pool.run(models, (index, done, events) => {
      note(index, done, events);
      this.#onProgress?.(this.#progress);
    });
    this.requests += ran.reduce((sum, { result }) => sum + result.arrived, 0);
    return { plan, ran };
  }

  async run(services: Services, options: RunOptions): Promise<RunSummary> {
    const { plan, ran } = await this.#ran(services, options);
    return summariseRuns(plan, ran);
  }

  /** The results themselves, in the order of loads, then seeds. */
  async results(services: Services, options: RunOptions): Promise<ServicesResult[]> {
    const { ran } = await this.#ran(services, options);
    return ran.map(({ result }) => result);
  }
}

/** One after the other in the result, all at once in the pool. */
export const together = <Item, Result>(
  items: readonly Item[],
  run: (item: Item) => Promise<Result>,
): Promise<Result[]> => Promise.all(items.map(run));

export const judged = (claim: string, found: string, holds: boolean): Verdict => ({
  claim,
  found,
  outcome: holds ? 'confirmed' : 'refuted',
});
