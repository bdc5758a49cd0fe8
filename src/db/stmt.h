/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_STMT_H
#define RLK_DB_STMT_H

/*
 * Statements. A statement is a constant with its text; a connection prepares
 * it at its first use and keeps it, so that a use is one round trip. Where that
 * is not worth a statement of the server's max_prepared_stmt_count, or the
 * server has none left, it is said as a text with the values in it.
 *
 * Everything here works on a connection that the calling thread has to itself
 * and ends at the connection's deadline (rlk_conn_set_until()), even if the
 * peer sends one byte at a time. No mutex may be held.
 */

#include <rowlock.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db/fault.h"

#define RLK_STMT_PARAMS 12
#define RLK_STMT_COLUMNS 20

struct rlk_conn;

struct rlk_stmt_def {
	const char *label; /* for messages: "acquire", "beat" */
	const char *sql;
	bool once;  /* now and then: said as a text, never prepared */
	bool waits; /* it may wait for long: the server's list of connections
		       shows by its text which program that is (sql.h) */
};

enum rlk_type {
	RLK_NULL = 0,
	RLK_U64,
	RLK_I64,
	RLK_TEXT,
};

struct rlk_value {
	enum rlk_type type;
	union {
		uint64_t u64;
		int64_t i64;
	};
	const char *text; /* in results terminated, and never NULL */
	size_t length;
};

static inline struct rlk_value rlk_u64(uint64_t number)
{
	return (struct rlk_value){ .type = RLK_U64, .u64 = number };
}

/** NULL becomes SQL's NULL. */
struct rlk_value rlk_text(const char *text);

static inline struct rlk_value rlk_null(void)
{
	return (struct rlk_value){ .type = RLK_NULL };
}

/** The effect of a statement, and the first row of its result if it has one.
 *  Texts in columns live until the connection's next statement. A column that
 *  is NULL, not of the type that is asked for, or not there, reads as 0 or "":
 *  the server must not be able to do more harm than a lie. */
struct rlk_reply {
	uint64_t affected;  /* rows changed; not the rows of a result */
	uint64_t insert_id; /* also LAST_INSERT_ID(expression) */
	bool has_row;
	struct rlk_value columns[RLK_STMT_COLUMNS];
};

/**
 * Run @def with @params (as many as the text has '?').
 *
 * With RLK_DONE *@ret_reply is written; else @reterr: its code is the
 * ROWLOCK_E* for this failure, and its text says "<label>: <server's words> on
 * <server>". RLK_PENDING: neither; go on with rlk_stmt_resume(), or close the
 * connection.
 *
 * Beware of results with errors behind their header (INSERT ... RETURNING):
 * done means that the result was read to its end.
 */
enum rlk_fault rlk_stmt_run(struct rlk_conn *conn,
			    const struct rlk_stmt_def *def,
			    const struct rlk_value *params,
			    struct rlk_reply *ret_reply,
			    struct rowlock_errinfo *reterr);

/** Go on waiting for the reply of a statement, or of a ping, that was
 *  RLK_PENDING. Data that has come is read even if the deadline has passed, so
 *  a caller that has seen the socket readable need not wait. */
enum rlk_fault rlk_stmt_resume(struct rlk_conn *conn,
			       struct rlk_reply *ret_reply,
			       struct rowlock_errinfo *reterr);

/** RLK_PENDING becomes RLK_UNKNOWN, and the connection dead: a reply that
 *  nobody will read is still to come. Everything else stays as it is. */
enum rlk_fault rlk_stmt_give_up(struct rlk_conn *conn, enum rlk_fault fault,
				struct rowlock_errinfo *reterr);

/** Called for each row; the columns are valid during the call. */
typedef void (*rlk_row_fn)(const struct rlk_value *columns, void *arg);

/** As rlk_stmt_run() for a result of many rows. All rows have been read from
 *  the server before @fn is called for the first; it may run other statements
 *  on @conn, but not @def. RLK_PENDING cannot be
 *  resumed: it is turned into RLK_UNKNOWN and the connection is dead. */
enum rlk_fault rlk_stmt_each(struct rlk_conn *conn,
			     const struct rlk_stmt_def *def,
			     const struct rlk_value *params, rlk_row_fn fn,
			     void *arg, struct rowlock_errinfo *reterr);

/** Run @sql as it is, without preparing it; a result is read and dropped. For
 *  what cannot be prepared or is used once (BEGIN, COMMIT, KILL, SET).
 *  RLK_PENDING, no answer so far, leaves @reterr as it was: go on by
 *  rlk_stmt_resume(), or end it by rlk_stmt_give_up(). */
enum rlk_fault rlk_stmt_text(struct rlk_conn *conn, const char *sql,
			     struct rowlock_errinfo *reterr);

/** COM_PING. RLK_DONE: the server answered. */
enum rlk_fault rlk_conn_ping(struct rlk_conn *conn,
			     struct rowlock_errinfo *reterr);

#endif
