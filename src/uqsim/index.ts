// The validated experiments of the µqSim paper.

import type { Experiment } from './experiment.js';
import { loadBalancing } from './load-balancing.js';
import { powerManagement } from './power.js';
import { scheduling } from './scheduling.js';
import { SINGLE_TIERS } from './single-tiers.js';
import { tailAtScale } from './tail-at-scale.js';
import { TIERS } from './tiers.js';

export const EXPERIMENTS: readonly Experiment[] = [
  ...TIERS,
  loadBalancing,
  ...SINGLE_TIERS,
  tailAtScale,
  powerManagement,
  scheduling,
];
