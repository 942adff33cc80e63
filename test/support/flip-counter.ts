// A command that breaks the engine on purpose: between two slices it flips one bit of a counter through the memory view.

import { runAsCommand } from '../../src/cli/shared.js';
import { configFrom } from '../../src/config/load.js';
import { resolveConfig } from '../../src/config/resolve.js';
import * as abi from '../../src/engine/abi.js';
import { encode } from '../../src/engine/encode.js';
import { Simulation } from '../../src/engine/simulation.js';

await runAsCommand(async () => {
  const config = configFrom({
    machine: 'ideal-2',
    policy: 'global-fifo',
    workload: { arrivals: [{ name: 'jobs', rate: '100/s', spawn: { program: [{ run: '5ms' }] } }] },
    run: { horizon: '10s' },
  });
  const simulation = new Simulation(encode(resolveConfig(config)));
  simulation.step(500);
  if (process.argv[2] !== undefined) {
    const counter = { arrived: abi.R_ARRIVED, completed: abi.R_COMPLETED }[process.argv[2]];
    if (counter === undefined) throw new Error(`no counter ${process.argv[2]}`);
    const bytes = new Uint8Array(simulation.memory.buffer);
    bytes[simulation.countersAddress + counter * 8] ^= 1;
  }
  while (!simulation.done) simulation.step();
  simulation.finish();
});
