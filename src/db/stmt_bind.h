/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_STMT_BIND_H
#define RLK_DB_STMT_BIND_H

/* Parameters and columns of a prepared statement. */

#include "db/stmt_private.h"

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
