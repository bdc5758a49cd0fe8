/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_STRESS_CHECK_H
#define ROWLOCK_STRESS_CHECK_H

/*
 * The judge of a stress run. It knows nothing of the library but its codes:
 * only what the workers saw, when.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "history.h"

/** Codes are negative; -code is the index. */
#define CHECK_CODES 32

struct check_rules {
	bool faults; /* clients are stopped, killed, cut off: LOST and server
			errors may reach a caller */
	bool fair;   /* judge fairness */
	FILE *out;   /* where violations are explained; NULL: nowhere */
};

struct check_result {
	uint64_t holds;
	uint64_t tokens;
	uint64_t threads;
	uint64_t lost; /* holds that ended as LOST */
	uint64_t errors[CHECK_CODES];
	double seconds; /* from the first acquire to the last release */
	uint64_t fewest;
	uint64_t most;
	double mean; /* holds per thread */

	/* Violations. */
	uint64_t double_holds;
	uint64_t token_disorder;
	uint64_t forbidden_errors;
	uint64_t unfair; /* threads below a third of the mean */
	uint64_t broken; /* records that contradict themselves */
};

/**
 * Judge @n records in any order; they are sorted in place. Returns true if
 * there is no violation.
 */
bool check_history(struct history_record *records, size_t n,
		   const struct check_rules *rules,
		   struct check_result *ret_result);

#endif
