// vtime kernel input: what the loader of bpf/ tells a real scheduler, for a host with root.

import { Command, Option } from 'commander';
import { loaderText, twinOf } from '../bpf/loader-input.js';
import { cgroupsOf } from '../bpf/vm/workload.js';
import { resolveConfig } from '../config/resolve.js';
import { encode } from '../engine/encode.js';
import { VtimeError } from '../errors.js';
import { assignment } from './options.js';
import { type ConfigOptions, configWith } from './shared.js';

function input(file: string, options: Pick<ConfigOptions, 'set'>): void {
  const config = resolveConfig(configWith(file, options));
  const cpus = encode(config).machine.cpus.length;
  const twin = twinOf(config.policy, cpus);
  if (twin === undefined) {
    throw new VtimeError('vm_scheduler', `no real scheduler decides as policy ${config.policy.name} does`, {
      file,
      path: 'policy.name',
      value: config.policy.name,
      expected: 'a policy that has one (bpf/README.md)',
    });
  }
  process.stdout.write(`# ${twin.object}.bpf.o as ${config.policy.name} of ${file}\n`);
  process.stdout.write(loaderText(twin, [...cgroupsOf(config, cpus).values()]));
}

export function kernelInputCommand(): Command {
  return new Command('input')
    .description("the loader's input for the policy of a config: vtime-load OBJECT INPUT")
    .argument('<config>', 'config file (YAML or JSON)')
    .addOption(
      new Option('--set <path=value>', 'set any config field; may be repeated').argParser(assignment),
    )
    .action(input);
}
