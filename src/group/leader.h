/* SPDX-License-Identifier: MIT */
#ifndef RLK_GROUP_LEADER_H
#define RLK_GROUP_LEADER_H

/*
 * What a leader does with the requests that it has taken: it sends them, as one
 * packet or a single one by itself, waits for the answers, and sees to it that
 * each of them comes out as answered, as failed, or as one that its own thread
 * has to send alone.
 */

#include "group/commit.h"

/**
 * Send the @count requests of @members, the leader's own first, on the
 * connection of @commit or on one of @bay. Blocks until errand->until_ms, or as
 * long as a call may take, whichever is earlier; no mutex held.
 *
 * @as_packet  as one text of statements, else it is one request, on its own
 */
void rlk_lead(struct rlk_commit *commit, size_t bay,
	      struct rlk_member **members, size_t count, bool as_packet,
	      const struct rlk_errand *errand);

/** When something that began at @now_ms takes suspiciously long. */
int64_t rlk_linger_until(const struct rlk_commit *commit, int64_t now_ms);

#endif
