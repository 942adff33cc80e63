// Services in dedicated mode: requests per CPU second on the µqSim release's folders and on a fan-out to a thousand, and the memory
// of the engine. The release's own figures beside them are those of its optimised build on another machine (data/uqsim/ORIGIN.md), or,
// with --release PROGRAM (a build of the release, https://github.com/zyqCSL/uqsim-power-management-beta), measured in turn here.

import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as abi from '../src/engine/abi.js';
import { encodeServices } from '../src/engine/services-model.js';
import { Simulation } from '../src/engine/simulation.js';
import { loadServices } from '../src/services/load.js';
import { resolveServices } from '../src/services/resolve.js';
import type { Services } from '../src/services/schema.js';
import { circumstances, cpuTimeNs, formatSpread, pin, spread } from './measure.js';

const ROUNDS = 5;
/** Goal: so many times the release. */
const GOAL = 5;
/** The release aborts now and then (defect B5). */
const RELEASE_ATTEMPTS = 5;
const FOLDERS = 'data/uqsim';
const MB = 1024 * 1024;

interface Case {
  name: string;
  folder: string;
  kqps: number;
  seconds: number;
  /** Requests per CPU second of the release's optimised build, where it was measured before. */
  release: number;
  /** Length of a run of the release. */
  release_seconds: number;
}

const CASES: Case[] = [
  {
    name: '2-tier',
    folder: '2tier_ngx_8_memc_4',
    kqps: 120,
    seconds: 8,
    release: 99_000,
    release_seconds: 2,
  },
  { name: '3-tier', folder: '3tier', kqps: 3, seconds: 200, release: 91_000, release_seconds: 30 },
  {
    name: 'Thrift echo',
    folder: 'thrift_helloworld',
    kqps: 50,
    seconds: 30,
    release: 286_000,
    release_seconds: 5,
  },
  {
    name: 'social network',
    folder: 'thrift_app',
    kqps: 1,
    seconds: 400,
    release: 39_000,
    release_seconds: 60,
  },
  { name: 'fan-out 5', folder: 'nginx_fanout', kqps: 20, seconds: 15, release: 38_000, release_seconds: 3 },
  {
    name: 'fan-out 100',
    folder: 'fannout_synthetic_100',
    kqps: 2,
    seconds: 15,
    release: 1_400,
    release_seconds: 2,
  },
  {
    name: 'fan-out 1000',
    folder: 'fannout_synthetic_1000',
    kqps: 2,
    seconds: 1.5,
    release: 33,
    release_seconds: 0.1,
  },
];

/** The release's fan-out of 100 with ten times the leaves. */
function writeFanOut(leaves: number, folder: string): void {
  cpSync(join(FOLDERS, 'fannout_synthetic_100'), folder, { recursive: true });
  const read = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8'));
  const write = (file: string, value: unknown) => writeFileSync(join(folder, file), JSON.stringify(value));
  const machines = read('machines.json');
  write(
    'machines.json',
    Array.from({ length: leaves + 1 }, (_, i) => ({ ...machines[0], machine_id: i, name: `machine_${i}` })),
  );
  const graph = read('graph.json');
  const [root, leaf] = graph.microservices;
  const names = Array.from({ length: leaves }, (_, i) => `leaf_service_${i}`);
  write('graph.json', {
    ...graph,
    microservices: [
      root,
      ...names.map((name, i) => ({ ...leaf, service_name: name, instance_name: name, machine_id: i + 1 })),
    ],
    edges: names.map((target) => ({ ...graph.edges[0], source: root.instance_name, target })),
  });
  const [path] = read('path.json');
  const [first, second] = path.nodes;
  const last = path.nodes.at(-1);
  write('path.json', [
    {
      ...path,
      nodes: [
        { ...first, childs: names.map((_, i) => i + 1) },
        ...names.map((name, i) => ({ ...second, service_name: name, node_id: i + 1, childs: [leaves + 1] })),
        { ...last, node_id: leaves + 1 },
      ],
    },
  ]);
}

function modelOf(folder: string, { kqps, seconds }: Case): Services {
  const services = loadServices(folder);
  return {
    ...services,
    client: { ...services.client, load: `${kqps * 1000}/s`, connections: 320, requests: undefined },
    network: { ...services.network, client_latency: '65us' },
    run: { ...services.run, duration: `${seconds}s` },
  };
}

interface Measured {
  per_second: number;
  events_per_request: number;
  megabytes: number;
}

function runEngine(services: Services): Measured {
  const model = encodeServices(resolveServices(services));
  const simulation = new Simulation(model);
  const seconds =
    cpuTimeNs(() => {
      while (!simulation.done) simulation.step();
    }) / 1e9;
  simulation.finish();
  const completed = simulation.counter(abi.R_COMPLETED);
  return {
    per_second: completed / seconds,
    events_per_request: simulation.counter(abi.R_EVENTS) / completed,
    megabytes: simulation.memory.buffer.byteLength / MB,
  };
}

/** Requests per CPU second of the release. Its monitor would wait for a decision for ever, so it is put off beyond the end. */
function runRelease(program: string, folder: string, { kqps, release_seconds }: Case): number {
  const place = mkdtempSync(join(tmpdir(), 'vtime-uqsim-'));
  try {
    cpSync(folder, join(place, 'model'), { recursive: true });
    mkdirSync(join(place, 'sched_test'));
    writeFileSync(
      join(place, 'model', 'client.json'),
      JSON.stringify({
        monitor_interval_sec: 1000,
        epoch_end_sec: [release_seconds],
        epoch_qps: [kqps * 1000],
      }),
    );
    const arguments_ = [program, join(place, 'model'), '320', '65000', 'expo', String(kqps)];
    let message = '';
    for (let attempt = 0; attempt < RELEASE_ATTEMPTS; attempt++) {
      const { status, stderr } = spawnSync('bash', ['-c', 'time "$@" > /dev/null', 'bash', ...arguments_], {
        cwd: place,
        encoding: 'utf8',
        env: { ...process.env, TIMEFORMAT: 'cpu %U %S' },
      });
      const times = /cpu ([\d.]+) ([\d.]+)/.exec(stderr);
      if (status === 0 && times !== null) {
        return (kqps * 1000 * release_seconds) / (Number(times[1]) + Number(times[2]));
      }
      message = `${program} ended with ${status}: ${stderr.slice(-300)}`;
    }
    throw new Error(message);
  } finally {
    rmSync(place, { recursive: true });
  }
}

const release = process.argv.includes('--release')
  ? process.argv[process.argv.indexOf('--release') + 1]
  : undefined;
const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1] : undefined;
const pinned = pin();
console.log(
  `${circumstances()}${pinned ? ', pinned' : ', not pinned'}; CPU time, median of ${ROUNDS} runs (least–most)\n`,
);
console.log('| model | requests/s | events/request | µqSim, requests/s | ratio | memory |');
console.log('|---|---|---|---|---|---|');
const large = mkdtempSync(join(tmpdir(), 'vtime-fan-out-'));
writeFanOut(1000, join(large, 'fannout_synthetic_1000'));
let failed = false;
for (const one of CASES.filter(({ name }) => only === undefined || name === only)) {
  const folder = join(one.folder === 'fannout_synthetic_1000' ? large : FOLDERS, one.folder);
  const services = modelOf(folder, one);
  // Once for V8's optimising tier.
  runEngine({ ...services, run: { ...services.run, duration: `${one.seconds / 4}s` } });
  const runs: Measured[] = [];
  const theirs: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    runs.push(runEngine(services));
    if (release !== undefined) theirs.push(runRelease(release, folder, one));
  }
  const ours = spread(runs.map(({ per_second }) => per_second / 1000));
  const beside = theirs.length === 0 ? one.release : spread(theirs).median;
  const ratio = (ours.median * 1000) / beside;
  if (ratio < GOAL) failed = true;
  const [{ events_per_request, megabytes }] = runs;
  console.log(
    `| ${one.name} | ${formatSpread(ours, 1)} k | ${events_per_request.toFixed(1)} | ${(beside / 1000).toFixed(3)} k${theirs.length === 0 ? '' : ' (here)'} | ${ratio.toFixed(1)} × | ${megabytes.toFixed(0)} MB |`,
  );
}
rmSync(large, { recursive: true });

// Memory does not depend on the number of requests.
const [first] = CASES;
for (const factor of [1, 4]) {
  const { megabytes } = runEngine(
    modelOf(join(FOLDERS, first.folder), { ...first, seconds: first.seconds * factor }),
  );
  console.log(
    `${first.name}, ${(first.kqps * 1000 * first.seconds * factor).toLocaleString('en')} requests: ${megabytes.toFixed(1)} MB`,
  );
}
if (failed) process.exitCode = 1;
