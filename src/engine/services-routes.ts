// The second half of a model of services: wires between machines, the routes of requests, bounded edges, and the client.

import { q32 } from '../config/units.js';
import { CLIENT, NONE, type ResolvedNode, type ResolvedServices } from '../services/resolved.js';
import * as abi from './abi.js';
import type { Model } from './model.js';

/** Name of the statistics class of a kind of requests. */
export const requestClass = (name: string) => `requests ${name}`;

/** Epochs whose end is not given last as long as the run. */
const FOREVER = (1n << 63n) - 1n;

const CONTROLLERS = {
  static: abi.CONTROLLER_NONE,
  'race-to-idle': abi.CONTROLLER_NONE,
  'algorithm-1': abi.CONTROLLER_ALGORITHM_1,
  pid: abi.CONTROLLER_PID,
} as const;

/** Appends numbers to SECTION_SV_LISTS; returns the index of the first. */
export function addList(model: Model, numbers: readonly number[]): number {
  const lists = model.section(abi.SECTION_SV_LISTS);
  const first = lists.count;
  for (const number of numbers) lists.u32(lists.add(), 0, number);
  return first;
}

/** Cumulative probabilities as fractions of 2^32; the last is 1. */
export function cumulate(probabilities: readonly number[]): bigint[] {
  let sum = 0;
  return probabilities.map((p, i) => {
    sum += p;
    return i === probabilities.length - 1 ? 1n << 32n : q32(Math.min(1, sum));
  });
}

export class RouteEncoder {
  readonly #model: Model;
  readonly #services: ResolvedServices;

  constructor(model: Model, services: ResolvedServices) {
    this.#model = model;
    this.#services = services;
  }

  /** `stats`: statistics class of requests as a whole. */
  encode(stats: number): void {
    this.#wires();
    this.#routes();
    this.#edges();
    this.#client(stats);
  }

  #list(numbers: readonly number[]): number {
    return addList(this.#model, numbers);
  }

  #wires(): void {
    const { network } = this.#services;
    const wires = this.#model.section(abi.SECTION_SV_WIRES);
    wires.u64(wires.add(), 0, network.latency_ns);
    wires.u64(wires.add(), 0, network.client_latency_ns);
    const byLatency = new Map<number, number>();
    const wire = (latency_ns: number) => {
      const known = byLatency.get(latency_ns);
      if (known !== undefined) return known;
      const row = wires.add();
      wires.u64(row, 0, latency_ns);
      byLatency.set(latency_ns, row);
      return row;
    };
    const both = network.links.flatMap(({ a, b, latency_ns }) => [
      { from: a, to: b, latency_ns },
      { from: b, to: a, latency_ns },
    ]);
    const links = this.#model.section(abi.SECTION_SV_LINKS);
    const machines = this.#model.section(abi.SECTION_SV_MACHINES);
    this.#services.machines.forEach((_, m) => {
      const own = both.filter(({ from }) => from === m);
      machines.u32(m, abi.SVM_LINKS, links.count);
      machines.u32(m, abi.SVM_LINK_COUNT, own.length);
      for (const { from, to, latency_ns } of own) {
        const row = links.add();
        links.u32(row, 0, from);
        links.u32(row, 4, to);
        links.u32(row, 8, wire(latency_ns));
      }
    });
  }

  #routes(): void {
    const { services, requests } = this.#services;
    const rows = this.#model.section(abi.SECTION_SV_SERVICES);
    for (const service of services) {
      const row = rows.add();
      rows.u32(row, 0, this.#list(service.instances));
      rows.u32(row, 4, service.instances.length);
      rows.u32(row, 8, service.balancer === NONE ? abi.NONE : service.balancer);
    }
    const nodes = this.#model.section(abi.SECTION_SV_NODES);
    const routes = this.#model.section(abi.SECTION_SV_ROUTES);
    const cumulative = cumulate(requests.map(({ probability }) => probability));
    requests.forEach((request, r) => {
      const first = nodes.count;
      // One node for the client behind those of services.
      const client = first + request.nodes.length;
      const index = (node: number) => (node === CLIENT ? client : first + node);
      for (const node of request.nodes) this.#node(node, index);
      const row = nodes.add();
      nodes.u32(row, abi.SVN_SERVICE, abi.NONE);
      nodes.u32(row, abi.SVN_END, abi.NONE);
      nodes.u32(row, abi.SVN_SYNC, abi.NONE);
      nodes.u32(row, abi.SVN_HOLD, abi.NONE);
      const route = routes.add();
      routes.u32(route, 0, index(request.entry));
      // The only kind is all of them.
      const kind =
        requests.length === 1 ? abi.NONE : this.#model.addClass(requestClass(request.name), 'source');
      routes.u32(route, 4, kind);
      routes.u64(route, 8, cumulative[r]);
    });
  }

  #node(node: ResolvedNode, index: (node: number) => number): void {
    const nodes = this.#model.section(abi.SECTION_SV_NODES);
    const row = nodes.add();
    nodes.u32(row, abi.SVN_SERVICE, node.service);
    nodes.u32(row, abi.SVN_PATH, node.path === NONE ? abi.NONE : node.path);
    nodes.u32(row, abi.SVN_START, node.first_stage);
    nodes.u32(row, abi.SVN_END, node.last_stage === -1 ? abi.NONE : node.last_stage);
    nodes.u32(row, abi.SVN_PARENTS, node.parents);
    nodes.u32(row, abi.SVN_SYNC, node.sync === NONE ? abi.NONE : index(node.sync));
    nodes.u32(row, abi.SVN_HOLD, node.hold_connection === NONE ? abi.NONE : index(node.hold_connection));
    nodes.u32(row, abi.SVN_CHILDREN, this.#list(node.next.map(index)));
    nodes.u32(row, abi.SVN_CHILD_COUNT, node.next.length);
  }

  #power(values: (bigint | number)[]): void {
    const { power } = this.#services;
    if (power === undefined) return;
    const { proportional, integral, derivative } = power.gain;
    values[abi.SVC_INTERVAL_NS] = power.interval_ns;
    values[abi.SVC_QUANTILE] = q32(power.quantile);
    values[abi.SVC_TARGET_NS] = power.target_ns;
    values[abi.SVC_CONTROLLER] = CONTROLLERS[power.controller];
    values[abi.SVC_TIERS] = power.tiers.length;
    values[abi.SVC_FAILING_LIST] = power.failing_list ? 1 : 0;
    values[abi.SVC_BUCKETS] = power.buckets;
    [proportional, integral, derivative].forEach((gain, i) => {
      values[abi.SVC_GAIN + i] = Math.round(gain * 65536);
    });
  }

  /** Edges with bounds, and whom instances reach where the edges leave some out. */
  #edges(): void {
    const { edges, services } = this.#services;
    if (edges === 'all') return;
    const bounded = this.#model.section(abi.SECTION_SV_EDGES);
    for (const { from, to, pool, blocking } of edges) {
      if (pool === 0 && !blocking) continue;
      const row = bounded.add();
      bounded.u32(row, 0, from === CLIENT ? abi.NONE : from);
      bounded.u32(row, 4, to);
      bounded.u32(row, 8, pool);
      bounded.u32(row, 12, blocking ? 1 : 0);
    }
    const reached = new Map<number, Set<number>>();
    for (const { from, to } of edges) reached.set(from, (reached.get(from) ?? new Set()).add(to));
    const reach = this.#model.section(abi.SECTION_SV_REACH);
    this.#services.instances.forEach((_, from) => {
      services.forEach(({ instances }, service) => {
        const some = instances.filter((to) => reached.get(from)?.has(to) ?? false);
        if (some.length === 0 || some.length === instances.length) return;
        const row = reach.add();
        reach.u32(row, 0, from);
        reach.u32(row, 4, service);
        reach.u32(row, 8, this.#list(some));
        reach.u32(row, 12, some.length);
      });
    });
  }

  #client(stats: number): void {
    const { client, run } = this.#services;
    const section = this.#model.section(abi.SECTION_SV_CLIENT);
    const values = new Array<bigint | number>(abi.SVC_COUNT).fill(0);
    values[abi.SVC_CONNECTIONS] = client.connections;
    values[abi.SVC_REQUESTS] = client.requests;
    values[abi.SVC_DURATION_NS] = run.duration_ns;
    values[abi.SVC_BYTES] = client.value_size.bytes;
    values[abi.SVC_BYTES_DRAWN] = client.value_size.draw === 'exponential' ? 1 : 0;
    values[abi.SVC_CLIENTS] = client.clients;
    values[abi.SVC_THINK] = this.#model.distribution(client.think);
    values[abi.SVC_STATS] = stats;
    this.#power(values);
    const { retries } = client;
    values[abi.SVC_TIMEOUT_NS] = client.timeout_ns;
    values[abi.SVC_FROM_DUE] = client.from_intended_start ? 1 : 0;
    if (retries !== undefined) {
      values[abi.SVC_RETRIES] = retries.max;
      values[abi.SVC_BACKOFF_NS] = retries.backoff_ns;
      values[abi.SVC_BACKOFF_FACTOR] = q32(retries.factor);
      values[abi.SVC_BACKOFF_LIMIT_NS] = retries.limit_ns;
      values[abi.SVC_JITTER] = q32(retries.jitter);
      values[abi.SVC_RECONNECT_NS] = retries.reconnect_ns;
    }
    for (const value of values) section.u64(section.add(), 0, BigInt.asUintN(64, BigInt(value)));
    const epochs = this.#model.section(abi.SECTION_SV_EPOCHS);
    const end = run.duration_ns === 0 ? FOREVER : BigInt(run.duration_ns);
    if (client.interarrival !== undefined) {
      const row = epochs.add();
      epochs.u64(row, 0, end);
      epochs.u32(row, 8, this.#model.distribution(client.interarrival));
    }
    for (const { until_ns, mean_ns, rate_per_s } of client.epochs) {
      const row = epochs.add();
      epochs.u64(row, 0, BigInt(until_ns) < end ? until_ns : end);
      const mean = BigInt(Math.floor(mean_ns));
      epochs.u32(
        row,
        8,
        client.arrivals === 'poisson' ? this.#model.exponential(mean) : this.#model.distribution(`${mean}ns`),
      );
      epochs.u32(row, 12, Math.round(rate_per_s));
    }
  }
}
