/* SPDX-License-Identifier: MIT */
/*
 * Literals and room for them.
 *
 * Failure modes: where there is no memory, what was there before stays.
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

/* In no character set is any of these digits the half of a character. */
static bool put_text(struct rlk_sql *sql, const struct rlk_value *value)
{
	static const char begin[] = "_utf8mb4 X'";
	static const char digits[] = "0123456789ABCDEF";
	const unsigned char *text = (const unsigned char *) value->text;
	char *at = make_room(sql, sizeof(begin) + 2 * value->length);

	if (!at)
		return false;
	memcpy(at, begin, sizeof(begin) - 1);
	at += sizeof(begin) - 1;
	for (size_t i = 0; i < value->length; i++) {
		*at++ = digits[text[i] >> 4];
		*at++ = digits[text[i] & 15];
	}
	*at = '\'';
	sql->length += sizeof(begin) + 2 * value->length;
	return true;
}

/* Letters, digits and a few marks: it must not end the comment, and a proxy in
 * between must not take a part of it for a parameter or a text. */
bool rlk_sql_put_who(struct rlk_sql *sql, const char *who)
{
	static const char known[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789 ._+-:@[]/";

	if (!who)
		return true;
	if (!rlk_sql_put(sql, " /* " RLK_SQL_WHO " ", 12))
		return false;
	for (; *who; who++)
		if (!rlk_sql_put(sql, strchr(known, *who) ? who : "_", 1))
			return false;
	return rlk_sql_put(sql, " */", 3);
}

bool rlk_sql_put_value(struct rlk_sql *sql, const struct rlk_value *value)
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
		return put_text(sql, value);
	}
	return rlk_sql_put(sql, number, (size_t) length);
}

const char *rlk_sql_end(struct rlk_sql *sql)
{
	if (sql->text)
		sql->text[sql->length] = '\0';
	return sql->text;
}

void rlk_script_put(struct rlk_script *script, const char *words)
{
	if (!rlk_sql_put(&script->sql, words, strlen(words)))
		script->failed = true;
}

void rlk_script_put_value(struct rlk_script *script, struct rlk_value value)
{
	if (!rlk_sql_put_value(&script->sql, &value))
		script->failed = true;
}

const char *rlk_script_end(struct rlk_script *script)
{
	return script->failed ? NULL : rlk_sql_end(&script->sql);
}
