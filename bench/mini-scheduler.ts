// The mini-scheduler workload on the engine beside the same in native C++, interleaved on one CPU. The engine runs the
// example as anyone would: config, model image, slices. Fails if the two took one different decision.

import { loadConfig } from '../src/config/load.js';
import { resolveConfig } from '../src/config/resolve.js';
import { durationNs, hertz } from '../src/config/units.js';
import * as abi from '../src/engine/abi.js';
import { decode } from '../src/engine/decode.js';
import { encode } from '../src/engine/encode.js';
import { Simulation } from '../src/engine/simulation.js';
import type { HistogramKind } from '../src/types.js';
import { circumstances, compileNative, cpuTimeNs, formatSpread, pin, runJson, spread } from './measure.js';

const PAIRS = 7;
const MOST_TIMES_NATIVE = 4;

interface Total {
  count: number;
  sum_ns: string;
}

/** What both sides count, and the digest over every (time, CPU, task, decision). */
interface Run {
  events: number;
  ns_per_event: number;
  digest: string;
  completed: number;
  dropped: number;
  steals: number;
  preemptions: number;
  wait: Total;
  response: Total;
}

const config = loadConfig('examples/mini-scheduler.yaml');
const resolved = resolveConfig(config);

/**
 * Events of the engine's own that have no counterpart in the reference: the watchdog looks at the tasks every half timeout,
 * and the load average is updated every 5 HZ + 1 ticks.
 */
function systemEvents(simulated_ns: number): number {
  const hz = hertz(resolved.kernel.hz);
  const watchdog_ns = Number(durationNs(resolved.kernel.watchdog_timeout)) / 2;
  const loadAverage_ns = (5 * hz + 1) * (1e9 / hz);
  return Math.floor(simulated_ns / watchdog_ns) + Math.floor(simulated_ns / loadAverage_ns);
}

function runEngine(): Run {
  const model = encode(resolved);
  const simulation = new Simulation(model);
  const elapsed = cpuTimeNs(() => {
    while (!simulation.done) simulation.step();
  });
  const events = simulation.counter(abi.R_EVENTS) - systemEvents(Number(model.horizon_ns));
  simulation.finish();
  const { metrics, histograms } = decode(simulation.memory, simulation.result(), model);
  const total = (wanted: HistogramKind): Total => {
    const ofClasses = histograms.filter(({ kind, class: name }) => kind === wanted && name !== '');
    return {
      count: ofClasses.reduce((sum, { histogram }) => sum + histogram.count, 0),
      sum_ns: String(ofClasses.reduce((sum, { histogram }) => sum + histogram.sum, 0n)),
    };
  };
  const { schedule_digest: digest, completed, dropped, steals, preemptions } = metrics;
  return {
    events,
    ns_per_event: elapsed / events,
    digest,
    completed,
    dropped,
    steals,
    preemptions,
    wait: total('wake_latency'),
    response: total('response'),
  };
}

const native = compileNative('mini_scheduler');
const runNative = () => runJson<Run>(native, String(durationNs(resolved.run.horizon)), String(resolved.seed));

function compare(engine: Run, reference: Run): boolean {
  const counted = ({ ns_per_event: _, ...rest }: Run) => JSON.stringify(rest);
  if (counted(engine) === counted(reference)) return true;
  console.error('engine and reference differ:');
  console.error(`  engine    ${counted(engine)}`);
  console.error(`  reference ${counted(reference)}`);
  return false;
}

const pinned = pin();
console.log(`${circumstances()}${pinned ? ', pinned to one CPU' : ''}`);
// The first run takes V8 to its optimising tier and the files into memory; it is compared but not measured.
let equal = compare(runEngine(), runNative());
const pairs: { engine: Run; reference: Run }[] = [];
for (let i = 0; equal && i < PAIRS; i++) {
  const reference = runNative();
  const engine = runEngine();
  equal = compare(engine, reference);
  pairs.push({ engine, reference });
  console.log(
    `pair ${i + 1}: native ${reference.ns_per_event.toFixed(1)} ns/event, engine ${engine.ns_per_event.toFixed(1)}, ` +
      `ratio ${(engine.ns_per_event / reference.ns_per_event).toFixed(2)}`,
  );
}
if (!equal) process.exit(1);
const [{ engine }] = pairs;
const ratio = spread(pairs.map((pair) => pair.engine.ns_per_event / pair.reference.ns_per_event));
console.log(`${engine.events} events of each, ${engine.completed} jobs, digest ${engine.digest}: equal`);
console.log(`native  ${formatSpread(spread(pairs.map((pair) => pair.reference.ns_per_event)), 1)} ns/event`);
console.log(`engine  ${formatSpread(spread(pairs.map((pair) => pair.engine.ns_per_event)), 1)} ns/event`);
console.log(`ratio   ${formatSpread(ratio)} of ${PAIRS} pairs, at most ${MOST_TIMES_NATIVE}`);
if (ratio.median > MOST_TIMES_NATIVE) process.exit(1);
