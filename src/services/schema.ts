// The schema of a services file: the one source of types, validation, JSON Schema and defaults.

import * as z from 'zod';
import { count, section, show } from '../config/schema/values.js';
import { client } from './schema/client.js';
import { edges, machines, networkSection, services } from './schema/deployment.js';
import { models } from './schema/model.js';
import { requests } from './schema/requests.js';
import { compat, mode, power, profile, reference, run, scheduled } from './schema/run.js';
import { profile as measured } from './schema/time.js';
import { label } from './schema/values.js';

export const servicesSchema = section({
  name: z
    .string({ error: (issue) => `expected a text, got ${show(issue.input)}` })
    .optional()
    .describe('A label for tables and figures.'),
  seed: count(0).default(1),
  mode,
  scheduled: scheduled.optional().describe('Mode `scheduled`: the kernel below the threads.'),
  profile,
  machines,
  network: networkSection.prefault({}),
  models: models.describe('Stages and paths, by name.'),
  profiles: z.record(label, measured).default({}).describe('Measured times, by name.'),
  services: services.describe('What requests visit: models with their instances.'),
  edges,
  requests: requests.describe('Kinds of requests, by name.'),
  client,
  power: power.optional().describe('Power management; default: none.'),
  run: run.prefault({}),
  compat: compat.describe('Defects of the µqSim release to reproduce, by number.'),
  reference: reference.describe('Measured results to show beside.'),
});

/** What a user may write. */
export type ServicesInput = z.input<typeof servicesSchema>;
/** Valid by itself and canonical; see resolve.ts for what depends on the whole. */
export type Services = z.output<typeof servicesSchema>;

/** JSON Schema (draft 2020-12) of what a user may write. */
export function servicesJsonSchema(): Record<string, unknown> {
  return { title: 'vtime services', ...z.toJSONSchema(servicesSchema, { io: 'input' }) };
}
