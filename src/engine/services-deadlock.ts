// Why services deadlocked: who waits for whom, and the cycle among them, in words.

import { CLIENT, type ResolvedEdge } from '../services/resolved.js';
import * as abi from './abi.js';
import type { SectionPlace } from './image.js';
import type { EncodedServices } from './services-model.js';

interface Row {
  kind: number;
  where: number;
  which: number;
  request: bigint;
}

/** What waits, and in words why for each of those that it waits for. */
interface Wait {
  on: string;
  because: string;
}

export interface Deadlock {
  /** Each waits for the next, the last one for the first; empty if the waits form no cycle among those that were recorded. */
  cycle: string[];
  /** Requests and threads that wait. */
  waiting: number;
}

function readRows(view: DataView, { offset, count, stride }: SectionPlace): Row[] {
  return Array.from({ length: count }, (_, i) => {
    const at = offset + i * stride;
    return {
      kind: view.getUint32(at, true),
      where: view.getUint32(at + 4, true),
      which: view.getUint32(at + 8, true),
      request: view.getBigUint64(at + 16, true),
    };
  });
}

/** The waits of a deadlocked run, from SECTION_SV_WAITS. */
export function deadlockOf(view: DataView, section: SectionPlace, model: EncodedServices): Deadlock {
  const rows = readRows(view, section);
  const { instances, services } = model;
  const bounded: ResolvedEdge[] =
    services.edges === 'all' ? [] : services.edges.filter(({ pool, blocking }) => pool !== 0 || blocking);
  const nameOf = (index: number) => (index === CLIENT ? 'the client' : services.instances[index].name);
  const edgeName = (e: number) => `${nameOf(bounded[e].from)} → ${nameOf(bounded[e].to)}`;
  const waits = new Map<string, Wait[]>();
  const add = (from: string, on: string, because: string) => {
    const list = waits.get(from) ?? [];
    list.push({ on, because });
    waits.set(from, list);
  };
  const of = (kind: number) => rows.filter((row) => row.kind === kind);
  const request = (row: Row) => `request ${row.request}`;
  const thread = (row: Row) => `thread ${row.which} of ${instances[row.where].name}`;
  for (const row of of(abi.SVW_BLOCKED)) {
    add(thread(row), request(row), `${thread(row)} is blocked until the reply to ${request(row)} comes`);
  }
  for (const row of of(abi.SVW_QUEUED)) {
    add(request(row), thread(row), `${request(row)} is in the queue of ${thread(row)}`);
  }
  for (const row of of(abi.SVW_EDGE_WAITING)) {
    const { pool } = bounded[row.where];
    const what =
      row.which === abi.NONE
        ? `one of the ${pool} connections ${edgeName(row.where)}`
        : `connection ${row.which} ${edgeName(row.where)}`;
    for (const holder of of(abi.SVW_EDGE_HELD)) {
      if (holder.where !== row.where || (row.which !== abi.NONE && holder.which !== row.which)) continue;
      add(request(row), request(holder), `${request(row)} waits for ${what}, which ${request(holder)} has`);
    }
  }
  for (const row of of(abi.SVW_LINE_WAITING)) {
    const what = `connection ${row.which} in ${instances[row.where].name}`;
    for (const holder of of(abi.SVW_LINE_HELD)) {
      if (holder.where !== row.where || holder.which !== row.which) continue;
      add(request(row), request(holder), `${request(row)} waits for ${what}, which ${request(holder)} holds`);
    }
  }
  return { cycle: cycleOf(waits), waiting: waits.size };
}

/** A shortest-first search is not needed: the first cycle that following waits finds, from its own beginning. */
function cycleOf(waits: ReadonlyMap<string, Wait[]>): string[] {
  const done = new Set<string>();
  for (const start of waits.keys()) {
    const path: { at: string; next: number; because: string }[] = [{ at: start, next: 0, because: '' }];
    const onPath = new Map([[start, 0]]);
    while (path.length > 0) {
      const top = path[path.length - 1];
      const wait = waits.get(top.at)?.[top.next];
      if (wait === undefined || done.has(top.at)) {
        done.add(top.at);
        onPath.delete(top.at);
        path.pop();
        continue;
      }
      top.next++;
      const begin = onPath.get(wait.on);
      if (begin !== undefined) return [...path.slice(begin + 1).map(({ because }) => because), wait.because];
      onPath.set(wait.on, path.length);
      path.push({ at: wait.on, next: 0, because: wait.because });
    }
  }
  return [];
}
