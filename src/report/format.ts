// Numbers as text, always with their unit.

import { differs, type Estimate } from './statistics.js';

const MINUS = '−';
const NONE = '–';

/** "12,345.6": fixed decimals, grouped thousands, a real minus. */
export function fixed(value: number, decimals: number): string {
  if (!Number.isFinite(value)) return NONE;
  const [whole, fraction] = Math.abs(value).toFixed(decimals).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  const zero = /^0*$/.test(whole + (fraction ?? ''));
  return `${value < 0 && !zero ? MINUS : ''}${grouped}${fraction === undefined ? '' : `.${fraction}`}`;
}

/** Decimals that show `digits` significant ones of a value of this size. */
function decimalsFor(size: number, digits: number): number {
  if (!(size > 0) || !Number.isFinite(size)) return 0;
  return Math.min(6, Math.max(0, digits - 1 - Math.floor(Math.log10(size))));
}

/** A number with `digits` significant digits. */
export function significant(value: number, digits = 3): string {
  return fixed(value, decimalsFor(Math.abs(value), digits));
}

export interface Scale {
  unit: string;
  factor: number;
  decimals: number;
}

const STEPS: Record<string, readonly [unit: string, factor: number][]> = {
  J: [
    ['MJ', 1e-6],
    ['kJ', 1e-3],
    ['J', 1],
  ],
  ms: [
    ['s', 1e-3],
    ['ms', 1],
    ['µs', 1e3],
  ],
};

/** One unit and one number of decimals for a column: the smallest value keeps three digits if the largest then has at most five. */
export function scaleFor(unit: string, values: readonly number[]): Scale {
  const sizes = values.map(Math.abs).filter((value) => value > 0 && Number.isFinite(value));
  const largest = Math.max(...sizes, 0);
  const smallest = Math.min(...sizes, largest);
  const steps = STEPS[unit] ?? [[unit, 1]];
  const [name, factor] =
    steps.find(([, f]) => smallest * f >= 10) ?? steps.find(([, f]) => largest * f >= 1) ?? steps.at(-1)!;
  const wanted = decimalsFor(smallest * factor, 4);
  return { unit: name, factor, decimals: Math.min(wanted, decimalsFor(largest * factor, 5)) };
}

export function scaled(value: number, { factor, decimals }: Scale): string {
  return fixed(value * factor, decimals);
}

/** A time, with the unit that suits it. */
export function milliseconds(value: number): string {
  const [unit, factor] = value >= 10_000 ? ['s', 1e-3] : value >= 1 || value === 0 ? ['ms', 1] : ['µs', 1e3];
  return Number.isFinite(value) ? `${significant(value * (factor as number))} ${unit}` : NONE;
}

export function joules(value: number): string {
  const [unit, factor] = value >= 1e7 ? ['MJ', 1e-6] : value >= 1e4 ? ['kJ', 1e-3] : ['J', 1];
  return Number.isFinite(value) ? `${significant(value * (factor as number), 4)} ${unit}` : NONE;
}

/** A value of a measure by itself. */
export function quantity(value: number, unit: string): string {
  return unit === 'J' ? joules(value) : unit === 'ms' ? milliseconds(value) : `${significant(value)} ${unit}`;
}

function percentDecimals({ mean, half }: Estimate): number {
  const size = Math.abs(mean) * 100;
  if (size >= 100 || (half !== undefined && half >= 0.0995)) return 0;
  return half !== undefined && half * 100 < 0.1 ? 2 : 1;
}

/** A relative difference given as a fraction: "−3.1 %". */
export function percent(fraction: number, decimals = 1): string {
  const text = fixed(fraction * 100, decimals);
  return `${fraction > 0 && /[1-9]/.test(text) ? '+' : ''}${text} %`;
}

/** "−3.1 ± 0.4 %", or without replications "−3.1 %". */
export function difference(value: Estimate | undefined): string {
  if (value === undefined) return NONE;
  const decimals = percentDecimals(value);
  const text = percent(value.mean, decimals);
  if (value.half === undefined) return text;
  return `${text.slice(0, -2)} ± ${fixed(value.half * 100, decimals)} %`;
}

/** "−3.1 % [−3.5, −2.7]". */
export function differenceRange(value: Estimate): string {
  const decimals = percentDecimals(value);
  const text = percent(value.mean, decimals);
  if (value.half === undefined) return text;
  const bound = (fraction: number) => percent(fraction, decimals).slice(0, -2);
  return `${text} [${bound(value.mean - value.half)}, ${bound(value.mean + value.half)}]`;
}

/** A share of a whole: "12.3 %". */
export function share(fraction: number, decimals = 1): string {
  return Number.isFinite(fraction) ? `${fixed(fraction * 100, decimals)} %` : NONE;
}

export function count(value: number): string {
  return fixed(value, 0);
}

/** "1.23 million" beyond a million. */
export function largeCount(value: number): string {
  if (value >= 1e9) return `${significant(value / 1e9)} billion`;
  return value >= 1e6 ? `${significant(value / 1e6)} million` : count(value);
}

/** "1 seed", "3 seeds". */
export function plural(n: number, noun: string): string {
  return `${count(n)} ${noun}${n === 1 ? '' : 's'}`;
}

/** "seed 1", "seeds 1–3", "seeds 1, 5, 9". */
export function seedList(seeds: readonly number[]): string {
  if (seeds.length === 1) return `seed ${seeds[0]}`;
  const consecutive = seeds.every((seed, i) => seed === seeds[0] + i);
  return `seeds ${consecutive && seeds.length > 2 ? `${seeds[0]}–${seeds.at(-1)}` : seeds.join(', ')}`;
}

/** Whether a difference is one, in a word: for classes and marks. */
export function verdict(value: Estimate | undefined): 'lower' | 'higher' | 'open' {
  if (value === undefined || !differs(value)) return 'open';
  return value.mean < 0 ? 'lower' : 'higher';
}

/** Decimals for percentages that stand side by side: one more if all are below 1 %. */
export function percentPlaces(fractions: readonly number[]): number {
  return Math.max(...fractions.map(Math.abs)) < 0.01 ? 2 : 1;
}

/** "from −3.1 to +2.0 %" over fractions. */
export function valueRange(fractions: readonly number[]): string {
  const [low, high] = [Math.min(...fractions), Math.max(...fractions)];
  const decimals = percentPlaces(fractions);
  return `from ${percent(low, decimals).slice(0, -2)} to ${percent(high, decimals)}`;
}

/** "3", or "3 to 1,204". */
export function countRange(values: readonly number[]): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low === high ? count(low) : `${count(low)} to ${count(high)}`;
}
