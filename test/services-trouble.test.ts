// What `vtime services run` tells of trouble: deadlocks with their cycle, retry storms, connections that run out; and of power.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { commandLine } from './support/command-line.js';
import { temporaryFolder } from './support/folder.js';

const root = temporaryFolder('trouble');

function run(name: string, text: string, ...args: string[]) {
  const file = join(root, `${name}.yaml`);
  writeFileSync(file, text);
  return commandLine('services', 'run', file, '--quiet', '--workers', '1', ...args);
}

const DEADLOCK = `machines: {m: {cores: 2}}
models:
  s:
    stages: {ask: {time: 1ms, blocks_thread: true}, work: {time: 1ms}}
    paths: {call: {stages: [ask, work]}, serve: {stages: [work]}}
services:
  a: {model: s, instances: {a-1: {machine: m, threads: 1, cores: "0"}}}
  b: {model: s, instances: {b-1: {machine: m, threads: 1, cores: "1"}}}
requests:
  ab:
    probability: 0.5
    nodes:
      begin: {service: a, path: call, to: ask, sync: end, next: [there]}
      there: {service: b, path: serve, next: [end]}
      end: {service: a, path: call, from: work, next: [client]}
  ba:
    probability: 0.5
    nodes:
      begin: {service: b, path: call, to: ask, sync: end, next: [there]}
      there: {service: a, path: serve, next: [end]}
      end: {service: b, path: call, from: work, next: [client]}
client: {load: 300/s}
run: {duration: 10s}
`;

test('two services whose only threads wait for each other: exit code 1 and the cycle', async () => {
  const { exitCode, stdout } = await run('deadlock', DEADLOCK, '--replications', '1');
  assert.is(exitCode, 1);
  assert.match(
    stdout,
    /300\/s: deadlocked\n {2}thread 0 of a-1 is blocked until the reply to request \d+ comes\n/,
  );
  assert.match(stdout, /request \d+ is in the queue of thread 0 of b-1/);
});

/** One server of 1 ms in the mean. */
const QUEUE = `
machines: {m: {cores: 1}}
models: {s: {stages: {work: {time: {exponential: 1ms}, frequency_share: 1}}, paths: {all: {stages: [work]}}}}
services: {s: {model: s, instances: {s-1: {machine: m, threads: 1, cores: "0"}}}}
requests: {r: {nodes: {a: {service: s, next: [client]}}}}
run: {duration: 5s, replications: 1}
`;

test('a retry storm: attempts and requests without a reply', async () => {
  const client = 'client: {load: 900/s, timeout: 5ms, retries: {max: 3}}\n';
  const { stdout } = await run('storm', `${QUEUE}${client}`);
  const [, timeouts, attempts] =
    /([\d.]+) timeouts and ([\d.]+) attempts per request; [\d.]+ % end without/.exec(stdout) ?? [];
  // Every attempt but the first one follows a timeout, and the last one may have one as well.
  assert.ok(Number(attempts) > 1.2 && Number(timeouts) >= Number(attempts) - 1.01, stdout);
});

test('no timeout, no line about it', async () => {
  const { stdout } = await run('patient', `${QUEUE}client: {load: 500/s}\n`);
  assert.not.match(stdout, /timeouts|deadlocked|waited/);
});

test('a pool of one connection between two services: calls wait for it', async () => {
  const { stdout, exitCode, stderr } = await run(
    'pool',
    `
machines: {m: {cores: 9}}
models: {s: {stages: {work: {time: {exponential: 1ms}}}, paths: {all: {stages: [work]}}}}
services:
  front: {model: s, instances: {front-1: {machine: m, threads: 4, cores: 0-3}}}
  back: {model: s, instances: {back-1: {machine: m, threads: 4, cores: 4-7}}}
edges: [{from: front, to: back, pool: 1}]
requests: {r: {nodes: {a: {service: front, next: [b]}, b: {service: back, next: [c]}, c: {service: front, next: [client]}}}}
client: {load: 600/s}
run: {duration: 5s, replications: 1}
`,
  );
  assert.is(exitCode, 0, stderr);
  // One connection that is busy 60 % of the time: so many calls find it taken.
  const [, waited] =
    /([\d.]+) % of the calls from front-1 to back-1 waited for a connection/.exec(stdout) ?? [];
  assert.ok(Number(waited) > 50 && Number(waited) < 70, stdout);
});

test('power management: how often the target is missed, and the frequencies', async () => {
  const { stdout } = await run(
    'power',
    `${QUEUE}client: {load: 100/s}\npower: {target: 50ms, interval: 200ms}\n`,
  );
  assert.match(
    stdout,
    /100\/s: target missed in [\d.]+ % of the intervals, median tail [\d.]+ ms; s [\d,]+ MHz/,
  );
});

test.run();
