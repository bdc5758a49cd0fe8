/* SPDX-License-Identifier: MIT */
/*
 * All of this is sent only where an answer was odd: no row was changed, or no
 * number came back.
 *
 * Failure modes: those of a statement. A barrier that could not be taken away
 * costs its connection, whose statements would all wait.
 */
#include "strategy/sure.h"

#include "base/error.h"
#include "db/server.h"

static const struct rlk_stmt_def number = {
	"read the number",
	"SELECT LAST_INSERT_ID()",
	.once = true,
};

static const struct rlk_catch_up *catch_up_of(const struct rlk_conn *conn)
{
	return rlk_server_catch_up(rlk_conn_server(conn));
}

enum rlk_fault rlk_sure_begin(struct rlk_conn *conn,
			      struct rowlock_errinfo *reterr)
{
	const struct rlk_catch_up *catch_up = catch_up_of(conn);

	return catch_up->first ? rlk_stmt_text(conn, catch_up->first, reterr)
			       : RLK_DONE;
}

bool rlk_sure_sends(const struct rlk_conn *conn)
{
	return catch_up_of(conn)->first != NULL;
}

/* While an answer is outstanding @conn is not usable. */
void rlk_sure_end(struct rlk_conn *conn)
{
	const struct rlk_catch_up *catch_up = catch_up_of(conn);
	struct rowlock_errinfo error;

	if (catch_up->last && rlk_conn_usable(conn) &&
	    rlk_stmt_text(conn, catch_up->last, &error))
		rlk_conn_spoil(conn);
}

enum rlk_fault rlk_sure_look(struct rlk_conn *conn,
			     const struct rlk_stmt_def *def,
			     const struct rlk_value *params,
			     struct rlk_reply *ret_reply,
			     struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = rlk_sure_begin(conn, reterr);

	if (fault)
		return fault;
	fault = rlk_stmt_run(conn, def, params, ret_reply, reterr);
	rlk_sure_end(conn);
	return fault;
}

enum rlk_fault rlk_sure_read(struct rlk_conn *conn, rlk_sure_fn read, void *arg,
			     bool *ret_all, struct rowlock_errinfo *reterr)
{
	bool all = false;
	enum rlk_fault fault = read(conn, arg, &all, reterr);

	if (!fault && !all && rlk_sure_sends(conn)) {
		fault = rlk_sure_begin(conn, reterr);
		if (fault)
			return fault;
		fault = read(conn, arg, &all, reterr);
		rlk_sure_end(conn);
	}
	if (!fault)
		*ret_all = all;
	return fault;
}

struct look {
	const struct rlk_stmt_def *def;
	const struct rlk_value *params;
};

static enum rlk_fault find(struct rlk_conn *conn, void *arg, bool *ret_found,
			   struct rowlock_errinfo *reterr)
{
	const struct look *look = arg;
	struct rlk_reply reply;
	enum rlk_fault fault =
	    rlk_stmt_run(conn, look->def, look->params, &reply, reterr);

	if (!fault)
		*ret_found = reply.has_row;
	return fault;
}

enum rlk_fault rlk_sure_fail(const struct rlk_conn *conn, const char *label,
			     struct rowlock_errinfo *reterr)
{
	rlk_fail(reterr, ROWLOCK_EDB,
		 "%s: %s has changed nothing, and the row is there; was the "
		 "statement killed?",
		 label, rlk_conn_server(conn)->name);
	return RLK_KILLED;
}

enum rlk_fault rlk_sure_gone(struct rlk_conn *conn,
			     const struct rlk_stmt_def *still,
			     const struct rlk_value *params,
			     struct rowlock_errinfo *reterr)
{
	struct look look = { still, params };
	bool found;
	enum rlk_fault fault = rlk_sure_read(conn, find, &look, &found, reterr);

	if (fault || !found)
		return fault;
	return rlk_sure_fail(conn, still->label, reterr);
}

enum rlk_fault rlk_sure_number(struct rlk_conn *conn,
			       const struct rlk_reply *reply,
			       uint64_t *ret_number,
			       struct rowlock_errinfo *reterr)
{
	struct rlk_reply asked;
	enum rlk_fault fault;

	if (!reply->affected || reply->insert_id) {
		*ret_number = reply->affected ? reply->insert_id : 0;
		return RLK_DONE;
	}
	fault = rlk_stmt_run(conn, &number, NULL, &asked, reterr);
	if (!fault)
		*ret_number = asked.has_row ? asked.columns[0].u64 : 0;
	return fault;
}
