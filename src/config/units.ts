// Values with units, read exactly: decimal digits go straight to integers, never through a float.

import { VtimeError } from '../errors.js';

const NS_PER: Record<string, bigint> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  min: 60_000_000_000n,
  h: 3_600_000_000_000n,
  d: 86_400_000_000_000n,
};
const HZ_PER: Record<string, bigint> = { Hz: 1n, kHz: 1_000n, MHz: 1_000_000n, GHz: 1_000_000_000n };
const MILLIWATTS_PER: Record<string, bigint> = { mW: 1n, W: 1_000n, kW: 1_000_000n };

/** Longest time a config may state: 2^62 ns, about 146 years, so that sums of two stay within a u64. */
const MAX_NS = 1n << 62n;

/** A size of memory, "512MB" or "4GB" (1024 MB); canonical in MB. */
export const MEMORY_PATTERN = /^\s*(\d+(?:\.\d+)?)\s*(MB|GB)\s*$/;

/** MB of "4GB", rounded up. */
export function megabytes(text: string): number {
  const match = MEMORY_PATTERN.exec(text);
  if (match === null)
    throw new VtimeError('config_value', `"${text}" is not a size of memory like "4GB"`, { value: text });
  return Math.ceil(Number(match[1]) * (match[2] === 'GB' ? 1024 : 1));
}

export const DURATION_EXAMPLE = '"3ms", "1.5us", "2h"';
export const RATE_EXAMPLE = '"43.2/s", "5000/min"';

// Patterns go into the JSON Schema; the functions below say precisely what is wrong.
export const DURATION_PATTERN = /^\s*\d+(\.\d+)?\s*(ns|us|µs|μs|ms|s|min|h|d)\s*$/;
export const RATE_PATTERN = /^\s*\d+(\.\d+)?\s*(\/\s*(us|ms|s|min|h|d)|Hz|kHz)\s*$/;
export const HERTZ_PATTERN = /^\s*\d+(\.\d+)?\s*(Hz|kHz)\s*$/;
export const MEGAHERTZ_PATTERN = /^\s*\d+(\.\d+)?\s*(MHz|GHz)\s*$/;
export const WATT_PATTERN = /^\s*\d+(\.\d+)?\s*(mW|W|kW)\s*$/;
export const CPU_LIST_PATTERN = /^\s*\d+(-\d+)?(\s*,\s*\d+(-\d+)?)*\s*$/;

function unitError(value: unknown, message: string): VtimeError {
  return new VtimeError('config_value', message, { value });
}

/** A decimal as numerator and power of ten: "1.50" is 150 / 10². */
function decimal(digits: string): { numerator: bigint; denominator: bigint } {
  const [whole, fraction = ''] = digits.split('.');
  return { numerator: BigInt(whole + fraction), denominator: 10n ** BigInt(fraction.length) };
}

function split(text: string, what: string, example: string): { digits: string; unit: string } {
  const match = /^\s*([+-]?)(\d+(?:\.\d+)?)\s*(.*?)\s*$/s.exec(text);
  if (match === null) throw unitError(text, `"${text}" is not ${what}; write it like ${example}`);
  const [, sign, digits, unit] = match;
  if (sign === '-') throw unitError(text, `"${text}" is negative; ${what} can't be`);
  if (sign === '+') throw unitError(text, `"${text}" has a sign; write it like ${example}`);
  if (unit === '') throw unitError(text, `"${text}" has no unit; ${what} needs one, like ${example}`);
  return { digits, unit };
}

function unknownUnit(text: string, unit: string, known: Record<string, bigint>): VtimeError {
  const names = Object.keys(known).filter((name) => /^[a-zA-Z]+$/.test(name));
  const hint = unit === 'm' ? ' ("m" could be minutes or milliseconds: write min or ms)' : '';
  return unitError(
    text,
    `"${text}" has the unknown unit "${unit}"${hint}; known units are ${names.join(', ')}`,
  );
}

/** `digits` of a unit as an integer of the base unit; a remainder is an error, not a rounding. */
function exactly(text: string, digits: string, factor: bigint, base: string): bigint {
  const { numerator, denominator } = decimal(digits);
  const scaled = numerator * factor;
  if (scaled % denominator !== 0n) {
    throw unitError(text, `"${text}" is not a whole number of ${base}`);
  }
  return scaled / denominator;
}

/** Nanoseconds of "3ms", "1.5us", "2h"; units ns, us, ms, s, min, h, d. */
export function durationNs(text: string): bigint {
  if (text.trim().endsWith('/s') || text.trim().endsWith('Hz')) {
    throw unitError(text, `"${text}" is a rate where a time is meant, like ${DURATION_EXAMPLE}`);
  }
  if (text.trim().endsWith('%')) {
    throw unitError(text, `"${text}" is a percentage where a time is meant, like ${DURATION_EXAMPLE}`);
  }
  const { digits, unit } = split(text, 'a time', DURATION_EXAMPLE);
  const factor = NS_PER[unit];
  if (factor === undefined) throw unknownUnit(text, unit, NS_PER);
  const ns = exactly(text, digits, factor, 'nanoseconds');
  if (ns > MAX_NS) throw unitError(text, `"${text}" is longer than 2^62 ns (146 years)`);
  return ns;
}

/** The largest unit up to hours that needs no decimals: 1500000 → "1500us", 3600 s → "1h". */
export function formatDuration(ns: bigint): string {
  if (ns === 0n) return '0s';
  for (const unit of ['h', 'min', 's', 'ms', 'us']) {
    if (ns % NS_PER[unit] === 0n) return `${ns / NS_PER[unit]}${unit}`;
  }
  return `${ns}ns`;
}

export function canonicalDuration(text: string): string {
  return formatDuration(durationNs(text));
}

function trimDecimal(digits: string): string {
  const [whole, fraction = ''] = digits.split('.');
  const kept = fraction.replace(/0+$/, '');
  const head = whole.replace(/^0+(?=\d)/, '');
  return kept === '' ? head : `${head}.${kept}`;
}

/** A rate as the ratio events : nanoseconds, exact. */
function rateRatio(text: string): { events: bigint; ns: bigint; canonical: string } {
  const { digits, unit } = split(text, 'a rate', RATE_EXAMPLE);
  const { numerator, denominator } = decimal(digits);
  if (numerator === 0n) throw unitError(text, `"${text}" is zero; leave the source out instead`);
  const hertz = unit === 'Hz' || unit === 'kHz' ? HZ_PER[unit] : undefined;
  if (hertz !== undefined) {
    const unitName = unit === 'kHz' ? '/ms' : '/s';
    return {
      events: numerator * hertz,
      ns: denominator * NS_PER.s,
      canonical: `${trimDecimal(digits)}${unitName}`,
    };
  }
  const per = /^\/\s*(us|ms|s|min|h|d)$/.exec(unit)?.[1];
  if (per === undefined) {
    const isTime = NS_PER[unit] !== undefined;
    throw unitError(
      text,
      isTime
        ? `"${text}" is a time where a rate is meant, like ${RATE_EXAMPLE}`
        : `"${text}" has the unknown unit "${unit}"; write a rate like ${RATE_EXAMPLE}`,
    );
  }
  return { events: numerator, ns: denominator * NS_PER[per], canonical: `${trimDecimal(digits)}/${per}` };
}

/** Mean time between events of "43.2/s", in ns, rounded to the nearest (half up). */
export function rateToMeanNs(text: string): bigint {
  const { events, ns } = rateRatio(text);
  const mean = (2n * ns + events) / (2n * events);
  if (mean === 0n) throw unitError(text, `"${text}" is more than one event per nanosecond`);
  return mean;
}

export function canonicalRate(text: string): string {
  rateToMeanNs(text);
  return rateRatio(text).canonical;
}

function scaled(
  text: string,
  what: string,
  example: string,
  units: Record<string, bigint>,
  base: string,
): bigint {
  const { digits, unit } = split(text, what, example);
  const factor = units[unit];
  if (factor === undefined) throw unknownUnit(text, unit, units);
  return exactly(text, digits, factor, base);
}

/** "250Hz" → 250. */
export function hertz(text: string): number {
  return Number(scaled(text, 'a frequency', '"250Hz"', HZ_PER, 'hertz'));
}

/** "2.1GHz" → 2100. */
export function megahertz(text: string): number {
  const hz = scaled(text, 'a frequency', '"2.1GHz"', HZ_PER, 'hertz');
  if (hz % HZ_PER.MHz !== 0n) throw unitError(text, `"${text}" is not a whole number of megahertz`);
  return Number(hz / HZ_PER.MHz);
}

/** "190.738W" → 190738 mW. */
export function milliwatts(text: string): number {
  return Number(scaled(text, 'a power', '"95W"', MILLIWATTS_PER, 'milliwatts'));
}

export function formatWatts(mw: number): string {
  return mw % 1000 === 0 ? `${mw / 1000}W` : `${mw}mW`;
}

/** A fraction in [0, 1]; percentages are refused, because 0.5 and 0.5 % look alike. */
export function parseFraction(value: unknown): number {
  if (typeof value === 'string' && /%\s*$/.test(value)) {
    const percent = Number(value.replace('%', ''));
    const hint = Number.isFinite(percent) ? `: write ${percent / 100}` : '';
    throw unitError(value, `"${value}" is a percentage where a fraction from 0 to 1 is meant${hint}`);
  }
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw unitError(value, `${JSON.stringify(value)} is not a fraction; expected a number from 0 to 1`);
  }
  if (value < 0) throw unitError(value, `${value} is negative; expected a fraction from 0 to 1`);
  if (value > 1) {
    const hint = value <= 100 ? ` (${value} % is ${value / 100})` : '';
    throw unitError(value, `${value} is above 1; expected a fraction from 0 to 1${hint}`);
  }
  return value;
}

/** A number as a fraction of 2^32, the form in which the engine takes probabilities and factors. */
export function q32(value: number): bigint {
  return BigInt(Math.round(value * 2 ** 32));
}

/** CPUs of "0-3,8", ascending. A CPU named twice is an error. */
export function parseCpuList(text: string): number[] {
  if (!CPU_LIST_PATTERN.test(text)) {
    throw unitError(text, `"${text}" is not a list of CPUs; write it like "0-3,8"`);
  }
  const cpus = new Set<number>();
  for (const part of text.split(',')) {
    const [first, last = first] = part.split('-').map(Number);
    if (last < first) throw unitError(text, `"${part.trim()}" in "${text}" runs backwards`);
    if (last > 4095) throw unitError(text, `CPU ${last} in "${text}" is out of range`);
    for (let cpu = first; cpu <= last; cpu++) {
      if (cpus.has(cpu)) throw unitError(text, `CPU ${cpu} is named twice in "${text}"`);
      cpus.add(cpu);
    }
  }
  return [...cpus].sort((a, b) => a - b);
}

/** Shortest list of ranges: [0,1,2,3,8] → "0-3,8". */
export function formatCpuList(cpus: readonly number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < cpus.length; ) {
    let end = i;
    while (end + 1 < cpus.length && cpus[end + 1] === cpus[end] + 1) end++;
    parts.push(end === i ? `${cpus[i]}` : `${cpus[i]}-${cpus[end]}`);
    i = end + 1;
  }
  return parts.join(',');
}
