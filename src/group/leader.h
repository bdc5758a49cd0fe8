/* SPDX-License-Identifier: MIT */
#ifndef RLK_GROUP_LEADER_H
#define RLK_GROUP_LEADER_H

/*
 * A leader sends the requests that it has taken, as one batch or a single one
 * alone, waits for the answers, and ends each request as answered, as failed,
 * or as one that its own thread has to send alone.
 */

#include "group/commit.h"

/**
 * Send the @count requests of @members, the leader's own first, on the
 * connection of @commit or on one of @bay. Blocks until errand->until_ms, or as
 * long as a call may take, whichever is earlier; no mutex held.
 *
 * @as_packet  as one text of statements, else it is a single request
 */
void rlk_lead(struct rlk_commit *commit, size_t bay,
	      struct rlk_member **members, size_t count, bool as_packet,
	      const struct rlk_errand *errand);

/** The time from which a request begun at @now_ms is suspiciously slow. */
int64_t rlk_linger_until(const struct rlk_commit *commit, int64_t now_ms);

#endif
