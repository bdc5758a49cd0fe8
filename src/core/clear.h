/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_CLEAR_H
#define RLK_CORE_CLEAR_H

/*
 * Removing what is dead. All of these block on @conn until its deadline, no
 * mutex held, and return true if something was removed; an error only means
 * that nothing was.
 */

#include "core/client.h"

/** May the server's clock decide who is dead? */
bool rlk_trusts_clock(struct rowlock_client *client);

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

#endif
