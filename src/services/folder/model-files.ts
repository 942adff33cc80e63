// The models of a folder: the files of microservice/, or the list in microservice.json, which comes first.

import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Path, valueAt } from '../../config/mistakes.js';
import type { Finding } from '../findings.js';
import type { ServicesInput } from '../schema.js';
import type { ModelInfo } from './deployment.js';
import { FolderDocument } from './document.js';
import { defaultStack, modelOf } from './models.js';
import { Names } from './names.js';
import type { Origins } from './origins.js';
import { modelShape } from './shapes.js';

/** Model of the network stack. */
export const STACK = 'net_stack';

export interface ModelSource {
  document: FolderDocument;
  /** Where in the document: [] for a file of its own. */
  base: Path;
}

export interface FolderModels {
  /** By the name in the folder. */
  infos: Map<string, ModelInfo>;
  /** By the name in the services model, as `paths`. */
  inputs: ServicesInput['models'];
  /** Names of the paths by code path. */
  paths: Map<string, string[]>;
  /** Whether all of them could be read. */
  complete: boolean;
}

export function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

export function modelSources(folder: string, findings: Finding[]): ModelSource[] {
  const single = join(folder, 'microservice.json');
  if (existsSync(single)) {
    const document = FolderDocument.read(single, findings);
    if (document === undefined) return [];
    if (Array.isArray(document.value)) return document.value.map((_, i) => ({ document, base: [i] }));
    document.add('error', [], 'bad-value', 'expected a list of models');
    return [];
  }
  const inner = join(folder, 'microservice');
  if (!isFolder(inner)) {
    const message = 'missing; expected a folder of models, or microservice.json';
    findings.push({ severity: 'error', path: [], code: 'missing-file', message, file: inner });
    return [];
  }
  return readdirSync(inner)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .flatMap((name) => {
      const document = FolderDocument.read(join(inner, name), findings);
      return document === undefined ? [] : [{ document, base: [] }];
    });
}

/** Whether the folder is from before the release, whose models have frequencies. */
export function isOldFormat(sources: readonly ModelSource[]): boolean {
  return (
    sources.length > 0 &&
    sources.every(({ document, base }) => valueAt(document.value, [...base, 'base_freq']) === undefined)
  );
}

export function readModels(
  folder: string,
  sources: readonly ModelSource[],
  old: boolean,
  origins: Origins,
  findings: Finding[],
): FolderModels {
  const models: FolderModels = { infos: new Map(), inputs: {}, paths: new Map(), complete: true };
  const names = new Names();
  for (const { document, base } of sources) {
    const file = document.fit(modelShape({ old }), base);
    if (file === undefined) {
      models.complete = false;
      continue;
    }
    if (models.infos.has(file.service_name)) {
      const message = `a model "${file.service_name}" twice`;
      document.add('error', [...base, 'service_name'], 'duplicate-model', message);
      continue;
    }
    const name = names.of(file.service_name);
    const origin = origins.of(document, ['models', name], base);
    origin([], []);
    const { input, paths } = modelOf(file, old, file.service_name === STACK, origin);
    models.inputs[name] = input;
    models.paths.set(name, paths);
    models.infos.set(file.service_name, {
      name,
      isBalancer: file.type === 'load_balancer',
      ...(file.cur_freq === file.base_freq ? {} : { frequency: `${file.cur_freq}MHz` }),
    });
  }
  if (!models.infos.has(STACK) && models.complete && sources.length > 0) {
    models.inputs[STACK] = defaultStack();
    models.infos.set(STACK, { name: STACK, isBalancer: false });
    const message = `no model "${STACK}"; the release's own is used`;
    const file = join(folder, 'microservice');
    findings.push({ severity: 'warning', path: [], code: 'default-network', message, file });
  }
  return models;
}
