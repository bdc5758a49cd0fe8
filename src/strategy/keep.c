/* SPDX-License-Identifier: MIT */
/*
 * The statements of keeps. A release changes the row's attempt, so that nothing
 * that names the old one, a guard or a draw, passes any more; the row's
 * maximum ends it in time, as any program knows.
 *
 * A keep counts no breaks: in that column it has the session of its client. By
 * this a list tells whether the hold goes on, and a client finds its leases
 * (strategy/reap.c).
 *
 * Failure modes: those of a statement. One that changes no row is believed if a
 * SELECT finds no such row either (sure.h).
 */
#include "strategy/keep.h"

#include "strategy/sure.h"
#include "strategy/sweep.h"

static const struct rlk_stmt_def take = {
	"keep",
	"UPDATE business_lease l JOIN lease_session s ON s.id = l.session"
	" JOIN lease_session k ON k.id = ?"
	" SET l.session = k.id, k.breaks = ?"
	" WHERE l.name = ? AND l.slot = ? AND l.attempt = ?"
	" AND l.session = ?",
	.once = true,
};

static const struct rlk_stmt_def taken = {
	"keep",
	"SELECT l.session, s.id IS NULL FROM business_lease l"
	" JOIN lease_session k ON k.id = ?"
	" LEFT JOIN lease_session s ON s.id = l.session"
	" WHERE l.name = ? AND l.slot = ? AND l.attempt = ?",
	.once = true,
};

/* As a session's beat, for all keeps of a session that has just been beaten: by
 * its TTL. An end that is further away stays; one that is not is that of a hold
 * which outlasts its time, and from then on its keep lives as a session does.
 */
static const struct rlk_many_def beat = {
	"beat",
	"UPDATE lease_session k FORCE INDEX (PRIMARY)"
	" JOIN lease_session c ON c.id = k.breaks"
	" SET k.ttl = IF(k.expires_at <= UTC_TIMESTAMP(6)"
	" + INTERVAL c.ttl * 1000 MICROSECOND, c.ttl, k.ttl),"
	" k.expires_at = GREATEST(k.expires_at,"
	" UTC_TIMESTAMP(6) + INTERVAL c.ttl * 1000 MICROSECOND),"
	" k.beat = k.beat + 1 WHERE k.id IN ({?0|, })",
};

/* The TTL of one that delays is that of its session, and the delay. */
static const struct rlk_many_def beat_whole = {
	"beat",
	"UPDATE lease_session k FORCE INDEX (PRIMARY)"
	" SET k.expires_at = UTC_TIMESTAMP(6)"
	" + INTERVAL k.ttl * 1000 MICROSECOND,"
	" k.beat = k.beat + 1 WHERE k.id IN ({?0|, })",
};

/* The end by the server's clock, which also stamped the start. An observer
 * counts the maximum from acquired_at, which a clock that was set back since
 * has put behind the start. */
#define END "k.started_at + INTERVAL ? MICROSECOND"
#define IN_TIME                                                                \
	" WHERE l.name = ? AND l.slot = ? AND l.attempt = ?"                   \
	" AND l.session = k.id AND " END " > UTC_TIMESTAMP(6)"

static const struct rlk_stmt_def release = {
	"release",
	"UPDATE business_lease l JOIN lease_session k ON k.id = ?"
	" SET l.expires_at = " END
	", l.acquired_at = LEAST(l.acquired_at, k.started_at),"
	" l.attempt = ?, k.breaks = ?" IN_TIME,
	.once = true,
};

static const struct rlk_stmt_def still = {
	"release",
	"SELECT l.attempt FROM business_lease l"
	" JOIN lease_session k ON k.id = ?" IN_TIME,
	.once = true,
};

static const struct rlk_stmt_def is_kept = {
	"release",
	"SELECT attempt FROM business_lease"
	" WHERE name = ? AND slot = ? AND attempt = ?",
	.once = true,
};

enum rlk_fault rlk_keep_take(struct rlk_conn *conn,
			     const struct rlk_request *request,
			     const struct rlk_keep *keep, bool *ret_found,
			     struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_u64(keep->id),         rlk_u64(request->session),
		rlk_text(request->name),   rlk_u64(request->slot),
		rlk_u64(request->attempt), rlk_u64(request->session),
	};
	const struct rlk_value where[] = { params[0], params[2], params[3],
					   params[4] };
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &take, params, &reply, reterr);

	if (!fault && reply.affected) {
		*ret_found = true;
		return RLK_DONE;
	}
	if (!fault)
		fault = rlk_sure_look(conn, &taken, where, &reply, reterr);
	if (fault)
		return fault;
	*ret_found = reply.has_row && reply.columns[0].u64 == keep->id;
	/* It is there, of a session that lives: the UPDATE must have found it.
	 */
	if (reply.has_row && !*ret_found && !reply.columns[1].u64)
		return rlk_sure_fail(conn, taken.label, reterr);
	return RLK_DONE;
}

static void value_of_id(const void *ids, size_t row,
			struct rlk_value *ret_values)
{
	ret_values[0] = rlk_u64(((const uint64_t *) ids)[row]);
}

enum rlk_fault rlk_keeps_beat_all(struct rlk_conn *conn,
				  const struct rlk_keeps *keeps,
				  uint64_t *ret_beaten,
				  struct rowlock_errinfo *reterr)
{
	const struct rlk_change change = { keeps->delays ? &beat_whole : &beat,
					   value_of_id, keeps->ids,
					   keeps->count };

	return rlk_change_many(conn, &change, ret_beaten, reterr);
}

static enum rlk_fault find_kept(struct rlk_conn *conn,
				const struct rlk_request *request,
				const struct rlk_keep *keep, bool *ret_kept,
				struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = {
		rlk_text(request->name),
		rlk_u64(request->slot),
		rlk_u64(keep->kept),
	};
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_sure_look(conn, &is_kept, params, &reply, reterr);

	if (!fault)
		*ret_kept = reply.has_row;
	return fault;
}

enum rlk_fault rlk_keep_release(struct rlk_conn *conn,
				const struct rlk_request *request,
				const struct rlk_keep *keep, bool *ret_kept,
				struct rowlock_errinfo *reterr)
{
	const struct rlk_value in_time[] = {
		rlk_u64(keep->id),
		rlk_text(request->name),
		rlk_u64(request->slot),
		rlk_u64(request->attempt),
		rlk_u64(keep->keeps_ms * 1000),
	};
	const struct rlk_value params[] = {
		in_time[0],          in_time[4], rlk_u64(keep->kept),
		rlk_u64(keep->kept), in_time[1], in_time[2],
		in_time[3],          in_time[4],
	};
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &release, params, &reply, reterr);

	if (fault)
		return fault;
	if (reply.affected) {
		*ret_kept = true;
		return RLK_DONE;
	}
	fault = rlk_sure_gone(conn, &still, in_time, reterr);
	return fault ? fault : find_kept(conn, request, keep, ret_kept, reterr);
}
