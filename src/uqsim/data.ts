// Where the bundled µqSim folders and the release's results are.

import { fileURLToPath } from 'node:url';

/** data/uqsim, seen from dist/src/uqsim. */
export const DATA = fileURLToPath(new URL('../../../data/uqsim', import.meta.url));
/** One run of each load. */
export const REFERENCE = `${DATA}/reference.json`;
/** Many runs of each load below saturation. */
export const REPEATED = `${DATA}/repeated.json`;
