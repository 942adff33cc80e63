// Models: stages, paths, probabilities, profiles.

import type { Findings } from '../findings.js';
import { probabilities, SUM_TOLERANCE } from '../resolve-time.js';
import type { Model } from '../schema/model.js';
import type { Probability } from '../schema/values.js';
import type { Services } from '../schema.js';

type Path = (string | number)[];

/** Probabilities of alternatives: given for all or for none, at most one `rest`, and adding up to 1. */
export function checkProbabilities(
  values: readonly { path: Path; value: Probability | undefined }[],
  what: string,
  findings: Findings,
): void {
  const given = values.filter(({ value }) => value !== undefined);
  if (given.length === 0) return;
  if (given.length < values.length) {
    for (const { path } of values.filter(({ value }) => value === undefined)) {
      findings.error(path, 'missing-probability', `missing; other ${what} have a probability`);
    }
    return;
  }
  const rests = given.filter(({ value }) => value === 'rest');
  for (const { path } of rests.slice(1)) {
    findings.error(path, 'two-rests', `only one of the ${what} can have the rest`);
  }
  const sum = probabilities(given.map(({ value }) => value)).reduce((total, p) => total + p, 0);
  if (Math.abs(sum - 1) > SUM_TOLERANCE) {
    findings.error(
      given[given.length - 1].path,
      'probability-sum',
      `the probabilities of the ${what} add up to ${Number(sum.toPrecision(6))}, not 1`,
    );
  }
}

function checkStages(name: string, model: Model, services: Services, findings: Findings): void {
  const names = Object.keys(model.stages);
  for (const [stageName, stage] of Object.entries(model.stages)) {
    const path: Path = ['models', name, 'stages', stageName];
    const { time } = stage;
    if (typeof time !== 'string' && 'profile' in time) {
      findings.known([...path, 'time', 'profile'], 'profile', time.profile, Object.keys(services.profiles));
    }
    if (stage.batches_with !== undefined) {
      const at = [...path, 'batches_with'];
      if (findings.known(at, 'stage', stage.batches_with, names)) {
        const other = model.stages[stage.batches_with];
        if (stage.batches_with === stageName)
          findings.error(at, 'self-reference', 'a stage batches with itself');
        else if (JSON.stringify(other.take) !== JSON.stringify(stage.take)) {
          findings.error(at, 'batch-mismatch', `"${stage.batches_with}" takes something else from its queue`);
        }
      }
    }
    const batched = stage.take !== 'one';
    if (stage.blocks_thread && batched) {
      findings.error(
        [...path, 'blocks_thread'],
        'blocking-batch',
        'a stage that takes several jobs cannot block its thread',
      );
    }
    if (stage.repeat !== 1 && batched) {
      findings.error([...path, 'repeat'], 'repeated-batch', 'a stage that takes several jobs has one draw');
    }
  }
}

function checkPaths(name: string, model: Model, findings: Findings): void {
  const names = Object.keys(model.stages);
  const used = new Set<string>();
  for (const [pathName, given] of Object.entries(model.paths)) {
    const path: Path = ['models', name, 'paths', pathName];
    given.stages.forEach((stage, i) => {
      if (findings.known([...path, 'stages', i], 'stage', stage, names)) used.add(stage);
    });
    const { priority } = given;
    if (priority === undefined) continue;
    const sorted = [...priority].sort((a, b) => a - b);
    if (sorted.length !== given.stages.length || sorted.some((position, i) => position !== i)) {
      findings.error(
        [...path, 'priority'],
        'priority',
        `expected each of 0 to ${given.stages.length - 1} once, got ${priority.join(', ')}`,
      );
    }
  }
  for (const stage of names) {
    if (!used.has(stage)) {
      findings.warning(
        ['models', name, 'stages', stage],
        'unreachable-stage',
        `no path has the stage "${stage}"`,
      );
    }
  }
  checkProbabilities(
    Object.entries(model.paths).map(([pathName, { probability }]) => ({
      path: ['models', name, 'paths', pathName, 'probability'],
      value: probability,
    })),
    'paths',
    findings,
  );
}

/** Entries of a profile need settings that differ. */
function checkProfiles(services: Services, findings: Findings): void {
  for (const [name, entries] of Object.entries(services.profiles)) {
    const seen = new Map<string, number>();
    entries.forEach(({ frequency, threads, load }, i) => {
      const key = JSON.stringify([frequency, threads, load]);
      const before = seen.get(key);
      if (before !== undefined) {
        findings.error(['profiles', name, i], 'duplicate-setting', `the same setting as entry ${before}`);
      }
      seen.set(key, i);
    });
  }
}

export function checkModels(services: Services, findings: Findings): void {
  for (const [name, model] of Object.entries(services.models)) {
    checkStages(name, model, services, findings);
    checkPaths(name, model, findings);
  }
  checkProfiles(services, findings);
}
