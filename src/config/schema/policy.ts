import * as z from 'zod';
import { nearestName } from '../../errors.js';
import { count, cpuList, duration, flag, oneOf, positiveDuration, section, show } from './values.js';

const slice = positiveDuration.prefault('3ms').describe('Longest time on a CPU while others wait.');

const domainsGiven = z
  .union([count(1, 512), z.array(cpuList).min(1, { error: 'expected at least one list of CPUs' })], {
    error: (issue) =>
      `expected a number of domains or lists of CPUs like ["0-23", "24-47"], got ${show(issue.input)}`,
  })
  .describe("Equal shares of the machine by number, or each domain's CPUs.");
const domains = domainsGiven.default(1);

/** What a BPF object's global variable is set to; a list sets an array from its first element. */
type SettingValue = number | boolean | string | SettingValue[];
const settingValue: z.ZodType<SettingValue, SettingValue> = z.lazy(() =>
  z.union([z.number(), z.boolean(), z.string(), z.array(settingValue)], {
    error: (issue) =>
      `expected a number, a time like "3ms", true, false or a list of these, got ${show(issue.input)}`,
  }),
);

/** SCX_OPS_ flags that a loader can add; those of the object hold in any case. */
const OPS_FLAGS = [
  'KEEP_BUILTIN_IDLE',
  'ENQ_LAST',
  'ENQ_EXITING',
  'SWITCH_PARTIAL',
  'ENQ_MIGRATION_DISABLED',
] as const;

const resetEvery = count(1, 0xffffffff).default(10);

/** Every policy: its parameters, and in one line what it does and where it comes from. */
const policies = {
  eevdf: section({
    name: z.literal('eevdf'),
    base_slice: positiveDuration.optional().describe("EEVDF's slice. Default: the kernel's own."),
  }).describe('No sched_ext policy: every task is in the fair class.'),
  domains: section({
    name: z.literal('domains'),
    domains,
    slice,
    reset_every: resetEvery.describe('Every n-th enqueue of a task sets its vtime to now.'),
    steal: oneOf('neighbours', 'none').default('neighbours').describe('Where a CPU without work looks.'),
  }).describe('Scheduling domains as the paper describes them.'),
  'domains-as-coded': section({
    name: z.literal('domains-as-coded'),
    domains,
    slice: positiveDuration.prefault('1ms').describe('Divided by 3 for tasks taken for busy pollers.'),
    reset_every: resetEvery.describe(
      'A stop sets vtime to now if the enqueues so far are a multiple of this.',
    ),
    counts_enqueues: flag()
      .default(false)
      .describe('Restores the counter of enqueues; without it every stop resets vtime.'),
    sample: oneOf('stopping', 'tick')
      .default('stopping')
      .describe('When busy-poll detection looks at the instruction pointer; the paper says at the tick.'),
    pinned_cpus: count(1, 512)
      .optional()
      .describe("A mask of at most so many CPUs sends a task to one CPU's queue. Default: half the machine."),
    pinned_slice: positiveDuration
      .prefault('1ms')
      .describe('Slice of such tasks, and of tasks in no domain.'),
    heartbeat: positiveDuration
      .prefault('1s')
      .describe('Period of the timer that wakes idle CPUs of domains where tasks wait.'),
  }).describe("Scheduling domains as the paper's author coded them (iluvatar-faas e521d9b)."),
  'global-fifo': section({
    name: z.literal('global-fifo'),
    slice,
    requeue: oneOf('shared', 'local')
      .default('shared')
      .describe('Where a task goes whose slice is over; `local` has the defect of sched-ext/scx#1185.'),
  }).describe('One FIFO for the machine; a woken task goes directly to an idle CPU.'),
  'percpu-fifo': section({
    name: z.literal('percpu-fifo'),
    slice,
    place: oneOf('idle', 'previous', 'round-robin')
      .default('idle')
      .describe(
        "An idle CPU's queue or else the last one's; always the last one's; in turn, ignoring masks.",
      ),
  }).describe('One FIFO per CPU, and nothing ever moves.'),
  'global-vtime': section({ name: z.literal('global-vtime'), slice, ...vtimeRules() }).describe(
    'Weighted vtime over the whole machine, as in the example scx_simple.',
  ),
  'weighted-vtime': section({
    name: z.literal('weighted-vtime'),
    domains,
    slice,
    steal: oneOf('longest', 'none').default('longest').describe('Where a CPU without work looks.'),
    ...vtimeRules(),
  }).describe('Weighted vtime per domain; a woken task goes directly to an idle CPU.'),
  central: section({
    name: z.literal('central'),
    slice: positiveDuration.prefault('20ms').describe('What a task may run for while others wait.'),
    cpu: count(0, 511).default(0).describe('The CPU that decides.'),
    timer: positiveDuration.prefault('1ms').describe('How often it looks for slices that are over.'),
  }).describe('One CPU decides for all, as in the example scx_central.'),
  'five-level': section({
    name: z.literal('five-level'),
    slice: positiveDuration.prefault('20ms').describe('Longest time on a CPU while others wait.'),
    order: oneOf('weighted', 'strict')
      .default('weighted')
      .describe('1, 2, 4, 8, 16 tasks of each level in turn; or the highest level first.'),
    starvation_limit: duration
      .prefault('0s')
      .describe('With `strict`: a task that has waited this long is served; 0s turns it off.'),
  }).describe('Five FIFO queues by weight, as in the example scx_qmap.'),
  nest: section({
    name: z.literal('nest'),
    slice: positiveDuration.prefault('20ms').describe('Longest time on a CPU while others wait.'),
    remove_after: positiveDuration
      .prefault('2ms')
      .describe('Idle time after which a core leaves the primary nest (p_remove).'),
    reserve: count(0, 512).default(5).describe('Most cores in the reserve nest (r_max).'),
    impatient_after: count(0, 0xffffffff)
      .default(2)
      .describe('Misses in a row after which a task widens the primary nest (r_impatient); 0 = never.'),
  }).describe('Tasks stay on warm cores (Lawall et al., EuroSys 2022; scx_nest).'),
  'shortest-remaining': section({
    name: z.literal('shortest-remaining'),
    slice: positiveDuration.prefault('1s').describe('Longest time between two decisions.'),
  }).describe('The least work left first, known by an oracle (SRPT, Schrage 1968).'),
  'service-order': section({
    name: z.literal('service-order'),
    by: oneOf('size', 'remaining', 'attained', 'weight')
      .default('remaining')
      .describe(
        'The smallest work, work left or service so far first, or the largest weight; first come first served among equals.',
      ),
    preempt: flag().default(true).describe('An arriving task may take the CPU of a running one.'),
    slice: positiveDuration.prefault('1s').describe('Longest time between two decisions.'),
  }).describe('Orders of queueing theory: SJF, PSJF, SRPT, least attained service, priority classes.'),
  'processor-sharing': section({ name: z.literal('processor-sharing') }).describe(
    'Egalitarian processor sharing without slices: all tasks at once, cgroups by their shares. For ideal machines.',
  ),
  bpf: section({
    name: z.literal('bpf'),
    object: z
      .string({
        error: (issue) =>
          `${issue.input === undefined ? 'missing; ' : ''}expected the file of a BPF object, got ${show(issue.input)}`,
      })
      .describe('File that clang has compiled for BPF, like "my.bpf.o".'),
    scheduler: z.string().optional().describe('Name of the one meant in an object with several.'),
    rodata: z
      .record(z.string(), settingValue)
      .default({})
      .describe('Global variables by name, set before it is loaded; "3ms" if the name ends in its unit.'),
    arrays: z
      .record(z.string(), count(1, 1 << 22))
      .default({})
      .describe(
        'Elements of arrays that are alone in their section. Default: the CPUs, if declared with one.',
      ),
    maps: z
      .record(z.string(), section({ max_entries: count(1, 0x7fffffff) }))
      .default({})
      .describe('Capacities of its maps by name.'),
    flags: z
      .array(z.enum(OPS_FLAGS))
      .default([])
      .describe('SCX_OPS_ flags beside those that the object has.'),
    uptime: duration
      .prefault('0s')
      .describe('What its clock shows when the simulation begins; a real kernel has been up for some time.'),
    domains: domainsGiven
      .optional()
      .describe('Groups of CPUs, for objects with maps gMap and cMap and a variable nr_groups.'),
  }).describe('A sched_ext scheduler as a compiled BPF object.'),
  sfs: section({
    name: z.literal('sfs'),
    slice: slice.describe('Slice of the fair level.'),
    filter_slice: positiveDuration
      .prefault('100ms')
      .describe('Slice in the filter until the first estimate from inter-arrival times.'),
    window: count(2, 0xffffffff).default(100).describe('Requests per estimate.'),
    overload: count(0, 0xffffffff)
      .default(3)
      .describe("Slices of delay in the filter's queue beyond which a request skips it; 0 = never."),
  }).describe('A FIFO filter with a learned slice above a fair level (SFS, Fu et al., SC 2022).'),
};

/** Options of the vtime policies that public reports turn on. */
function vtimeRules() {
  return {
    credit: oneOf('slice', 'unlimited')
      .default('slice')
      .describe('How far behind the others a sleeper may come back.'),
    preempt: flag()
      .default(false)
      .describe('A woken task with the smaller vtime takes the CPU of the running one.'),
    keep_running: flag()
      .default(false)
      .describe('A task whose vtime is still the smallest keeps its CPU when its slice is over.'),
  };
}

export const POLICY_NAMES = Object.keys(policies) as (keyof typeof policies)[];

export function wrongPolicyName(got: unknown): string {
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
    policies['domains-as-coded'],
    policies['global-fifo'],
    policies['percpu-fifo'],
    policies['global-vtime'],
    policies['weighted-vtime'],
    policies.central,
    policies['five-level'],
    policies.nest,
    policies['shortest-remaining'],
    policies['service-order'],
    policies['processor-sharing'],
    policies.bpf,
    policies.sfs,
  ],
  {
    error: (issue) =>
      issue.code === 'invalid_union'
        ? wrongPolicyName((issue.input as { name?: unknown } | undefined)?.name)
        : `expected the name of a policy or a mapping, got ${show(issue.input)}`,
  },
);

type NamedPolicy = z.input<typeof policyObject>;
type ObjectPolicy = Omit<z.input<typeof policies.bpf>, 'name'>;

const isObjectPolicy = (given: NamedPolicy | ObjectPolicy): given is ObjectPolicy =>
  typeof given === 'object' && given !== null && 'object' in given && !('name' in given);

/** A mapping with the key `object` means a BPF object without saying so. */
const policyMapping = z
  .transform(
    (given: NamedPolicy | ObjectPolicy): NamedPolicy =>
      isObjectPolicy(given) ? { name: 'bpf', ...given } : given,
  )
  .pipe(policyObject);

/** "domains:8" names a policy and its number of domains, "my.bpf.o" a BPF object. */
const shorthand = z.string().transform((text, context) => {
  if (text.endsWith('.o')) return policyObject.parse({ name: 'bpf', object: text });
  const [name, argument, ...rest] = text.split(':');
  const fail = (message: string) => {
    context.addIssue({ code: 'custom', message, input: text });
    return z.NEVER;
  };
  if (!POLICY_NAMES.some((known) => known === name)) return fail(wrongPolicyName(name));
  if (argument === undefined) return policyObject.parse({ name });
  if (!('domains' in policies[name as keyof typeof policies].shape))
    return fail(`policy "${name}" has no domains: write "${name}"`);
  if (rest.length > 0 || !/^[1-9]\d{0,2}$/.test(argument)) {
    return fail(`"${text}": expected a number of domains from 1 to 512, like "${name}:8"`);
  }
  const parsed = policyObject.safeParse({ name, domains: Number(argument) });
  return parsed.success ? parsed.data : fail(`"${text}": ${parsed.error.issues[0].message}`);
});

export const policy = z.union([shorthand, policyMapping], {
  error: (issue) => `expected the name of a policy or a mapping, got ${show(issue.input)}`,
});
export type Policy = z.output<typeof policy>;

export interface PolicyDescription {
  name: string;
  description: string;
  parameters: { name: string; default?: unknown; values?: string[]; description: string }[];
}

/** Every policy with its parameters, read off the schema. */
export function describePolicies(): PolicyDescription[] {
  return POLICY_NAMES.map((name) => {
    const schema = z.toJSONSchema(policies[name], { io: 'input' });
    const parameters = Object.entries(schema.properties ?? {}).filter(([key]) => key !== 'name');
    const needed = name === 'bpf' ? { object: '' } : {};
    const defaults: Record<string, unknown> = {
      ...policyObject.parse({ name, ...needed }),
      object: undefined,
    };
    return {
      name,
      description: schema.description ?? '',
      parameters: parameters.map(([key, given]) => {
        const parameter = typeof given === 'object' ? given : {};
        return {
          name: key,
          ...(defaults[key] === undefined ? {} : { default: defaults[key] }),
          ...(parameter.enum === undefined ? {} : { values: parameter.enum.map(String) }),
          description: parameter.description ?? '',
        };
      }),
    };
  });
}
