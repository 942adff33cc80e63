// BPF to Wasm: a linked object becomes a module that shares the engine's memory and table. What module and engine agree on
// is in contract.ts. Nothing is called from JavaScript once the module is instantiated.

import type { BpfObject } from '../object/program.js';
import { placeOf, refuse } from './blocks.js';
import { type FunctionCalls, limitCalls, readCallGraph } from './calls.js';
import type { Site, TranslateOptions, Translation } from './contract.js';
import { encodeModule, type FunctionType, I32, I64, type Import, type ValueType } from './encoder.js';
import { translateFunction } from './function.js';
import { LOCALS, type ModuleScope } from './scope.js';

export * from './contract.js';

function signature(parameters: ValueType[], results: ValueType[]): FunctionType {
  return { parameters, results };
}

/** Type indices; functions of n parameters i64 → i64 follow from FIRST_ARITY on. */
const VIOLATION_TYPE = 0;
const WRITE_TASK_TYPE = 1;
const FIRST_ARITY = 2;
const MOST_PARAMETERS = 5;

const TYPES: FunctionType[] = [
  signature([I32, I32, I64], []),
  signature([I64, I64, I32], [I32]),
  ...Array.from({ length: MOST_PARAMETERS + 1 }, (_, n) => signature(new Array(n).fill(I64), [I64])),
];

/** Callbacks of all schedulers of the object. */
function defaultRoots(object: BpfObject): number[] {
  return object.schedulers.flatMap(({ callbacks }) => [...callbacks.values()]);
}

/** Functions of the engine that the program calls, in the order of their imports. Unknown ones are refused by name. */
function engineFunctions(object: BpfObject, graph: Map<number, FunctionCalls>, options: TranslateOptions) {
  const found = new Map<string, { kind: 'helper' | 'kfunc'; name: string; parameters: number }>();
  for (const { index, imports } of graph.values()) {
    for (const [importName, { kind, name, at }] of imports) {
      if (found.has(importName)) continue;
      const parameters = options.parameters(kind, name);
      if (parameters === undefined || parameters > MOST_PARAMETERS) {
        refuse(object.functions[index], at, `${kind} ${name} is not supported`);
      }
      found.set(importName, { kind, name, parameters });
    }
  }
  return found;
}

/**
 * Translates what the roots of an object reach. Throws `bpf_instruction`, naming function and instruction, for what no
 * kernel would load (jumps out of a function, recursion) and for instructions and functions that vtime does not have.
 * Values of read-only maps become constants: they have to be final.
 */
export function translate(object: BpfObject, options: TranslateOptions): Translation {
  const roots = [...new Set(options.roots ?? defaultRoots(object))];
  const graph = readCallGraph(object.functions, roots);
  const { counted, callsBack } = limitCalls(object.functions, graph);
  const functions = [...graph.keys()].sort((a, b) => a - b);
  const pointers = functions.flatMap((index) => [...graph.get(index)!.pointers.keys()]);
  const table = [...new Set([...roots, ...pointers])];
  const maps = [...new Set(functions.flatMap((index) => [...graph.get(index)!.maps]))].sort((a, b) => a - b);
  const engine = engineFunctions(object, graph, options);

  const imports: Import[] = [
    { module: 'engine', name: 'memory', kind: 'memory', minimumPages: 0 },
    { module: 'engine', name: 'table', kind: 'table', minimum: 0 },
    { module: 'engine', name: 'table_base', kind: 'global', type: I32 },
    ...maps.map((map): Import => ({ module: 'engine', name: `map.${map}`, kind: 'global', type: I64 })),
    { module: 'engine', name: 'bpf_violation', kind: 'function', type: VIOLATION_TYPE },
    { module: 'engine', name: 'bpf_write_task', kind: 'function', type: WRITE_TASK_TYPE },
  ];
  const engineIndex = new Map<string, number>();
  for (const [name, { parameters }] of engine) {
    engineIndex.set(name, 2 + engineIndex.size);
    imports.push({ module: 'engine', name, kind: 'function', type: FIRST_ARITY + parameters });
  }
  const firstLocal = 2 + engine.size;
  const localIndex = new Map(functions.map((index, i) => [index, firstLocal + i]));
  const slots = new Map(table.map((index, slot) => [index, slot]));
  const mapGlobals = new Map(maps.map((map, i) => [map, 1 + i]));
  const sites: Site[] = [];
  const siteNumbers = new Map<string, number>();

  const module: ModuleScope = {
    object,
    options,
    violation: 0,
    writeTask: 1,
    tableBase: 0,
    stackTop: 1 + maps.length,
    tableSize: table.length,
    callbackType: FIRST_ARITY + MOST_PARAMETERS,
    map: (index) => mapGlobals.get(index)!,
    imported: (kind, name) => {
      const importName = `bpf_${kind}_${name}`;
      return { function: engineIndex.get(importName)!, parameters: engine.get(importName)!.parameters };
    },
    local: (index) => localIndex.get(index)!,
    tableSlot: (index) => slots.get(index)!,
    site: (index, instruction) => {
      const key = `${index}:${instruction}`;
      const known = siteNumbers.get(key);
      if (known !== undefined) return known;
      siteNumbers.set(key, sites.length);
      return sites.push({ function: index, instruction }) - 1;
    },
  };
  const bodies = functions.map((index) => {
    const calls = graph.get(index)!;
    const frame = calls.usesFrame || (slots.has(index) && callsBack.has(index));
    return translateFunction(module, { index, blocks: calls.blocks, frame, calls: calls.calls, counted });
  });
  const wasm = encodeModule({
    types: TYPES,
    imports,
    functions: functions.map((index, i) => ({
      type: FIRST_ARITY + MOST_PARAMETERS,
      locals: LOCALS,
      code: bodies[i],
      name: object.functions[index].name,
    })),
    globals: [{ type: I64, initial: BigInt(options.stackHigh) }],
    exports: functions.map((index, i) => ({ name: `f${index}`, function: firstLocal + i })),
    elements: { offset: 0, functions: table.map((index) => localIndex.get(index)!) },
  });
  const names = (kind: string): string[] =>
    [...engine.values()].filter((entry) => entry.kind === kind).map((entry) => entry.name);
  return { wasm, sites, table, functions, helpers: names('helper'), kfuncs: names('kfunc'), maps };
}

/** A violation's place in words: function, instruction as a disassembler shows it, source line. */
export function describeSite(object: BpfObject, { function: index, instruction }: Site): string {
  return placeOf(object.functions[index], instruction);
}
