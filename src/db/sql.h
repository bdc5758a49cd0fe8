/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_SQL_H
#define RLK_DB_SQL_H

/*
 * The text of statements that are not prepared, with their values in it. Texts
 * are hexadecimal literals: what escapes them depends on the character set, of
 * which the client may have another idea than the server (gbk, and a proxy that
 * keeps it to itself), and then a name would be SQL.
 */

#include <stdbool.h>
#include <stddef.h>

#include "db/stmt.h"

/** Memory that grows; a zeroed one is empty. */
struct rlk_sql {
	char *text; /* not ended by NUL before rlk_sql_end() */
	size_t length;
	size_t room;
};

void rlk_sql_fini(struct rlk_sql *sql);

/** Add @length bytes of @text. False: no memory. */
bool rlk_sql_put(struct rlk_sql *sql, const char *text, size_t length);

/** Add @value as a literal. False: no memory. */
bool rlk_sql_put_value(struct rlk_sql *sql, const struct rlk_value *value);

/** The name of the connection attribute, and the first word of the comment, by
 *  which people find the program of a connection. */
#define RLK_SQL_WHO "rowlock"

/** Add a comment with @who, in which nothing can end a comment. Nothing if it
 * is NULL. False: no memory. */
bool rlk_sql_put_who(struct rlk_sql *sql, const char *who);

/** The text put together so far, ended; NULL if there never was any. */
const char *rlk_sql_end(struct rlk_sql *sql);

/** The same for a caller that checks once, at the end: it stays failed after a
 *  lack of memory. A zeroed one is empty. */
struct rlk_script {
	struct rlk_sql sql;
	bool failed;
};

void rlk_script_put(struct rlk_script *script, const char *words);
void rlk_script_put_value(struct rlk_script *script, struct rlk_value value);

/** NULL: it failed. Valid until rlk_sql_fini(&script->sql). */
const char *rlk_script_end(struct rlk_script *script);

#endif
