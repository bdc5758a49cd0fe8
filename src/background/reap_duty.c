/* SPDX-License-Identifier: MIT */
/*
 * Elects one reaper per database. The client that reaped last goes on after one
 * interval, and renews its duty; the others look, and take over a duty that
 * was not renewed for 1.5 intervals. So ten thousand clients make one pass per
 * interval, not ten thousand, and a client that observes beats sees the same
 * sessions again.
 *
 * Failure modes: if the reaper dies, another client takes over, half an
 * interval late. A client whose account may not write its row reaps on its
 * own, more rarely the more clients there are.
 */
#include "background/reap_duty.h"

#include "base/random.h"
#include "core/call.h"
#include "strategy/duty.h"

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
	struct rlk_duty *duty = pass->duty;
	bool kept = false;
	enum rlk_fault fault;

	rlk_pass_set_until(pass);
	fault = rlk_duty_keep(pass->conn, duty->number, &kept, reterr);
	if (!fault && !kept)
		duty->number = 0;
	duty->keep_ms =
	    rlk_after(rlk_now(client->clock), client->reap_interval_ms / 4);
	return fault;
}

static enum rlk_fault look_and_take(struct rlk_pass *pass,
				    struct rowlock_errinfo *reterr)
{
	struct rlk_duty *duty = pass->duty;
	uint64_t fresh = fresh_ms(pass);
	enum rlk_fault fault;
	int64_t age_us;

	rlk_pass_set_until(pass);
	fault = rlk_duty_look(pass->conn, &age_us, reterr);
	if (fault)
		return fault;
	duty->age_ms = age_us / 1000;
	if (duty->age_ms < (int64_t) fresh)
		return RLK_DONE;
	duty->age_ms = 0;
	return rlk_duty_take(pass->conn, fresh, &duty->number, reterr);
}

static bool may_not(enum rlk_fault fault, const struct rowlock_errinfo *error)
{
	return fault == RLK_REFUSED && (error->mysql == ERROR_TABLE_ACCESS ||
					error->mysql == ERROR_COLUMN_ACCESS);
}

int rlk_duty_ask(struct rlk_pass *pass, bool *ret_ours,
		 struct rowlock_errinfo *reterr)
{
	struct rlk_duty *duty = pass->duty;
	enum rlk_fault fault = RLK_DONE;

	*ret_ours = true;
	if (!duty || duty->refused)
		return 0;
	if (duty->number)
		fault = keep(pass, reterr);
	if (!fault && !duty->number)
		fault = look_and_take(pass, reterr);
	duty->refused = may_not(fault, reterr);
	if (duty->refused)
		return 0;
	*ret_ours = !fault && duty->number;
	/* Another client is taking it. */
	if (!fault || rlk_fault_passes(fault))
		return 0;
	return rlk_client_code(pass->client, fault, reterr);
}

bool rlk_duty_goes_on(struct rlk_pass *pass)
{
	struct rlk_duty *duty = pass->duty;
	struct rowlock_errinfo error;

	if (!duty || duty->refused)
		return true;
	if (duty->number && rlk_now(pass->client->clock) >= duty->keep_ms)
		keep(pass, &error);
	return duty->number != 0;
}

int64_t rlk_duty_next(const struct rowlock_client *client,
		      const struct rlk_duty *duty)
{
	uint64_t interval = client->reap_interval_ms;
	int64_t left = (int64_t) (interval * 3 / 2) - duty->age_ms;
	uint64_t least = duty->number ? interval * 7 / 8 : interval / 4;

	if (!duty->number && left > (int64_t) least)
		least = (uint64_t) left;
	/* With jitter, so that not all ask at once. */
	return rlk_after(rlk_now(client->clock),
			 least + rlk_random() % (interval / 4));
}
