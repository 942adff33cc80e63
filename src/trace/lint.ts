// The linter: reads a trace as import does and tells what it found, without writing anything. What import would refuse
// is a finding too, of severity error.

import { VtimeError } from '../errors.js';
import { type ReadTraceOptions, readTrace } from './read.js';
import type { RuleCount } from './rules.js';
import type { InputFile, TraceFormat } from './schema.js';

/** Something the linter found. */
export interface Finding {
  /** Name of the rule, or the code of the error that import ends in. */
  rule: string;
  severity: 'error' | 'warning' | 'note';
  /** What import does about it. */
  action: RuleCount['action'] | 'refused';
  says: string;
  count: number;
  /** The first cases. */
  places: string[];
}

export interface LintResult {
  /** As given. */
  paths: string[];
  /** null if the trace can't be read. */
  format: TraceFormat | null;
  errors: number;
  warnings: number;
  notes: number;
  findings: Finding[];
  inputs: InputFile[];
}

function placeOf({ place }: VtimeError, paths: readonly string[]): string {
  return [place.file ?? paths.join(', '), place.line, place.column]
    .filter((part) => part !== undefined)
    .join(':');
}

/** Lints one trace: a file, a folder, or the files that belong together. Only errors that are no input's fault throw. */
export async function lintTrace(
  paths: readonly string[],
  options: ReadTraceOptions = {},
): Promise<LintResult> {
  let findings: Finding[];
  let inputs: InputFile[] = [];
  let format: TraceFormat | null = null;
  try {
    const { provenance } = await readTrace(paths, options);
    findings = provenance.rules;
    ({ inputs, format } = provenance);
  } catch (error) {
    if (!(error instanceof VtimeError) || error.exitCode !== 2) throw error;
    findings = [
      {
        rule: error.code,
        severity: 'error',
        action: 'refused',
        says: error.message,
        count: 1,
        places: [placeOf(error, paths)],
      },
    ];
  }
  const order = ['error', 'warning', 'note'];
  const sorted = [...findings].sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
  const of = (severity: Finding['severity']) =>
    sorted.filter((finding) => finding.severity === severity).length;
  return {
    paths: [...paths],
    format,
    errors: of('error'),
    warnings: of('warning'),
    notes: of('note'),
    findings: sorted,
    inputs,
  };
}
