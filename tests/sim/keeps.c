/* SPDX-License-Identifier: MIT */
/*
 * The statements on keeps (strategy/keep.c), and:
 *
 *   K1  a name that is kept has no other holder before its time is over
 */
#include <string.h>

#include "hold/handle.h"
#include "judge_private.h"
#include "sim.h"
#include "tables_private.h"

/* Until when a name is kept, in true time. The server's clock may be fast. */
static int64_t kept_until_us[SIM_NAMES];

void sim_judge_kept_forget(void)
{
	memset(kept_until_us, 0, sizeof(kept_until_us));
}

void sim_judge_kept_from(const struct rowlock *lock, unsigned int name)
{
	const struct rlk_upkeep *upkeep =
	    lock->hold ? lock->hold->upkeep : NULL;
	struct sim_session_row *row =
	    upkeep ? sim_session_row(upkeep->keep.row.id) : NULL;
	int64_t until;

	if (row)
		row->delays = upkeep->keep.row.delays;
	/* The clock may have jumped since the keep was made. */
	if (!row || !upkeep->keep.row.id || sim_now < sim_server.hasty_until)
		return;
	until = row->born_us + (int64_t) upkeep->keep.row.keeps_ms * 900;
	/* It may have been broken, before that was known here. */
	if (lock->hold->state == RLK_HOLD_HELD &&
	    !sim_was_broken(lock->hold->attempt) && until > kept_until_us[name])
		kept_until_us[name] = until;
}

void sim_judge_kept_made(const struct sim_lease *lease)
{
	if (lease->slot == 0 && sim_now < kept_until_us[lease->name])
		sim_violation(
		    "K1: process %u has a lease of '%s' that is kept "
		    "for %lld ms yet",
		    lease->proc, sim_names[lease->name],
		    (long long) (kept_until_us[lease->name] - sim_now) / 1000);
}

void sim_judge_kept_broken(const struct sim_lease *lease)
{
	if (lease->slot == 0)
		kept_until_us[lease->name] = 0;
}

/* The lease that has the name of the parameter at @name, the slot and the
 * attempt behind that; NULL: none. */
static struct sim_lease *lease_at(const struct sim_request *request,
				  size_t name)
{
	struct sim_lease *lease =
	    &sim_tables.leases[sim_param_name(request, (unsigned int) name)];

	return lease->there && request->params[name + 1].u64 == 0 &&
		       lease->attempt == request->params[name + 2].u64
		   ? lease
		   : NULL;
}

/* Does it belong to the keep @row, less than @us after the start of that? */
static bool is_in_time(const struct sim_request *request,
		       const struct sim_lease *lease,
		       const struct sim_session_row *row, int64_t us)
{
	return lease && row && lease->session == row->id &&
	       row->started_us + us > request->started_us;
}

void sim_keep_take(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	struct sim_session_row *row = sim_session_row(request->params[0].u64);
	struct sim_lease *lease = lease_at(request, 2);

	if (!row || !lease || lease->session != request->params[5].u64 ||
	    !sim_session_row(lease->session))
		return;
	if (row->proc != session->proc || lease->proc != session->proc)
		sim_violation("S5: process %u took a lease of process %u for "
			      "a keep of process %u",
			      session->proc, lease->proc, row->proc);
	lease->session = row->id;
	row->breaks = request->params[1].u64;
	session->answer.affected = 2;
}

void sim_keep_beat(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	struct sim_session_row *row = sim_session_row(request->params[0].u64);
	const struct sim_session_row *client =
	    row ? sim_session_row(row->breaks) : NULL;
	int64_t until;

	if (!client)
		return;
	sim_judge_beat(session, row);
	until = request->started_us + (int64_t) client->ttl_ms * 1000;
	if (row->expires_us <= until) {
		row->expires_us = until;
		row->ttl_ms = client->ttl_ms;
	}
	row->beat++;
	row->beaten_us = sim_now;
	session->answer.affected = 1;
}

void sim_keep_beat_whole(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	struct sim_session_row *row = sim_session_row(request->params[0].u64);

	if (!row)
		return;
	sim_judge_beat(session, row);
	row->expires_us = request->started_us + (int64_t) row->ttl_ms * 1000;
	row->beat++;
	row->beaten_us = sim_now;
	session->answer.affected = 1;
}

void sim_keep_leave(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	struct sim_session_row *row = sim_session_row(request->params[0].u64);
	struct sim_lease *lease = lease_at(request, 4);
	int64_t us = (int64_t) request->params[1].u64;

	if (!is_in_time(request, lease, row, us))
		return;
	sim_judge_lease_left(session, lease);
	lease->expires_us = row->started_us + us;
	if (lease->acquired_us > row->started_us)
		lease->acquired_us = row->started_us;
	lease->attempt = request->params[2].u64;
	row->breaks = request->params[3].u64;
	session->answer.affected = 2;
}

void sim_keep_still(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	const struct sim_session_row *row =
	    sim_session_row(request->params[0].u64);
	const struct sim_lease *lease = lease_at(request, 1);

	if (is_in_time(request, lease, row, (int64_t) request->params[4].u64))
		sim_answer_row(&session->answer, 1)[0] =
		    rlk_u64(lease->attempt);
}

void sim_keep_taken(struct sim_session *session)
{
	const struct sim_request *request = &session->request;
	const struct sim_lease *lease = lease_at(request, 1);
	struct rlk_value *cells;

	if (!lease || !sim_session_row(request->params[0].u64))
		return;
	cells = sim_answer_row(&session->answer, 2);
	cells[0] = rlk_u64(lease->session);
	cells[1] = rlk_u64(!sim_session_row(lease->session));
}

bool sim_is_kept(const struct sim_lease *lease)
{
	const struct sim_session_row *row = sim_session_row(lease->session);

	return row && row->breaks > UINT32_MAX && !sim_session_row(row->breaks);
}

bool sim_has_delayed(const struct sim_lease *lease)
{
	const struct sim_session_row *row = sim_session_row(lease->session);

	return row && row->delays &&
	       sim_now >= row->beaten_us + (int64_t) row->ttl_ms * 1000;
}
