// Numbered defects of the µqSim release (docs/services.md) that are a matter of the numbers in a model. B3, which depends on
// frequencies during the run, and B12, the order of calls that enter a queue at one instant, are the engine's.

import { durationNs, formatDuration } from '../config/units.js';
import type { ResolvedModel, ResolvedServices, ResolvedStage } from './resolved.js';

/**
 * B2: the release draws r = 0…99 and takes the first path whose cumulative percentage is not below r, so that the first one gets 1 %
 * too much and the last one 1 % too little.
 */
function offByOne(probabilities: readonly number[]): number[] {
  let cumulative = 0;
  let before = -1;
  return probabilities.map((probability) => {
    cumulative += Math.round(probability * 100);
    const last = Math.min(cumulative, 99);
    const share = Math.max(0, last - before) / 100;
    before = Math.max(before, last);
    return share;
  });
}

/** B1: mean × 5000 / (1000 + requests per second), in whole nanoseconds. */
function rescaled(stage: ResolvedStage, rate_per_s: number): ResolvedStage {
  return {
    ...stage,
    times: stage.times.map((at) => {
      const { time } = at;
      if (time.kind !== 'draw' || typeof time.time === 'string' || !('exponential' in time.time)) return at;
      const mean = Number(durationNs(time.time.exponential));
      const scaled = Math.max(1, Math.trunc((mean * 5000) / (1000 + rate_per_s)));
      return { ...at, time: { kind: 'draw', time: { exponential: formatDuration(BigInt(scaled)) } } };
    }),
  };
}

/** The release scales one stage of the service "mongodb", and of the optimised build that one only. */
function rescaleMongo(services: ResolvedServices): ResolvedServices {
  const index = services.services.findIndex(({ name }) => name === 'mongodb');
  if (index < 0) return services;
  const rate = services.client.epochs[0]?.rate_per_s ?? 0;
  const { model } = services.services[index];
  const own: ResolvedModel = {
    ...services.models[model],
    stages: services.models[model].stages.map((stage) =>
      stage.name === 'proc_cache_hit' ? rescaled(stage, rate) : stage,
    ),
  };
  const added = services.models.length;
  return {
    ...services,
    models: [...services.models, own],
    services: services.services.map((service, i) => (i === index ? { ...service, model: added } : service)),
    instances: services.instances.map((instance) =>
      instance.service === index && instance.model === model ? { ...instance, model: added } : instance,
    ),
  };
}

/** The model with the defects that it asks for. */
export function withDefects(services: ResolvedServices): ResolvedServices {
  const has = (name: string) => services.compat.includes(name);
  let changed = has('B1-mongo-rescaling') ? rescaleMongo(services) : services;
  if (has('B2-probability-off-by-one')) {
    const requests = offByOne(changed.requests.map(({ probability }) => probability));
    changed = {
      ...changed,
      requests: changed.requests.map((request, i) => ({ ...request, probability: requests[i] })),
      models: changed.models.map((model) => {
        // A single path is not drawn.
        if (model.paths.length === 1) return model;
        const paths = offByOne(model.paths.map(({ probability }) => probability));
        return { ...model, paths: model.paths.map((path, i) => ({ ...path, probability: paths[i] })) };
      }),
    };
  }
  if (has('B4-critical-section-ignored')) {
    changed = {
      ...changed,
      models: changed.models.map((model) => ({
        ...model,
        stages: model.stages.map((stage) => ({ ...stage, critical_section: 0 })),
      })),
    };
  }
  return changed;
}
