// Log-linear histograms as the engine writes them (assembly/core/histogram.ts): exact below 1024, then 512 buckets per
// octave. A bucket's midpoint is within 0.1 % of every value in it; count, sum, minimum and maximum are exact.
// They merge exactly: statistics of a union come from merged histograms, never from averaged percentiles.

import { EngineError } from '../errors.js';

const SUB_BUCKETS = 512;
/** Allows for rounding in floating point: relative to p × count, absolute to 1 − p. */
const ROUNDING = 2 ** -50;
/** Observations that must lie beyond a quantile for it to be an estimate rather than an accident. */
const TAIL_OBSERVATIONS = 10;

// Offsets in a record of SECTION_HISTOGRAMS and in a row of SECTION_BUCKETS (assembly/abi/).
const RECORD_KIND = 0;
const RECORD_CLASS = 4;
const RECORD_COUNT = 8;
const RECORD_SUM_LOW = 16;
const RECORD_SUM_HIGH = 24;
const RECORD_MIN = 32;
const RECORD_MAX = 40;
const RECORD_FIRST_ROW = 48;
const RECORD_ROWS = 52;
const ROW_BYTES = 16;
const ROW_COUNT = 8;

export interface DecodedHistogram {
  /** HISTOGRAM_ constant of assembly/abi/. */
  kind: number;
  /** Statistics class, NONE for all. */
  classId: number;
  histogram: Histogram;
}

/** Bucket of a value: with s = max(0, floor(log2 v) − 9), 512 s + floor(v / 2^s). */
export function bucketIndex(value: number): number {
  const exponent = value < 2 ** 32 ? 31 - Math.clz32(value) : 63 - Math.clz32(value / 2 ** 32);
  const shift = Math.max(0, exponent - 9);
  return shift * SUB_BUCKETS + Math.floor(value / 2 ** shift);
}

/** Lowest and highest integer value of a bucket. */
export function bucketBounds(index: number): { low: number; high: number } {
  const shift = Math.max(0, Math.floor(index / SUB_BUCKETS) - 1);
  const low = (index - shift * SUB_BUCKETS) * 2 ** shift;
  return { low, high: low + 2 ** shift - 1 };
}

export class Histogram {
  readonly count: number;
  /** Sum of all values, exact. */
  readonly sum: bigint;
  /** Smallest value; NaN if empty. Exact up to 2^53 (104 days in ns), beyond to the precision of a double. */
  readonly min: number;
  /** Largest value; NaN if empty. Exact as `min`. */
  readonly max: number;
  /** Indices of the non-empty buckets, ascending. */
  readonly indices: Uint32Array;
  /** Number of values in each of them. */
  readonly counts: Float64Array;

  constructor(sum: bigint, min: number, max: number, indices: Uint32Array, counts: Float64Array) {
    this.count = counts.reduce((total, n) => total + n, 0);
    this.sum = sum;
    this.min = this.count === 0 ? Number.NaN : min;
    this.max = this.count === 0 ? Number.NaN : max;
    this.indices = indices;
    this.counts = counts;
  }

  static readonly empty = new Histogram(0n, 0, 0, new Uint32Array(0), new Float64Array(0));

  /** Histogram of integer values ≥ 0; the engine would produce the same from the same values. */
  static fromValues(values: Iterable<number>): Histogram {
    const buckets = new Map<number, number>();
    let sum = 0n;
    let min = Number.POSITIVE_INFINITY;
    let max = 0;
    for (const value of values) {
      const index = bucketIndex(value);
      buckets.set(index, (buckets.get(index) ?? 0) + 1);
      sum += BigInt(value);
      min = Math.min(min, value);
      max = Math.max(max, value);
    }
    const indices = Uint32Array.from(buckets.keys()).sort();
    return new Histogram(
      sum,
      min,
      max,
      indices,
      Float64Array.from(indices, (index) => buckets.get(index)!),
    );
  }

  /**
   * Reads the record of SECTION_HISTOGRAMS at byte offset `record`; `buckets` is the offset of SECTION_BUCKETS in the same
   * view. Throws EngineError if the bucket rows do not add up to the record's count.
   */
  static decode(image: DataView, record: number, buckets: number): DecodedHistogram {
    const rows = image.getUint32(record + RECORD_ROWS, true);
    const first = buckets + image.getUint32(record + RECORD_FIRST_ROW, true) * ROW_BYTES;
    const indices = new Uint32Array(rows);
    const counts = new Float64Array(rows);
    for (let i = 0; i < rows; i++) {
      indices[i] = image.getUint32(first + i * ROW_BYTES, true);
      counts[i] = Number(image.getBigUint64(first + i * ROW_BYTES + ROW_COUNT, true));
    }
    const u64 = (offset: number): bigint => image.getBigUint64(record + offset, true);
    const sum = (u64(RECORD_SUM_HIGH) << 64n) | u64(RECORD_SUM_LOW);
    const histogram = new Histogram(sum, Number(u64(RECORD_MIN)), Number(u64(RECORD_MAX)), indices, counts);
    const kind = image.getUint32(record + RECORD_KIND, true);
    const classId = image.getUint32(record + RECORD_CLASS, true);
    const recorded = u64(RECORD_COUNT);
    if (BigInt(histogram.count) !== recorded) {
      throw new EngineError('histogram-count', `histogram ${kind} of class ${classId} lost values`, {
        value: histogram.count,
        expected: `${recorded} values in its buckets`,
      });
    }
    return { kind, classId, histogram };
  }

  /** Histogram of the values of both, exactly. */
  merge(other: Histogram): Histogram {
    if (other.count === 0) return this;
    if (this.count === 0) return other;
    const indices: number[] = [];
    const counts: number[] = [];
    let i = 0;
    let j = 0;
    while (i < this.indices.length || j < other.indices.length) {
      const a = i < this.indices.length ? this.indices[i] : Number.POSITIVE_INFINITY;
      const b = j < other.indices.length ? other.indices[j] : Number.POSITIVE_INFINITY;
      indices.push(Math.min(a, b));
      counts.push((a <= b ? this.counts[i++] : 0) + (b <= a ? other.counts[j++] : 0));
    }
    return new Histogram(
      this.sum + other.sum,
      Math.min(this.min, other.min),
      Math.max(this.max, other.max),
      Uint32Array.from(indices),
      Float64Array.from(counts),
    );
  }

  /** NaN if empty. */
  get mean(): number {
    return this.count === 0 ? Number.NaN : divide(this.sum, this.count);
  }

  /**
   * The p-quantile, 0 ≤ p ≤ 1, is the smallest value v with F(v) ≥ p: the value of rank max(1, ⌈p × count⌉). The answer is
   * the midpoint of that value's bucket, within 0.1 % of it and never outside [min, max]; exact for p = 0 and 1, and for
   * values below 1024. NaN if empty.
   */
  quantile(p: number): number {
    if (!(p >= 0 && p <= 1)) throw new RangeError(`quantile ${p}; expected a fraction between 0 and 1`);
    if (this.count === 0) return Number.NaN;
    if (p === 0) return this.min;
    if (p === 1) return this.max;
    const rank = Math.ceil(p * this.count * (1 - ROUNDING));
    let seen = 0;
    let i = -1;
    while (seen < rank) seen += this.counts[++i];
    const { low, high } = bucketBounds(this.indices[i]);
    return Math.max(this.min, Math.min(this.max, low + Math.floor((high - low) / 2)));
  }

  /**
   * Whether the sample supports the p-quantile: at least 10 of its values are expected beyond it, count × (1 − p) ≥ 10.
   * p99 needs 1000 values, p99.9 needs 10,000. The maximum (p = 1) is exact but never an estimate of a quantile.
   */
  supports(p: number): boolean {
    return this.count * (1 - p) * (1 + ROUNDING * this.count) >= TAIL_OBSERVATIONS;
  }
}

/** a / n to the precision of a double, also where a itself exceeds 2^53. */
function divide(a: bigint, n: number): number {
  const whole = a / BigInt(n);
  return Number(whole) + Number(a % BigInt(n)) / n;
}
