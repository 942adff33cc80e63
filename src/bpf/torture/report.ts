// What the torture suite leaves: the workload of each finding as a config that `vtime run` and the virtual machine take, and
// the rounds as JUnit XML, which build servers read.

import { Document } from 'yaml';
import type { Finding, Policy } from './judge.js';
import type { Round } from './suite.js';

function wrapped(text: string, width: number): string[] {
  const lines: string[] = [''];
  for (const word of text.split(/\s+/)) {
    const last = lines[lines.length - 1];
    if (last !== '' && last.length + word.length + 1 > width) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines;
}

function findingLines({ kind, message, details }: Finding): string[] {
  return [`${kind}: ${message}`, ...details];
}

/** The config of a finding, as YAML: what was found is in its comment. */
export function findingConfig(round: Round, policy: Policy, origin: string): string {
  const document = new Document({
    name: `torture ${round.round}: ${round.shown!.kind}`,
    ...round.smallest,
    policy,
  });
  document.commentBefore = [
    ...findingLines(round.shown!),
    `Found by ${origin}, round ${round.round} (${round.name}).`,
  ]
    .flatMap((line) => wrapped(line, 100))
    .map((line) => ` ${line}`)
    .join('\n');
  return document.toString({ lineWidth: 100, flowCollectionPadding: false });
}

function escaped(text: string): string {
  // Control characters have no place in XML, not even escaped.
  return [...text]
    .filter((character) => character >= ' ' || character === '\n')
    .join('')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** JUnit XML: one test case per round. `files` are the configs of findings by round. */
export function junit(rounds: readonly Round[], suite: string, files: ReadonlyMap<number, string>): string {
  const failures = rounds.filter(({ finding }) => finding !== undefined).length;
  const skipped = rounds.filter(({ unfair }) => unfair).length;
  const seconds = rounds.reduce((sum, round) => sum + round.seconds, 0);
  const cases = rounds.map(({ round, name, seconds: time, finding, shown, unfair }) => {
    const head = `    <testcase classname="${escaped(suite)}" name="${round}: ${escaped(name)}" time="${time.toFixed(3)}"`;
    if (unfair) return `${head}><skipped message="a plain scheduler does not survive it either"/></testcase>`;
    if (finding === undefined) return `${head}/>`;
    const file = files.get(round);
    const lines = [
      ...findingLines(shown ?? finding),
      ...(file === undefined ? [] : [`reproduce: vtime run ${file}`]),
    ];
    return (
      `${head}>\n      <failure type="${finding.kind}" message="${escaped(finding.message)}">` +
      `${escaped(lines.join('\n'))}</failure>\n    </testcase>`
    );
  });
  const counts = `tests="${rounds.length}" failures="${failures}" errors="0" skipped="${skipped}" time="${seconds.toFixed(3)}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="${escaped(suite)}" ${counts}>`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}
