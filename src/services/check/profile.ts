// The machine profile, and whether it has the frequencies at which services run.

import { loadMachine, type Machine } from '../../config/machine.js';
import { megahertz } from '../../config/units.js';
import { VtimeError } from '../../errors.js';
import type { Findings } from '../findings.js';
import type { Services } from '../schema.js';

function profileOf(profile: string, findings: Findings): Machine | undefined {
  try {
    return loadMachine(profile);
  } catch (error) {
    if (!(error instanceof VtimeError)) throw error;
    findings.error(['profile'], 'profile', error.message);
    return undefined;
  }
}

export function checkProfile(services: Services, findings: Findings): void {
  if (services.profile === undefined) return;
  const machine = profileOf(services.profile, findings);
  // An ideal machine draws the same at every frequency.
  if (machine === undefined || machine.ideal) return;
  const { name: profile, min_mhz, max_mhz } = machine;
  const within = (path: (string | number)[], frequency: string | undefined) => {
    if (frequency === undefined) return;
    const mhz = megahertz(frequency);
    if (mhz >= min_mhz && mhz <= max_mhz) return;
    findings.error(path, 'profile-frequency', `the profile ${profile} has ${min_mhz} to ${max_mhz} MHz`);
  };
  for (const [name, { reference_frequency }] of Object.entries(services.models)) {
    within(['models', name, 'reference_frequency'], reference_frequency);
  }
  for (const [name, { instances, balancer }] of Object.entries(services.services)) {
    for (const [instance, { frequency }] of Object.entries(instances)) {
      within(['services', name, 'instances', instance, 'frequency'], frequency);
    }
    within(['services', name, 'balancer', 'frequency'], balancer?.frequency);
  }
  services.power?.frequencies.forEach((frequency, i) => {
    within(['power', 'frequencies', i], frequency);
  });
}
