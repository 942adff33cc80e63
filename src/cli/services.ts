// vtime services run | check | convert | graph | profile import | schema

import { existsSync } from 'node:fs';
import { Command, Option } from 'commander';
import { pathText } from '../config/mistakes.js';
import { VtimeError } from '../errors.js';
import { writeOutput } from '../output.js';
import { convert, servicesYaml } from '../services/convert.js';
import type { Finding } from '../services/findings.js';
import { servicesGraph } from '../services/graph/services.js';
import { modelNamed, stagesGraph } from '../services/graph/stages.js';
import { checkPath, loadServices } from '../services/load.js';
import { importProfiles } from '../services/profile/import.js';
import { resolveServices } from '../services/resolve.js';
import { servicesJsonSchema } from '../services/schema.js';
import { whole } from './options.js';
import { servicesRunCommand } from './services-run.js';

const MODEL = 'services file in YAML or JSON, or a folder of µqSim';

/** One line: place, severity unless it is an error, what is wrong. */
function findingLine({ severity, code, message, path, file, line, column }: Finding): string {
  const position = [file, line, column].filter((part) => part !== undefined).join(':');
  const where = [position, pathText(path)].filter(Boolean).join(' ');
  const kind = severity === 'error' ? '' : `${severity}: `;
  return `${where === '' ? '' : `${where}: `}${kind}${message} [${code}]\n`;
}

interface CheckOptions {
  json?: boolean;
  quiet?: boolean;
  strict?: boolean;
  notes?: boolean;
}

function countText(findings: readonly Finding[]): string {
  const parts = (['error', 'warning', 'note'] as const).flatMap((severity) => {
    const n = findings.filter((finding) => finding.severity === severity).length;
    return n === 0 ? [] : [`${n} ${severity}${n === 1 ? '' : 's'}`];
  });
  return parts.join(', ');
}

function check(paths: string[], options: CheckOptions): void {
  const results = paths.map((path) => {
    if (!existsSync(path))
      throw new VtimeError('services_unreadable', 'there is no such file or folder', { file: path });
    const { services, findings } = checkPath(path);
    const shown = options.notes ? findings : findings.filter(({ severity }) => severity !== 'note');
    for (const finding of shown) {
      if (!options.quiet || finding.severity === 'error') process.stderr.write(findingLine(finding));
    }
    const refused =
      services === undefined || (options.strict && findings.some(({ severity }) => severity === 'warning'));
    if (refused) process.exitCode = 2;
    if (!options.quiet) {
      const counts = countText(findings);
      const verdict = services === undefined ? counts : `valid${counts === '' ? '' : `; ${counts}`}`;
      process.stderr.write(`${path}: ${verdict}\n`);
    }
    return { path, valid: services !== undefined, findings: shown };
  });
  if (options.json)
    process.stdout.write(`${JSON.stringify(results.length === 1 ? results[0] : results, null, 2)}\n`);
}

function convertTo(path: string, options: { out?: string }): void {
  const text = convert(path);
  if (options.out === undefined) process.stdout.write(text);
  else writeOutput(options.out, text);
}

function graph(path: string, options: { out?: string; service?: string }): void {
  const services = resolveServices(loadServices(path));
  const { service, out } = options;
  const svg =
    service === undefined ? servicesGraph(services) : stagesGraph(services, modelNamed(services, service));
  if (out === undefined) process.stdout.write(`${svg}\n`);
  else writeOutput(out, `${svg}\n`);
}

interface ProfileOptions {
  name?: string;
  frequency?: string;
  load?: string;
  threads?: number;
  out?: string;
}

async function importProfile(files: string[], { out, ...setting }: ProfileOptions): Promise<void> {
  const text = servicesYaml({ profiles: await importProfiles(files, setting) });
  if (out === undefined) process.stdout.write(text);
  else writeOutput(out, text);
}

function profileCommand(): Command {
  const command = new Command('profile').description('stage times from recordings');
  command
    .command('import')
    .description(
      'make the profiles of a services file from recorded boundaries of stages, or from listings of percentiles',
    )
    .argument(
      '<file...>',
      'CSV with the columns stage, begin_ns, end_ns, count; or times in µs, one a line ("17.5", or "3 : 3.77" for 3 events)',
    )
    .option('--name <stage>', 'stage of listings (default: their folder)')
    .option('--frequency <f>', 'recorded at, like 2.6GHz (default: as in 1600MHz_120000qps_4threads.txt)')
    .option('--load <rate>', 'recorded at, like 120000/s')
    .addOption(new Option('--threads <n>', 'recorded with').argParser(whole('--threads', 1)))
    .option('-o, --out <file>', 'file to write (default: stdout)')
    .action(importProfile);
  return command;
}

export function servicesCommand(): Command {
  const command = new Command('services').description(
    'microservices: run, check, convert and draw their models',
  );
  command.addCommand(servicesRunCommand());
  command
    .command('check')
    .description('find everything that is wrong with models, or probably not meant, with file and place')
    .argument('<path...>', MODEL)
    .option('--strict', 'warnings are errors')
    .option('--notes', 'also tell what is there and never used')
    .option('--json', 'print the findings as JSON on stdout')
    .option('--quiet', 'print nothing but errors')
    .action(check);
  command
    .command('convert')
    .description("write a model as a services file: µqSim's folders become YAML that a person can edit")
    .argument('<path>', MODEL)
    .option('-o, --out <file>', 'file to write (default: stdout)')
    .action(convertTo);
  command
    .command('graph')
    .description('draw the services and their calls, or the stages of one service, as SVG')
    .argument('<path>', MODEL)
    .option('--service <name>', 'draw the stages of this service or model')
    .option('-o, --out <file>', 'file to write (default: stdout)')
    .action(graph);
  command.addCommand(profileCommand());
  command
    .command('schema')
    .description('print the JSON Schema of a services file')
    .action(() => {
      process.stdout.write(`${JSON.stringify(servicesJsonSchema(), null, 2)}\n`);
    });
  return command;
}
