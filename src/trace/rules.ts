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

/** How much a rule matters to whoever uses the trace. `trace lint --strict` fails on warnings. */
export type RuleSeverity =
  /** The trace says something that cannot be right, or calls or statistics are lost. */
  | 'warning'
  /** A property of the source that is worth knowing. */
  | 'note';

export interface Rule {
  readonly severity: RuleSeverity;
  readonly action: RuleAction;
  /** One sentence: what was seen and what was done. */
  readonly says: string;
}

/** Azure records at most this many invocations of a function per minute; the true count is unknown above it. */
export const AZURE_MINUTE_CAP = 15_000;

const rules = {
  'files.ignored': {
    severity: 'note',
    action: 'dropped',
    says: 'CSV file of the folder is no table of the format, not read',
  },
  'header.extra-column': {
    severity: 'note',
    action: 'dropped',
    says: 'column that the format does not have, not read',
  },
  'header.no-trigger': {
    severity: 'note',
    action: 'kept',
    says: 'invocations without a Trigger column, trigger is null',
  },
  'header.partial-day': {
    severity: 'note',
    action: 'kept',
    says: 'minute columns cover a part of the day, while the duration statistics are of the whole day',
  },
  'header.late-start': {
    severity: 'note',
    action: 'kept',
    says: 'the first minute column is not minute 1',
  },
  'header.minute-names': {
    severity: 'note',
    action: 'kept',
    says: 'minute columns are named minute_1… instead of 1…',
  },
  'header.reordered': {
    severity: 'note',
    action: 'kept',
    says: 'columns in another order than published, read by their names',
  },
  'header.padded-name': {
    severity: 'note',
    action: 'repaired',
    says: 'blanks around a column name, not part of it',
  },
  'lines.blank': {
    severity: 'note',
    action: 'dropped',
    says: 'blank line',
  },
  'keys.function-reused': {
    severity: 'note',
    action: 'kept',
    says: 'HashFunction occurs in more than one app; functions are told apart by owner/app/function',
  },
  'invocations.duplicate-key': {
    severity: 'warning',
    action: 'dropped',
    says: 'second row of a function that repeats an earlier one exactly, used once',
  },
  'invocations.split-key': {
    severity: 'warning',
    action: 'repaired',
    says: 'second row of a function with other counts or another trigger, added to the first (its trigger is kept)',
  },
  'invocations.nan': {
    severity: 'warning',
    action: 'repaired',
    says: 'empty or NaN count, read as 0',
  },
  'invocations.minute-cap': {
    severity: 'warning',
    action: 'kept',
    says: `count at or above the recording cap of ${AZURE_MINUTE_CAP} per minute, the true count may be higher`,
  },
  'invocations.never-called': {
    severity: 'note',
    action: 'kept',
    says: 'function with no invocation in any minute',
  },
  'invocations.repeated-row': {
    severity: 'note',
    action: 'kept',
    says: 'row that repeats an earlier one exactly: two calls that cannot be told apart',
  },
  'invocations.duplicate-id': {
    severity: 'warning',
    action: 'dropped',
    says: 'second row of a request or call, used once',
  },
  'intervals.empty-cell': {
    severity: 'note',
    action: 'repaired',
    says: 'empty cell of a series: no request of that function in that minute, read as 0',
  },
  'intervals.missing': {
    severity: 'warning',
    action: 'repaired',
    says: 'interval without a row of the function, its count is 0',
  },
  'intervals.duplicate-key': {
    severity: 'warning',
    action: 'dropped',
    says: 'second row of a function and interval, the first is used',
  },
  'durations.duplicate-key': {
    severity: 'warning',
    action: 'dropped',
    says: 'second duration row of a function, the row with the larger Count is used (the first of equals)',
  },
  'durations.orphan': {
    severity: 'warning',
    action: 'dropped',
    says: 'duration row of a function without an invocation row',
  },
  'durations.missing': {
    severity: 'warning',
    action: 'kept',
    says: 'function without a duration row, or with an empty one; its statistics are null',
  },
  'durations.nan': {
    severity: 'warning',
    action: 'repaired',
    says: 'empty or NaN duration statistic, read as null',
  },
  'durations.negative': {
    severity: 'warning',
    action: 'repaired',
    says: 'negative duration statistic, read as null',
  },
  'durations.negative-call': {
    severity: 'warning',
    action: 'repaired',
    says: 'call with a negative duration, read as unknown',
  },
  'durations.unknown-call': {
    severity: 'warning',
    action: 'kept',
    says: "call without a duration; it is drawn from its function's statistics",
  },
  'durations.average-zero': {
    severity: 'warning',
    action: 'kept',
    says: 'Average is 0 ms: below the resolution, or never measured',
  },
  'durations.average-outside': {
    severity: 'warning',
    action: 'kept',
    says: 'Average is below Minimum or above Maximum',
  },
  'durations.maximum-zero': {
    severity: 'warning',
    action: 'kept',
    says: 'every duration is 0 ms',
  },
  'durations.count-disagrees': {
    severity: 'warning',
    action: 'kept',
    says:
      'Count differs from the sum of the minutes (for a part of a day: is smaller); ' +
      'the minutes decide how often the function is called',
  },
  'durations.percentiles-decrease': {
    severity: 'warning',
    action: 'kept',
    says: 'a percentile is smaller than a lower one; duration models use the running maximum',
  },
  'durations.zero-call': {
    severity: 'note',
    action: 'repaired',
    says: 'call with a recorded duration of 0, read as half the resolution of the source',
  },
  'durations.without-calls': {
    severity: 'note',
    action: 'dropped',
    says: 'duration of a minute in which the function was not called',
  },
  'durations.of-averages': {
    severity: 'note',
    action: 'kept',
    says: 'durations are averages per interval; percentiles are of these averages, weighted by calls',
  },
  'durations.unit-assumed': {
    severity: 'note',
    action: 'kept',
    says: 'the publisher does not state the unit of durations, read as milliseconds',
  },
  'memory.duplicate-key': {
    severity: 'warning',
    action: 'dropped',
    says: 'second memory row of a key, the row with the larger SampleCount is used (the first of equals)',
  },
  'memory.orphan': {
    severity: 'warning',
    action: 'dropped',
    says: 'memory row of an app or function without an invocation row',
  },
  'memory.missing': {
    severity: 'note',
    action: 'kept',
    says: 'function without a memory row, memory_mb is null',
  },
  'memory.nan': {
    severity: 'warning',
    action: 'repaired',
    says: 'empty, NaN or negative memory, read as null',
  },
  'memory.per-function': {
    severity: 'note',
    action: 'kept',
    says: 'memory is stated per function instead of per app',
  },
  'metadata.missing': {
    severity: 'warning',
    action: 'kept',
    says: 'function without a metadata row: no warm duration, cannot be simulated',
  },
  'metadata.orphan': {
    severity: 'note',
    action: 'dropped',
    says: 'metadata of a function that is never called',
  },
  'metadata.duplicate-key': {
    severity: 'warning',
    action: 'dropped',
    says: 'second metadata row of a function, the first is used',
  },
  'metadata.iat-disagrees': {
    severity: 'note',
    action: 'kept',
    says: 'mean_iat differs by more than 10 % from the mean time between the calls; the calls decide',
  },
  'metadata.warm-duration': {
    severity: 'note',
    action: 'kept',
    says: 'the format has no duration per call: every call gets the warm duration of its function',
  },
  'cold-starts.unused': {
    severity: 'note',
    action: 'dropped',
    says: 'row of the cold start table, not part of a request',
  },
  'calls.two-records': {
    severity: 'note',
    action: 'repaired',
    says: 'call recorded by its caller and by its callee; the time and duration of the callee are used',
  },
  'calls.unknown-callee': {
    severity: 'warning',
    action: 'dropped',
    says: 'call of an unknown service',
  },
  'calls.other-type': {
    severity: 'note',
    action: 'dropped',
    says: 'call that is neither rpc nor http (database, cache, message queue)',
  },
  'calls.nested': {
    severity: 'note',
    action: 'kept',
    says: 'call made while serving another one of its trace; the outer duration includes it',
  },
  'arrivals.unsorted': {
    severity: 'note',
    action: 'repaired',
    says: 'invocation that starts before the row above it, sorted',
  },
  'arrivals.shifted': {
    severity: 'note',
    action: 'repaired',
    says: 'the clock of the source does not start with the trace; times count from the whole minute before the first start',
  },
} satisfies Record<string, Rule>;

export type RuleName = keyof typeof rules;
export const RULES: Readonly<Record<RuleName, Rule>> = rules;

/** Places that a finding names at most. */
export const MAX_PLACES = 5;

/** How often a rule applied, and where first. */
export interface RuleCount {
  rule: RuleName;
  severity: RuleSeverity;
  action: RuleAction;
  says: string;
  count: number;
  /** `file:line[:column]` or a function id of the first cases, at most MAX_PLACES. */
  places: string[];
}

/** Counts rules during one import. */
export class RuleCounter {
  readonly #counts = new Map<RuleName, RuleCount>();

  /** `where` is evaluated for the first cases only. */
  add(rule: RuleName, where: () => string, count = 1): void {
    let entry = this.#counts.get(rule);
    if (entry === undefined) {
      entry = { rule, ...RULES[rule], count: 0, places: [] };
      this.#counts.set(rule, entry);
    }
    entry.count += count;
    if (entry.places.length < MAX_PLACES) entry.places.push(where());
  }

  /** In the order of the table, so that equal input gives equal bytes. */
  list(): RuleCount[] {
    return (Object.keys(RULES) as RuleName[]).flatMap((rule) => this.#counts.get(rule) ?? []);
  }
}
