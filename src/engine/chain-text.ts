// A reason chain as lines of text.

import type { ChainStep, FailureReason } from '../types.js';

const seconds = (ns: number) => `${(ns / 1e9).toFixed(3)} s`;

const isOne = (cpus: string) => !/[-,]/.test(cpus);
const cpuText = (cpus: string) => `${isOne(cpus) ? 'CPU' : 'CPUs'} ${cpus}`;

function servedText({ served, served_on = '' }: ChainStep): string {
  if (served === undefined) return '';
  if (served.length === 0) return `; since then ${cpuText(served_on)} has dispatched nothing`;
  const local = isOne(served_on) ? ' from its local DSQ' : ' from their local DSQs';
  const items = served.map(({ who, class: kind, count }) => {
    const from = kind === undefined ? '' : kind === 'ext' ? local : ` of the ${kind} class`;
    return `${count.toLocaleString('en-US')} × ${who}${from}`;
  });
  return `; since then ${cpuText(served_on)} dispatched ${items.join(', ')}`;
}

function stepLine(step: ChainStep, end_ns: number): string {
  const { who, class: kind, allowed_cpus, state, since_ns, where, held_by, because } = step;
  const details = [
    kind,
    allowed_cpus === undefined
      ? undefined
      : `allowed ${/[-,]/.test(allowed_cpus) ? 'CPUs' : 'CPU'} ${allowed_cpus}`,
  ].filter((part) => part !== undefined);
  const name = who.endsWith(')') ? `${who.slice(0, -1)}, ${details.join(', ')})` : who;
  const place = where === undefined ? '' : ` ${where}`;
  const holders =
    held_by === undefined || held_by.length === 0
      ? ''
      : held_by.length === 1
        ? `; only ${held_by[0]} can end that`
        : `; ${held_by.join(', ')} can end that`;
  const why = because === undefined ? '' : `; ${because}`;
  const span = `for ${seconds(end_ns - since_ns)}, since ${seconds(since_ns)}`;
  return `${name}: ${state}${place} ${span}${servedText(step)}${holders}${why}`;
}

/** One line per step; empty without a chain. */
export function chainLines({ chain = [], end_ns = 0 }: FailureReason): string[] {
  return chain.map((step) => stepLine(step, end_ns));
}
