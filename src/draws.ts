// Random numbers of the host, for what is generated before anything is simulated. The engine draws its own.

import { createHash } from 'node:crypto';

/** Uniform numbers in (0, 1) from a seed and a name: splitmix64 over a counter. */
export class Draws {
  #state: bigint;

  constructor(...name: (string | number)[]) {
    this.#state = createHash('sha256').update(JSON.stringify(name)).digest().readBigUInt64LE();
  }

  next(): number {
    this.#state = BigInt.asUintN(64, this.#state + 0x9e3779b97f4a7c15n);
    let z = this.#state;
    z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return (Number((z ^ (z >> 31n)) >> 11n) + 0.5) / 2 ** 53;
  }

  exponential(mean: number): number {
    return -Math.log(this.next()) * mean;
  }

  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.whole(0, choices.length - 1)];
  }
}
