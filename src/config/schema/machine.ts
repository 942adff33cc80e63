import * as z from 'zod';
import { count, duration, flag, hertz, oneOf, power, section, show } from './values.js';

const costs = section({
  /** CPU time of a context switch. */
  context_switch: duration.optional(),
  /** Refill after running in another last-level cache, and on another node. */
  migration_llc: duration.optional(),
  migration_node: duration.optional(),
  /** CPU time of one BPF dispatch. */
  dispatch: duration.optional(),
});

const machineObject = section({
  /** Name of a bundled profile, `ideal-N`, or the path of a profile in JSON. */
  profile: z.string({ error: (issue) => `expected the name or path of a profile, got ${show(issue.input)}` }),
  governor: oneOf('performance', 'schedutil', 'hwp', 'powersave').optional(),
  /** Use only the first CPUs of the profile. */
  cpus: count(1, 512).optional(),
  costs: costs.prefault({}),
  /** false: CPUs idle without leaving their shallowest state. */
  idle_states: flag().default(true),
  /** Power of one CPU, on ideal machines only. */
  idle_power: power.optional(),
  busy_power: power.optional(),
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
  /** Tick frequency. */
  hz: hertz.prefault('250Hz'),
  /** Offset between the ticks of neighbouring CPUs. */
  tick_skew: duration.prefault('0s'),
  /** Whether a slice ends at the tick that finds it used up, or exactly. Default: exact on ideal machines. */
  slice_expiry: oneOf('tick', 'exact').optional(),
  /** Longest time a runnable ext task may wait; 0s turns the watchdog off. */
  watchdog_timeout: duration.prefault('30s'),
  /** What a stall does: ends the run, or gives all ext tasks to the fair class. */
  on_stall: oneOf('end', 'fallback').default('end'),
  /** EEVDF's slice. Default: the kernel's own, by version and number of CPUs. */
  base_slice: duration.optional(),
});

export const kernel = z.union(
  [version.transform((value) => kernelObject.parse({ version: value })), kernelObject],
  {
    error: (issue) => `expected one of ${KERNEL_VERSIONS.join(', ')} or a mapping, got ${show(issue.input)}`,
  },
);
