/* SPDX-License-Identifier: MIT */
/*
 * Statements: a connection's cache of them, their replies.
 *
 * A use finds the statement by its definition's address, binds the parameters
 * and goes through the stages (stage.c). Nothing of the caller's is needed
 * after the statement was sent; for a run that has to prepare first, the
 * parameters are copied.
 *
 * Failure modes: a run that is given up while its reply is outstanding makes
 * the connection unusable, and so does a reply that we cannot show whole: the
 * statement was executed, so it must not look refused.
 */
#include "db/stmt.h"

#include "db/stmt_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "db/stage.h"
#include "db/stmt_bind.h"

static struct rlk_stmt *stmt_free(struct rlk_stmt *stmt)
{
	if (stmt->stmt)
		mysql_stmt_close(stmt->stmt);
	mysql_free_result(stmt->plain_result);
	rlk_bind_drop(stmt);
	free(stmt->text);
	free(stmt);
	return NULL;
}

void rlk_stmt_free_all(struct rlk_conn *conn)
{
	struct rlk_list *node;

	while ((node = rlk_list_first(&conn->stmts))) {
		rlk_list_remove(node);
		stmt_free(container_of(node, struct rlk_stmt, list));
	}
}

static struct rlk_stmt *find(struct rlk_conn *conn,
			     const struct rlk_stmt_def *def)
{
	struct rlk_stmt *stmt;

	rlk_list_each (stmt, &conn->stmts, list) {
		if (stmt->def == def)
			return stmt;
	}
	return NULL;
}

static struct rlk_stmt *stmt_new(struct rlk_conn *conn,
				 const struct rlk_stmt_def *def)
{
	struct rlk_stmt *stmt = calloc(1, sizeof(*stmt));

	if (!stmt)
		return NULL;
	stmt->def = def;
	stmt->plain = conn->profile.plain || def->once;
	if (!stmt->plain)
		stmt->stmt = mysql_stmt_init(conn->mysql);
	if (!stmt->plain && !stmt->stmt)
		return stmt_free(stmt);
	rlk_list_append(&conn->stmts, &stmt->list);
	return stmt;
}

/* The statement was executed: this is not a refusal. */
static enum rlk_fault fail_cut(struct rlk_conn *conn, int column,
			       struct rowlock_errinfo *reterr)
{
	conn->dead = true;
	rlk_fail(reterr, ROWLOCK_EDB,
		 "%s: column %d is longer than expected on %s; run "
		 "'rowlock-migrate'",
		 conn->run.label, column + 1, conn->server.name);
	return RLK_UNKNOWN;
}

static enum rlk_fault fetch_plain(struct rlk_conn *conn,
				  struct rlk_value *ret_columns,
				  bool *ret_has_row,
				  struct rowlock_errinfo *reterr)
{
	*ret_has_row = rlk_bind_next(conn->run.stmt->plain_result, ret_columns);
	for (int i = 0; *ret_has_row && i < RLK_STMT_COLUMNS; i++)
		if (ret_columns[i].length > RLK_TEXT_MAX)
			return fail_cut(conn, i, reterr);
	return RLK_DONE;
}

static enum rlk_fault fetch(struct rlk_conn *conn,
			    struct rlk_value *ret_columns, bool *ret_has_row,
			    struct rowlock_errinfo *reterr)
{
	struct rlk_stmt *stmt = conn->run.stmt;
	int status, cut;

	if (stmt->plain)
		return fetch_plain(conn, ret_columns, ret_has_row, reterr);
	status = mysql_stmt_fetch(stmt->stmt);
	if (status == MYSQL_NO_DATA) {
		*ret_has_row = false;
		return RLK_DONE;
	}
	if (status && status != MYSQL_DATA_TRUNCATED)
		return rlk_stage_fail_stmt(conn, reterr);
	cut = rlk_bind_read(stmt, ret_columns);
	if (cut >= 0)
		return fail_cut(conn, cut, reterr);
	*ret_has_row = true;
	return RLK_DONE;
}

/* The answer's numbers; a text's rows are stored already. */
static bool has_columns(struct rlk_conn *conn, struct rlk_reply *reply)
{
	struct rlk_stmt *stmt = conn->run.stmt;

	*reply = (struct rlk_reply){ .has_row = false };
	if (stmt->plain) {
		stmt->plain_result = TAKE_PTR(conn->io.result);
		reply->insert_id = mysql_insert_id(conn->mysql);
		if (!stmt->plain_result)
			reply->affected = mysql_affected_rows(conn->mysql);
		return stmt->plain_result;
	}
	reply->insert_id = mysql_stmt_insert_id(stmt->stmt);
	if (!stmt->columns)
		reply->affected = mysql_stmt_affected_rows(stmt->stmt);
	return stmt->columns;
}

/* All has been read from the server; what was it? */
static enum rlk_fault finish(struct rlk_conn *conn, struct rlk_reply *ret_reply,
			     struct rowlock_errinfo *reterr)
{
	struct rlk_stmt *stmt = conn->run.stmt;
	enum rlk_fault fault = RLK_DONE;

	rlk_bind_drop(stmt);
	if (has_columns(conn, ret_reply)) {
		fault = fetch(conn, ret_reply->columns, &ret_reply->has_row,
			      reterr);
		if (!stmt->plain)
			mysql_stmt_free_result(stmt->stmt);
	}
	return fault ? fault : rlk_stage_committed(conn, reterr);
}

/* May a statement begin? Everything it needs is made here. */
static enum rlk_fault begin(struct rlk_conn *conn,
			    const struct rlk_stmt_def *def,
			    const struct rlk_value *params,
			    struct rowlock_errinfo *reterr)
{
	struct rlk_stmt *stmt;

	conn->run.label = def->label;
	if (!rlk_conn_usable(conn)) {
		rlk_fail(reterr, ROWLOCK_ECONNECT,
			 "%s: the connection to %s is not usable any more",
			 def->label, conn->server.name);
		return RLK_FAILED;
	}
	stmt = find(conn, def);
	if (!stmt)
		stmt = stmt_new(conn, def);
	if (!stmt)
		return rlk_stage_fail(conn, ROWLOCK_ENOMEM, "out of memory",
				      reterr);
	conn->run.stmt = stmt;
	conn->run.again = true;
	rlk_bind_drop(stmt); /* a run before may have failed half way */
	mysql_free_result(TAKE_PTR(stmt->plain_result));
	if (stmt->plain)
		return rlk_stage_plain(conn, params, reterr);
	conn->run.stage =
	    stmt->prepared ? RLK_STAGE_EXECUTE : RLK_STAGE_PREPARE;
	if (stmt->prepared && rlk_bind_params(stmt, params))
		return rlk_stage_fail_stmt(conn, reterr);
	if (!stmt->prepared && rlk_bind_hold(stmt, params))
		return rlk_stage_fail(conn, ROWLOCK_ENOMEM, "out of memory",
				      reterr);
	return RLK_DONE;
}

/* Run, and once more if the server has forgotten the statement: only here are
 * the caller's parameters still at hand. */
static enum rlk_fault run(struct rlk_conn *conn, const struct rlk_value *params,
			  struct rowlock_errinfo *reterr)
{
	struct rlk_stmt *stmt = conn->run.stmt;

	if (!stmt->held && stmt->params)
		memcpy(stmt->held_params, params,
		       stmt->params * sizeof(*params));
	return rlk_stage_advance(conn, reterr);
}

enum rlk_fault rlk_stmt_run(struct rlk_conn *conn,
			    const struct rlk_stmt_def *def,
			    const struct rlk_value *params,
			    struct rlk_reply *ret_reply,
			    struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = begin(conn, def, params, reterr);

	if (fault == RLK_DONE)
		fault = run(conn, params, reterr);
	if (fault == RLK_DONE)
		fault = finish(conn, ret_reply, reterr);
	return fault;
}

enum rlk_fault rlk_stmt_resume(struct rlk_conn *conn,
			       struct rlk_reply *ret_reply,
			       struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault;

	if (conn->run.stage == RLK_STAGE_NONE || conn->dead) {
		rlk_fail(reterr, ROWLOCK_EINVAL,
			 "nothing is under way on this connection to %s",
			 conn->server.name);
		return RLK_FAILED;
	}
	fault = rlk_stage_advance(conn, reterr);
	if (fault != RLK_DONE)
		return fault;
	if (conn->run.stmt)
		return finish(conn, ret_reply, reterr);
	mysql_free_result(TAKE_PTR(conn->io.result));
	*ret_reply = (struct rlk_reply){ .has_row = false };
	return RLK_DONE;
}

enum rlk_fault rlk_stmt_give_up(struct rlk_conn *conn, enum rlk_fault fault,
				struct rowlock_errinfo *reterr)
{
	if (fault != RLK_PENDING)
		return fault;
	conn->dead = true;
	rlk_fail_db(reterr, ROWLOCK_ECONNECT, 2013,
		    "%s: no answer in time from %s", conn->run.label,
		    conn->server.name);
	return RLK_UNKNOWN;
}

enum rlk_fault rlk_stmt_each(struct rlk_conn *conn,
			     const struct rlk_stmt_def *def,
			     const struct rlk_value *params, rlk_row_fn fn,
			     void *arg, struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = begin(conn, def, params, reterr);
	struct rlk_reply reply;
	struct rlk_stmt *stmt;
	bool has_row;

	if (fault == RLK_DONE)
		fault = run(conn, params, reterr);
	if (fault != RLK_DONE)
		return rlk_stmt_give_up(conn, fault, reterr);
	stmt = conn->run.stmt;
	rlk_bind_drop(stmt);
	has_row = has_columns(conn, &reply);
	while (has_row && fault == RLK_DONE) {
		/* The function before may have run other statements. */
		conn->run.stmt = stmt;
		fault = fetch(conn, reply.columns, &has_row, reterr);
		if (fault == RLK_DONE && has_row)
			fn(reply.columns, arg);
	}
	if (!stmt->plain)
		mysql_stmt_free_result(stmt->stmt);
	return fault;
}

/* A statement that is not prepared: text, ping. */
static enum rlk_fault run_plain(struct rlk_conn *conn, enum rlk_stage stage,
				const char *label,
				struct rowlock_errinfo *reterr)
{
	conn->run.label = label;
	if (!rlk_conn_usable(conn)) {
		rlk_fail(reterr, ROWLOCK_ECONNECT,
			 "%s: the connection to %s is not usable any more",
			 label, conn->server.name);
		return RLK_FAILED;
	}
	conn->run.stmt = NULL;
	conn->run.again = false;
	conn->io.result = NULL;
	conn->run.stage = stage;
	return rlk_stage_advance(conn, reterr);
}

enum rlk_fault rlk_stmt_query(struct rlk_conn *conn, const char *sql,
			      const char *label, MYSQL_RES **ret_result,
			      struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault;

	if (rlk_conn_usable(conn))
		conn->io.sql = sql;
	fault = run_plain(conn, RLK_STAGE_QUERY, label, reterr);
	if (fault == RLK_DONE)
		*ret_result = TAKE_PTR(conn->io.result);
	return fault;
}

enum rlk_fault rlk_stmt_insist(struct rlk_conn *conn, const char *sql,
			       const char *label, MYSQL_RES **ret_result,
			       struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault;
	int tries = 0;

	do
		fault = rlk_stmt_query(conn, sql, label, ret_result, reterr);
	while (rlk_fault_passes(fault) && ++tries < RLK_STMT_TRIES);
	return fault;
}

enum rlk_fault rlk_stmt_text(struct rlk_conn *conn, const char *sql,
			     struct rowlock_errinfo *reterr)
{
	MYSQL_RES *result = NULL;
	enum rlk_fault fault =
	    rlk_stmt_query(conn, sql, "query", &result, reterr);

	if (fault == RLK_DONE)
		mysql_free_result(result);
	return fault;
}

enum rlk_fault rlk_conn_ping(struct rlk_conn *conn,
			     struct rowlock_errinfo *reterr)
{
	return run_plain(conn, RLK_STAGE_PING, "ping", reterr);
}

struct rlk_value rlk_text(const char *text)
{
	if (!text)
		return rlk_null();
	return (struct rlk_value){
		.type = RLK_TEXT,
		.text = text,
		.length = strlen(text),
	};
}
