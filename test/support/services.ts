// Runs of services in tests: models written as in a file, and the folders of data/uqsim as the reference was measured with
// (320 connections, 65 µs of network everywhere).

import { readFileSync } from 'node:fs';
import * as assert from 'uvu/assert';
import { type ServicesResult, simulateServices } from '../../src/engine/services.js';
import { loadServices } from '../../src/services/load.js';
import { resolveServices } from '../../src/services/resolve.js';
import { type ServicesInput, servicesSchema } from '../../src/services/schema.js';

const DATA = new URL('../../../data/uqsim/', import.meta.url);

/** Folder of each series of reference.json that is not named as it is. */
const FOLDERS: Record<string, string> = {
  nginx_fanout_5: 'nginx_fanout',
  thrift_app_socialnet: 'thrift_app',
  nginx_1proc: 'derived/nginx_1',
  memcached_4t: 'derived/memcached_4',
};

/** A row of reference.json. */
export interface ReferenceRow {
  kqps: number;
  sim_seconds: number;
  events: number;
  jobs: number;
  mean_ms: number;
  p50_ms: number;
  p90_ms: number;
  p95_ms: number;
  p99_ms: number;
  util: Record<string, number>;
}

export const reference = JSON.parse(readFileSync(new URL('reference.json', DATA), 'utf8')) as Record<
  string,
  ReferenceRow[]
>;

export function referenceRow(series: string, kqps: number): ReferenceRow {
  const row = reference[series].find((candidate) => candidate.kqps === kqps);
  if (row === undefined) throw new Error(`no ${series} at ${kqps} kqps`);
  return row;
}

export interface ReleaseRun {
  kqps: number;
  seconds: number;
  compat?: ('B1-mongo-rescaling' | 'B2-probability-off-by-one' | 'B12-ties-reversed')[];
  seed?: number;
  scheduled?: ServicesInput['scheduled'];
  profile?: string;
}

/** Runs the folder of a series of reference.json. */
export function runRelease(
  series: string,
  { kqps, seconds, compat = [], seed = 1, scheduled, profile }: ReleaseRun,
): Promise<ServicesResult> {
  const services = loadServices(new URL(FOLDERS[series] ?? series, DATA).pathname);
  services.client = { ...services.client, load: `${kqps * 1000}/s`, connections: 320 };
  services.network = { ...services.network, client_latency: '65us' };
  services.run = { ...services.run, duration: `${seconds}s` };
  if (scheduled !== undefined) {
    services.mode = 'scheduled';
    services.scheduled = servicesSchema.shape.scheduled.parse(scheduled);
  }
  return simulateServices(resolveServices({ ...services, seed, compat, profile }));
}

/** Runs a model written as in a file. */
export function runServices(input: ServicesInput): Promise<ServicesResult> {
  return simulateServices(resolveServices(servicesSchema.parse(input)));
}

/** One run against a number: within `bound` of it. */
export function assertNear(what: string, value: number, expected: number, bound: number): void {
  const error = value / expected - 1;
  assert.ok(
    Math.abs(error) <= bound,
    `${what}: ${value}, expected ${expected}, ${(100 * error).toFixed(2)} % off, ${100 * bound} % allowed`,
  );
}
