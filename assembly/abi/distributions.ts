// Distributions (SECTION_DISTRIBUTIONS).
// Values and parameters are u64 ns unless said otherwise; p0…p5 are the six parameters of a record.

export const DIST_STRIDE: u32 = 64;
/** p0 value */
export const DIST_CONSTANT: u32 = 0;
/** p0 low, p1 high (excluded) */
export const DIST_UNIFORM: u32 = 1;
/** p0 mean */
export const DIST_EXPONENTIAL: u32 = 2;
/** p0 median, p1 sigma as Q32 */
export const DIST_LOGNORMAL: u32 = 3;
/** p0 probability of the first branch as Q32, p1 its mean, p2 mean of the second */
export const DIST_HYPEREXPONENTIAL: u32 = 4;
/** p0 scale (minimum), p1 1/shape as Q32 */
export const DIST_PARETO: u32 = 5;
/** Piecewise linear inverse of the points' CDF (the first point's value is the minimum). p0 = 1: a step function instead. */
export const DIST_EMPIRICAL: u32 = 6;
