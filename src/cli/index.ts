// The `vtime` command.

import { Command } from 'commander';
import { VERSION } from '../version.js';
import { bpfCommand } from './bpf.js';
import { configCommand } from './config.js';
import { explainCommand } from './explain.js';
import { kernelCommand } from './kernel.js';
import { policiesCommand } from './policies.js';
import { reportCommand } from './report.js';
import { runCommand } from './run.js';
import { selftestCommand } from './selftest.js';
import { servicesCommand } from './services.js';
import { prepare, runAsCommand } from './shared.js';
import { sweepCommand } from './sweep.js';
import { traceCommand } from './trace.js';
import { uqsimCommand } from './uqsim.js';

function program(): Command {
  const vtime = new Command('vtime')
    .description('simulates Linux CPU scheduling under serverless functions and microservices')
    .version(VERSION)
    .addHelpText(
      'after',
      '\nExit codes: 0 done; 1 the simulated system failed; 2 wrong usage, config or input; 3 engine error;\n' +
        '130 interrupted.',
    );
  for (const command of [
    runCommand(),
    sweepCommand(),
    reportCommand(),
    traceCommand(),
    bpfCommand(),
    configCommand(),
    explainCommand(),
    policiesCommand(),
    selftestCommand(),
    servicesCommand(),
    uqsimCommand(),
    kernelCommand(),
  ]) {
    vtime.addCommand(command);
  }
  return prepare(vtime);
}

/** Runs the command line `argv` (as process.argv) and sets the exit code. */
export function main(argv: string[]): Promise<void> {
  return runAsCommand(() => program().parseAsync(argv));
}
