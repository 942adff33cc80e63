// What points of a grid are called in tables and figures.

import { basename } from 'node:path';
import { canonicalJson } from '../config/canonical.js';

type Values = Record<string, unknown>;

/** Last part of a config path in words: `workload.serverless.offered_load` → "offered load". */
export function axisName(path: string): string {
  return (path.split('.').at(-1) ?? path).replaceAll('_', ' ');
}

/** A policy as users write it: {name: domains, domains: 8} → "domains:8"; a BPF object by its file. */
export function policyLabel(policy: unknown): string {
  if (typeof policy !== 'object' || policy === null) return String(policy);
  const { name, object, domains } = policy as { name?: unknown; object?: unknown; domains?: unknown };
  const label = typeof object === 'string' ? basename(object) : String(name);
  if (domains === undefined) return label;
  return `${label}:${Array.isArray(domains) ? domains.length : domains}`;
}

export function valueText(path: string, value: unknown): string {
  if (path === 'policy') return policyLabel(value);
  return typeof value === 'object' && value !== null ? canonicalJson(value) : String(value);
}

/** "domains:8, bucket size 4s": the policy by itself, every other axis by its name. */
export function label(values: Values, paths: readonly string[]): string {
  return paths
    .filter((path) => path in values)
    .sort((a, b) => Number(b === 'policy') - Number(a === 'policy'))
    .map((path) => `${path === 'policy' ? '' : `${axisName(path)} `}${valueText(path, values[path])}`)
    .join(', ');
}

/** Number of scheduling domains that the values of a point state; undefined if they state none. */
export function domainCount(values: Values): number | undefined {
  const text = 'policy' in values ? policyLabel(values.policy) : '';
  const match = /^(?:domains|domains-as-coded|weighted-vtime)(?::(\d+))?$/.exec(text);
  if ('policy.domains' in values) {
    const domains = values['policy.domains'];
    return Array.isArray(domains) ? domains.length : Number(domains);
  }
  return match === null ? undefined : Number(match[1] ?? 1);
}
