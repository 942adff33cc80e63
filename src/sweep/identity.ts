// What a cell's result depends on, and the id made from it. Traces are read once for all cells.

import { createHash, type Hash } from 'node:crypto';
import { createReadStream, readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readObject } from '../bpf/runtime/runtime.js';
import { canonicalJson, configIdentity, isPath, renameFiles } from '../config/canonical.js';
import { machineOf } from '../config/resolve.js';
import type { Config, ResolvedConfig } from '../config/schema.js';
import type { CellTraces } from '../engine/simulate.js';
import { VtimeError } from '../errors.js';
import {
  functionsToArrow,
  type InvocationStream,
  invocationsToArrow,
  readTrace,
  STREAM_ABOVE,
  type Trace,
} from '../trace/index.js';
import { type InputHash, STORE_VERSION } from './store.js';

const BUNDLED_PROFILES = new URL('../../../data/profiles/functions.json', import.meta.url);
/** The host's share of a simulation: what these folders compile to decides results as the engine does. */
const MODEL_FOLDERS = ['bpf', 'config', 'engine', 'trace'];

const sha256 = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** A trace in memory that threads share. */
export interface SharedTrace {
  /** What it is for, and the name by which configs know it. */
  kind: 'trace' | 'times';
  name: string;
  /** Arrow IPC files in a SharedArrayBuffer. */
  functions: Uint8Array;
  invocations?: Uint8Array;
  /** In place of `invocations` where they stay on disk. */
  stream?: InvocationStream;
}

function sharedCopy(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

function hashFolder(folder: URL, hash: Hash): void {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    if (entry.isDirectory()) hashFolder(new URL(`${entry.name}/`, folder), hash);
    else if (entry.name.endsWith('.js'))
      hash.update(entry.name).update(readFileSync(new URL(entry.name, folder)));
  }
}

let model: string | undefined;

/** SHA-256 over the code that turns a config into a model image and a result image into metrics. */
export function modelHash(): string {
  if (model === undefined) {
    const hash = createHash('sha256');
    for (const folder of MODEL_FOLDERS) hashFolder(new URL(`../${folder}/`, import.meta.url), hash);
    model = hash.digest('hex');
  }
  return model;
}

/** The config with its files named without their folders: what results carry. */
export function portableConfig<C extends Config | ResolvedConfig>(config: C): C {
  return renameFiles(config, (path) => basename(path));
}

/** SHA-256 of a config as given, its sweep included; without the folders of its files. */
export function sweepHash(config: Config): string {
  return sha256(canonicalJson(portableConfig(config)));
}

/** Reads and hashes each input once. */
export class Inputs {
  readonly #given: Trace | undefined;
  readonly #hashes = new Map<string, string>();
  readonly #objects = new Map<string, Uint8Array>();
  readonly #traces = new Map<string, { hash: InputHash; shared: SharedTrace; trace: Trace }>();

  /** `given` takes the place of the traces that configs name. */
  constructor(given?: Trace) {
    this.#given = given;
  }

  /** What the cell depends on beside its config. Errors of reading a trace or file are VtimeErrors. */
  async of(config: ResolvedConfig): Promise<InputHash[]> {
    const { serverless, arrivals } = config.workload;
    const { profile } = config.machine;
    const hashes: InputHash[] = [
      {
        kind: 'machine',
        file: basename(profile),
        sha256: this.#once(`machine ${canonicalJson(config.machine)}`, () =>
          canonicalJson(machineOf(config)),
        ),
      },
    ];
    if (config.policy.name === 'bpf') {
      const { path, bytes, sha256 } = readObject(config.policy.object);
      this.#objects.set(path, bytes);
      hashes.push({ kind: 'object', file: basename(path), sha256 });
    }
    for (const { times } of arrivals) {
      if (times !== undefined) hashes.push(await this.#trace('times', times));
    }
    if (serverless !== undefined) {
      hashes.push(await this.#trace('trace', serverless.trace));
      const { file } = serverless.profiles;
      hashes.push(this.#profiles(isPath(file) ? file : fileURLToPath(BUNDLED_PROFILES)));
    }
    return hashes;
  }

  /** The traces read so far, for a simulation in this thread. */
  get traces(): CellTraces {
    const traces: CellTraces = { times: new Map() };
    for (const { trace, shared } of this.#traces.values()) {
      if (shared.kind === 'trace') traces.trace = trace;
      else traces.times.set(shared.name, trace);
    }
    return traces;
  }

  /** The traces read so far, for workers. */
  get shared(): SharedTrace[] {
    return Array.from(this.#traces.values(), ({ shared }) => shared);
  }

  /** The BPF objects read so far, by their paths. */
  get objects(): ReadonlyMap<string, Uint8Array> {
    return this.#objects;
  }

  #once(key: string, content: () => string | Uint8Array): string {
    let hash = this.#hashes.get(key);
    if (hash === undefined) {
      hash = sha256(content());
      this.#hashes.set(key, hash);
    }
    return hash;
  }

  #profiles(path: string): InputHash {
    const content = () => {
      try {
        return readFileSync(path);
      } catch (error) {
        throw new VtimeError('input_unreadable', `cannot read: ${(error as NodeJS.ErrnoException).code}`, {
          file: path,
          expected: 'a file of function profiles',
        });
      }
    };
    return { kind: 'profiles', file: basename(path), sha256: this.#once(`profiles ${path}`, content) };
  }

  async #trace(kind: SharedTrace['kind'], name: string): Promise<InputHash> {
    const key = `${kind} ${name}`;
    const known = this.#traces.get(key);
    if (known !== undefined) return known.hash;
    // Only the serverless workload streams; the arrivals of a source are a list in the model.
    const options = kind === 'trace' ? { stream_above: STREAM_ABOVE } : {};
    const trace =
      kind === 'trace' && this.#given !== undefined ? this.#given : await readTrace(name, options);
    const functions = sharedCopy(functionsToArrow(trace));
    const invocations = trace.invocations === undefined ? undefined : sharedCopy(invocationsToArrow(trace));
    const content = createHash('sha256').update(functions);
    if (invocations !== undefined) content.update(invocations);
    if (trace.stream !== undefined) {
      // The file is what invocationsToArrow() would give: cells have one id whether the table is streamed or not.
      for await (const bytes of createReadStream(trace.stream.path)) content.update(bytes as Buffer);
    }
    const hash: InputHash = { kind, file: basename(name), sha256: content.digest('hex') };
    const shared = {
      kind,
      name,
      functions,
      ...(invocations === undefined ? {} : { invocations }),
      ...(trace.stream === undefined ? {} : { stream: trace.stream }),
    };
    this.#traces.set(key, { hash, shared, trace });
    return hash;
  }
}

/** SHA-256 of everything that decides a cell's result: no paths, no labels, no output options, no worker count. */
export function cellId(config: ResolvedConfig, inputs: readonly InputHash[], engine_sha256: string): string {
  return sha256(
    canonicalJson({
      store: STORE_VERSION,
      engine: engine_sha256,
      model: modelHash(),
      config: configIdentity(config),
      inputs: inputs.map(({ kind, sha256: content }) => [kind, content]),
    }),
  );
}
