// Files of µqSim's authors: times in µs, one a line. "17.5" is a percentile, the lines together a distribution in equal shares;
// "3 : 3.77" is the mean time for 3 events.

import { readFileSync } from 'node:fs';
import { VtimeError } from '../../errors.js';
import type { PlainTimeInput } from '../schema/time.js';

const NUMBER = /^\d+(?:\.\d+)?$/;
const PAIR = /^(\d+)\s*:\s*(\d+(?:\.\d+)?)$/;

const nanoseconds = (us: string) => `${Math.round(Number(us) * 1000)}ns`;

function fail(file: string, line: number, text: string, expected: string): never {
  throw new VtimeError('profile_value', `"${text.slice(0, 60)}"`, { file, line, value: text, expected });
}

/** The time model of a listing. */
export function readListing(file: string): PlainTimeInput {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new VtimeError('profile_file', `can't be read: ${reason}`, { file });
  }
  const lines = text.split(/\r?\n/).map((content, i) => ({ content: content.trim(), line: i + 1 }));
  const filled = lines.filter(({ content }) => content !== '');
  if (filled.length === 0) {
    throw new VtimeError('profile_value', 'there is no time in it', {
      file,
      expected: 'times in µs, one a line',
    });
  }
  if (!PAIR.test(filled[0].content)) {
    const times = filled.map(({ content, line }) =>
      NUMBER.test(content) ? nanoseconds(content) : fail(file, line, content, 'a time in µs, like 17.5'),
    );
    return { percentiles: times };
  }
  let before = 0;
  const points = filled.map(({ content, line }): [number, string] => {
    const match =
      PAIR.exec(content) ?? fail(file, line, content, 'a number of events and a time in µs, like 3 : 3.77');
    const count = Number(match[1]);
    if (count <= before) fail(file, line, content, `more than ${before} events`);
    if (Number(match[2]) === 0) fail(file, line, content, 'a time above 0');
    before = count;
    return [count, nanoseconds(match[2])];
  });
  return { table: { of: 'connections', points, beyond: 'last', draw: 'exponential' } };
}
