/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_PARTS_H
#define ROWLOCK_TEST_PARTS_H

/*
 * Packets of a strategy, in parts.
 */

#include "ground.h"

#define PARTS_MOST 256

/** A test of the lease strategy with each kind of its statements. */
#define EACH(sentence)                                                         \
	CASES(                                                                 \
	    ON(ROWLOCK_LEASE, "lease: " sentence, CASE_HERE),                  \
	    ON(GROUND_LEASE_LOOKS, "lease that looks: " sentence, CASE_HERE))

/** Run them on @who's connection. */
enum rlk_fault parts_run(int who, struct rlk_part *parts, size_t count,
			 struct rowlock_errinfo *error);
/** All of them must be answered. */
void parts_run_all(int who, struct rlk_part *parts, size_t count);

struct rlk_part parts_of(enum rlk_act act, const struct rlk_request *request);
/** An acquire of client @who. */
struct rlk_part parts_ask(int who, const char *name);

/** One of PARTS_MOST names; good until it is asked for again. */
const char *parts_name(const char *word, size_t number);
/** How many rows a lease's name has. */
uint64_t parts_rows(const char *name);

/** Somebody's transaction that has locked the row of @name; end it with
 *  parts_unguard(). */
struct rlk_conn *parts_guard(const char *name);
void parts_unguard(struct rlk_conn *guard);

#endif
