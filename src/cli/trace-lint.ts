// vtime trace lint: what a trace contains that a clean one would not.

import { Command } from 'commander';
import { type LintResult, lintTrace, STREAM_ABOVE } from '../trace/index.js';
import { number } from './shared.js';

interface LintOptions {
  strict?: boolean;
  json?: boolean;
  quiet?: boolean;
}

/** Anonymised names are hashes of 64 digits; eight tell them apart on a screen. */
export function shortHashes(text: string): string {
  return text.replace(/[0-9a-f]{16,}/g, (hash) => hash.slice(0, 8));
}

const counted = (n: number, what: string) => `${n} ${what}${n === 1 ? '' : 's'}`;

function lintText({ paths, format, findings, errors, warnings, notes, inputs }: LintResult): string {
  const rows = inputs.reduce((sum, { rows_read }) => sum + rows_read, 0);
  const read = format === null ? 'not readable' : `${format}, ${number(rows)} rows read`;
  const lines = findings.map(({ rule, severity, action, says, count, places }) => {
    const more = count > places.length ? ', …' : '';
    return (
      `  ${severity.padEnd(7)}  ${rule} × ${number(count)}, ${action}: ${says}\n` +
      `           ${places.map(shortHashes).join(', ')}${more}\n`
    );
  });
  const counts = [counted(errors, 'error'), counted(warnings, 'warning'), counted(notes, 'note')].join(', ');
  return `${paths.join(', ')}: ${read}; ${counts}\n${lines.join('')}`;
}

async function lint(paths: string[], { strict, json, quiet }: LintOptions): Promise<void> {
  const result = await lintTrace(paths, { stream_above: STREAM_ABOVE });
  const text = json ? `${JSON.stringify(result, null, 2)}\n` : lintText(result);
  if (json || !quiet) process.stdout.write(text);
  if (result.errors > 0 || (strict && result.warnings > 0)) process.exitCode = 2;
}

export function lintCommand(): Command {
  return new Command('lint')
    .description('name, count and place everything odd about a trace; exit code 2 if import would refuse it')
    .argument('<path...>', 'one trace: Arrow file, folder, or the CSV files that belong together')
    .option('--strict', 'exit code 2 for warnings too')
    .option('--json', 'print the findings as JSON')
    .option('--quiet', 'print nothing but JSON; only the exit code tells')
    .action(lint);
}
