// A run whose warm-up is cut off by the method that the model names.

import { type ServicesResult, simulateServices } from '../../engine/services.js';
import type { Progress } from '../../types.js';
import type { ResolvedServices } from '../resolved.js';
import { type Cut, warmupOf } from './warmup.js';

/** With mser-5 a run of everything tells where to cut, and the same run again measures what is left. */
export async function simulateMeasured(
  services: ResolvedServices,
  onProgress?: (progress: Progress) => void,
): Promise<{ result: ServicesResult; cut?: Cut }> {
  const result = await simulateServices(services, { onProgress });
  if (services.run.warmup.method === 'fixed') return { result };
  const cut = warmupOf(result.series);
  if (cut.batches === 0) return { result, cut };
  const warmup = { method: 'fixed' as const, ns: cut.from_ns };
  return {
    result: await simulateServices({ ...services, run: { ...services.run, warmup } }, { onProgress }),
    cut,
  };
}
