// EEVDF's order, deadlines and lag on one CPU against a slow obvious model: whole sums over a list, unbounded integers.

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadUnits } from './support/units.js';

const units = loadUnits('fair');
const SLICE = 3_000_000n;
const TICK = 4_000_000n;
/** Weights of nice 0, -5, 5, 19, -20 and one that is no nice level. */
const WEIGHTS = [1024, 3121, 335, 15, 88761, 1000];

const u64 = (x: bigint) => BigInt.asUintN(64, x);
const sorted = (...values: bigint[]) => values.sort((a, b) => (a < b ? -1 : 1));
const floorDiv = (a: bigint, b: bigint) => (a >= 0n ? a / b : -((-a + b - 1n) / b));

/** ns × 1024 / weight as the kernel's fixed point has it: inverse weight cut to 32 significant bits. */
function virtualTime(ns: bigint, weight: bigint): bigint {
  if (weight === 1024n) return ns;
  let factor = (0xffffffffn / weight) * 1024n;
  let shift = 32n;
  while (factor >> 32n !== 0n) {
    factor >>= 1n;
    shift--;
  }
  return (ns * factor) >> shift;
}

interface Entity {
  task: number;
  weight: bigint;
  v: bigint;
  deadline: bigint;
  lag: bigint;
  pickedDeadline: bigint | undefined;
  order: number;
}

/** The run queue as a list; vruntimes don't wrap. */
class Model {
  queued: Entity[] = [];
  curr: Entity | undefined;
  min: bigint;
  inserted = 0;

  constructor(min: bigint) {
    this.min = min;
  }

  get all(): Entity[] {
    return this.curr === undefined ? this.queued : [...this.queued, this.curr];
  }

  get weight(): bigint {
    return this.all.reduce((sum, e) => sum + e.weight, 0n);
  }

  average(): bigint {
    if (this.all.length === 0) return this.min;
    return floorDiv(
      this.all.reduce((sum, e) => sum + e.weight * e.v, 0n),
      this.weight,
    );
  }

  eligible(e: Entity): boolean {
    return this.all.reduce((sum, o) => sum + o.weight * (o.v - e.v), 0n) >= 0n;
  }

  updateMin(): void {
    if (this.all.length === 0) return;
    const least = sorted(...this.all.map((e) => e.v))[0]!;
    if (least > this.min) this.min = least;
  }

  enqueue(e: Entity, initial: boolean): void {
    const lag = this.all.length === 0 ? 0n : (e.lag * (this.weight + e.weight)) / this.weight;
    e.v = this.average() - lag;
    const slice = virtualTime(SLICE, e.weight);
    e.deadline = e.v + (initial ? slice / 2n : slice);
    e.order = this.inserted++;
    this.queued.push(e);
  }

  dequeue(e: Entity): void {
    const limit = virtualTime(2n * SLICE, e.weight);
    e.lag = sorted(-limit, this.average() - e.v, limit)[1]!;
    if (this.curr === e) this.curr = undefined;
    else this.queued.splice(this.queued.indexOf(e), 1);
    this.updateMin();
  }

  charge(ns: bigint): void {
    const e = this.curr!;
    e.v += virtualTime(ns, e.weight);
    if (e.v >= e.deadline) e.deadline = e.v + virtualTime(SLICE, e.weight);
    this.updateMin();
  }

  pick(): Entity | undefined {
    if (this.all.length <= 1) return this.all[0];
    const curr = this.curr !== undefined && this.eligible(this.curr) ? this.curr : undefined;
    if (curr !== undefined && curr.pickedDeadline === curr.deadline) return curr;
    const best = this.queued
      .filter((e) => this.eligible(e))
      .sort((a, b) => (a.deadline === b.deadline ? a.order - b.order : a.deadline < b.deadline ? -1 : 1))[0];
    return best === undefined || (curr !== undefined && curr.deadline < best.deadline) ? curr : best;
  }

  schedule(): void {
    const next = this.pick();
    if (next === this.curr) return;
    if (this.curr !== undefined) {
      this.curr.order = this.inserted++;
      this.queued.push(this.curr);
    }
    this.curr = next;
    if (next === undefined) return;
    this.queued.splice(this.queued.indexOf(next), 1);
    next.pickedDeadline = next.deadline;
  }
}

type Step =
  | { do: 'fork'; weight: number }
  | { do: 'wake'; which: number }
  | { do: 'sleep'; which: number }
  | { do: 'stop' }
  | { do: 'yield' }
  | { do: 'run'; ns: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('fork' as const), weight: fc.constantFrom(...WEIGHTS) }),
  fc.record({ do: fc.constant('wake' as const), which: fc.nat(20) }),
  fc.record({ do: fc.constant('sleep' as const), which: fc.nat(20) }),
  fc.constant({ do: 'stop' as const }),
  fc.constant({ do: 'yield' as const }),
  fc.record({ do: fc.constant('run' as const), ns: fc.integer({ min: 1, max: 5_000_000 }) }),
  fc.record({ do: fc.constant('run' as const), ns: fc.integer({ min: 1, max: 5_000_000 }) }),
);

function replay(steps: Step[], min: bigint): void {
  units.call('setup', 1, 1, 1, SLICE, TICK);
  units.call('setMinVruntime', 0, u64(min));
  const model = new Model(min);
  const asleep: Entity[] = [];
  let time = 0n;
  for (const s of steps) {
    let yielded = false;
    if (s.do === 'fork') {
      const task = units.call('newTask', s.weight, 0);
      const e: Entity = {
        task,
        weight: BigInt(s.weight),
        v: 0n,
        deadline: 0n,
        lag: 0n,
        pickedDeadline: undefined,
        order: 0,
      };
      units.call('enqueueOn', task, 0, 0, 1);
      model.enqueue(e, true);
    } else if (s.do === 'wake') {
      const e = asleep.splice(s.which % Math.max(asleep.length, 1), 1)[0];
      if (e === undefined) continue;
      units.call('enqueueOn', e.task, 0, 1, 0);
      model.enqueue(e, false);
    } else if (s.do === 'run') {
      if (model.curr === undefined) continue;
      time += BigInt(s.ns);
      units.call('setTime', time);
      units.call('charge', 0);
      model.charge(BigInt(s.ns));
    } else if (s.do === 'yield') {
      if (model.curr === undefined) continue;
      units.call('fairYield', 0, model.curr.task);
      if (model.all.length > 1) model.curr.deadline += virtualTime(SLICE, model.curr.weight);
      yielded = true;
    } else {
      const e = s.do === 'stop' ? model.curr : model.queued[s.which % Math.max(model.queued.length, 1)];
      if (e === undefined) continue;
      units.call('sleep', e.task);
      model.dequeue(e);
      assert.is(units.call64('vlag', e.task), u64(e.lag), 'lag kept over sleep');
      asleep.push(e);
      if (s.do === 'stop') units.call('schedule', 0);
    }
    if (yielded || s.do === 'stop' || s.do === 'fork' || s.do === 'run') {
      model.schedule();
      assert.is(units.call('schedule', 0), model.curr?.task ?? 0, `picked after ${s.do}`);
    }
    assert.is(units.call('nrRunning', 0), model.all.length);
    assert.is(units.call64('minVruntime', 0), u64(model.min), `min_vruntime after ${s.do}`);
    assert.is(units.call64('average', 0), u64(model.average()), `V after ${s.do}`);
    for (const e of model.all) {
      assert.is(units.call64('vruntime', e.task), u64(e.v), `vruntime after ${s.do}`);
      assert.is(units.call64('deadline', e.task), u64(e.deadline), `deadline after ${s.do}`);
    }
  }
}

test('picks, deadlines, averages and lags equal the model, also where vruntime wraps', () => {
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 1, maxLength: 120 }),
      fc.constantFrom(-(1n << 20n), 2n ** 63n - 9_000_000n, -40_000_000n, 0n),
      (steps, min) => replay(steps, min),
    ),
    { numRuns: 300, seed: 1 },
  );
});

test('a slice is used up after exactly the CPU time that fairSliceLeft() states', () => {
  const runFor = (weight: number, used: number, more: (left: bigint) => bigint): boolean => {
    units.call('setup', 1, 1, 1, SLICE, TICK);
    const task = units.call('newTask', weight, 0);
    units.call('enqueueOn', task, 0, 1, 0);
    units.call('schedule', 0);
    units.call('setTime', BigInt(used));
    units.call('charge', 0);
    const before = units.call64('deadline', task);
    units.call('setTime', BigInt(used) + more(units.call64('fairSliceLeft', 0, task)));
    units.call('charge', 0);
    return units.call64('deadline', task) !== before;
  };
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100_000 }),
      fc.integer({ min: 0, max: 2_999_000 }),
      (weight, used) => {
        assert.is(
          runFor(weight, used, (left) => left - 1n),
          false,
          'one nanosecond early',
        );
        assert.is(
          runFor(weight, used, (left) => left),
          true,
          'on time',
        );
      },
    ),
    { numRuns: 200, seed: 2 },
  );
});

test('virtual time is ns × 1024 / weight, rounded down, up to the cut inverse weight', () => {
  units.call('setup', 1, 1, 1, SLICE, TICK);
  for (const weight of WEIGHTS) {
    const task = units.call('newTask', weight, 0);
    for (const ns of [1n, 999n, 3_000_000n, 86_400_000_000_000n]) {
      const right = (ns * 1024n) / BigInt(weight);
      const got = units.call64('virtualTime', ns, task);
      // floor((2³² − 1) / weight) is short of the true inverse by at most weight / 2³², 2·10⁻⁵ at nice −20.
      const bound = 1n + (right * BigInt(weight)) / 2n ** 32n;
      assert.ok(got <= right && right - got <= bound, `${ns} ns at weight ${weight}: ${got}, not ${right}`);
    }
  }
});

test.run();
