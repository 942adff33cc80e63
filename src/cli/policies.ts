// vtime policies: every scheduler with its parameters and their defaults.

import { Command } from 'commander';
import { describePolicies, type PolicyDescription, wrongPolicyName } from '../config/schema/policy.js';
import { VtimeError } from '../errors.js';

function defaultText({ default: value }: PolicyDescription['parameters'][number]): string {
  return value === undefined ? '' : `${value}`;
}

function text(policies: readonly PolicyDescription[]): string {
  const parameters = policies.flatMap((policy) => policy.parameters);
  const names = Math.max(...parameters.map(({ name }) => name.length));
  const defaults = Math.max(...parameters.map((parameter) => defaultText(parameter).length));
  const line = (parameter: PolicyDescription['parameters'][number]) => {
    const choices = parameter.values === undefined ? '' : ` (${parameter.values.join(', ')})`;
    const cells = [parameter.name.padEnd(names), defaultText(parameter).padEnd(defaults)];
    return `    ${cells.join('  ')}  ${parameter.description}${choices}`.trimEnd();
  };
  return policies
    .map((policy) => [`${policy.name}: ${policy.description}`, ...policy.parameters.map(line), ''].join('\n'))
    .join('');
}

function list(names: string[], { json }: { json?: boolean }): void {
  const all = describePolicies();
  const wanted = names.length === 0 ? all : names.map((name) => known(all, name));
  process.stdout.write(json ? `${JSON.stringify(wanted, null, 2)}\n` : text(wanted));
}

function known(all: readonly PolicyDescription[], name: string): PolicyDescription {
  const found = all.find((policy) => policy.name === name);
  if (found !== undefined) return found;
  throw new VtimeError('usage', wrongPolicyName(name), { value: name });
}

export function policiesCommand(): Command {
  return new Command('policies')
    .description('list the schedulers with their parameters and defaults')
    .argument('[name...]', 'only these')
    .option('--json', 'print JSON')
    .action(list);
}
