// SPDX-License-Identifier: Apache-2.0
// Draws with the keys of assembly/core/random.ts: the same program draws the same bursts here and in the simulator.
// Logarithm and normal quantile come from libm, where the simulator has tables of relative error 1.3e-7.
#include <math.h>
#include <stddef.h>
#include "workload.h"

static const uint64_t GOLDEN = 0x9e3779b97f4a7c15;
static const double TWO_32 = 4294967296.0;
/** Values saturate here, as in the simulator. */
static const double MAX_VALUE = 4611686018427387904.0;

static uint64_t mix64(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

uint64_t stream_key(uint64_t seed, uint32_t purpose, uint32_t source)
{
	return mix64(mix64(seed + GOLDEN) ^ ((uint64_t)purpose << 32 | source));
}

uint64_t entity_key(uint64_t stream, uint64_t ordinal)
{
	return mix64(stream + (ordinal + 1) * GOLDEN);
}

uint64_t draw64(uint64_t key, uint64_t index)
{
	return mix64(key + (index + 1) * GOLDEN);
}

/** -ln u of the uniform u that the bits stand for. */
static double exponential(uint64_t r)
{
	int zeros = __builtin_clzll(r | 1);
	uint64_t mantissa = r << zeros << 1;

	return (zeros + 1) * M_LN2 - log1p(ldexp((double)mantissa, -64));
}

/** z with -ln P(|Z| > z) = e, by bisection: erfc is monotonous, and 60 halvings exhaust a double. */
static double half_normal(double e)
{
	double low = 0, high = 14;

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (-log(erfc(middle * M_SQRT1_2)) < e)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static uint64_t bounded(double value)
{
	return value >= MAX_VALUE ? (uint64_t)MAX_VALUE : (uint64_t)value;
}

static uint64_t empirical(const struct distribution *d, uint64_t r)
{
	const struct point *points = model.points + d->first_point;
	uint64_t u = r >> 32;
	uint32_t i = 0;

	if (d->points == 0)
		return 0;
	while (i + 1 < d->points && points[i].probability_q32 <= u)
		i++;
	if (d->p[0] == 1 || i == 0)
		return points[i].value;
	double width = points[i].probability_q32 - points[i - 1].probability_q32;
	double part = (u - points[i - 1].probability_q32 + (double)(uint32_t)r / TWO_32) / width;
	if (part >= 1)
		return points[i].value;
	return points[i - 1].value + (uint64_t)((points[i].value - points[i - 1].value) * part);
}

uint64_t draw_value(uint32_t index, uint64_t key, uint64_t draw)
{
	const struct distribution *d = model.distributions + index;
	uint64_t r = draw64(key, draw);

	switch (d->kind) {
	case CONSTANT:
		return d->p[0];
	case UNIFORM:
		return d->p[1] > d->p[0] ? d->p[0] + (uint64_t)(((__uint128_t)r * (d->p[1] - d->p[0])) >> 64) : d->p[0];
	case EXPONENTIAL:
		return bounded(d->p[0] * exponential(r));
	case LOGNORMAL: {
		double x = half_normal(exponential(r << 1)) * (d->p[1] / TWO_32);
		return bounded(d->p[0] * exp(r >> 63 ? -x : x) + 0.5);
	}
	case HYPEREXPONENTIAL:
		return bounded((r >> 32 < d->p[0] ? d->p[1] : d->p[2]) * exponential(draw64(r, 0)));
	case PARETO:
		return bounded(d->p[0] * exp(exponential(r) * (d->p[1] / TWO_32)) + 0.5);
	case EMPIRICAL:
		return empirical(d, r);
	}
	return 0;
}
