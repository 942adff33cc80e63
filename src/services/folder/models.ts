// microservice/*.json → models.

import { formatDuration } from '../../config/units.js';
import type { ServicesInput } from '../schema.js';
import { EPOLL, NETWORK_MEANS, NETWORK_PATHS, NGINX, NGINX_FREQUENCY_SHARE, SOCKET } from './builtin.js';
import { Names } from './names.js';
import type { ModelFile, Stage } from './shapes.js';

type Path = (string | number)[];
type ModelInput = ServicesInput['models'][string];
type StageInput = ModelInput['stages'][string];

/** Tells where in the folder a part of the model comes from. */
export type Origin = (part: Path, source: Path) => void;

/** A latency of a file, in ns: µs are rounded to whole ones. */
export function duration(latency: number, old: boolean): string {
  return formatDuration(BigInt(Math.round(old ? latency * 1000 : latency)));
}

/** In the order in which the release decides (Stage::getProcTime, Thread::run). */
function timeOf(stage: Stage, old: boolean): StageInput['time'] {
  const { batching, socket, epoll, ngx_proc, recv_time_model: model } = stage;
  if (batching && epoll) return EPOLL;
  if (ngx_proc) return NGINX;
  if (batching && socket) return SOCKET;
  const time = duration(model.latency, old);
  return model.type === 'const' ? time : { exponential: time };
}

function stageOf(stage: Stage, old: boolean): StageInput {
  const { batching, socket, epoll, ngx_proc, chunk, chunk_model, critical_section, scale_factor } = stage;
  const share = ngx_proc ? NGINX_FREQUENCY_SHARE : scale_factor;
  return {
    time: timeOf(stage, old),
    ...(batching
      ? { take: epoll ? ('heads' as const) : socket ? ('connection' as const) : ('all' as const) }
      : {}),
    ...(chunk && chunk_model !== undefined
      ? { repeat: chunk_model.type === 'expo' ? { exponential: chunk_model.number } : chunk_model.number }
      : {}),
    ...(stage.blocking ? { blocks_thread: true } : {}),
    ...(critical_section ? { critical_section: stage.thread_limit ?? 1 } : {}),
    ...(stage.net ? { leaves: 'network' as const } : {}),
    ...(share === 0 ? {} : { frequency_share: share }),
  };
}

/** Stages of a model: one for each stage_id, and another where a path says something else about it. */
class Stages {
  readonly inputs: Record<string, StageInput> = {};
  readonly #names = new Names();
  readonly #known = new Map<number, { name: string; text: string }[]>();
  readonly #old: boolean;

  constructor(old: boolean) {
    this.#old = old;
  }

  /** Name of the stage, and whether it is new. */
  add(stage: Stage): { name: string; fresh: boolean } {
    const input = stageOf(stage, this.#old);
    const text = JSON.stringify(input);
    const same = this.#known.get(stage.stage_id) ?? [];
    this.#known.set(stage.stage_id, same);
    const known = same.find((other) => other.text === text);
    if (known !== undefined) return { name: known.name, fresh: false };
    const name = this.#names.fresh(stage.stage_name);
    // One stage_id is one stage to a batch, whatever the paths' times.
    const [first] = same;
    const batched =
      input.take !== undefined && first !== undefined && this.inputs[first.name].take === input.take;
    this.inputs[name] = batched ? { ...input, batches_with: first.name } : input;
    same.push({ name, text });
    return { name, fresh: true };
  }
}

export interface Translated {
  input: ModelInput;
  /** Names of the paths by code path. */
  paths: string[];
}

/** The network stack's code paths are told apart by their order. */
export function modelOf(file: ModelFile, old: boolean, isStack: boolean, origin: Origin): Translated {
  const stages = new Stages(old);
  const paths = file.paths.map((_, i) =>
    isStack && i < NETWORK_PATHS.length ? NETWORK_PATHS[i] : file.paths.length === 1 ? 'main' : `path_${i}`,
  );
  const input: ModelInput = { stages: {}, paths: {} };
  file.paths.forEach(({ stages: given, probability, priority }, i) => {
    origin(['paths', paths[i]], ['paths', i]);
    origin(['paths', paths[i], 'probability'], ['paths', i, 'probability']);
    origin(['paths', paths[i], 'priority'], ['paths', i, 'priority']);
    const names = given.map((stage, j) => {
      const { name, fresh } = stages.add(stage);
      if (fresh) origin(['stages', name], ['paths', i, 'stages', j]);
      origin(['paths', paths[i], 'stages', j], ['paths', i, 'stages', j]);
      return name;
    });
    input.paths[paths[i]] = {
      stages: names,
      ...(probability === undefined ? {} : { probability: old ? probability : probability / 100 }),
      ...(priority === undefined ? {} : { priority }),
    };
  });
  input.stages = stages.inputs;
  if (!file.bind_connection) input.bind_connections = false;
  if (file.base_freq !== 2600) input.reference_frequency = `${file.base_freq}MHz`;
  return { input, paths };
}

/** The release's own network stack, for folders without one. */
export function defaultStack(): ModelInput {
  const stages: ModelInput['stages'] = {};
  const paths: ModelInput['paths'] = {};
  NETWORK_PATHS.forEach((name, i) => {
    stages[name] = { time: { exponential: NETWORK_MEANS[i] }, leaves: 'network' };
    paths[name] = { stages: [name] };
  });
  return { stages, paths };
}
