// vtime trace generate: synthetic traces from a seed.

import { Command, Option } from 'commander';
import { durationNs, rateToMeanNs } from '../config/units.js';
import { VtimeError } from '../errors.js';
import { checkOutput } from '../output.js';
import { generateEcdf, generatePoisson, readTrace, writeInvocations } from '../trace/index.js';
import { ofOption } from './options.js';
import { number } from './shared.js';

interface GenerateOptions {
  out: string;
  from?: string[];
  functions: number;
  length: string;
  rate: string;
  mean: string;
  skew: number;
  seed: number;
  quiet?: boolean;
}

function numberOf(option: string): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && Number.isFinite(value)) return value;
    throw new VtimeError('usage', `--${option} is "${text}"`, { value: text, expected: 'a number' });
  };
}

async function generate(options: GenerateOptions): Promise<void> {
  const { out, from, functions, skew, seed } = options;
  checkOutput(out);
  const minutes = Number(ofOption('--length', () => durationNs(options.length))) / 60e9;
  const trace =
    from === undefined
      ? generatePoisson({
          seed,
          functions,
          minutes,
          rate: 1e9 / Number(ofOption('--rate', () => rateToMeanNs(options.rate))),
          mean_ms: Number(ofOption('--mean', () => durationNs(options.mean))) / 1e6,
          skew,
        })
      : generateEcdf(await readTrace(from), { seed, functions, minutes });
  await writeInvocations(trace, out);
  if (!options.quiet)
    process.stderr.write(`wrote ${number(trace.invocations!.numRows)} invocations to ${out}\n`);
}

export function generateCommand(): Command {
  return new Command('generate')
    .description(
      "make a trace: Poisson arrivals, or with --from the paper's generator (draws from the inter-arrival ECDFs)",
    )
    .requiredOption('-o, --out <file.arrow>', 'file to write')
    .option('--from <path...>', 'trace of counts to draw functions and inter-arrival times from')
    .addOption(
      new Option('--functions <n>', 'how many functions').argParser(numberOf('functions')).default(10),
    )
    .option('--length <time>', 'length of the trace in whole minutes', '30min')
    .option('--rate <rate>', 'calls of all functions together (Poisson)', '100/s')
    .option('--mean <time>', 'mean duration, exponential (Poisson)', '100ms')
    .addOption(
      new Option('--skew <s>', "exponent of Zipf's law over functions (Poisson)")
        .argParser(numberOf('skew'))
        .default(1),
    )
    .addOption(new Option('--seed <n>', 'seed').argParser(numberOf('seed')).default(1))
    .option('--quiet', 'no report on stderr')
    .action(generate);
}
