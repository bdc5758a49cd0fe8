/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_STAGE_H
#define RLK_DB_STAGE_H

/* A statement on a connection, step by step. */

#include "db/stmt_private.h"

/** Go through the stages from conn->stage on, until all is done (RLK_DONE), or
 *  something is in the way. */
enum rlk_fault rlk_stage_advance(struct rlk_conn *conn,
				 struct rowlock_errinfo *reterr);

/** End the run because of @what, our own reason: RLK_FAILED. */
enum rlk_fault rlk_stage_fail(struct rlk_conn *conn, int code, const char *what,
			      struct rowlock_errinfo *reterr);

/** End the run because of the error that conn->stmt has. */
enum rlk_fault rlk_stage_fail_stmt(struct rlk_conn *conn,
				   struct rowlock_errinfo *reterr);

/** Say conn->stmt as a text, with @params in it, from now on. */
enum rlk_fault rlk_stage_plain(struct rlk_conn *conn,
			       const struct rlk_value *params,
			       struct rowlock_errinfo *reterr);

/** What was answered is done; is it committed? If a transaction is open on a
 *  connection that commits by itself, somebody between us and the server has
 *  begun it: RLK_UNKNOWN, and the connection is dead. */
enum rlk_fault rlk_stage_committed(struct rlk_conn *conn,
				   struct rowlock_errinfo *reterr);

#endif
