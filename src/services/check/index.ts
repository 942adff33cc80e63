// Everything about a services model that only the whole can tell.

import { Findings } from '../findings.js';
import type { Services } from '../schema.js';
import { checkConnections } from './connections.js';
import { checkDeployment } from './deployment.js';
import { checkModels } from './models.js';
import { checkProfile } from './profile.js';
import { checkRequests } from './requests.js';
import { checkRun } from './run.js';
import { checkUse } from './use.js';
import { checkWaits } from './waits.js';

/** All findings about a model that fits the schema. */
export function checkServices(services: Services): Findings {
  const findings = new Findings();
  checkModels(services, findings);
  checkDeployment(services, findings);
  checkRequests(services, findings);
  checkRun(services, findings);
  checkProfile(services, findings);
  // These follow references, which hold only if there is no error so far.
  if (findings.errors.length === 0) {
    checkConnections(services, findings);
    checkWaits(services, findings);
    checkUse(services, findings);
  }
  return findings;
}
