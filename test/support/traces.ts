// Small Azure 2019 folders, written by hand in the tests.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { VtimeError } from '../../src/errors.js';
import type { RuleName, Trace } from '../../src/trace/index.js';
import { temporaryFolder } from './folder.js';

const root = temporaryFolder('trace');
let folders = 0;

/** A fresh folder with the given files. */
export function folderOf(files: Record<string, string | Buffer>): string {
  const folder = join(root, String(folders++));
  mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

export const DURATION_HEADER =
  'HashOwner,HashApp,HashFunction,Average,Count,Minimum,Maximum,percentile_Average_0,percentile_Average_1,' +
  'percentile_Average_25,percentile_Average_50,percentile_Average_75,percentile_Average_99,percentile_Average_100';

/** How often a rule applied, 0 if never. */
export function ruleCount(trace: Trace, rule: RuleName): number {
  return trace.provenance.rules.find((entry) => entry.rule === rule)?.count ?? 0;
}

/** The VtimeError that `act` ends in. */
export async function failure(act: () => unknown): Promise<VtimeError> {
  try {
    await act();
  } catch (error) {
    assert.instance(error, VtimeError);
    return error as VtimeError;
  }
  throw new Error('expected a VtimeError');
}
