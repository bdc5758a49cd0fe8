/* SPDX-License-Identifier: MIT */
/*
 * Literals and room for them.
 *
 * Failure modes: a text that the connection's character set does not have is
 * refused, and so is one for which there is no memory; what was there before
 * stays.
 */
#include "db/sql.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rlk_sql_fini(struct rlk_sql *sql)
{
	free(sql->text);
	*sql = (struct rlk_sql){ .text = NULL };
}

/* Room for @more bytes and an end, NULL if there is no memory. */
static char *make_room(struct rlk_sql *sql, size_t more)
{
	size_t room = sql->room ? sql->room : 512;
	char *text;

	while (room < sql->length + more + 1)
		room *= 2;
	if (room != sql->room) {
		text = realloc(sql->text, room);
		if (!text)
			return NULL;
		sql->text = text;
		sql->room = room;
	}
	return sql->text + sql->length;
}

bool rlk_sql_put(struct rlk_sql *sql, const char *text, size_t length)
{
	char *at = make_room(sql, length);

	if (!at)
		return false;
	memcpy(at, text, length);
	sql->length += length;
	return true;
}

static bool put_quoted(struct rlk_sql *sql, MYSQL *mysql,
		       const struct rlk_value *value)
{
	char *at = make_room(sql, 2 * value->length + 2);
	size_t length;

	if (!at)
		return false;
	at[0] = '\'';
	length =
	    mysql_real_escape_string(mysql, at + 1, value->text, value->length);
	if (length > 2 * value->length)
		return false; /* no text in this character set */
	at[1 + length] = '\'';
	sql->length += length + 2;
	return true;
}

bool rlk_sql_put_value(struct rlk_sql *sql, MYSQL *mysql,
		       const struct rlk_value *value)
{
	char number[24];
	int length = 0;

	switch (value->type) {
	case RLK_NULL:
		return rlk_sql_put(sql, "NULL", 4);
	case RLK_U64:
		length =
		    snprintf(number, sizeof(number), "%" PRIu64, value->u64);
		break;
	case RLK_I64:
		length =
		    snprintf(number, sizeof(number), "%" PRId64, value->i64);
		break;
	case RLK_TEXT:
		return put_quoted(sql, mysql, value);
	}
	return rlk_sql_put(sql, number, (size_t) length);
}

const char *rlk_sql_end(struct rlk_sql *sql)
{
	if (sql->text)
		sql->text[sql->length] = '\0';
	return sql->text;
}
