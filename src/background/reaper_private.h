/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_REAPER_PRIVATE_H
#define RLK_BACKGROUND_REAPER_PRIVATE_H

/*
 * What the files of the reaper share: reaper.c says when and what, remains.c
 * removes sessions and leases.
 */

#include "background/reaper.h"
#include "core/client.h"

/** A client's part in whose turn it is (reap_claim.c). */
struct rlk_claim {
	uint64_t number; /* of the present turn, if it is ours; else 0 */
	int64_t age_ms;  /* of another's, when it was last looked at */
	int64_t keep_ms; /* when ours is to be kept again */
	bool refused;    /* the account may not claim: each reaps */
};

/** One pass over what is there. It has a time; a server that always has more
 *  would else keep it for ever. */
struct rlk_pass {
	struct rowlock_client *client;
	struct rlk_conn *conn;
	unsigned int batch; /* rows of one look */
	struct rowlock_reap_result *result;
	struct rlk_claim *claim; /* NULL: it was asked for, not its turn */
	unsigned int sessions;   /* that are there, dead or alive */
	uint64_t floor;          /* of tokens: at least */
	uint64_t most_ms;        /* its time, */
	int64_t ends_ms;         /* which is up then */
	bool more;               /* it was: there may be more */
	bool removes;            /* it has begun to */
	struct rlk_reap_from *from;
	/* It works in bursts: between two of them it lets others. */
	int64_t burst_ms;            /* when this one began */
	struct rlk_sleeper *sleeper; /* NULL: own, as soon as it is needed */
	struct rlk_sleeper own;
};

/** The deadline of what is said next. */
void rlk_pass_set_until(struct rlk_pass *pass);

/** A burst has removed @count rows. Blocks, no mutex held. */
void rlk_pass_rest(struct rlk_pass *pass, size_t count);

/** Is its time not up? */
bool rlk_pass_has_time(struct rlk_pass *pass);

/** May it remove what comes next? The first in any case, or one that has little
 *  time would never get on. */
bool rlk_pass_may_remove(struct rlk_pass *pass);

/** May a pass look for more? Neither the client, nor its turn, nor its time
 *  ends. */
bool rlk_pass_goes_on(struct rlk_pass *pass);

#endif
