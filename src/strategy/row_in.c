/* SPDX-License-Identifier: MIT */
/*
 * A transaction begins with the locking read, so that all its reads come after
 * it: under REPEATABLE READ the first read that does not lock takes the
 * snapshot (MySQL manual, "Consistent Nonlocking Reads"). A transaction that
 * the application began could have read before, and nobody can see that.
 *
 * Failure modes: under REPEATABLE READ, locking an absent row locks the gap,
 * and would block its creator. So the transaction ends, and begins again when
 * the row is there. KILL QUERY interrupts a waiter; if it comes just behind the
 * grant, it meets an empty statement of ours.
 */
#include "strategy/row_in.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "db/borrowed_script.h"
#include "db/conn_fence.h"
#include "db/token_sql.h"

#define TAG "rowlock-%016" PRIx64

#define HERE 1
#define ELSEWHERE 2

static enum rlk_fault say(const struct rlk_row_in *in, struct rlk_script *text,
			  uint64_t *ret_number, struct rowlock_errinfo *reterr)
{
	size_t answered;

	return rlk_borrowed_run_script(&in->on, text, ret_number, 1, &answered,
				       reterr);
}

static void put_lock(struct rlk_script *text, const struct rlk_row_in *in,
		     bool wait)
{
	char tag[48];

	snprintf(tag, sizeof(tag), "SELECT /* " TAG " */ IF(", in->tag);
	rlk_script_put(text, tag);
	rlk_place_put_is_here(text, in->place, in->place->server);
	rlk_script_put(text, ", 1, 2) FROM ");
	rlk_place_put_table(text, in->place, "business_lock" RLK_PLACE_OWN);
	rlk_script_put(text, " WHERE name = ");
	rlk_script_put_value(text, rlk_text(in->name));
	/* Without it sql_select_limit counts, which may be 0. */
	rlk_script_put(text, " LIMIT 1 FOR UPDATE");
	if (!wait)
		rlk_script_put(text, " NOWAIT");
}

static enum rlk_fault lock(const struct rlk_row_in *in, bool wait,
			   struct rowlock_errinfo *reterr)
{
	struct rlk_script text = { .failed = false };
	uint64_t number = 0;
	enum rlk_fault fault;

	put_lock(&text, in, wait);
	fault = say(in, &text, &number, reterr);
	if (fault || number == HERE)
		return fault;
	return number == ELSEWHERE ? RLK_ELSEWHERE : RLK_ABSENT;
}

/* For statements that do not wait. The deadline of the wait may have come, and
 * its interrupter have no time left: begin and rollback must not fail by that,
 * or the connection would be closed. */
static struct rlk_borrowed in_a_moment(const struct rlk_row_in *in)
{
	return (struct rlk_borrowed){
		.mysql = in->on.mysql,
		.clock = in->on.clock,
		.until_ms = rlk_after(rlk_now(in->on.clock), in->moment_ms),
	};
}

static void roll_back(const struct rlk_row_in *in)
{
	const struct rlk_borrowed on = in_a_moment(in);

	rlk_borrowed_roll_back(&on, RLK_AUTOCOMMIT_AS_IT_IS, NULL);
}

/* However long the lock is waited for, this is answered at once. */
static enum rlk_fault begin(const struct rlk_row_in *in,
			    struct rowlock_errinfo *reterr)
{
	const struct rlk_borrowed on = in_a_moment(in);
	size_t answered;

	return rlk_borrowed_run(&on, "START TRANSACTION READ WRITE", NULL, 0,
				&answered, reterr);
}

enum rlk_fault rlk_row_in_acquire(const struct rlk_row_in *in, bool wait,
				  struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = begin(in, reterr);

	/* One that was interrupted may have begun. */
	if (!fault)
		fault = lock(in, wait, reterr);
	if (fault && fault != RLK_UNKNOWN)
		roll_back(in);
	return fault;
}

/* ------------------------------------------------------------------- token */

static void put_draw(struct rlk_script *text, const struct rlk_row_in *in)
{
	rlk_script_put(text, "INSERT INTO ");
	rlk_place_put_table(text, in->place, "lock_token");
	rlk_script_put(text, " (strategy, name, token, drawn_at) VALUES "
			     "('row', ");
	rlk_script_put_value(text, rlk_text(in->name));
	rlk_script_put(text, ", LAST_INSERT_ID(GREATEST(" RLK_TOKEN_NOW
			     ", (SELECT f.token + 1 FROM ");
	rlk_place_put_table(text, in->place, "lock_token_floor");
	rlk_script_put(text,
		       " f WHERE f.id = 1 LOCK IN SHARE MODE))), "
		       "UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE token = "
		       "LAST_INSERT_ID(" RLK_TOKEN_OF_NEXT
		       "), drawn_at = VALUES(drawn_at)");
}

enum rlk_fault rlk_row_in_draw(const struct rlk_row_in *in, uint64_t *ret_token,
			       struct rowlock_errinfo *reterr)
{
	struct rlk_script text = { .failed = false };
	enum rlk_fault fault = lock(in, false, reterr);
	uint64_t number;

	if (fault)
		return fault;
	put_draw(&text, in);
	fault = say(in, &text, &number, reterr);
	if (!fault)
		fault = rlk_borrowed_number(&in->on, &number, reterr);
	/* A wait for the token's row, or the floor, is none for the lock. */
	if (fault)
		return fault == RLK_UNKNOWN ? fault : RLK_REFUSED;
	if (!number || number >= RLK_TOKEN_BOUND) {
		rlk_fail(reterr, ROWLOCK_EDB,
			 "%s drew %" PRIu64 ", which is no token",
			 rlk_borrowed_host(&in->on), number);
		return RLK_REFUSED;
	}
	*ret_token = number;
	return RLK_DONE;
}

/* --------------------------------------------------------------- interrupt */

enum rlk_fault rlk_row_in_interrupt(struct rlk_conn *conn,
				    const struct rlk_row_in *in,
				    struct rowlock_errinfo *reterr)
{
	char tag[32];

	snprintf(tag, sizeof(tag), TAG, in->tag);
	return rlk_conn_kill_tagged(conn, tag, reterr);
}
