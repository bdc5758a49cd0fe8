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
	MYSQL_RES *plain_result; /* of the last run; NULL if it had none */
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

/* stmt_bind.c */

void rlk_stmt_free_all(struct rlk_conn *conn);

/** Run @sql unprepared; *@ret_result is NULL if it has none. */
enum rlk_fault rlk_stmt_query(struct rlk_conn *conn, const char *sql,
			      const char *label, MYSQL_RES **ret_result,
			      struct rowlock_errinfo *reterr);

/** How often a statement is sent that is interrupted each time. One
 * interruption passes; something that ends each statement does not. */
#define RLK_STMT_TRIES 5

/** rlk_stmt_query() of a statement that does no harm twice: it is sent again if
 *  others are in its way for a moment, or interrupt it. */
enum rlk_fault rlk_stmt_insist(struct rlk_conn *conn, const char *sql,
			       const char *label, MYSQL_RES **ret_result,
			       struct rowlock_errinfo *reterr);

#endif
