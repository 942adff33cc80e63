// vtime config check | schema

import { Command } from 'commander';
import { stringify } from 'yaml';
import { configFrom, loadConfig } from '../config/load.js';
import { resolveConfig } from '../config/resolve.js';
import { configJsonSchema } from '../config/schema.js';
import { VtimeError } from '../errors.js';
import { expandSweep } from '../sweep/grid.js';

interface CheckOptions {
  json?: boolean;
  quiet?: boolean;
}

/** The config with every default filled in; that of a sweep as far as it doesn't depend on the cell. */
function checked(file: string): { config: unknown; cells: number } {
  const config = loadConfig(file);
  // Read back as a config, so that its fields come in the order of the schema.
  if (config.sweep === undefined) return { config: configFrom(resolveConfig(config)), cells: 1 };
  return { config, cells: expandSweep(config).length };
}

function check(files: string[], options: CheckOptions): void {
  const results: { file: string; config: unknown }[] = [];
  let failed = false;
  for (const file of files) {
    try {
      const { config, cells } = checked(file);
      results.push({ file, config });
      if (!options.quiet) process.stderr.write(`${file}: valid${cells === 1 ? '' : `, ${cells} cells`}\n`);
    } catch (error) {
      if (!(error instanceof VtimeError)) throw error;
      failed = true;
      process.stderr.write(`${error.message}\n`);
    }
  }
  const configs = results.map(({ config }) => config);
  if (options.json) {
    process.stdout.write(`${JSON.stringify(files.length === 1 ? (configs[0] ?? null) : results, null, 2)}\n`);
  } else {
    // A YAML stream: several files are documents separated by ---.
    process.stdout.write(configs.map((config) => stringify(config)).join('---\n'));
  }
  if (failed) process.exitCode = 2;
}

export function configCommand(): Command {
  const command = new Command('config').description('check configs and describe their schema');
  command
    .command('check')
    .description('validate configs and print them with every default filled in')
    .argument('<file...>', 'configs in YAML or JSON')
    .option('--json', 'print JSON instead of YAML')
    .option('--quiet', 'print nothing but configs and mistakes')
    .action(check);
  command
    .command('schema')
    .description('print the JSON Schema of a config')
    .action(() => {
      process.stdout.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
    });
  return command;
}
