import * as z from 'zod';
import { nearestName } from '../../errors.js';
import { count, cpuList, oneOf, positiveDuration, section, show } from './values.js';

const slice = positiveDuration.prefault('3ms');

const domains = z
  .union([count(1, 512), z.array(cpuList).min(1, { error: 'expected at least one list of CPUs' })], {
    error: (issue) =>
      `expected a number of domains or lists of CPUs like ["0-23", "24-47"], got ${show(issue.input)}`,
  })
  .describe("Equal shares of the machine by number, or each domain's CPUs.");

const policies = {
  eevdf: section({ name: z.literal('eevdf'), base_slice: positiveDuration.optional() }).describe(
    'No sched_ext policy: every task is in the fair class.',
  ),
  domains: section({
    name: z.literal('domains'),
    domains: domains.default(1),
    slice,
    reset_every: count(1, 0xffffffff)
      .default(10)
      .describe('Every n-th enqueue of a task sets its vtime to now.'),
    steal: oneOf('neighbours', 'none').default('neighbours'),
  }).describe('Scheduling domains as the paper describes them.'),
  'global-fifo': section({ name: z.literal('global-fifo'), slice }),
  'percpu-fifo': section({ name: z.literal('percpu-fifo'), slice }),
  'global-vtime': section({ name: z.literal('global-vtime'), slice }),
  'weighted-vtime': section({
    name: z.literal('weighted-vtime'),
    domains: domains.default(1),
    slice,
    steal: oneOf('longest', 'none').default('longest'),
  }).describe('Weighted vtime per domain; a woken task goes directly to an idle CPU.'),
};
export const POLICY_NAMES = Object.keys(policies) as (keyof typeof policies)[];

function wrongName(got: unknown): string {
  const near = typeof got === 'string' ? nearestName(got, POLICY_NAMES) : undefined;
  const hint =
    near === undefined ? `known policies are ${POLICY_NAMES.join(', ')}` : `did you mean "${near}"?`;
  return got === undefined ? `missing; ${hint}` : `unknown policy ${show(got)}; ${hint}`;
}

const policyObject = z.discriminatedUnion(
  'name',
  [
    policies.eevdf,
    policies.domains,
    policies['global-fifo'],
    policies['percpu-fifo'],
    policies['global-vtime'],
    policies['weighted-vtime'],
  ],
  {
    error: (issue) =>
      issue.code === 'invalid_union'
        ? wrongName((issue.input as { name?: unknown } | undefined)?.name)
        : `expected the name of a policy or a mapping, got ${show(issue.input)}`,
  },
);

/** "domains:8" names a policy and its number of domains. */
const shorthand = z.string().transform((text, context) => {
  const [name, argument, ...rest] = text.split(':');
  const fail = (message: string) => {
    context.addIssue({ code: 'custom', message, input: text });
    return z.NEVER;
  };
  if (!POLICY_NAMES.some((known) => known === name)) return fail(wrongName(name));
  if (argument === undefined) return policyObject.parse({ name });
  if (name !== 'domains' && name !== 'weighted-vtime')
    return fail(`policy "${name}" has no domains: write "${name}"`);
  if (rest.length > 0 || !/^[1-9]\d{0,2}$/.test(argument)) {
    return fail(`"${text}": expected a number of domains from 1 to 512, like "${name}:8"`);
  }
  const parsed = policyObject.safeParse({ name, domains: Number(argument) });
  return parsed.success ? parsed.data : fail(`"${text}": ${parsed.error.issues[0].message}`);
});

export const policy = z.union([shorthand, policyObject], {
  error: (issue) => `expected the name of a policy or a mapping, got ${show(issue.input)}`,
});
export type Policy = z.output<typeof policy>;
