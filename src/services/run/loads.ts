// Loads of a sweep as they are written on the command line.

import { VtimeError } from '../../errors.js';

const NUMBER = /^(\d+(?:\.\d+)?)([kM]?)$/;
const MAX_LOADS = 1000;
/** Times between requests are whole nanoseconds, and runs end before 2^63 of them. */
const MIN_LOAD = 0.001;
const MAX_LOAD = 1_000_000_000;

const EXPECTED = 'loads like 80k, 1k,2k,5k or 10k..100k:10k';

function numberOf(text: string, option: string): number {
  const match = NUMBER.exec(text.trim());
  const value =
    match === null ? 0 : Number(match[1]) * (match[2] === 'k' ? 1000 : match[2] === 'M' ? 1e6 : 1);
  if (value >= MIN_LOAD && value <= MAX_LOAD) return value;
  throw new VtimeError(
    'usage',
    `${option}: "${text.trim()}" is no load${match !== null && value > 0 ? ` from ${MIN_LOAD} to ${MAX_LOAD}` : ''}`,
    {
      value: text,
      expected: EXPECTED,
    },
  );
}

/** "1k,2k" and "10k..100k:10k": from the first by steps up to the last, which is always one of them. Ascending, each once. */
export function parseLoads(text: string, option: string): number[] {
  const loads = new Set<number>();
  for (const part of text.split(',')) {
    const [range, step, ...rest] = part.split(':');
    const [first, last, ...more] = range.split('..');
    const isRange = range.includes('..');
    if (rest.length > 0 || more.length > 0 || isRange !== (step !== undefined)) {
      throw new VtimeError('usage', `${option}: "${part.trim()}" is no range of loads`, {
        value: part,
        expected: EXPECTED,
      });
    }
    const from = numberOf(first, option);
    const to = isRange ? numberOf(last, option) : from;
    const by = step === undefined ? 1 : numberOf(step, option);
    if (to < from) {
      throw new VtimeError('usage', `${option}: "${part.trim()}" runs backwards`, {
        value: part,
        expected: EXPECTED,
      });
    }
    if ((to - from) / by > MAX_LOADS) {
      throw new VtimeError('usage', `${option}: "${part.trim()}" has more than ${MAX_LOADS} loads`, {
        value: part,
        expected: EXPECTED,
      });
    }
    // By multiplication, so that rounding does not add up.
    for (let i = 0; from + i * by < to; i++) loads.add(Number((from + i * by).toPrecision(12)));
    loads.add(to);
  }
  return [...loads].sort((a, b) => a - b);
}
