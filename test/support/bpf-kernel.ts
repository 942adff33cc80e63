// A small kernel to link test objects against, with round numbers for offsets.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Kernel } from '../../src/bpf/object/kernel.js';
import { linkAll } from '../../src/bpf/object/link.js';
import { type OpenObject, openObject } from '../../src/bpf/object/open.js';
import type { BpfFunction, BpfMap, BpfObject, Instruction } from '../../src/bpf/object/program.js';
import type { LinkSettings } from '../../src/bpf/object/settings.js';

const allBut = (...names: string[]) => ({ has: (name: string) => !names.includes(name) });

export const KERNEL: Kernel = {
  version: (7 << 16) | (3 << 8) | 4,
  structs: {
    task_struct: {
      bytes: 4096,
      fields: {
        pid: { offset: 400, bytes: 4, signed: true },
        inside: { offset: -404, bytes: 4 },
        scx: { offset: 800, bytes: 16, type: 'sched_ext_entity' },
        comm: { offset: 900, bytes: 16, count: 16 },
        // Two bytes here, four in the object.
        narrow: { offset: 920, bytes: 2 },
        high_bits: { offset: 924, bytes: 4, signed: true, bits: { first: 9, count: 5 } },
      },
    },
    sched_ext_entity: {
      bytes: 16,
      fields: { slice: { offset: 0, bytes: 8 }, dsq_vtime: { offset: 8, bytes: 8 } },
    },
  },
  enums: {
    scx_enq_flags: { SCX_ENQ_WAKEUP: 1n, SCX_ENQ_LAST: 1n << 41n },
    scx_public_consts: { SCX_SLICE_DFL: 20_000_000n },
  },
  config: {},
  kfuncs: allBut('scx_bpf_dispatch'),
  helpers: allBut('probe_read_user'),
  map_types: allBut(),
  ops: allBut(),
};

const FEATURES = fileURLToPath(new URL('../../../test/bpf/features.bpf.o', import.meta.url));

export const featuresBytes = (): Uint8Array => readFileSync(FEATURES);

export const openFeatures = (): OpenObject => openObject(featuresBytes(), 'features.bpf.o');

export function linkFeatures(settings: Partial<LinkSettings> = {}, kernel: Partial<Kernel> = {}) {
  return linkAll(openFeatures(), { ...KERNEL, ...kernel }, { cpus: 4, ...settings });
}

export function functionNamed({ functions }: BpfObject, name: string): BpfFunction {
  return functions.find((fn) => fn.name === name)!;
}

export function mapNamed({ maps }: BpfObject, name: string): BpfMap {
  return maps.find((map) => map.name === name)!;
}

/** Instructions of the source line that contains `text`. */
export function codeOf({ instructions }: BpfFunction, text: string): Instruction[] {
  return instructions.filter(({ line }) => line?.includes(text));
}
