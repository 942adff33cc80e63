// Malformed machines, kernels, policies and runs: the place of each mistake, and what would have been right.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { mistakesIn, ONE_JOB, refuses } from './support/mistakes.js';

test('machine', () => {
  assert.match(
    mistakesIn(`machine: xeon-8160-2\n${ONE_JOB}`)[0],
    /^c\.yaml:1:10 machine.*did you mean "xeon-8160-2s"/,
  );
  refuses('machine: 48', '1:10 machine: expected the name of a machine profile or a mapping, got 48');
  refuses(
    'machine: {profile: ideal-4, governer: hwp}',
    '1:29 machine.governer: unknown key "governer"; did you mean "governor"?',
  );
  refuses(
    'machine: {profile: ideal-4, governor: powersafe}',
    '1:39 machine.governor: expected one of performance, schedutil, hwp, powersave, got "powersafe"; did you mean "powersave"?',
  );
  refuses('machine: {profile: ideal-4, cpus: 8}', '1:35 machine.cpus: "ideal-4" has 4 CPUs, not 8');
  refuses(
    'machine: {profile: ideal-4, costs: {context_switch: 1.5}}',
    '1:53 machine.costs.context_switch: 1.5 has no unit; write a time like "3ms", "1.5us", "2h"',
  );
  refuses(
    'machine: {profile: xeon-8160-2s, idle_power: 95W}',
    '1:46 machine.idle_power: only ideal machines take a power; "xeon-8160-2s" has its own',
  );
  refuses(
    'machine: {profile: ideal-1, idle_power: 95}',
    '1:41 machine.idle_power: 95 has no unit; write a power like "95W"',
  );
  refuses('machine: {cpus: 4}', '1:1 machine.profile: missing; expected the name or path of a profile');
});

test('kernel', () => {
  refuses('kernel: 6.13', '1:9 kernel: expected one of 6.11-scx, 6.12, 7.3 or a mapping, got 6.13');
  refuses('kernel: {version: 6.11}', '1:19 kernel.version: expected one of 6.11-scx, 6.12, 7.3, got 6.11');
  refuses('kernel: {hz: 250}', '1:14 kernel.hz: 250 has no unit; write a frequency like "250Hz"');
  refuses(
    'kernel: {hz: 4ms}',
    '1:14 kernel.hz: "4ms" has the unknown unit "ms"; known units are Hz, kHz, MHz, GHz',
  );
  refuses('kernel: {watchdog_timeout: 31s}', '1:28 kernel.watchdog_timeout: the kernel allows at most 30s');
  refuses(
    'kernel: {slice_expiry: precise}',
    '1:24 kernel.slice_expiry: expected one of tick, exact, got "precise"',
  );
  refuses('kernel: {on_stal: end}', '1:10 kernel.on_stal: unknown key "on_stal"; did you mean "on_stall"?');
  refuses(
    'kernel: {base_slice: 3ms}\npolicy: {name: eevdf, base_slice: 4ms}',
    '2:35 policy.base_slice: kernel.base_slice already says 3ms',
  );
});

test('policy', () => {
  refuses(
    'machine: ideal-2\npolicy: {name: central, cpu: 2}',
    '2:30 policy.cpu: the machine has CPUs 0-1, not 2',
  );
  refuses('policy: evdf', '1:9 policy: unknown policy "evdf"; did you mean "eevdf"?');
  refuses('policy: {name: domain}', '1:16 policy.name: unknown policy "domain"; did you mean "domains"?');
  refuses(
    'policy: {slice: 3ms}',
    '1:1 policy.name: missing; known policies are eevdf, domains, domains-as-coded, global-fifo, percpu-fifo, ' +
      'global-vtime, weighted-vtime, central, five-level, nest, shortest-remaining, ' +
      'service-order, processor-sharing, bpf, sfs',
  );
  refuses(
    'policy: {name: global-fifo, slice: 3}',
    '1:36 policy.slice: 3 has no unit; write a time like "3ms", "1.5us", "2h"',
  );
  refuses('policy: {name: global-fifo, slice: 0s}', '1:36 policy.slice: "0s" must be longer than zero');
  refuses(
    'policy: {name: eevdf, domains: 8}',
    '1:23 policy.domains: unknown key "domains"; known keys are name, base_slice',
  );
  refuses('policy: global-fifo:8', '1:9 policy: policy "global-fifo" has no domains: write "global-fifo"');
  refuses(
    'policy: "domains:"',
    '1:9 policy: "domains:": expected a number of domains from 1 to 512, like "domains:8"',
  );
  refuses(
    'policy: domains:5',
    "1:9 policy.domains: 48 CPUs can't be divided into 5 equal domains; choose a divisor or list the CPUs of each domain",
  );
  refuses(
    'policy: {name: domains, domains: ["0-23", "23-47"]}',
    '1:43 policy.domains[1]: CPU 23 is already in domain 0',
  );
  refuses(
    'policy: {name: domains, domains: ["0-23", "24-48"]}',
    '1:43 policy.domains[1]: the machine has CPUs 0-47, not 48',
  );
  refuses(
    'policy: {name: domains, steal: neighbors}',
    '1:32 policy.steal: expected one of neighbours, none, got "neighbors"; did you mean "neighbours"?',
  );
});

test('run and output', () => {
  const source = 'workload: {arrivals: [{name: a, rate: 1/s, spawn: {program: [{run: 1s}]}}]}';
  refuses('run: {horizon: 60}', '1:16 run.horizon: 60 has no unit; write a time like "3ms", "1.5us", "2h"');
  refuses('run: {end: horizon}', '1:1 run.horizon: missing; end: horizon needs a time, like "60s"');
  refuses(
    'run: {warmup: 5s}',
    '1:1 run.horizon: missing; the sources never end by themselves: give the last arrival time, like "60s", or max_arrivals',
    source,
  );
  refuses(
    'run: {horizon: 60s, warmup: 60s}',
    '1:29 run.warmup: leaves nothing to measure before the horizon of 1min',
    source,
  );
  refuses(
    'run: {horizon: 60s, warmup: true}',
    '1:29 run.warmup: expected a time like "3ms", "1.5us", "2h", or "mser-5", got true',
    source,
  );
  refuses(
    'run: {horizon: 60s, warmup: mser5}',
    '1:29 run.warmup: "mser5" is not a time; write it like "3ms", "1.5us", "2h"',
    source,
  );
  refuses(
    'run: {horizon: trace}',
    '1:16 run.horizon: there is no open-loop trace whose end could be the horizon',
  );
  refuses(
    'run: {end: drain}',
    '1:1 run.limit: missing; a task runs forever, so the run needs a limit or end: horizon',
    'workload: {tasks: [{name: a, program: [{loop: {times: forever, do: [{run: 1s}]}}]}]}',
  );
  refuses(
    'output: {invocations: sample}',
    '1:23 output.invocations: expected "none", "all" or "sample:100" (every 100th), got "sample"',
  );
  refuses(
    'output: {invocations: 100}',
    '1:23 output.invocations: expected "none", "all" or "sample:100", got 100',
  );
  refuses('output: {digest: yes}', '1:18 output.digest: expected true or false, got "yes"');
});

test.run();
