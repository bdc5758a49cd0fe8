/* SPDX-License-Identifier: MIT */
/*
 * Elects one reaper per database. The client that reaped last goes on after one
 * interval, and renews its claim; the others look, and take over if the claim
 * was not renewed for 1.5 intervals. So ten thousand clients make one pass per
 * interval, not ten thousand, and a client that observes beats sees the same
 * sessions again.
 *
 * Failure modes: if the reaper dies, another client takes over, half an
 * interval late. A client whose account may not write the claim reaps on its
 * own, more rarely the more clients there are.
 */
#include "background/reap_claim.h"

#include "base/random.h"
#include "core/call.h"
#include "strategy/claim.h"

/* MySQL Server Error Reference, the same in MariaDB: access to a table, or to
 * one of its columns, is denied. */
#define ERROR_TABLE_ACCESS 1142
#define ERROR_COLUMN_ACCESS 1143

static uint64_t fresh_ms(const struct rlk_pass *pass)
{
	return pass->client->reap_interval_ms * 3 / 2;
}

static enum rlk_fault keep(struct rlk_pass *pass,
			   struct rowlock_errinfo *reterr)
{
	const struct rowlock_client *client = pass->client;
	struct rlk_claim *claim = pass->claim;
	bool kept = false;
	enum rlk_fault fault;

	rlk_pass_set_until(pass);
	fault = rlk_claim_keep(pass->conn, claim->number, &kept, reterr);
	if (!fault && !kept)
		claim->number = 0;
	claim->keep_ms =
	    rlk_after(rlk_now(client->clock), client->reap_interval_ms / 4);
	return fault;
}

static enum rlk_fault look_and_take(struct rlk_pass *pass,
				    struct rowlock_errinfo *reterr)
{
	struct rlk_claim *claim = pass->claim;
	uint64_t fresh = fresh_ms(pass);
	enum rlk_fault fault;
	int64_t age_us;

	rlk_pass_set_until(pass);
	fault = rlk_claim_look(pass->conn, &age_us, reterr);
	if (fault)
		return fault;
	claim->age_ms = age_us / 1000;
	if (claim->age_ms < (int64_t) fresh)
		return RLK_DONE;
	claim->age_ms = 0;
	return rlk_claim_take(pass->conn, fresh, &claim->number, reterr);
}

static bool may_not(enum rlk_fault fault, const struct rowlock_errinfo *error)
{
	return fault == RLK_REFUSED && (error->mysql == ERROR_TABLE_ACCESS ||
					error->mysql == ERROR_COLUMN_ACCESS);
}

int rlk_claim_turn(struct rlk_pass *pass, bool *ret_ours,
		   struct rowlock_errinfo *reterr)
{
	struct rlk_claim *claim = pass->claim;
	enum rlk_fault fault = RLK_DONE;

	*ret_ours = true;
	if (!claim || claim->refused)
		return 0;
	if (claim->number)
		fault = keep(pass, reterr);
	if (!fault && !claim->number)
		fault = look_and_take(pass, reterr);
	claim->refused = may_not(fault, reterr);
	if (claim->refused)
		return 0;
	*ret_ours = !fault && claim->number;
	/* Another client is taking it. */
	if (!fault || rlk_fault_passes(fault))
		return 0;
	return rlk_client_code(pass->client, fault, reterr);
}

bool rlk_claim_goes_on(struct rlk_pass *pass)
{
	struct rlk_claim *claim = pass->claim;
	struct rowlock_errinfo error;

	if (!claim || claim->refused)
		return true;
	if (claim->number && rlk_now(pass->client->clock) >= claim->keep_ms)
		keep(pass, &error);
	return claim->number != 0;
}

int64_t rlk_claim_next(const struct rowlock_client *client,
		       const struct rlk_claim *claim)
{
	uint64_t interval = client->reap_interval_ms;
	int64_t left = (int64_t) (interval * 3 / 2) - claim->age_ms;
	uint64_t least = claim->number ? interval * 7 / 8 : interval / 4;

	if (!claim->number && left > (int64_t) least)
		least = (uint64_t) left;
	/* With jitter, so that not all ask at once. */
	return rlk_after(rlk_now(client->clock),
			 least + rlk_random() % (interval / 4));
}
