/* SPDX-License-Identifier: MIT */
#ifndef RLK_HOLD_CLEAR_H
#define RLK_HOLD_CLEAR_H

/*
 * Removing dead sessions and leases. All of these block on @conn until its
 * deadline, no mutex held, and return true, or how many, if something was
 * removed; an error only means that nothing was.
 */

#include "core/client.h"

/** May the server's clock decide which holders are dead? Not for a day after it
 *  jumped. */
bool rlk_trusts_clock(struct rowlock_client *client);

/** Note that the server's clock jumped by @jump_ms. */
void rlk_clock_jumped(struct rowlock_client *client, int64_t jump_ms);

/** Note that a session expires in @left_us by the server's clock. If that is
 *  more than a TTL, the clock went back since the session's last beat; or a
 *  server with another clock wrote the expiry. */
void rlk_judge_left(struct rowlock_client *client, int64_t left_us,
		    uint64_t ttl_ms);

/** Has session or attempt @id shown this @beat for @period_ms and a margin? */
bool rlk_seen_silent(struct rowlock_client *client, uint64_t id, uint64_t beat,
		     uint64_t period_ms);

/** The time in ms after which the session of @holder, which was looked up,
 *  counts as silent if no beat comes. */
int64_t rlk_silent_in_ms(struct rowlock_client *client,
			 const struct rlk_holder *holder);

/** A session that may be dead. */
struct rlk_candidate {
	uint64_t id;
	uint64_t beat;
	uint64_t ttl_ms;
	const char *who; /* for the log; NULL: unknown */
};

/** Evict @session if its time is up: by the server's clock, or, where that does
 *  not count, by this client's observation. */
bool rlk_evict(struct rowlock_client *client, struct rlk_conn *conn,
	       const struct rlk_candidate *session);

/** Log the eviction of @session, and count it. */
void rlk_evict_tell(struct rowlock_client *client,
		    const struct rlk_candidate *session);

/** Sweep the lease of @holder, if it is dead or past its maximum. If many may
 *  hold the name, the others that are dead go along. Returns how many. */
uint64_t rlk_sweep(struct rowlock_client *client, struct rlk_conn *conn,
		   const char *name, unsigned int slot,
		   const struct rlk_holder *holder);

/** Is there a reason to look closer at the holder in an answer? */
bool rlk_may_be_dead(struct rowlock_client *client,
		     const struct rlk_holder *holder);

/** Evict and sweep the holder that an acquire met, if it is dead. @holder may
 *  be looked up again. True: the name may be free, ask again at once. */
bool rlk_clear_dead(struct rowlock_client *client, struct rlk_conn *conn,
		    const struct rlk_request *request,
		    struct rlk_holder *holder);

/** Can the sweep go in one batch with others? Yes if the server's clock
 *  decides; observations are each contender's own. */
bool rlk_clears_together(struct rowlock_client *client,
			 const struct rlk_holder *holder);

/** Log the rows that a batched sweep has removed for @part. */
void rlk_clear_tell(struct rowlock_client *client, const struct rlk_part *part);

#endif
