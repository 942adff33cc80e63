// vtime bpf: compiled sched_ext objects.

import { Command, Option } from 'commander';
import type { Need, ObjectInfo, Support } from '../bpf/object/info.js';
import { objectInfo } from '../bpf/object/info.js';
import { refusalLines } from '../bpf/object/link.js';
import type { LinkSettings } from '../bpf/object/settings.js';
import { kernelOf } from '../bpf/runtime/kernel-types.js';
import { readObject } from '../bpf/runtime/runtime.js';
import { checkCommand } from './bpf-check.js';
import { bpfTestCommand } from './bpf-test.js';
import { rodataOption, whole } from './options.js';
import { number } from './shared.js';

interface InfoOptions {
  json?: boolean;
  cpus: number;
  kernel: KernelVersion;
  rodata?: Record<string, string>;
}

type KernelVersion = Parameters<typeof kernelOf>[0];

const LINE_WIDTH = 100;
const LABEL_WIDTH = 12;

/** `label  item item …`, wrapped. */
function paragraph(label: string, items: readonly string[]): string {
  if (items.length === 0) return '';
  const lines = [''];
  for (const item of items) {
    const line = lines[lines.length - 1];
    if (line !== '' && line.length + 1 + item.length > LINE_WIDTH - LABEL_WIDTH) lines.push(item);
    else lines[lines.length - 1] = line === '' ? item : `${line} ${item}`;
  }
  return lines.map((line, i) => `${(i === 0 ? label : '').padEnd(LABEL_WIDTH)}${line}\n`).join('');
}

function infoText(info: ObjectInfo): string {
  const { functions, instructions } = info;
  const of = (wanted: Support) => (needs: readonly Need[]) =>
    needs.filter(({ support }) => support === wanted).map(({ name }) => name);
  const used = (needs: readonly Need[]) =>
    needs
      .filter(({ support }) => support !== 'unreached')
      .map(({ name, support }) => (support === 'missing' ? `${name}!` : name));
  const unreached = [
    ...of('unreached')(info.helpers),
    ...of('unreached')(info.kfuncs),
    ...of('unreached')(info.kernel),
    ...info.maps.filter(({ support }) => support === 'unreached').map(({ name }) => `map ${name}`),
  ];
  const maps = info.maps
    .filter(({ support }) => support !== 'unreached')
    .map(({ name, type, key_bytes, value_bytes, max_entries, special }) => {
      const entries = max_entries === 0 ? '' : ` × ${number(max_entries)}`;
      const managed = special.length === 0 ? '' : `: ${[...new Set(special)].join(', ')}`;
      return `${name}  ${type} ${key_bytes} B → ${value_bytes} B${entries}${managed}`;
    });
  const constants = info.variables
    .filter(({ read_only, name, value }) => read_only && value !== undefined && !name.startsWith('__SCX_'))
    .map(({ name, type, value }) => `${name}=${value} (${type})`);
  return [
    `${info.file}\n`,
    ...info.schedulers.map(({ name, flags, timeout_ms, ops }) =>
      [
        paragraph('scheduler', [name, `(${info.license})`]),
        paragraph('flags', flags),
        paragraph('timeout', timeout_ms === 0 ? [] : [`${timeout_ms} ms`]),
        paragraph('ops', used(ops)),
      ].join(''),
    ),
    paragraph('code', [
      `${number(instructions.linked)} of ${number(instructions.all)} instructions,`,
      `${functions.linked} of ${functions.all} functions are reached`,
    ]),
    ...maps.map((map, i) => paragraph(i === 0 ? 'maps' : '', [map])),
    paragraph('constants', constants),
    paragraph('helpers', used(info.helpers)),
    paragraph('kfuncs', used(info.kfuncs)),
    paragraph('kernel', used(info.kernel)),
    paragraph('not reached', unreached),
    paragraph('not loaded', info.other_programs),
    info.refusals.length === 0
      ? 'vtime runs it\n'
      : `vtime does not run it; it needs\n${refusalLines(info.refusals)
          .map((line) => `  ${line}\n`)
          .join('')}`,
  ].join('');
}

function info(file: string, { json, cpus, kernel, rodata }: InfoOptions): void {
  const settings: LinkSettings = { cpus, rodata };
  const described = objectInfo(readObject(file).open, kernelOf(kernel), settings);
  process.stdout.write(json ? `${JSON.stringify(described, null, 2)}\n` : infoText(described));
}

function infoCommand(): Command {
  return new Command('info')
    .description('ops, maps, helpers, kfuncs and kernel features of an object, and whether vtime has them')
    .argument('<object>', 'compiled sched_ext object, as clang -target bpf writes it')
    .option('--cpus <n>', 'CPUs of the machine it is loaded on', whole('--cpus', 1, 512), 8)
    .addOption(
      new Option('--kernel <version>', 'of the kernel it is loaded into')
        .choices(['6.12', '7.3'])
        .default('7.3'),
    )
    .option('--rodata <name=value>', 'set a global variable before linking; may be repeated', rodataOption)
    .option('--json', 'print JSON')
    .action(info);
}

export function bpfCommand(): Command {
  return new Command('bpf')
    .description('compiled sched_ext objects')
    .addCommand(infoCommand())
    .addCommand(checkCommand())
    .addCommand(bpfTestCommand());
}
