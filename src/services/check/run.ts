// The client, the run, and power management against the rest.

import { durationNs, megahertz } from '../../config/units.js';
import type { Findings } from '../findings.js';
import type { Services } from '../schema.js';

/** Its default. */
const BANDWIDTH_SLICE = '5ms';

function checkPower(services: Services, findings: Findings): void {
  const { power } = services;
  if (power === undefined) return;
  const { frequencies, cap_step: step, services: tiers, interval } = power;
  for (let i = 1; i < frequencies.length; i++) {
    if (megahertz(frequencies[i]) > megahertz(frequencies[i - 1])) continue;
    findings.error(['power', 'frequencies', i], 'frequency-order', 'frequencies must ascend');
  }
  tiers?.forEach((name, i) => {
    findings.known(['power', 'services', i], 'service', name, Object.keys(services.services));
    if (tiers.indexOf(name) < i)
      findings.error(['power', 'services', i], 'duplicate-tier', `"${name}" twice`);
  });
  if (power.quantile <= 0 || power.quantile >= 1) {
    findings.error(
      ['power', 'quantile'],
      'quantile',
      `expected a fraction between 0 and 1, got ${power.quantile}`,
    );
  }
  if (step !== undefined) {
    const steps =
      (megahertz(frequencies[frequencies.length - 1]) - megahertz(frequencies[0])) / megahertz(step);
    if (steps > 1000) findings.error(['power', 'cap_step'], 'cap-step', 'more than 1000 steps');
  }
  const { duration } = services.run;
  if (duration !== undefined && durationNs(interval) >= durationNs(duration)) {
    findings.error(['power', 'interval'], 'interval', 'no decision falls into the run');
  }
}

export function checkRun(services: Services, findings: Findings): void {
  const { run, client, mode, scheduled } = services;
  checkPower(services, findings);
  if (scheduled !== undefined && mode !== 'scheduled') {
    findings.error(['scheduled'], 'mode', 'needs mode: scheduled');
  }
  const { group_scheduling, bandwidth_slice } = scheduled?.kernel ?? {};
  if (group_scheduling !== undefined) {
    findings.error(['scheduled', 'kernel', 'group_scheduling'], 'cgroups', 'services are in no cgroups');
  }
  if (bandwidth_slice !== undefined && bandwidth_slice !== BANDWIDTH_SLICE) {
    findings.error(['scheduled', 'kernel', 'bandwidth_slice'], 'cgroups', 'services are in no cgroups');
  }
  const { load } = client;
  const end = run.duration ?? (Array.isArray(load) ? load[load.length - 1].until : undefined);
  if (run.warmup !== 'mser-5' && end !== undefined && durationNs(run.warmup) >= durationNs(end)) {
    findings.error(['run', 'warmup'], 'warmup', `leaves nothing to measure before the end at ${end}`);
  }
  if (client.loop === 'closed' && run.duration === undefined && client.requests === undefined) {
    findings.error(
      ['run', 'duration'],
      'endless',
      'missing; a closed loop needs a duration or a number of requests',
    );
  }
  const limit = client.retries?.limit;
  if (limit !== undefined && durationNs(limit) < durationNs(client.retries?.backoff ?? '0s')) {
    findings.error(['client', 'retries', 'limit'], 'backoff', 'the limit is below the first backoff');
  }
}
