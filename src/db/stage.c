/* SPDX-License-Identifier: MIT */
/*
 * The stages of a run: prepare (the first time only), execute, buffer (read the
 * result to its end); query and store for text; ping. The deadline or an
 * interrupt may suspend each, to be resumed later.
 *
 * Failure modes: a prepared statement that the server has forgotten (1243) or
 * wants again (1615) was not executed: it is prepared again, once, as long as
 * its parameters are at hand. One for which the server has no room (1461) is
 * sent as a text: a holder must be able to keep and to give back what it holds,
 * whatever others have prepared. A result whose error comes after its header
 * shows when it is buffered.
 */
#include "db/stage.h"

#include "db/stmt_private.h"

#include <string.h>

#include "base/error.h"
#include "db/io.h"
#include "db/stmt_bind.h"

/* max_prepared_stmt_count, which all programs of the server share. */
#define ERROR_NO_ROOM 1461

/* CR_SERVER_LOST. */
#define SERVER_LOST 2013

/* Its result has a column that we have no room for. */
static const char too_many[] = "more columns than there is room for";

enum rlk_fault rlk_stage_fail(struct rlk_conn *conn, int code, const char *what,
			      struct rowlock_errinfo *reterr)
{
	conn->run.stage = RLK_STAGE_NONE;
	rlk_fail(reterr, code, "%s: %s on %s", conn->run.label, what,
		 conn->server.name);
	return RLK_FAILED;
}

static const char *advice(int code, unsigned int number)
{
	switch (number) {
	case 1661:
	case 1662:
	case 1663:
	case 1665:
		return "; it logs by STATEMENT: set binlog_format to MIXED or "
		       "ROW";
	case 1047:
		if (code == ROWLOCK_ECONNECT)
			return "; connect to a node that is in the primary "
			       "component of its cluster";
		break;
	case 1046:
		return "; name the database in the dsn or the option file";
	case 1820:
	case 1862:
		return "; give the account a new password (ALTER USER)";
	default:
		break;
	}
	switch (code) {
	case ROWLOCK_ESCHEMA:
		return "; run 'rowlock-migrate'";
	case ROWLOCK_EREADONLY:
		return "; connect to the primary";
	case ROWLOCK_EAUTH:
		return "; grant that to the account, or name another account: "
		       "grants.sql has what each of them needs";
	default:
		return "";
	}
}

/* The statement has ended with Connector/C's errno @number and words @text. */
static enum rlk_fault fail_with(struct rlk_conn *conn, unsigned int number,
				const char *text,
				struct rowlock_errinfo *reterr)
{
	const char *label = conn->run.label;
	struct rowlock_errinfo error;
	const char *option;
	enum rlk_fault fault;
	size_t length = 0;
	int code;

	conn->run.stage = RLK_STAGE_NONE;
	if (!number)
		number = 2000;
	/* After an answer that was cut off, Connector/C may report an error
	 * that nobody has sent. */
	if (conn->io.cut) {
		number = SERVER_LOST;
		text = conn->io.cut;
	}
	fault = rlk_fault_class(number);
	code = rlk_fault_code(number, text);
	if (fault == RLK_UNKNOWN)
		conn->dead = true;
	if (code == ROWLOCK_EREADONLY || rlk_fault_not_ready(number, text))
		conn->useless = true;
	option = number == 1290 && code != ROWLOCK_EREADONLY
		     ? rlk_fault_option(text, &length)
		     : NULL;
	rlk_fail_db(&error, code, number, "%s: %s on %s%s%.*s", label, text,
		    conn->server.name[0] ? conn->server.name : conn->where,
		    option ? "; start it without " : advice(code, number),
		    (int) length, option ? option : "");
	rlk_refusal_judge(conn->target->refusal, label, &error);
	if (reterr)
		*reterr = error;
	return fault;
}

enum rlk_fault rlk_stage_fail_stmt(struct rlk_conn *conn,
				   struct rowlock_errinfo *reterr)
{
	MYSQL_STMT *stmt = conn->run.stmt->stmt;
	unsigned int number = mysql_stmt_errno(stmt);
	const char *text = mysql_stmt_error(stmt);

	/* Some paths of Connector/C leave it with the connection. */
	if (!number) {
		number = mysql_errno(conn->mysql);
		text = mysql_error(conn->mysql);
	}
	return fail_with(conn, number, text, reterr);
}

/* The flag comes with the answer (MySQL manual, "Protocol::StatusFlags"). */
enum rlk_fault rlk_stage_committed(struct rlk_conn *conn,
				   struct rowlock_errinfo *reterr)
{
	bool within = conn->mysql->server_status & SERVER_STATUS_IN_TRANS;

	if (!conn->profile.autocommit || within == conn->transacts) {
		rlk_refusal_worked(conn->target->refusal, conn->run.label);
		return RLK_DONE;
	}
	conn->dead = true;
	if (conn->transacts) {
		rlk_fail(reterr, ROWLOCK_EDB,
			 "%s: the transaction that was begun on a connection "
			 "to %s is not open any more; is there a proxy in "
			 "between that sends its statements elsewhere?",
			 conn->run.label, conn->server.name);
		return RLK_UNKNOWN;
	}
	rlk_fail(reterr, ROWLOCK_EDB,
		 "%s: a transaction is open on a connection to %s that has to "
		 "commit by itself, so nothing is kept; is there a proxy in "
		 "between that begins one?",
		 conn->run.label, conn->server.name);
	return RLK_UNKNOWN;
}

static enum rlk_fault fail_query(struct rlk_conn *conn,
				 struct rowlock_errinfo *reterr)
{
	return fail_with(conn, mysql_errno(conn->mysql),
			 mysql_error(conn->mysql), reterr);
}

/* Nothing to add: NULL. */
static const char *who_of(const struct rlk_conn *conn)
{
	return conn->run.stmt->def->waits ? conn->target->who : NULL;
}

enum rlk_fault rlk_stage_plain(struct rlk_conn *conn,
			       const struct rlk_value *params,
			       struct rowlock_errinfo *reterr)
{
	struct rlk_sql *sql = &conn->run.plain;
	const char *at = conn->run.stmt->def->sql;
	size_t length;

	conn->run.stmt->plain = true;
	sql->length = 0;
	for (; *at; at += length) {
		length = *at == '?' ? 1 : strcspn(at, "?");
		if (*at == '?' ? !rlk_sql_put_value(sql, params++)
			       : !rlk_sql_put(sql, at, length))
			return rlk_stage_fail(conn, ROWLOCK_ENOMEM,
					      "out of memory", reterr);
	}
	if (!rlk_sql_put_who(sql, who_of(conn)))
		return rlk_stage_fail(conn, ROWLOCK_ENOMEM, "out of memory",
				      reterr);
	conn->io.result = NULL;
	conn->io.sql = rlk_sql_end(sql);
	conn->run.stage = RLK_STAGE_QUERY;
	return RLK_DONE;
}

/* The stages. Each returns RLK_DONE when the next one may follow. */

/* NULL: no memory. */
static const char *text_to_prepare(struct rlk_conn *conn)
{
	const char *text = conn->run.stmt->def->sql;
	const char *who = who_of(conn);
	struct rlk_sql *sql = &conn->run.plain;

	if (!who)
		return text;
	sql->length = 0;
	return rlk_sql_put(sql, text, strlen(text)) && rlk_sql_put_who(sql, who)
		   ? rlk_sql_end(sql)
		   : NULL;
}

static enum rlk_fault do_prepare(struct rlk_conn *conn,
				 struct rowlock_errinfo *reterr)
{
	struct rlk_stmt *stmt = conn->run.stmt;

	conn->io.stmt = stmt->stmt;
	conn->io.sql = text_to_prepare(conn);
	if (!conn->io.sql)
		return rlk_stage_fail(conn, ROWLOCK_ENOMEM, "out of memory",
				      reterr);
	if (!rlk_io_run(conn, RLK_CALL_PREPARE))
		return RLK_PENDING;
	if (conn->io.status && mysql_stmt_errno(stmt->stmt) == ERROR_NO_ROOM)
		return rlk_stage_plain(conn, stmt->held_params, reterr);
	if (conn->io.status)
		return rlk_stage_fail_stmt(conn, reterr);
	stmt->params = (unsigned int) mysql_stmt_param_count(stmt->stmt);
	/* More than we have would be sent from memory that is not theirs. */
	if (stmt->params != rlk_bind_count(stmt->def->sql)) {
		conn->dead = true;
		return rlk_stage_fail(conn, ROWLOCK_EDB,
				      "the server counts the parameters "
				      "differently",
				      reterr);
	}
	stmt->columns = 0;
	if (rlk_bind_params(stmt, stmt->held_params))
		return rlk_stage_fail_stmt(conn, reterr);
	stmt->prepared = true;
	conn->run.stage = RLK_STAGE_EXECUTE;
	return RLK_DONE;
}

/* Was it surely not executed, and can it be prepared again? */
static bool wants_prepare(struct rlk_conn *conn)
{
	unsigned int number = mysql_stmt_errno(conn->run.stmt->stmt);

	return conn->run.again && (number == 1243 || number == 1615);
}

static enum rlk_fault do_execute(struct rlk_conn *conn,
				 struct rowlock_errinfo *reterr)
{
	struct rlk_stmt *stmt = conn->run.stmt;

	conn->io.stmt = stmt->stmt;
	if (!rlk_io_run(conn, RLK_CALL_EXECUTE))
		return RLK_PENDING;
	if (conn->io.status && wants_prepare(conn)) {
		conn->run.again = false;
		conn->run.stage = RLK_STAGE_PREPARE;
		return RLK_DONE;
	}
	if (conn->io.status)
		return rlk_stage_fail_stmt(conn, reterr);
	conn->run.stage = RLK_STAGE_BUFFER;
	return RLK_DONE;
}

/* MariaDB tells the columns of INSERT ... RETURNING with the first result, not
 * when it is prepared. */
static enum rlk_fault make_columns(struct rlk_conn *conn,
				   struct rowlock_errinfo *reterr)
{
	struct rlk_stmt *stmt = conn->run.stmt;
	unsigned int columns = mysql_stmt_field_count(stmt->stmt);

	if (columns != stmt->columns) {
		/* The statement is executed, but its result is too wide to
		 * show. */
		if (columns > RLK_STMT_COLUMNS) {
			conn->dead = true;
			rlk_stage_fail(conn, ROWLOCK_EDB, too_many, reterr);
			return RLK_UNKNOWN;
		}
		stmt->columns = columns;
		if (columns && rlk_bind_make_columns(stmt)) {
			conn->dead = true;
			rlk_stage_fail(conn, ROWLOCK_ENOMEM, "out of memory",
				       reterr);
			return RLK_UNKNOWN;
		}
	}
	if (columns && mysql_stmt_bind_result(stmt->stmt, stmt->column))
		return rlk_stage_fail_stmt(conn, reterr);
	return RLK_DONE;
}

static enum rlk_fault do_buffer(struct rlk_conn *conn,
				struct rowlock_errinfo *reterr)
{
	struct rlk_stmt *stmt = conn->run.stmt;
	enum rlk_fault fault;

	if (!conn->io.suspended) {
		fault = make_columns(conn, reterr);
		if (fault != RLK_DONE)
			return fault;
	}
	if (stmt->columns) {
		conn->io.stmt = stmt->stmt;
		if (!rlk_io_run(conn, RLK_CALL_BUFFER))
			return RLK_PENDING;
		if (conn->io.status)
			return rlk_stage_fail_stmt(conn, reterr);
	}
	conn->run.stage = RLK_STAGE_NONE;
	return RLK_DONE;
}

/* The first answer to a text, or the next one. */
static enum rlk_fault do_answer(struct rlk_conn *conn, enum rlk_call call,
				struct rowlock_errinfo *reterr)
{
	if (!rlk_io_run(conn, call))
		return RLK_PENDING;
	if (conn->io.status)
		return fail_query(conn, reterr);
	conn->run.stage =
	    mysql_field_count(conn->mysql) ? RLK_STAGE_STORE : RLK_STAGE_NONE;
	return RLK_DONE;
}

/* The last step of a text, or of a ping. */
static enum rlk_fault do_last(struct rlk_conn *conn, enum rlk_call call,
			      struct rowlock_errinfo *reterr)
{
	if (!rlk_io_run(conn, call))
		return RLK_PENDING;
	if (call == RLK_CALL_STORE ? !conn->io.result : conn->io.status != 0)
		return fail_query(conn, reterr);
	conn->run.stage = RLK_STAGE_NONE;
	return RLK_DONE;
}

enum rlk_fault rlk_stage_advance(struct rlk_conn *conn,
				 struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = RLK_DONE;

	while (fault == RLK_DONE && conn->run.stage != RLK_STAGE_NONE) {
		switch (conn->run.stage) {
		case RLK_STAGE_PREPARE:
			fault = do_prepare(conn, reterr);
			break;
		case RLK_STAGE_EXECUTE:
			fault = do_execute(conn, reterr);
			break;
		case RLK_STAGE_BUFFER:
			fault = do_buffer(conn, reterr);
			break;
		case RLK_STAGE_QUERY:
			fault = do_answer(conn, RLK_CALL_QUERY, reterr);
			break;
		case RLK_STAGE_STORE:
			fault = do_last(conn, RLK_CALL_STORE, reterr);
			break;
		case RLK_STAGE_NEXT:
			fault = do_answer(conn, RLK_CALL_NEXT, reterr);
			break;
		case RLK_STAGE_PING:
			fault = do_last(conn, RLK_CALL_PING, reterr);
			break;
		case RLK_STAGE_NONE:
			break;
		}
	}
	/* The caller's parameters are its own again. */
	if (fault == RLK_PENDING && conn->run.stage != RLK_STAGE_PREPARE)
		conn->run.again = false;
	return fault;
}
