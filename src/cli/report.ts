// vtime report: a table on stdout and one HTML file, from the results of a run or a sweep.

import { join } from 'node:path';
import { Command } from 'commander';
import { checkOutput, writeOutput } from '../output.js';
import { htmlReport } from '../report/html.js';
import { summaryJson } from '../report/json.js';
import { summarize } from '../report/summary.js';
import { terminalReport } from '../report/terminal.js';
import { readStore } from '../sweep/store.js';
import type { OutputOptions } from './shared.js';

interface ReportOptions extends OutputOptions {
  out?: string;
}

async function report(dir: string, { out, json, quiet }: ReportOptions): Promise<void> {
  const file = out ?? join(dir, 'report.html');
  if (out !== undefined) checkOutput(out);
  const summary = summarize(await readStore(dir));
  writeOutput(file, await htmlReport(summary));
  if (json) process.stdout.write(`${JSON.stringify(summaryJson(summary), null, 2)}\n`);
  else process.stdout.write(terminalReport(summary, process.stdout.columns));
  if (!quiet) process.stderr.write(`report in ${file}\n`);
}

export function reportCommand(): Command {
  return new Command('report')
    .description('compare the results of a sweep, or describe a run: a table here and an HTML file')
    .argument('<dir>', 'folder written by `vtime sweep` or `vtime run --out`')
    .option('-o, --out <file>', 'HTML file (default: report.html in the folder)')
    .option('--json', 'print the summary as JSON on stdout')
    .option('--quiet', 'print nothing but the table and errors')
    .action(report);
}
