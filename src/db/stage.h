/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_STAGE_H
#define RLK_DB_STAGE_H

/* A statement on a connection, step by step. */

#include "db/sql.h"
#include "db/stmt.h"

/** The stage that rlk_stmt_resume() goes on with. */
enum rlk_stage {
	RLK_STAGE_NONE,
	RLK_STAGE_PREPARE,
	RLK_STAGE_EXECUTE,
	RLK_STAGE_BUFFER,
	RLK_STAGE_QUERY,
	RLK_STAGE_STORE,
	RLK_STAGE_NEXT,
	RLK_STAGE_PING,
};

/** The run of a statement that is under way. */
struct rlk_run {
	enum rlk_stage stage;
	struct rlk_stmt *stmt;
	const char *label;    /* for messages */
	bool again;           /* may still be prepared again */
	struct rlk_sql plain; /* the text of stmt, if that is plain */
};

/** Go through the stages from conn->run.stage on, until all is done (RLK_DONE),
 * or something is in the way. */
enum rlk_fault rlk_stage_advance(struct rlk_conn *conn,
				 struct rowlock_errinfo *reterr);

/** End the run because of @what, our own reason: RLK_FAILED. */
enum rlk_fault rlk_stage_fail(struct rlk_conn *conn, int code, const char *what,
			      struct rowlock_errinfo *reterr);

/** End the run because of the error that conn->run.stmt has. */
enum rlk_fault rlk_stage_fail_stmt(struct rlk_conn *conn,
				   struct rowlock_errinfo *reterr);

/** Say conn->run.stmt as a text, with @params in it, from now on. */
enum rlk_fault rlk_stage_plain(struct rlk_conn *conn,
			       const struct rlk_value *params,
			       struct rowlock_errinfo *reterr);

/** The answered statement is executed; is it committed, or within the
 *  transaction that was begun (transaction.h)? If another one is open on a
 *  connection that commits by itself, a proxy has begun it:
 *  RLK_UNKNOWN, and the connection is dead. */
enum rlk_fault rlk_stage_committed(struct rlk_conn *conn,
				   struct rowlock_errinfo *reterr);

#endif
