// All rows of the self-test, and how they are run.

import { delays } from './delays.js';
import { networks } from './networks.js';
import { serviceOrders } from './orders.js';
import { placement } from './placement.js';
import { queues } from './queues.js';
import type { Check, Depth, Row, WarmUpRule } from './row.js';
import { schedulers } from './schedulers.js';

export type { Check, Depth, Row, WarmUpRule } from './row.js';

export const SELFTEST_ROWS: readonly Row[] = [
  ...queues,
  ...serviceOrders,
  ...networks,
  ...delays,
  ...placement,
  ...schedulers,
];

export interface RowResult {
  name: string;
  kind: Row['kind'];
  checks: Check[];
  passed: boolean;
  /** The run failed before there was a value. */
  error?: string;
  seconds: number;
}

export async function runRow(row: Row, depth: Depth, rule: WarmUpRule = 'fixed'): Promise<RowResult> {
  const begun = performance.now();
  const seconds = () => (performance.now() - begun) / 1e3;
  try {
    const checks = await row.run(depth, rule);
    const passed = checks.every((check) => check.passed);
    return { name: row.name, kind: row.kind, checks, passed, seconds: seconds() };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { name: row.name, kind: row.kind, checks: [], passed: false, error: message, seconds: seconds() };
  }
}
