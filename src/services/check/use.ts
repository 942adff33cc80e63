// What is there and never used.

import type { Findings } from '../findings.js';
import type { Services } from '../schema.js';
import { entryOf, reachable } from './requests.js';

export function checkUse(services: Services, findings: Findings): void {
  const visited = new Set<string>();
  const takenPaths = new Map<string, Set<string>>();
  for (const request of Object.values(services.requests)) {
    for (const name of reachable(request.nodes, entryOf(request))) {
      const { service, path } = request.nodes[name];
      visited.add(service);
      const { model } = services.services[service];
      const all = Object.entries(services.models[model].paths).filter(
        ([, { probability }]) => probability !== 0,
      );
      const taken = takenPaths.get(model) ?? new Set<string>();
      takenPaths.set(model, taken);
      for (const name of path === undefined ? all.map(([known]) => known) : [path]) taken.add(name);
    }
  }
  for (const name of Object.keys(services.services)) {
    if (!visited.has(name))
      findings.warning(['services', name], 'unvisited-service', `no request visits "${name}"`);
  }
  const { stack } = services.network;
  const used = new Set([
    ...Object.values(services.services).flatMap(({ model, balancer, instances }) => [
      model,
      balancer?.model ?? model,
      ...Object.values(instances).map((instance) => instance.model ?? model),
    ]),
    ...(stack === undefined ? [] : [stack]),
  ]);
  for (const [name, model] of Object.entries(services.models)) {
    if (!used.has(name)) {
      findings.note(['models', name], 'unused-model', `nothing uses the model "${name}"`);
      continue;
    }
    const taken = takenPaths.get(name);
    if (taken === undefined || name === stack) continue;
    const names = Object.keys(model.paths);
    for (const path of names.filter((known) => !taken.has(known))) {
      findings.note(['models', name, 'paths', path], 'untaken-path', `no request takes the path "${path}"`);
    }
    const reached = new Set([...taken].flatMap((path) => model.paths[path].stages));
    const inSomePath = new Set(names.flatMap((path) => model.paths[path].stages));
    for (const stage of Object.keys(model.stages)) {
      if (inSomePath.has(stage) && !reached.has(stage)) {
        findings.note(
          ['models', name, 'stages', stage],
          'idle-stage',
          `no request reaches the stage "${stage}"`,
        );
      }
    }
  }
}
