// The calendar against a sorted list: events leave in order of time, then class, then slot; an entity has one event
// of a kind, and setting it again moves it.

import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadUnits } from './support/units.js';

const units = loadUnits('events');
const NEVER = 2n ** 64n - 1n;
/** Keys reach 2^46 ns beyond the epoch, which follows the clock once it is 2^44 ns behind (kernel/events.ts). */
const REACH = 2n ** 46n;

const CPUS = 4;
const SYSTEM = 3;
// assembly/kernel/events.ts: lanes of a CPU and their classes; arrivals, deliveries, timers, system events.
const LANES = [2, 4, 5, 6];
const ARRIVAL = 0;
const DELIVERY = 1;
const WAKE = 3;
const WATCHDOG = 8;

interface Event {
  time: bigint;
  class: number;
  slot: number;
}

/** What the engine promises, as a list that is searched for its minimum. */
class Model {
  #events = new Map<string, Event>();
  #deliveries: Event[] = [];

  set(event: Event): void {
    this.#events.set(`${event.class}/${event.slot}`, event);
  }
  clear(eventClass: number, slot: number): void {
    this.#events.delete(`${eventClass}/${slot}`);
  }
  deliver(event: Event): void {
    this.#deliveries.push(event);
  }
  /** Deliveries of one instant keep the order in which they were made. */
  take(): Event | undefined {
    const all = [...this.#events.values(), ...this.#deliveries];
    if (all.length === 0) return undefined;
    const before = (a: Event, b: Event) =>
      a.time !== b.time
        ? a.time < b.time
        : a.class !== b.class
          ? a.class < b.class
          : a.class !== DELIVERY && a.slot < b.slot;
    const first = all.reduce((best, event) => (before(event, best) ? event : best));
    if (first.class === DELIVERY) this.#deliveries.splice(this.#deliveries.indexOf(first), 1);
    else this.clear(first.class, first.slot);
    return first;
  }
}

/** Sets an event in the engine; `time` = NEVER cancels it. */
function set({ time, class: eventClass, slot }: Event): void {
  const lane = LANES.indexOf(eventClass);
  if (eventClass === ARRIVAL) units.call('setSource', slot, time);
  else if (eventClass === WAKE && time === NEVER) units.call('clearTimer', slot);
  else if (eventClass === WAKE) units.call('setTimer', slot, time);
  else if (eventClass === WATCHDOG) units.call('setSystem', slot - CPUS, WATCHDOG, time);
  else if (time === NEVER) units.call('clearLane', slot, lane);
  else units.call('setLane', slot, lane, eventClass, time);
}

function take(): Event | undefined {
  if (units.call('take') === 0) return undefined;
  const taken = {
    time: units.call64('time'),
    class: units.call('takenClass'),
    slot: units.call('takenSlot'),
  };
  // Events of CPUs and of the system stay in the tree until their handler clears or moves them.
  if (LANES.includes(taken.class) || taken.class === WATCHDOG) set({ ...taken, time: NEVER });
  return taken;
}

const kinds = fc.oneof(
  fc.record({ class: fc.constantFrom(...LANES), slot: fc.nat(CPUS - 1) }),
  fc.record({ class: fc.constant(WATCHDOG), slot: fc.integer({ min: CPUS, max: CPUS + SYSTEM - 1 }) }),
  fc.record({ class: fc.constant(ARRIVAL), slot: fc.nat(5) }),
  // More than the 64 leaves that the timer tree begins with.
  fc.record({ class: fc.constant(WAKE), slot: fc.integer({ min: 1, max: 200 }) }),
  fc.record({ class: fc.constant(DELIVERY), slot: fc.nat(1000) }),
);

function compare(delay: fc.Arbitrary<bigint>, seed: number, reArms: boolean): void {
  const action = fc.oneof(
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('set' as const), what: kinds, delay }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('clear' as const), what: kinds }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('take' as const) }) },
  );
  fc.assert(
    fc.property(fc.array(action, { maxLength: 120 }), (actions) => {
      units.call('setup', CPUS, SYSTEM, 6);
      const model = new Model();
      /** True times, which a handler knows when the key could not hold one. */
      const due = new Map<string, bigint>();
      const key = ({ class: eventClass, slot }: Omit<Event, 'time'>) => `${eventClass}/${slot}`;
      let now = 0n;
      const next = (): Event | undefined => {
        for (;;) {
          const event = take();
          if (event === undefined || event.class === DELIVERY) return event;
          const time = due.get(key(event))!;
          if (time === event.time) return event;
          // Beyond the reach of a key: the handler arms it again.
          assert.ok(reArms && event.time < time);
          set({ ...event, time });
        }
      };
      const check = () => {
        const expected = model.take();
        assert.equal(next(), expected);
        if (expected !== undefined) now = expected.time;
        return expected !== undefined;
      };
      for (const step of actions) {
        if (step.kind === 'take') {
          check();
        } else if (step.kind === 'clear') {
          if (step.what.class === DELIVERY) continue;
          model.clear(step.what.class, step.what.slot);
          set({ ...step.what, time: NEVER });
        } else {
          const event = { ...step.what, time: now + step.delay };
          if (event.class === DELIVERY) {
            if (step.delay >= REACH / 2n) continue;
            units.call('deliver', event.time, event.slot);
            model.deliver(event);
          } else {
            due.set(key(event), event.time);
            set(event);
            model.set(event);
          }
        }
      }
      while (check());
    }),
    { seed, numRuns: 300 },
  );
}

test('ties: time, then class, then slot', () => {
  compare(fc.bigInt({ min: 0n, max: 3n }), 1, false);
});

test('times at large, with the epoch moved after 2^44 ns', () => {
  compare(fc.oneof(fc.bigInt({ min: 0n, max: 5n }), fc.bigInt({ min: 0n, max: 2n ** 45n })), 2, false);
});

test('times beyond the 2^46 ns that a key reaches are armed in steps', () => {
  compare(fc.oneof(fc.bigInt({ min: 0n, max: 5n }), fc.bigInt({ min: 0n, max: 2n ** 50n })), 3, true);
});

test('one instant: arrivals, deliveries, completions, wake-ups, idle exits, ticks, balancing, system', () => {
  units.call('setup', CPUS, SYSTEM, 6);
  const at = 1_000_000n;
  const wanted: [number, number][] = [];
  for (const [eventClass, slots] of [
    [WATCHDOG, [CPUS + 1]],
    [6, [3, 0]],
    [5, [2, 1]],
    [4, [1]],
    [WAKE, [7, 3]],
    [2, [3, 2]],
    [ARRIVAL, [4, 1]],
  ] as const) {
    for (const slot of slots) set({ time: at, class: eventClass, slot });
    wanted.unshift(...[...slots].sort((a, b) => a - b).map((slot): [number, number] => [eventClass, slot]));
  }
  units.call('deliver', at, 9);
  units.call('deliver', at, 8);
  wanted.splice(2, 0, [DELIVERY, 9], [DELIVERY, 8]);
  // A CPU's leaf is its earliest lane: each of its other lanes waits for its turn.
  const got: [number, number][] = [];
  for (let event = take(); event !== undefined; event = take()) got.push([event.class, event.slot]);
  assert.equal(got, wanted);
});

test.run();
