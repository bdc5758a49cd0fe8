/* SPDX-License-Identifier: MIT */
/*
 * The duty to reap, in SQL. Taking it is one statement, whose rows tell who
 * won: the row is made, or it is old and gets the next number, or it stays as
 * it is. Both conditions see the old time: both servers assign from left to
 * right, and the time is the last.
 *
 * No draw meets this row, and no list shows it. If no client reaps for 30 days
 * it is collected like an old token, and made again.
 */
#include "strategy/duty.h"

#include "strategy/sure.h"

#define DUTY " WHERE strategy = 'reaper' AND name = 'pass'"

#define AGE_AT(time) "ABS(TIMESTAMPDIFF(MICROSECOND, drawn_at, " time "))"
#define IS_FRESH AGE_AT("VALUES(drawn_at)") " < ?"

static const struct rlk_stmt_def look = {
	"look who reaps",
	"SELECT " AGE_AT("UTC_TIMESTAMP(6)") " FROM lock_token" DUTY,
};

static const struct rlk_stmt_def take = {
	"take the reaper's duty",
	"INSERT INTO lock_token (strategy, name, token, drawn_at)"
	" VALUES ('reaper', 'pass', LAST_INSERT_ID(1), UTC_TIMESTAMP(6))"
	" ON DUPLICATE KEY UPDATE"
	" token = IF(" IS_FRESH ", token, LAST_INSERT_ID(token + 1)),"
	" drawn_at = IF(" IS_FRESH ", drawn_at, VALUES(drawn_at))",
};

static const struct rlk_stmt_def keep = {
	"keep the reaper's duty",
	"UPDATE lock_token SET drawn_at = UTC_TIMESTAMP(6)" DUTY
	" AND token = ?",
};

enum rlk_fault rlk_duty_look(struct rlk_conn *conn, int64_t *ret_age_us,
			     struct rowlock_errinfo *reterr)
{
	struct rlk_reply reply;
	enum rlk_fault fault = rlk_stmt_run(conn, &look, NULL, &reply, reterr);

	if (!fault)
		*ret_age_us = reply.has_row ? reply.columns[0].i64 : INT64_MAX;
	return fault;
}

enum rlk_fault rlk_duty_take(struct rlk_conn *conn, uint64_t fresh_ms,
			     uint64_t *ret_number,
			     struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = { rlk_u64(fresh_ms * 1000),
					    rlk_u64(fresh_ms * 1000) };
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &take, params, &reply, reterr);

	return fault ? fault
		     : rlk_sure_number(conn, &reply, ret_number, reterr);
}

enum rlk_fault rlk_duty_keep(struct rlk_conn *conn, uint64_t number,
			     bool *ret_kept, struct rowlock_errinfo *reterr)
{
	const struct rlk_value params[] = { rlk_u64(number) };
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &keep, params, &reply, reterr);

	if (!fault)
		*ret_kept = reply.affected == 1;
	return fault;
}
