/* SPDX-License-Identifier: MIT */
/*
 * Candidates that stand, in SQL; see candidate.h.
 *
 * Failure modes: those of a lease. A candidate that died is seen until its
 * session is over by the server's clock; a leader yields to it only for a
 * bounded time (recipe/campaign.c).
 */
#include "strategy/candidate.h"

#include <stdio.h>

#include "strategy/attempt.h"
#include "strategy/lease_private.h"

#include <rowlock/election.h>

/* This many slots, of which the last is below the writer's. */
#define FIRST_SLOT 1073741824u
#define SLOTS 1073741824u

/* In SQL. */
#define SLOT_RANGE "1073741824 AND 2147483647"

static unsigned int slot_of(uint64_t attempt)
{
	return FIRST_SLOT + (unsigned int) (attempt % SLOTS);
}

bool rlk_candidate_has_slot(unsigned int slot)
{
	return slot >= FIRST_SLOT && slot - FIRST_SLOT < SLOTS;
}

const struct rlk_strategy rlk_strategy_candidate = {
	.name = "lease",
	.many = true,
	.slot = slot_of,
	.acquire = rlk_lease_acquire,
	.release = rlk_lease_release,
	.confirm = rlk_attempt_confirm,
};

void rlk_candidate_info(char *into, unsigned int weight)
{
	snprintf(into, RLK_CANDIDATE_INFO, "weight=%u", weight);
}

/* ------------------------------------------------------------------ look */

static const struct rlk_stmt_def standing = {
	"look",
	"SELECT l.info,"
	" TIMESTAMPDIFF(MICROSECOND, l.acquired_at, UTC_TIMESTAMP(6)),"
	" TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), s.expires_at)"
	" FROM business_lease l JOIN lease_session s ON s.id = l.session"
	" WHERE l.name = ? AND l.slot BETWEEN " SLOT_RANGE " LIMIT 500",
};

/* 0 for what is no weight. */
static unsigned int weight_of(const struct rlk_value *info)
{
	unsigned int weight;
	char end;

	if (sscanf(info->text, "weight=%4u%c", &weight, &end) != 1 ||
	    weight > ROWLOCK_WEIGHT_MAX)
		return 0;
	return weight;
}

static void see(const struct rlk_value *columns, void *arg)
{
	struct rlk_heaviest *heaviest = arg;
	unsigned int weight = weight_of(&columns[0]);
	uint64_t stood_ms =
	    columns[1].i64 > 0 ? (uint64_t) columns[1].i64 / 1000 : 0;

	if (columns[2].i64 <= 0 || weight < heaviest->weight ||
	    (weight == heaviest->weight && stood_ms <= heaviest->stood_ms))
		return;
	*heaviest = (struct rlk_heaviest){ weight, stood_ms };
}

enum rlk_fault rlk_candidates_look(struct rlk_conn *conn, const char *name,
				   unsigned int weight,
				   struct rlk_heaviest *ret_heaviest,
				   struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = { rlk_text(name) };
	struct rlk_heaviest heaviest = { weight, UINT64_MAX };
	enum rlk_fault fault =
	    rlk_stmt_each(conn, &standing, params, see, &heaviest, reterr);

	if (fault)
		return fault;
	*ret_heaviest =
	    heaviest.weight > weight ? heaviest : (struct rlk_heaviest){ 0 };
	return RLK_DONE;
}
