// What parts of the engine cost as they grow: operations on a DSQ by its length, an event by the number of tasks,
// memory by the number of tasks.

import { configFrom } from '../src/config/load.js';
import { resolveConfig } from '../src/config/resolve.js';
import * as abi from '../src/engine/abi.js';
import { encode } from '../src/engine/encode.js';
import { Simulation } from '../src/engine/simulation.js';
import { loadUnits } from '../test/support/units.js';
import { circumstances, cpuTimeNs, formatSpread, pin, runJson, spread } from './measure.js';

const REPEATS = 5;
const QUEUED = [10, 1000, 100_000];
const TASKS = [100, 1000, 10_000, 100_000];
const EVENTS = 4_000_000;
const SLICE_OPERATIONS = 20_000;

const units = loadUnits('dsq_cost');

/** ns per operation of a loop in test/assembly/dsq_cost.ts, called in slices so that V8 optimises it. */
function perOperation(loop: string, times: number): number {
  const slice = Math.min(times, SLICE_OPERATIONS);
  const slices = Math.ceil(times / slice);
  const elapsed = cpuTimeNs(() => {
    for (let i = 0; i < slices; i++) units.call(loop, slice);
  });
  return elapsed / (slices * slice);
}

function operations(): void {
  units.call('fillFifo', 1000);
  const draw = spread(
    Array.from({ length: REPEATS }, () =>
      cpuTimeNs(() => {
        for (let i = 0; i < 100; i++) units.call64('drawOnly', SLICE_OPERATIONS);
      }),
    ),
  ).median;
  const draw_ns = draw / (100 * SLICE_OPERATIONS);
  console.log(
    `DSQ, ns per operation, median (min–max) of ${REPEATS}; ${draw_ns.toFixed(1)} ns of it are the new vtime's draw`,
  );
  const measure = (fill: () => void, loop: string, times: number) => {
    fill();
    perOperation(loop, Math.min(times, SLICE_OPERATIONS));
    return formatSpread(spread(Array.from({ length: REPEATS }, () => perOperation(loop, times))), 1);
  };
  for (const n of QUEUED) {
    const fifo = measure(() => units.call('fillFifo', n), 'serveFifo', 2_000_000);
    const vtime = measure(() => units.call('fillVtime', n), 'serveVtime', 2_000_000);
    const requeue = measure(() => units.call('fillVtime', n), 'requeueVtime', 1_000_000);
    const pinned = Math.floor(n * 0.99);
    const skipping = measure(
      () => units.call('fillPinned', n, pinned),
      'serveVtime',
      Math.max(20, Math.round(1_000_000 / n)),
    );
    console.log(
      `${String(n).padStart(7)} queued: FIFO serve ${fifo}, vtime serve ${vtime}, requeue any ${requeue}, ` +
        `serve past ${pinned} pinned elsewhere ${skipping}`,
    );
  }
}

/** Closed tasks that keep half of 48 CPUs busy, whatever their number: 1 ms of CPU, then asleep. */
function closed(count: number): Simulation {
  const sleep_us = Math.round((count / 24) * 1000 - 1000);
  const config = configFrom({
    name: `${count} tasks`,
    machine: 'ideal-48',
    policy: { name: 'weighted-vtime', domains: 8, slice: '3ms', steal: 'longest' },
    workload: {
      programs: {
        closed: [
          {
            loop: {
              times: 'forever',
              do: [{ sleep: { exponential: `${sleep_us}us` } }, { run: { exponential: '1ms' } }],
            },
          },
        ],
      },
      tasks: [{ name: 'closed', count, program: 'closed', domain: 'spread' }],
    },
    run: { end: 'horizon', horizon: '10000s' },
  });
  return new Simulation(encode(resolveConfig(config)));
}

function eventCost(count: number): number {
  const simulation = closed(count);
  // Past the common start, where every task is queued.
  while (simulation.time_ns < 1_000_000_000n + BigInt(count) * 42_000n * 3n) simulation.step();
  const before = simulation.counter(abi.R_EVENTS);
  const elapsed = cpuTimeNs(() => {
    while (simulation.counter(abi.R_EVENTS) < before + EVENTS) simulation.step();
  });
  return elapsed / (simulation.counter(abi.R_EVENTS) - before);
}

function events(): void {
  eventCost(TASKS[0]);
  const costs = TASKS.map((count) => spread(Array.from({ length: REPEATS }, () => eventCost(count))));
  TASKS.forEach((count, i) => {
    console.log(`${String(count).padStart(7)} tasks: ${formatSpread(costs[i], 1)} ns per event`);
  });
  console.log(
    `from ${TASKS[0]} to ${TASKS.at(-1)} tasks: × ${(costs.at(-1)!.median / costs[0].median).toFixed(2)}`,
  );
}

/** Resident memory that a simulation of so many tasks adds to a process, bytes. */
function resident(count: number): number {
  const before = process.memoryUsage.rss();
  const simulation = closed(count);
  while (simulation.time_ns < 2_000_000_000n) simulation.step();
  return process.memoryUsage.rss() - before;
}

/** Each in a process of its own: what an earlier simulation leaves behind would hide what a later one needs. */
function memory(): void {
  const [few, many] = [TASKS[0], TASKS.at(-1)!].map((count) =>
    runJson<number>(process.execPath, process.argv[1], '--resident', String(count)),
  );
  const perTask = (many - few) / (TASKS.at(-1)! - TASKS[0]);
  const mebibytes = (bytes: number) => (bytes / 2 ** 20).toFixed(1);
  console.log(
    `memory: ${mebibytes(few)} MiB with ${TASKS[0]} tasks, ${mebibytes(many)} MiB with ${TASKS.at(-1)}: ` +
      `${perTask.toFixed(0)} B per task`,
  );
}

if (process.argv[2] === '--resident') {
  console.log(resident(Number(process.argv[3])));
} else {
  console.log(circumstances());
  pin();
  operations();
  events();
  memory();
}
