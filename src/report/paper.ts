// What the scheduling-domain paper reports, for setting beside the simulated figures: "Serverless Platform Driven CPU Load
// Balancing", Listings 1 to 3 (trace1, 28 functions, 48 CPUs, 250 Hz, 3 ms slices) and the text to its Figures 6 to 9.

/** Lower bounds of the listings' buckets, µs; each reaches to twice its bound. */
export const LISTING_BUCKETS_US: readonly number[] = Array.from({ length: 17 }, (_, i) => 2 ** (i + 1));

/** Share of stints on a CPU per bucket, by the policy that stands for the listing's. */
export const LISTINGS: Readonly<Record<string, { title: string; shares: readonly number[] }>> = {
  eevdf: {
    title: 'Listing 1 (Linux default)',
    shares: [
      0.013, 0.206, 0.182, 0.115, 0.072, 0.144, 0.034, 0.025, 0.048, 0.074, 0.061, 0.008, 0.006, 0.004, 0.003,
      0.002, 0.001,
    ],
  },
  'domains:1': {
    title: 'Listing 2 (1 domain)',
    shares: [
      0.0, 0.058, 0.294, 0.146, 0.093, 0.153, 0.041, 0.027, 0.05, 0.087, 0.025, 0.007, 0.006, 0.005, 0.004,
      0.003, 0.001,
    ],
  },
  'domains:16': {
    title: 'Listing 3 (16 domains)',
    shares: [
      0.0, 0.056, 0.272, 0.145, 0.093, 0.156, 0.044, 0.028, 0.046, 0.073, 0.067, 0.006, 0.005, 0.004, 0.003,
      0.002, 0.001,
    ],
  },
};

/** The paper's words on each measure, in short. */
export const PAPER_CLAIMS: Readonly<Record<string, string>> = {
  energy: 'about −15 % at medium load with 1 and 8 domains, nothing left with 16 (Figure 6)',
  latency: 'about +10 % under low and medium load (+5 % with 8 domains), −50 % when over-utilised (Figure 7)',
  cost: 'about +10 % under low and medium load (+5 % with 8 domains), −50 % when over-utilised (Figure 8)',
  worker_duration:
    'about +5 % under low and medium load (none with 8 domains), −15 % when over-utilised (Figure 9)',
};
