// Events per second in the cells of `npm start`: examples/azure.yaml, one seed. Then a part of them, with all seeds, as a
// sweep on one and on two workers, in turn: what the second core brings.

import { loadConfig } from '../src/config/load.js';
import * as abi from '../src/engine/abi.js';
import { encode } from '../src/engine/encode.js';
import { readTraces } from '../src/engine/simulate.js';
import { Simulation } from '../src/engine/simulation.js';
import { type Cell, expandSweep } from '../src/sweep/grid.js';
import { sweep } from '../src/sweep/sweep.js';
import { circumstances, cpuTimeNs, formatSpread, spread } from './measure.js';

const ROUNDS = 3;

const config = loadConfig('examples/azure.yaml');
config.sweep!.replications = 1;

interface Speed {
  events: number;
  seconds: number;
}

function add(a: Speed, b: Speed): Speed {
  return { events: a.events + b.events, seconds: a.seconds + b.seconds };
}

async function speedOf(cell: Cell): Promise<Speed> {
  const { trace, times } = await readTraces(cell.config);
  const simulation = new Simulation(encode(cell.config, trace, times));
  const elapsed = cpuTimeNs(() => {
    while (!simulation.done) simulation.step();
  });
  return { events: simulation.counter(abi.R_EVENTS), seconds: elapsed / 1e9 };
}

/** "eevdf", "domains:4". */
function policyName({ config: { policy } }: Cell): string {
  return policy.name === 'domains' ? `domains:${policy.domains}` : policy.name;
}

function text({ events, seconds }: Speed): string {
  return `${(events / 1e6).toFixed(2)} M at ${(events / seconds / 1e6).toFixed(1)} M/s`;
}

async function table(): Promise<void> {
  const cells = expandSweep(config);
  // Takes V8 to its optimising tier.
  await speedOf(cells[0]);
  const rows = new Map<string, Map<string, Speed>>();
  let total: Speed = { events: 0, seconds: 0 };
  for (const cell of cells) {
    const policy = policyName(cell);
    const load = String(cell.values['workload.serverless.offered_load']);
    const speed = await speedOf(cell);
    const row = rows.get(policy) ?? new Map<string, Speed>();
    rows.set(policy, row.set(load, add(row.get(load) ?? { events: 0, seconds: 0 }, speed)));
    total = add(total, speed);
  }
  console.log('events and events per second of CPU time, cells of one policy and load added up:');
  const loads = [...rows.values().next().value!.keys()];
  console.log(`| policy | ${loads.map((load) => `load ${load}`).join(' | ')} |`);
  console.log(`|---|${loads.map(() => '---').join('|')}|`);
  for (const [policy, row] of rows) {
    console.log(`| ${policy} | ${[...row.values()].map(text).join(' | ')} |`);
  }
  console.log(`all ${cells.length} cells: ${text(total)}`);
}

/** EEVDF and one domain at every load with all seeds: enough cells that the last one to finish doesn't decide. */
const part = loadConfig('examples/azure.yaml');
part.sweep = { ...part.sweep!, cases: part.sweep!.cases!.slice(0, 2) };

/** Wall time of the sweep from the first cell to the last, s: starting the workers is part of it. */
async function sweepSeconds(workers: number): Promise<number> {
  const begin = performance.now();
  for await (const cell of sweep(part, { workers })) {
    if (cell.outcome === 'failed') throw new Error(`cell ${cell.index} failed`);
  }
  return (performance.now() - begin) / 1000;
}

async function workers(): Promise<void> {
  const times: { one: number; two: number }[] = [];
  for (let i = 0; i < ROUNDS; i++) times.push({ one: await sweepSeconds(1), two: await sweepSeconds(2) });
  console.log(`sweep, wall time: one worker ${formatSpread(spread(times.map(({ one }) => one)))} s`);
  console.log(`                  two workers ${formatSpread(spread(times.map(({ two }) => two)))} s`);
  console.log(`two against one: × ${formatSpread(spread(times.map(({ one, two }) => one / two)))}`);
}

console.log(circumstances());
await table();
await workers();
