/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_STMT_PRIVATE_H
#define RLK_DB_STMT_PRIVATE_H

/*
 * A statement of a connection: prepared, with the rooms that Connector/C reads
 * parameters from and writes columns to; or plain, a text with the values in
 * it.
 */

#include "db/conn_private.h"

/** The longest text that a column may have; longer ones are an error. */
#define RLK_TEXT_MAX 4096

struct rlk_stmt {
	struct rlk_list list; /* of the connection */
	const struct rlk_stmt_def *def;
	MYSQL_STMT *stmt;        /* NULL as long as it is plain */
	MYSQL_RES *plain_result; /* of the last run; NULL: it had none */
	bool plain;
	bool prepared;
	unsigned int params;
	unsigned int columns;

	MYSQL_BIND param[RLK_STMT_PARAMS];
	union {
		uint64_t u64;
		int64_t i64;
	} number[RLK_STMT_PARAMS];
	unsigned long param_length[RLK_STMT_PARAMS];
	char *held; /* copies of parameters' texts while it is prepared */
	struct rlk_value held_params[RLK_STMT_PARAMS];

	MYSQL_BIND column[RLK_STMT_COLUMNS];
	union {
		uint64_t u64;
		int64_t i64;
	} cell[RLK_STMT_COLUMNS];
	unsigned long length[RLK_STMT_COLUMNS];
	my_bool is_null[RLK_STMT_COLUMNS];
	my_bool error[RLK_STMT_COLUMNS];
	char *text; /* one block for all texts */
};

/* stage.c */

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

/* stmt_bind.c */

/** Does the column travel as a 64-bit number? */
bool rlk_bind_is_number(const MYSQL_FIELD *field);

/** The next row of a text's answer, to RLK_STMT_COLUMNS values; what lies
 *  beyond its columns is NULL. False: there is none. */
bool rlk_bind_next(MYSQL_RES *result, struct rlk_value *ret_columns);

/** As many parameters as the text has '?'; none is in a literal. */
unsigned int rlk_bind_count(const char *sql);

/** Keep @params, texts included, beyond the caller's return. 0 or -1. */
int rlk_bind_hold(struct rlk_stmt *stmt, const struct rlk_value *params);

/** Forget them. */
void rlk_bind_drop(struct rlk_stmt *stmt);

/** Hand @params to Connector/C; it reads them when the statement is sent. */
int rlk_bind_params(struct rlk_stmt *stmt, const struct rlk_value *params);

/** Make rooms for the columns that the prepared statement has. 0 or -1. */
int rlk_bind_make_columns(struct rlk_stmt *stmt);

/** The row that was fetched, to RLK_STMT_COLUMNS values. Returns the first
 * column whose text or number was cut, -1 if all is well. */
int rlk_bind_read(struct rlk_stmt *stmt, struct rlk_value *ret_columns);

#endif
