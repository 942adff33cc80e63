// What the host tells of the engine's BPF side is what the engine has: names and parameters of helpers and kfuncs, numbers of
// callbacks, offsets of the fields that programs see.

import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { KernelStruct } from '../src/bpf/object/kernel.js';
import { kernelOf } from '../src/bpf/runtime/kernel-types.js';
import {
  HELPER_PARAMETERS,
  KFUNC_PARAMETERS,
  MAP_TYPE_NUMBERS,
  OP_NUMBERS,
} from '../src/bpf/runtime/supported.js';
import * as abi from '../src/engine/abi.js';
import { instantiate, loadEngine } from '../src/engine/module.js';

const engine = instantiate(loadEngine());

function exported(prefix: string): Record<string, number> {
  const functions = Object.entries(engine).filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(
    functions.map(([name, value]) => [name.slice(prefix.length), (value as () => void).length]),
  );
}

test('helpers and kfuncs: the same names, with the same numbers of parameters', () => {
  assert.equal(exported('bpf_helper_'), { ...HELPER_PARAMETERS });
  assert.equal(exported('bpf_kfunc_'), { ...KFUNC_PARAMETERS });
});

test('callbacks and map types have the numbers of the engine', () => {
  const constants: Record<string, unknown> = { ...abi };
  for (const [name, number] of Object.entries(OP_NUMBERS)) {
    assert.is(constants[`BPF_OP_${name.toUpperCase()}`], number, name);
  }
  for (const [name, number] of Object.entries(MAP_TYPE_NUMBERS)) {
    assert.is(constants[`MAP_${name}`], number, name);
  }
});

/** Offsets of constants like `export const TASK_CPU: usize = TASKS + 4;`. */
function offsets(file: string, base: string): Map<string, number> {
  const text = readFileSync(`assembly/${file}`, 'utf8');
  const found = text.matchAll(new RegExp(`const (\\w+): usize = ${base} \\+ (\\d+);`, 'g'));
  return new Map([...found].map(([, name, offset]) => [name, Number(offset)]));
}

const { structs } = kernelOf('7.3');
const fieldOf = ({ fields }: KernelStruct, name: string) => fields[name].offset;

test('fields of tasks lie where the engine keeps them', () => {
  const record = offsets('kernel/task.ts', 'TASKS');
  const view = offsets('bpf/task.ts', 'BPF_TASKS');
  const { task_struct, sched_ext_entity, sched_entity, thread_info } = structs;
  assert.is(fieldOf(task_struct, 'pid'), record.get('TASK_PID'));
  assert.is(fieldOf(task_struct, 'thread_info') + fieldOf(thread_info, 'cpu'), record.get('TASK_CPU'));
  assert.is(fieldOf(task_struct, 'recent_used_cpu'), record.get('TASK_RECENT_CPU'));
  assert.is(fieldOf(sched_ext_entity, 'dsq_vtime'), record.get('TASK_VTIME'));
  assert.is(fieldOf(sched_ext_entity, 'slice'), record.get('TASK_SLICE'));
  assert.is(fieldOf(sched_entity, 'sum_exec_runtime'), record.get('TASK_SUM_EXEC'));
  const extended: [KernelStruct, string, string][] = [
    [task_struct, 'cpus_ptr', 'VIEW_CPUS_PTR'],
    [task_struct, 'real_parent', 'VIEW_PARENT'],
    [task_struct, 'group_leader', 'VIEW_LEADER'],
    [task_struct, 'cgroups', 'VIEW_CGROUPS'],
    [task_struct, 'mm', 'VIEW_MM'],
    [task_struct, 'nr_cpus_allowed', 'VIEW_NR_CPUS_ALLOWED'],
    [task_struct, 'flags', 'VIEW_FLAGS'],
    [task_struct, 'tgid', 'VIEW_TGID'],
    [task_struct, 'static_prio', 'VIEW_PRIO'],
    [task_struct, 'policy', 'VIEW_POLICY'],
    [task_struct, 'cpus_mask', 'VIEW_CPUS_MASK'],
    [task_struct, 'comm', 'VIEW_COMM'],
    [task_struct, 'on_cpu', 'VIEW_ON_CPU'],
    [task_struct, 'on_rq', 'VIEW_ON_RQ'],
    [task_struct, 'start_time', 'VIEW_START_TIME'],
    [task_struct, 'nvcsw', 'VIEW_NVCSW'],
    [task_struct, 'nivcsw', 'VIEW_NIVCSW'],
    [task_struct, '__state', 'VIEW_STATE'],
    [sched_ext_entity, 'weight', 'VIEW_WEIGHT'],
    [sched_ext_entity, 'flags', 'VIEW_SCX_FLAGS'],
    [sched_ext_entity, 'disallow', 'VIEW_DISALLOW'],
  ];
  for (const [struct, field, constant] of extended) {
    assert.is(fieldOf(struct, field) - abi.BPF_TASK_EXTENSION, view.get(constant), field);
  }
});

test('programs see no field beyond the record that holds it', () => {
  for (const [name, { fields }] of Object.entries(structs)) {
    for (const [field, { offset, bytes }] of Object.entries(fields)) {
      const inside = offset >= abi.BPF_TASK_EXTENSION ? offset - abi.BPF_TASK_EXTENSION : offset;
      assert.ok(inside + bytes <= 256, `${name}.${field}`);
    }
  }
});

test.run();
