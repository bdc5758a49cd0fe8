/* SPDX-License-Identifier: MIT */
/*
 * One row goes by a statement that stays prepared, several by one text. Each is
 * a statement by itself: a connection that takes no packets runs it as well.
 *
 * Failure modes: a part of the rows may be gone, if a lease was broken by hand
 * or swept past its maximum. Then the hold is lost, and the rest is deleted.
 */
#include "strategy/attempt.h"

#include "base/macro.h"
#include "strategy/sure.h"

static const struct rlk_stmt_def release_one = {
	"release",
	"DELETE FROM business_lease"
	" WHERE name = ? AND slot = ? AND attempt = ?",
};

/* In a table of few rows the servers would rather read, and lock, all of them
 * (see sweep.c). */
static const struct rlk_many_def release_all = {
	"release",
	"DELETE l FROM business_lease l FORCE INDEX (PRIMARY) "
	"WHERE " RLK_ATTEMPT_ROWS,
};

/* How many of the rows are there? One is, or is not. */
struct look {
	struct rlk_stmt_def one;
	struct rlk_many_def all;
};

static const struct look left = {
	{ "release", "SELECT attempt FROM business_lease"
		     " WHERE name = ? AND slot = ? AND attempt = ?" },
	{ "look",
	  "SELECT COUNT(*) FROM business_lease l WHERE " RLK_ATTEMPT_ROWS },
};

/* Held means: the row is there and its session is. */
static const struct look held = {
	{ "verify", "SELECT s.id FROM business_lease l"
		    " JOIN lease_session s ON s.id = l.session"
		    " WHERE l.name = ? AND l.slot = ? AND l.attempt = ?" },
	{ "verify",
	  "SELECT COUNT(*) FROM business_lease l "
	  "JOIN lease_session s ON s.id = l.session WHERE " RLK_ATTEMPT_ROWS },
};

/* ------------------------------------------------------------------ rows */

void rlk_values_of_key(const void *keys, size_t row,
		       struct rlk_value *ret_values)
{
	const struct rlk_lease_key *key =
	    (const struct rlk_lease_key *) keys + row;

	ret_values[0] = (struct rlk_value){ .type = RLK_TEXT,
					    .text = key->name,
					    .length = key->length };
	ret_values[1] = rlk_u64(key->slot);
	ret_values[2] = rlk_u64(key->attempt);
}

static void values_of_row(const void *request, size_t row,
			  struct rlk_value *ret_values)
{
	const struct rlk_lease_key key = rlk_attempt_key(request, row);

	rlk_values_of_key(&key, 0, ret_values);
}

/* ------------------------------------------------------------ statements */

void rlk_attempt_put(struct rlk_script *script, const char *table,
		     const struct rlk_request *request)
{
	static const char *const columns[] = { "name = ", "slot = ",
					       "attempt = " };
	struct rlk_value values[RLK_ARRAY_SIZE(columns)];

	values_of_row(request, 0, values);
	for (size_t i = 0; i < RLK_ARRAY_SIZE(columns); i++) {
		rlk_script_put(script, i ? " AND " : "");
		rlk_script_put(script, table);
		rlk_script_put(script, columns[i]);
		rlk_script_put_value(script, values[i]);
	}
}

enum rlk_fault rlk_attempt_run(struct rlk_conn *conn,
			       const struct rlk_stmt_def *def,
			       const struct rlk_request *request,
			       struct rlk_reply *ret_reply,
			       struct rowlock_errinfo *reterr)
{
	struct rlk_value params[3];

	values_of_row(request, 0, params);
	return rlk_stmt_run(conn, def, params, ret_reply, reterr);
}

static enum rlk_fault run_all(struct rlk_conn *conn,
			      const struct rlk_many_def *def,
			      const struct rlk_request *request,
			      struct rlk_packet **ret_packet,
			      struct rowlock_errinfo *reterr)
{
	struct rlk_packet *packet = rlk_packet_begin(conn);

	if (!packet || rlk_packet_add(packet, def, values_of_row, request,
				      rlk_attempt_rows(request)) < 0)
		return rlk_fail_memory(reterr);
	*ret_packet = packet;
	return rlk_packet_run(packet, reterr);
}

static void read_count(const struct rlk_value *columns, void *arg)
{
	*(uint64_t *) arg = columns[0].u64;
}

struct counting {
	const struct look *look;
	const struct rlk_request *request;
	uint64_t count;
};

static enum rlk_fault count(struct rlk_conn *conn, void *arg, bool *ret_all,
			    struct rowlock_errinfo *reterr)
{
	struct counting *counting = arg;
	const struct rlk_request *request = counting->request;
	size_t rows = rlk_attempt_rows(request);
	struct rlk_packet *packet = NULL;
	struct rlk_reply reply;
	enum rlk_fault fault;

	counting->count = 0;
	if (rows == 1) {
		fault = rlk_attempt_run(conn, &counting->look->one, request,
					&reply, reterr);
		counting->count = !fault && reply.has_row;
	} else {
		fault = run_all(conn, &counting->look->all, request, &packet,
				reterr);
		if (!fault)
			rlk_packet_each(packet, 0, read_count,
					&counting->count);
	}
	*ret_all = counting->count == rows;
	return fault;
}

/* ------------------------------------------------------------ operations */

enum rlk_fault rlk_attempt_make_sure(struct rlk_conn *conn,
				     const struct rlk_request *request,
				     struct rowlock_errinfo *reterr)
{
	struct counting counting = { &left, request, 0 };
	bool all;
	enum rlk_fault fault =
	    rlk_sure_read(conn, count, &counting, &all, reterr);

	if (fault || !counting.count)
		return fault;
	return rlk_sure_fail(conn, "release", reterr);
}

enum rlk_fault rlk_attempt_delete(struct rlk_conn *conn,
				  const struct rlk_request *request,
				  uint64_t *ret_removed,
				  struct rowlock_errinfo *reterr)
{
	struct rlk_packet *packet = NULL;
	struct rlk_reply reply;
	enum rlk_fault fault;

	if (rlk_attempt_rows(request) == 1) {
		fault = rlk_attempt_run(conn, &release_one, request, &reply,
					reterr);
		if (!fault)
			*ret_removed = reply.affected;
		return fault;
	}
	fault = run_all(conn, &release_all, request, &packet, reterr);
	if (!fault)
		*ret_removed = rlk_packet_affected(packet, 0);
	return fault;
}

enum rlk_fault rlk_attempt_release(struct rlk_conn *conn,
				   const struct rlk_request *request,
				   bool *ret_found,
				   struct rowlock_errinfo *reterr)
{
	uint64_t removed = 0;
	enum rlk_fault fault =
	    rlk_attempt_delete(conn, request, &removed, reterr);

	if (fault)
		return fault;
	*ret_found = removed == rlk_attempt_rows(request);
	return removed ? RLK_DONE
		       : rlk_attempt_make_sure(conn, request, reterr);
}

enum rlk_fault rlk_attempt_confirm(struct rlk_conn *conn,
				   const struct rlk_request *request,
				   bool *ret_found,
				   struct rowlock_errinfo *reterr)
{
	struct counting counting = { &held, request, 0 };
	enum rlk_fault fault = rlk_sure_begin(conn, reterr);
	bool all = false;

	/* A member that is behind has rows that are gone, too. */
	if (fault)
		return fault;
	fault = count(conn, &counting, &all, reterr);
	rlk_sure_end(conn);
	if (!fault)
		*ret_found = all;
	return fault;
}
