/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_REAPER_PRIVATE_H
#define RLK_BACKGROUND_REAPER_PRIVATE_H

/*
 * Shared by the reaper's files: reaper.c decides when and what to remove,
 * remains.c removes sessions and leases.
 */

#include "background/reaper.h"
#include "core/client.h"

/** The duty to reap, as a client sees it (reap_duty.c). */
struct rlk_duty {
	uint64_t number; /* it is ours, under this number; else 0 */
	int64_t age_ms;  /* of another's, when it was last looked at */
	int64_t keep_ms; /* when to renew ours */
	bool refused;    /* the account may not write it: each reaps */
};

/** One pass over all rows. It has a time limit, or a server that always has
 *  more would keep it for ever. */
struct rlk_pass {
	struct rowlock_client *client;
	struct rlk_conn *conn;
	unsigned int batch; /* rows per look */
	struct rowlock_reap_result *result;
	struct rlk_duty *duty; /* NULL: called by rowlock_reap() */
	unsigned int sessions; /* all of them, dead or alive */
	uint64_t floor;        /* the tokens' floor, at least */
	uint64_t most_ms;      /* its time limit, */
	int64_t ends_ms;       /* and when that is up */
	bool more;             /* it was up: there may be more */
	bool removes;          /* it has begun to remove */
	struct rlk_reap_from *from;
	/* It works in bursts, with rests between. */
	int64_t burst_ms;            /* when this one began */
	struct rlk_sleeper *sleeper; /* NULL: own, as soon as it is needed */
	struct rlk_sleeper own;
};

/** Set the deadline of the next statement. */
void rlk_pass_set_until(struct rlk_pass *pass);

/** A burst has removed @count rows. Blocks, no mutex held. */
void rlk_pass_rest(struct rlk_pass *pass, size_t count);

/** Is there time left? */
bool rlk_pass_has_time(struct rlk_pass *pass);

/** May it remove the next one? Always the first, or a pass with little time
 *  would never get on. */
bool rlk_pass_may_remove(struct rlk_pass *pass);

/** May a pass look for more? Neither the client, nor its duty, nor its time
 *  ends. */
bool rlk_pass_goes_on(struct rlk_pass *pass);

#endif
