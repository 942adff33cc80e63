// A services model as the text of a services file.

import { Document, visit } from 'yaml';
import { ConfigError } from '../config/mistakes.js';
import { isFolder } from './folder/model-files.js';
import { readFolder } from './folder/read.js';
import { loadServices } from './load.js';
import type { ServicesInput } from './schema.js';

/** Lists and mappings up to so many characters of JSON stay on one line. */
const SHORT = 110;
const LINE_WIDTH = 130;

/** YAML of a services file, or of a section of it, with short values on one line. */
export function servicesYaml(input: Partial<ServicesInput>): string {
  const document = new Document(input, { aliasDuplicateObjects: false });
  visit(document, {
    Collection(_, node) {
      if (JSON.stringify(node.toJSON()).length < SHORT) node.flow = true;
    },
  });
  return document.toString({ lineWidth: LINE_WIDTH, flowCollectionPadding: false });
}

/** The services file of a µqSim folder, with what differs from the defaults only, or of a services file with its defaults filled in. */
export function convert(path: string): string {
  if (!isFolder(path)) return servicesYaml(loadServices(path));
  const { input, services, findings } = readFolder(path);
  if (services !== undefined && input !== undefined) return servicesYaml(input);
  throw new ConfigError(findings.filter(({ severity }) => severity === 'error'));
}
