/* SPDX-License-Identifier: MIT */
#ifndef RLK_HOLD_CLEAR_H
#define RLK_HOLD_CLEAR_H

/*
 * Removing what is dead. All of these block on @conn until its deadline, no
 * mutex held, and return true if something was removed; an error only means
 * that nothing was.
 */

#include "core/client.h"

/** May the server's clock decide who is dead? Not for a day after it was seen
 *  to jump. */
bool rlk_trusts_clock(struct rowlock_client *client);

/** It was seen to jump, by @jump_ms. */
void rlk_clock_jumped(struct rowlock_client *client, int64_t jump_ms);

/** A session has @left_us until it expires by the server's clock. Nobody gets
 *  more than a TTL: if it has, the clock went back since it beat. Or a server
 *  with another clock wrote that end. */
void rlk_judge_left(struct rowlock_client *client, int64_t left_us,
		    uint64_t ttl_ms);

/** Has session @id, or attempt, shown this @beat to this client for @period_ms
 *  and a margin? */
bool rlk_seen_silent(struct rowlock_client *client, uint64_t id, uint64_t beat,
		     uint64_t period_ms);

/** In how many ms the session of @holder, which was looked up, will have been
 *  silent for so long, if no beat comes. */
int64_t rlk_silent_in_ms(struct rowlock_client *client,
			 const struct rlk_holder *holder);

/** A session that may be dead. */
struct rlk_candidate {
	uint64_t id;
	uint64_t beat;
	uint64_t ttl_ms;
	const char *who; /* for the log; NULL: not known */
};

/** Evict @session if its time is up: by the server's clock, or, where that
 *  does not count, by what this client has seen of it. */
bool rlk_evict(struct rowlock_client *client, struct rlk_conn *conn,
	       const struct rlk_candidate *session);

/** Log that it was. */
void rlk_evict_tell(struct rowlock_client *client,
		    const struct rlk_candidate *session);

/** Sweep the lease that @holder tells of, if it is dead or past its maximum. */
bool rlk_sweep(struct rowlock_client *client, struct rlk_conn *conn,
	       const char *name, unsigned int slot,
	       const struct rlk_holder *holder);

/** Is there a reason to look closer at the holder that an answer told of? */
bool rlk_may_be_dead(struct rowlock_client *client,
		     const struct rlk_holder *holder);

/** Do both for the holder that an acquire met, if it is dead. @holder may be
 *  looked up anew. True: the name may be free now, ask again at once. */
bool rlk_clear_dead(struct rowlock_client *client, struct rlk_conn *conn,
		    const struct rlk_request *request,
		    struct rlk_holder *holder);

/** Can it be done together with others who have met dead holders? Where the
 *  server's clock decides; what has to be observed each one has seen itself. */
bool rlk_clears_together(struct rowlock_client *client,
			 const struct rlk_holder *holder);

/** Log what a sweep of many has removed for @part. */
void rlk_clear_tell(struct rowlock_client *client, const struct rlk_part *part);

#endif
