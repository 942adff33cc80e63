// Where the bundled µqSim folders are.

import { fileURLToPath } from 'node:url';

/** data/uqsim, seen from dist/src/uqsim. */
export const DATA = fileURLToPath(new URL('../../../data/uqsim', import.meta.url));
export const REFERENCE = `${DATA}/reference.json`;
