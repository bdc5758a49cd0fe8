/* SPDX-License-Identifier: MIT */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* 64 steps per power of two: no value is off by more than 1.6 %. */
#define HISTOGRAM_STEPS 64
#define HISTOGRAM_SIZE ((size_t) 36 * HISTOGRAM_STEPS) /* up to 36 minutes */

/** How often which duration, in nanoseconds, was seen. */
struct histogram {
	uint64_t most;
	uint32_t count[HISTOGRAM_SIZE];
};

void histogram_add(struct histogram *histogram, uint64_t ns);

/** @other's as well. */
void histogram_merge(struct histogram *histogram,
		     const struct histogram *other);

/** As JSON: a list of [lower bound in ns, count], empty steps left out. */
void histogram_print(const struct histogram *histogram, FILE *out);

#endif
