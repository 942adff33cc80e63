// What `vtime explain --task` prints.

import { chainLines } from '../engine/chain-text.js';
import type { Ahead, TaskExplanation, TaskState, TimePart } from '../types.js';
import { number, table } from './shared.js';

const WORDS: Record<TaskState, string> = {
  running: 'runs',
  polling: 'polls',
  switch: 'switch, migration',
  cold: 'cold core',
  waiting: 'waits for a CPU',
  preempted: 'preempted',
  quota: 'throttled by its quota',
  sleeping: 'sleeps',
  blocked: 'blocked',
};

/** Places of a state, and tasks of a place, that are told apart. */
const MAX_PLACES = 4;
const MAX_TASKS = 3;

const us = (ns: number) => number(ns / 1e3, 3);
const seconds = (ns: number) => `${(ns / 1e9).toFixed(3)} s`;

function behindText(behind: readonly Ahead[]): string {
  const who = behind
    .slice(0, MAX_TASKS)
    .map(({ who: label, count, length_ns }) => `${number(count)} × ${label} (${us(length_ns)} µs)`);
  const rest = behind.slice(MAX_TASKS);
  if (rest.length > 0) {
    who.push(`${rest.length} more (${us(rest.reduce((sum, { length_ns }) => sum + length_ns, 0))} µs)`);
  }
  return who.length === 0 ? '' : `behind ${who.join(', ')}`;
}

function details({ where, by, behind }: TimePart): string {
  const takers = by.slice(0, MAX_TASKS).map(({ who, count }) => `${number(count)} × ${who}`);
  const others = by.slice(MAX_TASKS).reduce((sum, { count }) => sum + count, 0);
  return [
    where,
    takers.length === 0 ? '' : `by ${takers.join(', ')}${others > 0 ? ` and ${number(others)} more` : ''}`,
    behindText(behind),
  ]
    .filter((part) => part !== '')
    .join('; ');
}

function placesOf(state: TaskState, parts: readonly TimePart[]): string[][] {
  const own = parts.filter((part) => part.state === state && part.where !== '');
  const rest = own.slice(MAX_PLACES);
  return [
    ...own
      .slice(0, MAX_PLACES)
      .map((part) => [
        '',
        us(part.length_ns),
        '',
        number(part.times),
        us(part.longest_ns),
        `  ${details(part)}`,
      ]),
    ...(rest.length === 0
      ? []
      : [
          [
            '',
            us(rest.reduce((sum, { length_ns }) => sum + length_ns, 0)),
            '',
            number(rest.reduce((sum, { times }) => sum + times, 0)),
            us(Math.max(...rest.map(({ longest_ns }) => longest_ns))),
            `  ${rest.length} other places`,
          ],
        ]),
  ];
}

/** Text columns at the end keep their left edge. */
function aligned(rows: string[][]): string {
  const width = Math.max(...rows.map((row) => row[row.length - 1].length));
  return table(rows.map((row) => [...row.slice(0, -1), row[row.length - 1].padEnd(width)]));
}

export function taskText(explanation: TaskExplanation): string {
  const { task, from_ns, until_ns, exited, states, parts, last, outcome, reason } = explanation;
  const total = until_ns - from_ns;
  const end = exited
    ? 'when it exits'
    : outcome === undefined
      ? 'the end of the window'
      : `where the run ends (${outcome})`;
  const failed =
    reason === undefined
      ? ''
      : `${outcome ?? 'failed'}: ${reason.message}\n${chainLines(reason)
          .map((line) => `  ${line}\n`)
          .join('')}`;
  const rows = states.flatMap(({ state, length_ns, times }) => {
    const longest = Math.max(...parts.filter((part) => part.state === state).map((part) => part.longest_ns));
    const share = total === 0 ? '' : `${number((100 * length_ns) / total, 1)} %`;
    const places = placesOf(state, parts);
    const only = places.length === 1 ? places[0].at(-1)! : '';
    return [
      [WORDS[state], us(length_ns), share, number(times), us(longest), only],
      ...(places.length === 1 ? [] : places),
    ];
  });
  const now =
    last === undefined || exited
      ? ''
      : `  at the end: ${[WORDS[last.state], last.where].filter((part) => part !== '').join(' ')} ` +
        `for ${seconds(last.length_ns)}, since ${seconds(last.since_ns)}` +
        `${last.behind.length === 0 ? '' : `, ${behindText(last.behind)}`}\n`;
  return (
    failed +
    `${task}: ${us(total)} µs, from ${us(from_ns)} µs to ${us(until_ns)} µs, ${end}\n` +
    aligned([['', 'µs', 'share', 'times', 'longest µs', ''], ...rows, ['sum', us(total), '', '', '', '']]) +
    now
  );
}
