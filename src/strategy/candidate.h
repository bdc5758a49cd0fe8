/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_CANDIDATE_H
#define RLK_STRATEGY_CANDIDATE_H

/*
 * Candidates of an election that have a weight: as long as one waits to be
 * elected, it has a row beside the lock's, on a slot from 1073741824 on, with
 * its weight as the info, so that the others see it. The row excludes nobody.
 * It is a lease like any other: it goes with its session.
 */

#include "strategy/strategy.h"

/** The holds are these rows; there may be as many as there are candidates. */
extern const struct rlk_strategy rlk_strategy_candidate;

/** Is it the slot of such a row? */
bool rlk_candidate_has_slot(unsigned int slot);

/** The info of a candidate of @weight; @into has room for this many bytes. */
#define RLK_CANDIDATE_INFO 32
void rlk_candidate_info(char *into, unsigned int weight);

/** The candidate that is to be elected before others. */
struct rlk_heaviest {
	unsigned int weight; /* 0 if there is none */
	uint64_t stood_ms;   /* how long it has had its row */
};

/** Find the candidate of @name with the largest weight above @weight, of those
 *  that live by the server's clock; of several the one that stands the longest.
 *  No mutex held, may block until @conn's deadline. */
enum rlk_fault rlk_candidates_look(struct rlk_conn *conn, const char *name,
				   unsigned int weight,
				   struct rlk_heaviest *ret_heaviest,
				   struct rowlock_errinfo *reterr);

#endif
