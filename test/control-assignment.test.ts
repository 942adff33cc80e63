// Which domain serves an invocation: the policies of the control plane, one request after another.

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as abi from '../src/engine/abi.js';
import { loadUnits } from './support/units.js';

const units = loadUnits('control');
const NONE = abi.NONE;
const SECOND = 1_000_000_000n;
const MS = 1_000_000n;

interface Fn {
  /** s */
  iat?: number;
  /** ms */
  expected?: number;
  domain?: number;
}

function setUp(
  policy: number,
  domains: number,
  cores: number,
  functions: readonly Fn[],
  before?: () => void,
): void {
  units.call('setUp', policy, domains, cores, functions.length, 4n * SECOND);
  functions.forEach(({ iat = 0, expected = 0, domain = NONE }, f) => {
    units.call('setFunction', f, BigInt(iat) * SECOND, BigInt(expected) * MS, domain);
  });
  before?.();
  units.call('begin', functions.length);
}

const assign = (f: number, cpus = 1, key = 0n) => units.call('assign', f, cpus, key);
const release = (domain: number, cpus = 1) => units.call('release', domain, cpus);
const used = (domain: number) => units.call('domainUsed', domain);

/** Each request is released before the next. */
const oneByOne = (order: readonly number[]) =>
  order.map((f) => {
    const domain = assign(f);
    if (domain !== NONE) release(domain);
    return domain;
  });

test('IATCHBL as coded: buckets of 4 s, three one-core domains, one after the other', () => {
  // IATs 1 5 3 4 7 8 10 s are in buckets 0 1 0 1 1 2 2; a new bucket takes the domain that the fewest buckets share,
  // the first after the last added: bucket 0 → 0, bucket 1 → 1, bucket 2 → 2.
  setUp(
    abi.ASSIGN_IATCHBL_AS_CODED,
    3,
    1,
    [1, 5, 3, 4, 7, 8, 10].map((iat) => ({ iat })),
  );
  assert.equal(oneByOne([0, 1, 2, 3, 4, 5, 6]), [0, 1, 0, 1, 1, 2, 2]);
  assert.is(units.call64('counter', abi.R_BUCKETS_OCCUPIED), 3n);
});

test('IATCHBL as coded: an expansion adds a new domain, one per attempt, busy or not', () => {
  setUp(abi.ASSIGN_IATCHBL_AS_CODED, 3, 1, [{ iat: 1 }, { iat: 5 }]);
  assert.is(assign(0), 0); // {0}
  assert.is(assign(1), 1); // {1}
  // Bucket 0 is full. Shared by fewest: domain 2 (none), the first after 1.
  assert.is(assign(0), 2); // {0, 2}
  // Now all are busy: the set grows by the last one, domain 1, which is busy, so the request waits.
  assert.is(units.call64('retryAfter', 0), 200_000_000n);
  assert.is(assign(0), NONE); // {0, 2, 1}
  // The set has every domain: trying again without a release is of no use.
  assert.is(units.call64('retryAfter', 0), 0n);
  release(1);
  assert.is(assign(0), 1);
});

test('IATCHBL as coded: fewest used cores first, then the order in which the set grew', () => {
  setUp(abi.ASSIGN_IATCHBL_AS_CODED, 3, 2, [{ iat: 5 }, { iat: 1 }]);
  assert.is(assign(1), 0); // bucket 0: {0}, one CPU of domain 0 in use
  assert.is(assign(0), 1); // bucket 1: {1}
  assert.is(assign(0), 1);
  assert.is(assign(0), 2); // {1, 2}: grown, 2 is shared by none
  assert.is(assign(0), 2);
  assert.is(assign(0), 0); // {1, 2, 0}
  release(1);
  release(2);
  // 1 and 2 have one CPU in use each: 1 came first.
  assert.is(assign(0), 1);
});

test("IATCHBL as in the paper: the bucket's domains first, then all in order", () => {
  setUp(abi.ASSIGN_IATCHBL, 3, 1, [{ iat: 1 }, { iat: 5 }]);
  assert.is(assign(0), 0);
  assert.is(assign(1), 1);
  assert.is(assign(1), 2);
  assert.is(assign(0), NONE);
  release(2);
  release(1);
  // Bucket 1 has {1, 2}; domain 0 is still busy.
  assert.is(assign(1), 1);
});

test('overcommit multiplies the CPUs of a domain, at least one is left', () => {
  const fits = (factor: bigint) => {
    setUp(abi.ASSIGN_FIRST_FIT, 1, 4, [{}], () => units.call('overcommit', factor));
    let n = 0;
    while (assign(0) !== NONE) n++;
    return n;
  };
  assert.is(fits(0n), 4); // none given
  assert.is(fits(3n << 31n), 6); // 1.5
  assert.is(fits(1n << 31n), 2); // 0.5
  assert.is(fits(1n), 1);
});

test('round robin: each request the next domain; sticky: each function the next domain', () => {
  setUp(abi.ASSIGN_ROUND_ROBIN, 3, 1, [{}, {}]);
  assert.equal(oneByOne([0, 0, 1, 0]), [0, 1, 2, 0]);
  setUp(abi.ASSIGN_ROUND_ROBIN_STICKY, 3, 1, [{}, {}, {}, {}]);
  assert.equal(oneByOne([2, 0, 2, 1, 0, 3, 2]), [0, 1, 0, 2, 1, 0, 0]);
});

test('domain zero, static map, random', () => {
  setUp(abi.ASSIGN_DOMAIN_ZERO, 3, 1, [{}]);
  assert.equal(oneByOne([0, 0]), [0, 0]);
  setUp(abi.ASSIGN_STATIC, 3, 1, [{ domain: 2 }, {}, { domain: 0 }]);
  assert.equal(oneByOne([0, 1, 2]), [2, NONE, 0]);
  assert.is(used(0), 0);
  setUp(abi.ASSIGN_RANDOM, 4, 1, [{}]);
  const hits = [0, 0, 0, 0];
  for (let key = 1n; key <= 4000n; key++) {
    const domain = assign(0, 1, key * 0x9e3779b97f4a7c15n);
    release(domain);
    hits[domain]++;
  }
  // Binomial(4000, 1/4): mean 1000, standard deviation 27.4.
  for (const n of hits) assert.ok(Math.abs(n - 1000) < 5 * 27.4, String(hits));
});

test('least running counts invocations, warm-core maximus fills the fullest, first fit the first', () => {
  setUp(abi.ASSIGN_LEAST_RUNNING, 3, 4, [{}]);
  assert.equal([assign(0, 3), assign(0), assign(0), assign(0)], [0, 1, 2, 0]);
  release(1);
  assert.is(assign(0), 1);

  setUp(abi.ASSIGN_WARM_CORE_MAXIMUS, 3, 2, [{}]);
  assert.equal([assign(0), assign(0), assign(0)], [0, 0, 1]);
  release(0);
  // Domains 0 and 1 have one CPU in use each, then domain 0 is full.
  assert.equal([assign(0), assign(0), assign(0), assign(0), assign(0)], [0, 1, 2, 2, NONE]);

  setUp(abi.ASSIGN_FIRST_FIT, 3, 2, [{}]);
  assert.equal([assign(0), assign(0, 2), assign(0), assign(0, 2), assign(0)], [0, 1, 0, 2, NONE]);
});

test('guardrails: no domain is sent much more work of one rank than another', () => {
  // c = 2, g = 1. Ranks of 3 ms: log2 3 → 1, bound 2^2 = 4 ms. Of 100 ms: 6, bound 128 ms.
  setUp(abi.ASSIGN_GUARDRAILS, 2, 4, [{ expected: 3 }, { expected: 100 }], () =>
    units.call('guard', 2n << 32n, 1n << 32n),
  );
  // Released one by one, so that the fewest CPUs in use say nothing and the lower number is preferred while it is safe:
  // sums (0,0): 0+3 ≤ 0+4 → 0; (3,0): 3+3 > 4 → 1; (3,3): 0; (6,3): 6+3 > 3+4 → 1 …
  assert.equal(oneByOne([0, 0, 0, 0, 0]), [0, 1, 0, 1, 0]);
  // Another rank has sums of its own: 0+100 ≤ 128 → 0; 200 > 128 → 1.
  assert.equal(oneByOne([1, 1, 1]), [0, 1, 0]);
});

test('guardrails hold whatever arrives', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 6 }),
      fc.array(fc.nat(5), { maxLength: 60 }),
      fc.integer({ min: 1, max: 4 }),
      (expected, requests, tightness) => {
        const functions = expected.map((ms) => ({ expected: ms }));
        setUp(abi.ASSIGN_GUARDRAILS, 3, 64, functions, () =>
          units.call('guard', 2n << 32n, BigInt(tightness) << 32n),
        );
        const sent = new Map<number, number[]>();
        for (const request of requests) {
          const f = request % functions.length;
          const rank = Math.floor(Math.log2(expected[f]));
          const sums = sent.get(rank) ?? [0, 0, 0];
          const least = Math.min(...sums);
          const domain = assign(f);
          assert.ok(sums[domain] + expected[f] <= least + tightness * 2 ** (rank + 1));
          sums[domain] += expected[f];
          sent.set(rank, sums);
        }
      },
    ),
    { numRuns: 200 },
  );
});

test('consistent hashing: one more domain takes functions and moves none between the others', () => {
  const functions = Array.from({ length: 400 }, () => ({}));
  const map = (domains: number) => {
    setUp(abi.ASSIGN_CONSISTENT_HASH, domains, 1, functions);
    return oneByOne(functions.map((_, f) => f));
  };
  const seven = map(7);
  const eight = map(8);
  const moved = eight.filter((domain, f) => domain !== seven[f]);
  assert.ok(moved.every((domain) => domain === 7));
  // Binomial(400, 1/8): mean 50, standard deviation 6.6.
  assert.ok(Math.abs(moved.length - 50) < 5 * 6.6, String(moved.length));
});

test('consistent hashing, rebalanced every 2 × domains requests', () => {
  // Functions of domain 0 and of domain 1 by hash.
  const functions = Array.from({ length: 12 }, () => ({ iat: 1 }));
  setUp(abi.ASSIGN_CONSISTENT_HASH, 2, 1, functions);
  const home = oneByOne(functions.map((_, f) => f));
  const ofZero = home.flatMap((domain, f) => (domain === 0 ? [f] : []));
  assert.ok(ofZero.length >= 3, 'the hashes give domain 0 at least three functions');
  const [a, b, c] = ofZero;

  // By utilisation: before the 4th request, domain 0 has used 5 + 3 + 2 s, domain 1 nothing. Moving 5 s leaves 5 and 5.
  setUp(abi.ASSIGN_CONSISTENT_HASH, 2, 1, functions, () =>
    units.call('rebalanceBy', abi.REBALANCE_UTILISATION),
  );
  [5n, 3n, 2n].forEach((cpu, i) => {
    assert.is(oneByOne([[a, b, c][i]])[0], 0);
    units.call('noteServed', [a, b, c][i], cpu * SECOND);
  });
  assert.equal(oneByOne([a, b, c]), [1, 0, 0]);
  assert.is(units.call64('counter', abi.R_REBALANCED), 1n);

  // By arrival rate: 1/s + 1/s + 0.1/s at home in 0, nothing known of the others: moving one of 1/s leaves 1.1 and 1.
  setUp(
    abi.ASSIGN_CONSISTENT_HASH,
    2,
    1,
    functions.map((_, f) => ({ iat: f === c ? 10 : f === a || f === b ? 1 : 0 })),
    () => units.call('rebalanceBy', abi.REBALANCE_IAT),
  );
  assert.equal(oneByOne([a, b, c, a, b]), [0, 0, 0, 1, 0]);
});

test('whatever is assigned and released, the counters return to zero', () => {
  const policies = Object.entries(abi).filter(([name]) => /^ASSIGN_(?!NONE)/.test(name)) as [
    string,
    number,
  ][];
  fc.assert(
    fc.property(
      fc.constantFrom(...policies),
      fc.array(fc.record({ f: fc.nat(5), cpus: fc.integer({ min: 1, max: 3 }), end: fc.nat(9) }), {
        maxLength: 50,
      }),
      ([, policy], requests) => {
        const functions = Array.from({ length: 6 }, (_, f) => ({
          iat: f * 3,
          expected: 1 + f,
          domain: f % 3,
        }));
        setUp(policy, 3, 4, functions, () => units.call('guard', 2n << 32n, 1n << 32n));
        const held: [number, number][] = [];
        for (const { f, cpus, end } of requests) {
          const domain = assign(f, cpus, BigInt(f * 77 + end));
          if (domain !== NONE) held.push([domain, cpus]);
          if (held.length > 0 && end < 5) release(...held.splice(end % held.length, 1)[0]);
          for (let d = 0; d < 3; d++) {
            const mine = held.filter(([domain]) => domain === d);
            assert.is(
              used(d),
              mine.reduce((sum, [, n]) => sum + n, 0),
            );
            assert.is(units.call('domainRunning', d), mine.length);
          }
        }
        for (const [domain, cpus] of held) release(domain, cpus);
        for (let d = 0; d < 3; d++) assert.is(used(d) + units.call('domainRunning', d), 0);
      },
    ),
    { numRuns: 300 },
  );
});

test.run();
