// Every error that vtime raises on purpose: a class that decides the exit code, a code that scripts can test,
// and where the mistake is.

export interface ErrorPlace {
  /** File that holds the mistake. */
  file?: string;
  /** 1-based. */
  line?: number;
  /** 1-based. */
  column?: number;
  /** Path inside a config or JSON document, e.g. `policy.slice`. */
  path?: string;
  /** The offending value. */
  value?: unknown;
  /** What would have been accepted. */
  expected?: string;
}

function placeText(place: ErrorPlace): string {
  const position = [place.file, place.line, place.column].filter((part) => part !== undefined).join(':');
  return [position, place.path].filter(Boolean).join(' ');
}

/** Wrong usage, config or input (exit code 2); subclasses carry the other exit codes. */
export class VtimeError extends Error {
  readonly code: string;
  readonly place: ErrorPlace;
  /** The message without place and expectation. */
  readonly what: string;
  /** Exit code of the CLI: 1 simulated system or comparison failed, 2 usage or input, 3 engine, 130 interrupted. */
  readonly exitCode: number = 2;

  constructor(code: string, message: string, place: ErrorPlace = {}) {
    const where = placeText(place);
    const expected = place.expected === undefined ? '' : `; expected ${place.expected}`;
    super(`${where ? `${where}: ` : ''}${message}${expected}`);
    this.name = new.target.name;
    this.code = code;
    this.place = place;
    this.what = message;
  }
}

/** The simulated system failed (stall, deadlock), or a comparison did. */
export class SimulationError extends VtimeError {
  override readonly exitCode: number = 1;
}

/** The engine broke one of its own invariants, or trapped. */
export class EngineError extends VtimeError {
  override readonly exitCode: number = 3;
}

/** The run was aborted by its signal. */
export class AbortedError extends VtimeError {
  override readonly exitCode: number = 130;
}

/** Levenshtein distance, for "did you mean". */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[b.length];
}

/** The known name closest to `name`, if one is close enough to be a typing mistake. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const d = distance(name.toLowerCase(), candidate.toLowerCase());
    if (d < bestDistance) [best, bestDistance] = [candidate, d];
  }
  return best;
}
