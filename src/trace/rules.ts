// The named rules of trace import: what real traces contain that a clean one would not, and what import does
// about it. One table, so that every repair has a name, is counted, and reads the same in every output.

/** What import did with the data a rule applies to. */
export type RuleAction =
  /** Used as it is; the count says how often. */
  | 'kept'
  /** Used after the change that the rule describes. */
  | 'repaired'
  /** Not used. */
  | 'dropped';

export interface Rule {
  readonly action: RuleAction;
  /** One sentence: what was seen and what was done. */
  readonly says: string;
}

/** Azure records at most this many invocations of a function per minute; the true count is unknown above it. */
export const AZURE_MINUTE_CAP = 15_000;

const rules = {
  'files.ignored': {
    action: 'dropped',
    says: 'CSV file of the folder is none of the Azure 2019 tables, not read',
  },
  'header.extra-column': { action: 'dropped', says: 'column that the format does not have, not read' },
  'header.no-trigger': { action: 'kept', says: 'invocations without a Trigger column, trigger is null' },
  'header.partial-day': {
    action: 'kept',
    says: 'minute columns cover a part of the day, while the duration statistics are of the whole day',
  },
  'lines.blank': { action: 'dropped', says: 'blank line' },
  'invocations.duplicate-key': {
    action: 'dropped',
    says: 'second row of a function that repeats an earlier one exactly, used once',
  },
  'invocations.split-key': {
    action: 'repaired',
    says: 'second row of a function with other counts or another trigger, added to the first (its trigger is kept)',
  },
  'invocations.nan': { action: 'repaired', says: 'empty or NaN count, read as 0' },
  'invocations.minute-cap': {
    action: 'kept',
    says: `count at or above the recording cap of ${AZURE_MINUTE_CAP} per minute, the true count may be higher`,
  },
  'invocations.never-called': { action: 'kept', says: 'function with no invocation in any minute' },
  'durations.duplicate-key': {
    action: 'dropped',
    says: 'second duration row of a function, the row with the larger Count is used (the first of equals)',
  },
  'durations.orphan': { action: 'dropped', says: 'duration row of a function without an invocation row' },
  'durations.missing': {
    action: 'kept',
    says: 'function without a duration row, or with an empty one; its statistics are null',
  },
  'durations.nan': { action: 'repaired', says: 'empty or NaN duration statistic, read as null' },
  'durations.negative': { action: 'repaired', says: 'negative duration statistic, read as null' },
  'durations.average-zero': {
    action: 'kept',
    says: 'Average is 0 ms: below the resolution, or never measured',
  },
  'durations.maximum-zero': { action: 'kept', says: 'every duration is 0 ms' },
  'durations.count-disagrees': {
    action: 'kept',
    says:
      'Count differs from the sum of the minutes (for a part of a day: is smaller); ' +
      'the minutes decide how often the function is called',
  },
  'durations.percentiles-decrease': {
    action: 'kept',
    says: 'a percentile is smaller than a lower one; duration models use the running maximum',
  },
  'memory.duplicate-key': {
    action: 'dropped',
    says: 'second memory row of a key, the row with the larger SampleCount is used (the first of equals)',
  },
  'memory.orphan': { action: 'dropped', says: 'memory row of an app or function without an invocation row' },
  'memory.missing': { action: 'kept', says: 'function without a memory row, memory_mb is null' },
  'memory.nan': { action: 'repaired', says: 'empty, NaN or negative memory, read as null' },
  'memory.per-function': { action: 'kept', says: 'memory is stated per function instead of per app' },
  'arrivals.unsorted': { action: 'repaired', says: 'invocation that starts before the row above it, sorted' },
} satisfies Record<string, Rule>;

export type RuleName = keyof typeof rules;
export const RULES: Readonly<Record<RuleName, Rule>> = rules;

/** How often a rule applied, and where first. */
export interface RuleCount {
  rule: RuleName;
  action: RuleAction;
  says: string;
  count: number;
  /** `file:line[:column]` or a function id of the first case. */
  first: string;
}

/** Counts rules during one import. */
export class RuleCounter {
  readonly #counts = new Map<RuleName, RuleCount>();

  /** `where` is evaluated for the first case only. */
  add(rule: RuleName, where: () => string, count = 1): void {
    const known = this.#counts.get(rule);
    if (known) known.count += count;
    else
      this.#counts.set(rule, {
        rule,
        action: RULES[rule].action,
        says: RULES[rule].says,
        count,
        first: where(),
      });
  }

  /** In the order of the table, so that equal input gives equal bytes. */
  list(): RuleCount[] {
    return (Object.keys(RULES) as RuleName[]).flatMap((rule) => this.#counts.get(rule) ?? []);
  }
}
