// vtime kernel: schedulers in a real kernel.

import { Command } from 'commander';
import { kernelCheckCommand } from './kernel-check.js';
import { kernelInputCommand } from './kernel-input.js';
import { kernelRecordCommand } from './kernel-record.js';

export function kernelCommand(): Command {
  return new Command('kernel')
    .description('schedulers in a real kernel')
    .addCommand(kernelRecordCommand())
    .addCommand(kernelInputCommand())
    .addCommand(kernelCheckCommand());
}
