// What the reference model is given, and what it takes note of.

import type { PolicyConfig } from './policies.js';
import type { Program } from './program.js';

export interface TaskConfig {
  program: Program;
  count: number;
  start: number;
  weight: number;
  cpus: number[] | undefined;
  /** A domain's number; spread: member i goes to domain i mod k. */
  domain: number | 'spread' | 'none';
}

export interface KernelConfig {
  /** Node and last-level cache of each CPU. */
  cpus: { node: number; llc: number }[];
  /** Time that leaving idle takes. */
  exit: number;
  costs: { context_switch: number; migration_llc: number; migration_node: number; dispatch: number };
  hz: number;
  tick_skew: number;
  exact: boolean;
  /** 0 = none. */
  watchdog: number;
  horizon: number;
  policy: PolicyConfig;
  domains: number[][];
  barriers: Record<string, number>;
  tasks: TaskConfig[];
}

export interface Decision {
  time: number;
  kind: 'wake' | 'run' | 'stop';
  cpu: number;
  task: number;
}

export type Outcome = 'running' | 'completed' | 'horizon' | 'stalled' | 'deadlocked';
