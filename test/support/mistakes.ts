// Malformed configs and the lines of the errors that they end in.

import * as assert from 'uvu/assert';
import { parseConfig } from '../../src/config/load.js';
import { ConfigError } from '../../src/config/mistakes.js';
import { resolveConfig } from '../../src/config/resolve.js';

export const ONE_JOB = 'workload: {tasks: [{name: job, program: [{run: 1s}]}]}';

/** The lines of the error that reading and resolving the text ends in. */
export function mistakesIn(text: string): string[] {
  try {
    resolveConfig(parseConfig(text, { file: 'c.yaml' }));
  } catch (error) {
    if (error instanceof ConfigError) {
      assert.is(error.exitCode, 2);
      return error.message.split('\n');
    }
    throw error;
  }
  return [];
}

/** One mistake in a text whose other parts are right; the section under test comes first, on line 1. */
export function refuses(section: string, expected: string, rest = ONE_JOB): void {
  assert.equal(mistakesIn(`${section}\n${rest}`), [`c.yaml:${expected}`]);
}

/** One mistake in a program of one step. */
export function refusesStep(step: string, expected: string): void {
  const found = mistakesIn(`workload:\n  tasks:\n    - name: job\n      program:\n        - ${step}\n`);
  assert.equal(found, [`c.yaml:5:${expected}`]);
}
