// Reads a services file.

import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseYaml, type Source } from '../config/load.js';
import { ConfigError, mistakesOf, rememberPlaces } from '../config/mistakes.js';
import { VtimeError } from '../errors.js';
import { isFolder } from './folder/model-files.js';
import { readFolder } from './folder/read.js';
import { type Services, servicesSchema } from './schema.js';

/** A services model from YAML or JSON text. Throws a ConfigError with all mistakes that the schema finds. */
export function parseServices(text: string, source: Source = {}): Services {
  const { value, locate } = parseYaml(text, source);
  if (value === null || value === undefined) {
    throw new ConfigError([{ path: [], message: 'the file is empty', ...locate([], false) }]);
  }
  const parsed = servicesSchema.safeParse(value);
  if (!parsed.success) {
    mistakesOf(parsed.error, value).throwIfAny(locate);
    throw parsed.error;
  }
  rememberPlaces(parsed.data, locate);
  return parsed.data;
}

/** Reads a services file; see parseServices. */
export function loadServicesFile(file: string): Services {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new VtimeError('services_unreadable', `can't read the services file: ${reason}`, { file });
  }
  return parseServices(text, { file });
}

/** A services model from a file or a µqSim folder. Throws a ConfigError with all errors. */
export function loadServices(path: string): Services {
  if (!isFolder(path)) return loadServicesFile(path);
  const { services, findings } = readFolder(path);
  const errors = findings.filter(({ severity }) => severity === 'error');
  if (services !== undefined && errors.length === 0) return { name: basename(path), ...services };
  throw new ConfigError(errors);
}
