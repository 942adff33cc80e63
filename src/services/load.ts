// Reads a services file.

import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { isPath } from '../config/canonical.js';
import { besides, parseYaml, type Source } from '../config/load.js';
import { ConfigError, type Locate, mistakesOf, type Path, rememberPlaces } from '../config/mistakes.js';
import { VtimeError } from '../errors.js';
import { checkServices } from './check/index.js';
import type { Finding } from './findings.js';
import { isFolder } from './folder/model-files.js';
import { readFolder } from './folder/read.js';
import { type Services, servicesSchema } from './schema.js';

interface Parsed {
  services?: Services;
  findings: Finding[];
  locate: Locate;
}

/** Mistakes of the schema as findings; the model if there are none. */
function parsed(text: string, source: Source): Parsed {
  const { value, locate } = parseYaml(text, source);
  const placed = (path: Path, message: string): Finding => {
    const isUnknown = message.startsWith('unknown key');
    const isMissing = message.startsWith('missing');
    const code = isUnknown ? 'unknown-key' : isMissing ? 'missing-field' : 'bad-value';
    return { severity: 'error', path, code, message, ...locate(path, isUnknown || isMissing) };
  };
  if (value === null || value === undefined) {
    return { findings: [placed([], 'the file is empty')], locate };
  }
  const result = servicesSchema.safeParse(value);
  if (!result.success) {
    const { list } = mistakesOf(result.error, value);
    return { findings: list.map(({ path, message }) => placed(path, message)), locate };
  }
  placeFiles(result.data, source);
  rememberPlaces(result.data, locate);
  return { services: result.data, findings: [], locate };
}

/** Paths in a file are relative to its folder, as in a config. */
function placeFiles(services: Services, source: Source): void {
  const { scheduled, reference, profile } = services;
  if (reference !== undefined) reference.file = besides(source, reference.file);
  if (profile !== undefined && isPath(profile)) services.profile = besides(source, profile);
  if (scheduled?.policy.name === 'bpf') scheduled.policy.object = besides(source, scheduled.policy.object);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new VtimeError('services_unreadable', `can't read the services file: ${reason}`, { file });
  }
}

/** A services model from YAML or JSON text. Throws a ConfigError with all mistakes that the schema finds. */
export function parseServices(text: string, source: Source = {}): Services {
  const { services, findings } = parsed(text, source);
  if (services === undefined) throw new ConfigError(findings);
  return services;
}

/** A services model from a file or a µqSim folder. Throws a ConfigError with all errors. */
export function loadServices(path: string): Services {
  if (!isFolder(path)) return parseServices(textOf(path), { file: path });
  const { services, findings } = readFolder(path);
  if (services === undefined) throw new ConfigError(findings.filter(({ severity }) => severity === 'error'));
  return { name: basename(path), ...services };
}

export interface Checked {
  /** Undefined if there is an error. */
  services?: Services;
  /** In the order of files and places. */
  findings: Finding[];
}

/** Everything that is wrong with a file or folder, or probably not meant. Throws if it is no file of the kind at all. */
export function checkPath(path: string): Checked {
  if (isFolder(path)) {
    const { services, findings } = readFolder(path);
    return { services, findings };
  }
  let result: Parsed;
  try {
    result = parsed(textOf(path), { file: path });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const findings = error.mistakes.map((mistake) => ({
      severity: 'error' as const,
      code: 'syntax',
      ...mistake,
    }));
    return { findings };
  }
  const { services, findings, locate } = result;
  if (services === undefined) return { findings };
  const found = checkServices(services);
  const placed = found.list.map((finding) => ({
    ...finding,
    ...locate(finding.path, finding.message.startsWith('missing')),
  }));
  return { services: found.errors.length === 0 ? services : undefined, findings: placed };
}
