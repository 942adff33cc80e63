import * as z from 'zod';
import { count, duration, flag, hertz, oneOf, positiveDuration, power, section, show } from './values.js';

const costs = section({
  context_switch: duration.optional().describe('CPU time of a context switch.'),
  migration_llc: duration
    .optional()
    .describe('Refill after running in another last-level cache of the node.'),
  migration_node: duration.optional().describe('Refill after running on another node.'),
  dispatch: duration.optional().describe('CPU time of one BPF dispatch.'),
});

const machineObject = section({
  profile: z
    .string({ error: (issue) => `expected the name or path of a profile, got ${show(issue.input)}` })
    .describe('Name of a bundled profile, `ideal-N`, or the path of a profile in JSON.'),
  governor: oneOf('performance', 'schedutil', 'hwp', 'powersave')
    .optional()
    .describe("Default: the profile's."),
  cpus: count(1, 512).optional().describe('Use only the first CPUs of the profile.'),
  costs: costs.prefault({}).describe("Default: the profile's."),
  idle_states: flag().default(true).describe('false: CPUs idle without leaving their shallowest state.'),
  idle_power: power.optional().describe('Power of one CPU, on ideal machines only.'),
  busy_power: power.optional().describe('Power of one CPU, on ideal machines only.'),
});

export const machine = z.union(
  [z.string().transform((profile) => machineObject.parse({ profile })), machineObject],
  { error: (issue) => `expected the name of a machine profile or a mapping, got ${show(issue.input)}` },
);

const KERNEL_VERSIONS = ['6.11-scx', '6.12', '7.3'] as const;

/** YAML reads 6.12 as a number. */
const version = z.union(
  [
    z.literal(6.12).transform(() => '6.12' as const),
    z.literal(7.3).transform(() => '7.3' as const),
    oneOf(...KERNEL_VERSIONS),
  ],
  { error: (issue) => `expected one of ${KERNEL_VERSIONS.join(', ')}, got ${show(issue.input)}` },
);

const kernelObject = section({
  version: version.prefault('6.11-scx'),
  hz: hertz.prefault('250Hz').describe('Tick frequency.'),
  tick_skew: duration.prefault('0s').describe('Offset between the ticks of neighbouring CPUs.'),
  slice_expiry: oneOf('tick', 'exact')
    .optional()
    .describe(
      'Whether a slice ends at the tick that finds it used up, or exactly; then there is no tick, and the fair class balances only when a CPU becomes idle. Default: exact on ideal machines.',
    ),
  watchdog_timeout: duration
    .prefault('30s')
    .describe('Longest time a runnable ext task may wait; 0s turns the watchdog off.'),
  on_stall: oneOf('end', 'fallback')
    .default('end')
    .describe('What a stall does: ends the run, or gives all ext tasks to the fair class.'),
  base_slice: duration
    .optional()
    .describe("EEVDF's slice. Default: the kernel's own, by version and number of CPUs."),
  migration_cost: duration
    .optional()
    .describe(
      'Load balancing leaves a fair task that ran within this where it is, at first (debugfs sched/migration_cost_ns). Default: 500us.',
    ),
  group_scheduling: flag()
    .optional()
    .describe(
      'Fair cgroups have run queues of their own, so that CPU time is shared among them first. Default: true where there are containers or cgroups.',
    ),
  bandwidth_slice: positiveDuration
    .prefault('5ms')
    .describe('Quota that a CPU takes from its cgroup at once.'),
});

export const kernel = z.union(
  [version.transform((value) => kernelObject.parse({ version: value })), kernelObject],
  {
    error: (issue) => `expected one of ${KERNEL_VERSIONS.join(', ')} or a mapping, got ${show(issue.input)}`,
  },
);
