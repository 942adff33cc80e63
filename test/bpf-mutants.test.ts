// Damaged schedulers, hundreds here and a thousand with VTIME_MUTANTS=1000: whatever is in an object, it is refused, or the run ends with a named violation, or it runs to
// its end with the engine's own sums intact. Nothing else happens, and nothing hangs.
//
// Objects are real ones with instructions or bytes changed. What no kernel's verifier would let pass (accesses out of bounds,
// endless loops, wild jumps and pointers) reaches the translated code here, because nothing was checked before.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Draws } from '../src/draws.js';
import { EngineError, SimulationError, VtimeError } from '../src/errors.js';
import { type ConfigInput, simulate } from '../src/index.js';
import { temporaryFolder } from './support/folder.js';

const MUTANTS = Number(process.env.VTIME_MUTANTS ?? 250);
const OBJECTS = ['fifo', 'vtime', 'fivelevel', 'central', 'domains'];
/** One mutant takes some tens of ms; a loop that uses up its budget in each callback, a few seconds. */
const LIMIT_MS = 20_000;

/** Wake-ups, preemptions, forks and changed masks: each callback is called many times in 250 ms. */
const CONFIG: ConfigInput = {
  machine: 'ideal-3',
  kernel: { version: '7.3', watchdog_timeout: '100ms' },
  workload: {
    tasks: [
      { name: 'hog', count: 4, program: [{ loop: { times: 'forever', do: [{ run: '5ms' }] } }] },
      {
        name: 'sleeper',
        count: 4,
        program: [{ loop: { times: 'forever', do: [{ run: '100us' }, { sleep: '300us' }] } }],
      },
      {
        name: 'forker',
        program: [
          {
            loop: {
              times: 'forever',
              do: [{ fork: { count: 2, program: [{ run: '50us' }] } }, { join: 'sleep' }],
            },
          },
        ],
      },
      {
        name: 'flipper',
        program: [
          {
            loop: {
              times: 'forever',
              do: [{ affinity: '1' }, { run: '1ms' }, { affinity: '0-2' }, { run: '1ms' }],
            },
          },
        ],
      },
    ],
  },
  run: { end: 'horizon', horizon: '250ms' },
};

interface Section {
  offset: number;
  size: number;
}

/** Sections of an ELF object that hold instructions (SHF_EXECINSTR). */
function codeSections(bytes: Uint8Array): Section[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const table = Number(view.getBigUint64(0x28, true));
  const sections: Section[] = [];
  for (let i = 0; i < view.getUint16(0x3c, true); i++) {
    const header = table + i * 64;
    const size = Number(view.getBigUint64(header + 0x20, true));
    if (view.getUint32(header + 8, true) & 4 && size > 0) {
      sections.push({ offset: Number(view.getBigUint64(header + 0x18, true)), size });
    }
  }
  return sections;
}

/** Opcodes of every class, so that changed instructions are often ones that exist. */
const OPCODES = [
  0x07, 0x0f, 0x17, 0x27, 0x37, 0x57, 0x67, 0x77, 0xb7, 0xbf, 0xc7, 0x04, 0x0c, 0xb4, 0xbc, 0x61, 0x69, 0x71,
  0x79, 0x62, 0x63, 0x6b, 0x73, 0x7b, 0x7a, 0xc3, 0xdb, 0x05, 0x15, 0x1d, 0x25, 0x55, 0x65, 0xa5, 0xc5, 0x16,
  0x56, 0x85, 0x8d, 0x95, 0xe5,
];

/** Changes one instruction: its registers, offset, immediate or all of it. */
function mutateInstruction(view: DataView, at: number, draws: Draws): void {
  switch (draws.whole(0, 6)) {
    case 0:
      view.setUint8(at + 1, draws.whole(0, 10) | (draws.whole(0, 10) << 4));
      break;
    case 1:
      view.setInt16(at + 2, draws.pick([0, 1, -1, -2, -8, 8, 0x7fff, -0x8000, draws.whole(-64, 64)]), true);
      break;
    case 2:
      view.setInt32(
        at + 4,
        draws.pick([0, 1, -1, 8, 0x7fffffff, -0x80000000, draws.whole(-4096, 4096)]),
        true,
      );
      break;
    case 3:
      view.setUint8(at, draws.pick(OPCODES));
      break;
    case 4:
      // A jump backwards: most likely an endless loop.
      view.setBigUint64(at, 0n);
      view.setUint8(at, draws.pick([0x05, 0x55, 0x15]));
      view.setInt16(at + 2, -draws.whole(1, 6), true);
      break;
    case 5:
      view.setUint8(at, view.getUint8(at) ^ (1 << draws.whole(0, 7)));
      break;
    default:
      view.setBigUint64(at, 0xbfn | (BigInt(draws.whole(0, 10)) << 12n), true);
      view.setUint8(at + 1, draws.whole(0, 9) | (draws.whole(0, 10) << 4));
  }
}

function mutateCode(original: Uint8Array, draws: Draws): Uint8Array {
  const bytes = original.slice();
  const view = new DataView(bytes.buffer);
  const sections = codeSections(bytes);
  for (let i = draws.whole(1, 3); i > 0; i--) {
    const { offset, size } = draws.pick(sections);
    mutateInstruction(view, offset + 8 * draws.whole(0, size / 8 - 1), draws);
  }
  return bytes;
}

function mutateBytes(original: Uint8Array, draws: Draws): Uint8Array {
  const bytes = original.slice();
  for (let i = draws.whole(1, 6); i > 0; i--)
    bytes[draws.whole(0, bytes.length - 1)] ^= 1 << draws.whole(0, 7);
  return bytes;
}

const folder = temporaryFolder('mutants');

/** What the checks of translated code and of the runtime report, against rules of the kernel and errors of callbacks. */
const VIOLATIONS = new Set(
  ['load', 'store', 'loop', 'stack', 'call', 'pointer', 'memory', 'lock'].map((kind) => `bpf_${kind}`),
);

type Fate = 'refused' | 'violation' | 'broken rule' | 'stalled' | 'ran';

/** Runs a mutant. Anything but the outcomes that are meant to happen is thrown. */
async function fateOf(bytes: Uint8Array, name: string): Promise<{ fate: Fate; message: string }> {
  const object = join(folder, `${name}.bpf.o`);
  writeFileSync(object, bytes);
  const begun = performance.now();
  try {
    const { outcome, reason } = await simulate({ ...CONFIG, policy: { object } });
    return outcome === 'stalled' || outcome === 'deadlocked'
      ? { fate: 'stalled', message: reason!.message }
      : { fate: 'ran', message: '' };
  } catch (error) {
    if (!(error instanceof VtimeError) || error instanceof EngineError) {
      throw new Error(`${name}: ${error instanceof Error ? error.stack : error}`);
    }
    const { message } = error;
    if (!(error instanceof SimulationError)) return { fate: 'refused', message };
    return { fate: VIOLATIONS.has(error.code) ? 'violation' : 'broken rule', message };
  } finally {
    const ms = performance.now() - begun;
    assert.ok(ms < LIMIT_MS, `${name} took ${ms} ms`);
    rmSync(object);
  }
}

async function fates(
  label: string,
  /** Of all mutants. */
  share: number,
  mutate: (original: Uint8Array, draws: Draws) => Uint8Array,
): Promise<Record<Fate, string[]>> {
  const all: Record<Fate, string[]> = { refused: [], violation: [], 'broken rule': [], stalled: [], ran: [] };
  const count = Math.ceil((MUTANTS * share) / OBJECTS.length);
  for (const object of OBJECTS) {
    // A copy: slices of a Buffer share its memory.
    const original = new Uint8Array(
      readFileSync(new URL(`../../bpf/objects/${object}.bpf.o`, import.meta.url)),
    );
    for (let i = 0; i < count; i++) {
      const { fate, message } = await fateOf(
        mutate(original, new Draws(label, object, i)),
        `${object}-${label}-${i}`,
      );
      all[fate].push(message);
    }
  }
  return all;
}

test('changed instructions: each mutant is refused, stopped with its place, or runs to its end', async () => {
  const all = await fates('code', 0.75, mutateCode);
  // Every fate occurs, so the mutants reach translation and run time.
  for (const [fate, messages] of Object.entries(all)) assert.ok(messages.length > 0, `none ${fate}`);
  for (const message of all.violation) assert.match(message, /function \w+, instruction \d+/);
});

test('changed bytes: headers, types, relocations, data', async () => {
  const all = await fates('bytes', 0.2, mutateBytes);
  assert.ok(all.refused.length > 0 && all.ran.length > 0);
});

test('cut off anywhere, an object is refused', async () => {
  const all = await fates('cut', 0.05, (original, draws) =>
    original.slice(0, draws.whole(0, original.length - 1)),
  );
  for (const fate of ['violation', 'broken rule', 'stalled', 'ran'] as const) assert.equal(all[fate], []);
});

test.run();
