/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_SURE_H
#define RLK_STRATEGY_SURE_H

/*
 * An answer without a row proves nothing by itself, and neither does a number
 * beside an answer.
 *
 * MariaDB answers an UPDATE or a DELETE by primary key with "OK, 0 rows" where
 * KILL QUERY or max_statement_time meets it while it is optimized, and has
 * changed nothing (10.11: 168 of 3,426 DELETEs under a storm of KILLs; 11.8:
 * also UPDATEs). A SELECT without a subquery that is killed is an error. So the
 * row is looked for once more before anything is concluded from its absence.
 *
 * Where a KILL QUERY meets a subquery there, a MariaDB goes on without it: a
 * scalar one is NULL, EXISTS is false. So NOT EXISTS is true, of a row that is
 * there, and a DELETE by it deleted leases whose session lives (10.11: 31 times
 * in 18,642 under a storm of KILLs). A statement that must do nothing while
 * there is a row asks for (SELECT COUNT(*) ...) = 0, which is then unknown.
 * NOT EXISTS is for what something else decides: a primary key, or a look
 * behind it.
 *
 * A server does not report LAST_INSERT_ID(expression) beside the answer where
 * the table has a trigger (MariaDB 10.11, 11.8, MySQL 9.7: it reports 0). The
 * function of that name returns it all the same, and no trigger changes what it
 * returns. Counts of rows are right under triggers.
 *
 * As for strategies: no mutex held, may block until @conn's deadline.
 */

#include "strategy/strategy.h"

/**
 * A statement has changed no row: does @still, a SELECT of that row, find none
 * either? RLK_DONE: none is there. RLK_KILLED, with @reterr: it is there, so
 * nothing was done, and the statement may be said again.
 */
enum rlk_fault rlk_sure_gone(struct rlk_conn *conn,
			     const struct rlk_stmt_def *still,
			     const struct rlk_value *params,
			     struct rowlock_errinfo *reterr);

/** rlk_sure_gone() for a caller that has found a row by itself: RLK_KILLED. */
enum rlk_fault rlk_sure_fail(const struct rlk_conn *conn, const char *label,
			     struct rowlock_errinfo *reterr);

/**
 * Reads between begin and end have all that was committed before anywhere: a
 * member of a group with several writers may lack it. Elsewhere nothing is
 * sent; connections to Galera wait in each statement (db/conn_setup.c).
 */
enum rlk_fault rlk_sure_begin(struct rlk_conn *conn,
			      struct rowlock_errinfo *reterr);
void rlk_sure_end(struct rlk_conn *conn);

/** Are they sent to the server of @conn? */
bool rlk_sure_sends(const struct rlk_conn *conn);

/** rlk_stmt_run() of @def, a SELECT of numbers, between begin and end: texts
 * are gone behind it. */
enum rlk_fault rlk_sure_look(struct rlk_conn *conn,
			     const struct rlk_stmt_def *def,
			     const struct rlk_value *params,
			     struct rlk_reply *ret_reply,
			     struct rowlock_errinfo *reterr);

/** Reads; *@ret_all: nothing is missing. */
typedef enum rlk_fault (*rlk_sure_fn)(struct rlk_conn *conn, void *arg,
				      bool *ret_all,
				      struct rowlock_errinfo *reterr);

/** Call @read; where something is missing, call it again between begin and
 *  end: rows that are missing are believed behind the barrier only. */
enum rlk_fault rlk_sure_read(struct rlk_conn *conn, rlk_sure_fn read, void *arg,
			     bool *ret_all, struct rowlock_errinfo *reterr);

/** The number of LAST_INSERT_ID(expression) in the statement that was just run
 *  on @conn, and answered by @reply; 0 if it has changed no row. */
enum rlk_fault rlk_sure_number(struct rlk_conn *conn,
			       const struct rlk_reply *reply,
			       uint64_t *ret_number,
			       struct rowlock_errinfo *reterr);

#endif
