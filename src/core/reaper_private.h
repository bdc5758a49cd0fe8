/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_REAPER_PRIVATE_H
#define RLK_CORE_REAPER_PRIVATE_H

/*
 * What the files of the reaper share: reaper.c says when and what, remains.c
 * removes sessions and leases.
 */

#include "core/client.h"
#include "core/reaper.h"

/** One pass over what is there. */
struct rlk_pass {
	struct rowlock_client *client;
	struct rlk_conn *conn;
	unsigned int batch; /* rows of one look */
	struct rowlock_reap_result *result;
	unsigned int sessions; /* that are there, dead or alive */
	uint64_t floor;        /* of tokens: at least */
	/* It works in bursts: between two of them it lets others. */
	int64_t burst_ms;            /* when this one began */
	struct rlk_sleeper *sleeper; /* NULL: own, as soon as it is needed */
	struct rlk_sleeper own;
};

/** The deadline of what is said next. */
void rlk_pass_set_until(struct rlk_pass *pass);

/** A burst has removed @count rows. Blocks, no mutex held. */
void rlk_pass_rest(struct rlk_pass *pass, size_t count);

int rlk_reap_sessions(struct rlk_pass *pass, struct rowlock_errinfo *reterr);
int rlk_reap_leases(struct rlk_pass *pass, struct rowlock_errinfo *reterr);

#endif
