/* SPDX-License-Identifier: MIT */
/*
 * The plea, in SQL. A release deletes its rows on the condition that nobody
 * pleads. If none were deleted, it deletes them without that condition, and the
 * plea after them. So a release that nobody waits for is one statement, as
 * before, and takes no lock that another release wants.
 *
 * No list shows the row of a plea, and no draw meets it. If it is left behind,
 * as its maker has died or has given up, it is the next plea's.
 *
 * Failure modes: a release whose condition was evaluated before the plea was
 * made, and which commits after the count that followed, hears nothing; nor
 * does one that ends between its two statements. So the first in line counts
 * now and then (wait/pleading.c).
 */
#include "strategy/plea.h"

#include <stdio.h>

#include "strategy/attempt.h"
#include "strategy/bell.h"

#define PLEA "strategy = 'permits' AND name = ?"

static const struct rlk_stmt_def tell_def = {
	"wait",
	"SELECT CAST(GET_LOCK(?, ?) AS SIGNED)",
};

static const struct rlk_stmt_def make_def = {
	"wait",
	"INSERT INTO lock_token (strategy, name, token, drawn_at)"
	" VALUES ('permits', ?, 1, UTC_TIMESTAMP(6))"
	" ON DUPLICATE KEY UPDATE drawn_at = VALUES(drawn_at)",
};

static const struct rlk_stmt_def look_def = {
	"wait",
	"SELECT token FROM lock_token WHERE " PLEA,
};

static const struct rlk_stmt_def count_def = {
	"wait",
	"SELECT q.permits, (SELECT COUNT(*) FROM business_lease l"
	" WHERE l.name = q.name AND l.slot BETWEEN 1 AND 1073741823)"
	" FROM lock_permits q WHERE q.name = ?",
};

static const struct rlk_stmt_def end_def = {
	"wait",
	"DO RELEASE_LOCK(?)",
};

static const struct rlk_stmt_def hear_def = {
	"release",
	"DELETE FROM lock_token WHERE " PLEA,
};

#define NOBODY_PLEADS(lock) " AND IS_USED_LOCK(" lock ") IS NULL"

static const struct rlk_stmt_def release_one = {
	"release",
	"DELETE FROM business_lease"
	" WHERE name = ? AND slot = ? AND attempt = ?" NOBODY_PLEADS("?"),
};

/* Each row has the same lock. As for FORCE INDEX, see attempt.c. */
static const struct rlk_many_def release_all = {
	"release",
	"DELETE l FROM business_lease l FORCE INDEX (PRIMARY) "
	"WHERE " RLK_ATTEMPT_ROWS NOBODY_PLEADS("ELT(1, {?3|, })"),
};

static struct rlk_bell lock_of(struct rlk_conn *conn,
			       const struct rlk_request *request)
{
	struct rlk_bell bell = rlk_bell_of(conn, request);
	struct rlk_bell lock;

	snprintf(lock.text, sizeof(lock.text), "%.32s/plea", bell.text);
	return lock;
}

enum rlk_fault rlk_plea_make(struct rlk_conn *conn,
			     const struct rlk_request *request,
			     struct rowlock_errinfo *reterr)
{
	struct rlk_bell lock = lock_of(conn, request);
	const struct rlk_value params[] = { rlk_text(lock.text),
					    rlk_text("0") };
	const struct rlk_value name = rlk_text(request->name);
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &tell_def, params, &reply, reterr);

	/* If another tells it, releases look all the same. */
	return fault ? fault
		     : rlk_stmt_run(conn, &make_def, &name, &reply, reterr);
}

enum rlk_fault rlk_plea_look(struct rlk_conn *conn,
			     const struct rlk_request *request, bool *ret_heard,
			     struct rowlock_errinfo *reterr)
{
	const struct rlk_value name = rlk_text(request->name);
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &look_def, &name, &reply, reterr);

	if (!fault)
		*ret_heard = !reply.has_row;
	return fault;
}

enum rlk_fault rlk_plea_count(struct rlk_conn *conn,
			      const struct rlk_request *request, bool *ret_room,
			      struct rowlock_errinfo *reterr)
{
	const struct rlk_value name = rlk_text(request->name);
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, &count_def, &name, &reply, reterr);

	if (!fault)
		*ret_room = !reply.has_row ||
			    reply.columns[0].u64 < request->count ||
			    reply.columns[1].u64 + request->count <=
				reply.columns[0].u64;
	return fault;
}

enum rlk_fault rlk_plea_end(struct rlk_conn *conn,
			    const struct rlk_request *request,
			    struct rowlock_errinfo *reterr)
{
	struct rlk_bell lock = lock_of(conn, request);
	const struct rlk_value param = rlk_text(lock.text);
	struct rlk_reply reply;

	return rlk_stmt_run(conn, &end_def, &param, &reply, reterr);
}

void rlk_plea_hear(struct rlk_conn *conn, const char *name)
{
	const struct rlk_value param = rlk_text(name);
	struct rowlock_errinfo error;
	struct rlk_reply reply;

	rlk_stmt_give_up(conn,
			 rlk_stmt_run(conn, &hear_def, &param, &reply, &error),
			 &error);
}

/* --------------------------------------------------------------- release */

struct release {
	const struct rlk_request *request;
	struct rlk_bell lock;
};

static void values_of_row(const void *of, size_t row,
			  struct rlk_value *ret_values)
{
	const struct release *release = of;
	const struct rlk_lease_key key = rlk_attempt_key(release->request, row);

	rlk_values_of_key(&key, 0, ret_values);
	ret_values[3] = rlk_text(release->lock.text);
}

/* It deletes nothing if somebody pleads. */
static enum rlk_fault release_quietly(struct rlk_conn *conn,
				      const struct rlk_request *request,
				      uint64_t *ret_removed,
				      struct rowlock_errinfo *reterr)
{
	const struct release release = { request, lock_of(conn, request) };
	struct rlk_packet *packet;
	struct rlk_value params[4];
	struct rlk_reply reply;
	enum rlk_fault fault;

	if (request->count == 1) {
		values_of_row(&release, 0, params);
		fault =
		    rlk_stmt_run(conn, &release_one, params, &reply, reterr);
		if (!fault)
			*ret_removed = reply.affected;
		return fault;
	}
	packet = rlk_packet_begin(conn);
	if (!packet || rlk_packet_add(packet, &release_all, values_of_row,
				      &release, request->count) < 0)
		return rlk_fail_memory(reterr);
	fault = rlk_packet_run(packet, reterr);
	if (!fault)
		*ret_removed = rlk_packet_affected(packet, 0);
	return fault;
}

enum rlk_fault rlk_plea_release(struct rlk_conn *conn,
				const struct rlk_request *request,
				bool *ret_found, struct rowlock_errinfo *reterr)
{
	uint64_t quietly = 0;
	uint64_t removed = 0;
	enum rlk_fault fault = release_quietly(conn, request, &quietly, reterr);

	/* A plea may begin in between: some rows may be there still. */
	if (!fault && quietly < request->count) {
		fault = rlk_attempt_delete(conn, request, &removed, reterr);
		if (!fault)
			rlk_plea_hear(conn, request->name);
	}
	if (fault)
		return fault;
	removed += quietly;
	/* The first statement may have deleted some of them, and the second one
	 * none, as it was killed (sure.h). */
	*ret_found = removed == request->count;
	return *ret_found ? RLK_DONE
			  : rlk_attempt_make_sure(conn, request, reterr);
}
