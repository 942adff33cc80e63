// M/M/48 at a load of 0.9: customers per second of the engine, of a textbook program in C++ and of SimPy, in turn on one
// CPU. The engine runs examples/mm48.yaml as it stands, over a shorter time.

import { loadConfig } from '../src/config/load.js';
import { resolveConfig } from '../src/config/resolve.js';
import * as abi from '../src/engine/abi.js';
import { decode } from '../src/engine/decode.js';
import { encode } from '../src/engine/encode.js';
import { Simulation } from '../src/engine/simulation.js';
import { circumstances, compileNative, cpuTimeNs, formatSpread, pin, runJson, spread } from './measure.js';

const ROUNDS = 5;
const LEAST_TIMES_SIMPY = 20;
/** Erlang C with 48 servers and 43.2 erlangs, divided by 48 − 43.2. */
const THEORY = 0.0776;
const NATIVE_CUSTOMERS = 4_000_000;
const SIMPY_CUSTOMERS = 200_000;
const PYTHON = '/usr/bin/python3';

interface Run {
  customers: number;
  seconds: number;
  /** In mean services. */
  mean_wait: number;
  version?: string;
}

const config = loadConfig('examples/mm48.yaml');
config.run.horizon = '100000s';
const resolved = resolveConfig(config);

function runEngine(): Run {
  const model = encode(resolved);
  const simulation = new Simulation(model);
  const seconds =
    cpuTimeNs(() => {
      while (!simulation.done) simulation.step();
    }) / 1e9;
  simulation.finish();
  const { metrics } = decode(simulation.memory, simulation.result(), model);
  return {
    customers: simulation.counter(abi.R_COMPLETED),
    seconds,
    mean_wait: (metrics.latency_ms.mean - metrics.cpu_ms) / 1000,
  };
}

function runSimpy(seed: number): Run {
  try {
    return runJson<Run>(PYTHON, 'bench/native/mm48_simpy.py', String(SIMPY_CUSTOMERS), String(seed));
  } catch (error) {
    throw new Error(`SimPy is needed (Debian: apt-get install python3-simpy3): ${(error as Error).message}`);
  }
}

console.log(circumstances());
pin();
const native = compileNative('mm48');
// Takes V8 to its optimising tier.
runEngine();
const rounds = Array.from({ length: ROUNDS }, (_, i) => ({
  native: runJson<Run>(native, String(NATIVE_CUSTOMERS), String(i + 1)),
  engine: runEngine(),
  simpy: runSimpy(i + 1),
}));

const rate = ({ customers, seconds }: Run) => customers / seconds;
console.log(`SimPy ${rounds[0].simpy.version}; mean wait by theory ${THEORY}`);
for (const name of ['simpy', 'native', 'engine'] as const) {
  const runs = rounds.map((round) => round[name]);
  const wait = runs.reduce((sum, { mean_wait }) => sum + mean_wait, 0) / runs.length;
  const millions = spread(runs.map((run) => rate(run) / 1e6));
  console.log(`${name.padEnd(7)} ${formatSpread(millions, 3)} M customers/s, mean wait ${wait.toFixed(4)}`);
}
const ratio = (name: 'simpy' | 'native') =>
  spread(rounds.map((round) => rate(round.engine) / rate(round[name])));
console.log(`engine / SimPy   ${formatSpread(ratio('simpy'), 1)}, at least ${LEAST_TIMES_SIMPY}`);
console.log(`engine / C++     ${formatSpread(ratio('native'))}`);
if (ratio('simpy').median < LEAST_TIMES_SIMPY) process.exit(1);
