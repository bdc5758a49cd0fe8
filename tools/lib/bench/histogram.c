// SPDX-License-Identifier: MIT
/*
 * Durations, counted by size: small enough for one per thread, fine enough for
 * a percentile. Below 64 ns a step is 1 ns; from there a step is a 64th of the
 * power of two that the value lies in.
 */
#include "histogram.h"

static size_t step_of(uint64_t ns)
{
	unsigned int power;
	size_t step;

	if (ns < HISTOGRAM_STEPS)
		return ns;
	power = 63 - (unsigned int) __builtin_clzll(ns); /* 6 or more */
	step = (size_t) (power - 5) * HISTOGRAM_STEPS +
	       ((ns >> (power - 6)) & (HISTOGRAM_STEPS - 1));
	return step < HISTOGRAM_SIZE ? step : HISTOGRAM_SIZE - 1;
}

static uint64_t lower_bound(size_t step)
{
	size_t row = step / HISTOGRAM_STEPS;

	if (!row)
		return step;
	return (uint64_t) (HISTOGRAM_STEPS + step % HISTOGRAM_STEPS)
	       << (row - 1);
}

void histogram_add(struct histogram *histogram, uint64_t ns)
{
	histogram->count[step_of(ns)]++;
	if (ns > histogram->most)
		histogram->most = ns;
}

void histogram_merge(struct histogram *histogram, const struct histogram *other)
{
	for (size_t i = 0; i < HISTOGRAM_SIZE; i++)
		histogram->count[i] += other->count[i];
	if (other->most > histogram->most)
		histogram->most = other->most;
}

void histogram_print(const struct histogram *histogram, FILE *out)
{
	const char *comma = "";

	fputc('[', out);
	for (size_t i = 0; i < HISTOGRAM_SIZE; i++) {
		if (!histogram->count[i])
			continue;
		fprintf(out, "%s[%llu,%u]", comma,
			(unsigned long long) lower_bound(i),
			histogram->count[i]);
		comma = ",";
	}
	fputc(']', out);
}
