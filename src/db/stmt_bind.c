/* SPDX-License-Identifier: MIT */
/*
 * Between our values and Connector/C's binds.
 *
 * Numbers travel as 64-bit integers, all else as text: a DATETIME(6) becomes
 * "2026-11-20 12:00:00.000000". The rooms are made once, when the statement is
 * prepared, from what the server says about its columns.
 *
 * Failure modes: a value that does not fit its room is reported, never handed
 * on cut: two names that differ behind the cut would become one.
 */
#include "db/stmt_bind.h"

#include <stdlib.h>
#include <string.h>

void rlk_bind_drop(struct rlk_stmt *stmt)
{
	free(stmt->held);
	stmt->held = NULL;
}

unsigned int rlk_bind_count(const char *sql)
{
	unsigned int count = 0;

	for (; *sql; sql++)
		count += *sql == '?';
	return count;
}

int rlk_bind_hold(struct rlk_stmt *stmt, const struct rlk_value *params)
{
	unsigned int count = rlk_bind_count(stmt->def->sql);
	size_t total = 1;
	char *at;

	if (count > RLK_STMT_PARAMS)
		return -1;
	for (unsigned int i = 0; i < count; i++) {
		if (params[i].type == RLK_TEXT)
			total += params[i].length;
	}
	at = malloc(total);
	if (!at)
		return -1;
	rlk_bind_drop(stmt);
	stmt->held = at;
	for (unsigned int i = 0; i < count; i++) {
		stmt->held_params[i] = params[i];
		if (params[i].type != RLK_TEXT)
			continue;
		memcpy(at, params[i].text, params[i].length);
		stmt->held_params[i].text = at;
		at += params[i].length;
	}
	return 0;
}

static void bind_one(struct rlk_stmt *stmt, unsigned int i,
		     const struct rlk_value *value)
{
	MYSQL_BIND *bind = &stmt->param[i];

	*bind = (MYSQL_BIND){ .length = &stmt->param_length[i] };
	switch (value->type) {
	case RLK_NULL:
		bind->buffer_type = MYSQL_TYPE_NULL;
		break;
	case RLK_U64:
	case RLK_I64:
		stmt->number[i].u64 = value->u64;
		bind->buffer_type = MYSQL_TYPE_LONGLONG;
		bind->buffer = &stmt->number[i];
		bind->is_unsigned = value->type == RLK_U64;
		break;
	case RLK_TEXT:
		stmt->param_length[i] = value->length;
		bind->buffer_type = MYSQL_TYPE_STRING;
		bind->buffer = (void *) (uintptr_t) value->text;
		bind->buffer_length = value->length;
		break;
	}
}

int rlk_bind_params(struct rlk_stmt *stmt, const struct rlk_value *params)
{
	for (unsigned int i = 0; i < stmt->params; i++)
		bind_one(stmt, i, &params[i]);
	if (!stmt->params)
		return 0;
	return mysql_stmt_bind_param(stmt->stmt, stmt->param) ? -1 : 0;
}

bool rlk_bind_is_number(const MYSQL_FIELD *field)
{
	switch (field->type) {
	case MYSQL_TYPE_TINY:
	case MYSQL_TYPE_SHORT:
	case MYSQL_TYPE_INT24:
	case MYSQL_TYPE_LONG:
	case MYSQL_TYPE_LONGLONG:
	case MYSQL_TYPE_YEAR:
		return true;
	default:
		return false;
	}
}

static struct rlk_value value_of(const MYSQL_FIELD *field, const char *text,
				 size_t length)
{
	struct rlk_value value = { .type = RLK_NULL, .text = "" };

	if (!text)
		return value;
	if (!rlk_bind_is_number(field)) {
		value.type = RLK_TEXT;
		value.text = text;
		value.length = length;
	} else if (field->flags & UNSIGNED_FLAG) {
		value.type = RLK_U64;
		value.u64 = strtoull(text, NULL, 10);
	} else {
		value.type = RLK_I64;
		value.i64 = strtoll(text, NULL, 10);
	}
	return value;
}

bool rlk_bind_next(MYSQL_RES *result, struct rlk_value *ret_columns)
{
	const struct rlk_value nothing = { .type = RLK_NULL, .text = "" };
	const MYSQL_FIELD *fields = mysql_fetch_fields(result);
	unsigned int count = mysql_num_fields(result);
	MYSQL_ROW row = mysql_fetch_row(result);
	const unsigned long *lengths = mysql_fetch_lengths(result);

	for (unsigned int i = 0; row && i < RLK_STMT_COLUMNS; i++)
		ret_columns[i] = i < count
				     ? value_of(&fields[i], row[i], lengths[i])
				     : nothing;
	return row;
}

static size_t room_of(const MYSQL_FIELD *field)
{
	if (rlk_bind_is_number(field))
		return 0;
	/* A time's metadata leave out what Connector/C may write. */
	if (field->length < 32)
		return 32 + 1;
	if (field->length > RLK_TEXT_MAX)
		return RLK_TEXT_MAX + 1;
	return field->length + 1;
}

static void make_column(struct rlk_stmt *stmt, unsigned int i,
			const MYSQL_FIELD *field, char *room)
{
	MYSQL_BIND *bind = &stmt->column[i];

	*bind = (MYSQL_BIND){
		.length = &stmt->length[i],
		.is_null = &stmt->is_null[i],
		.error = &stmt->error[i],
	};
	if (rlk_bind_is_number(field)) {
		bind->buffer_type = MYSQL_TYPE_LONGLONG;
		bind->buffer = &stmt->cell[i];
		bind->buffer_length = sizeof(stmt->cell[i]);
		bind->is_unsigned = (field->flags & UNSIGNED_FLAG) != 0;
	} else {
		bind->buffer_type = MYSQL_TYPE_STRING;
		bind->buffer = room;
		bind->buffer_length = room_of(field) - 1;
	}
}

int rlk_bind_make_columns(struct rlk_stmt *stmt)
{
	MYSQL_RES *meta = mysql_stmt_result_metadata(stmt->stmt);
	const MYSQL_FIELD *fields;
	size_t total = 1;
	char *at;

	if (!meta)
		return -1;
	fields = mysql_fetch_fields(meta);
	for (unsigned int i = 0; i < stmt->columns; i++)
		total += room_of(&fields[i]);
	free(stmt->text);
	stmt->text = at = calloc(1, total);
	for (unsigned int i = 0; at && i < stmt->columns; i++) {
		make_column(stmt, i, &fields[i], at);
		at += room_of(&fields[i]);
	}
	mysql_free_result(meta);
	return stmt->text ? 0 : -1;
}

static bool read_one(struct rlk_stmt *stmt, unsigned int i,
		     struct rlk_value *ret_value)
{
	const MYSQL_BIND *bind = &stmt->column[i];

	if (stmt->is_null[i])
		return true;
	if (bind->buffer_type == MYSQL_TYPE_LONGLONG) {
		if (stmt->error[i])
			return false;
		ret_value->type = bind->is_unsigned ? RLK_U64 : RLK_I64;
		ret_value->u64 = stmt->cell[i].u64;
	} else {
		char *text = bind->buffer;

		if (stmt->length[i] > bind->buffer_length)
			return false;
		text[stmt->length[i]] = '\0';
		ret_value->type = RLK_TEXT;
		ret_value->text = text;
		ret_value->length = stmt->length[i];
	}
	return true;
}

int rlk_bind_read(struct rlk_stmt *stmt, struct rlk_value *ret_columns)
{
	const struct rlk_value nothing = { .type = RLK_NULL, .text = "" };

	for (unsigned int i = 0; i < RLK_STMT_COLUMNS; i++)
		ret_columns[i] = nothing;
	for (unsigned int i = 0; i < stmt->columns; i++) {
		if (!read_one(stmt, i, &ret_columns[i]))
			return (int) i;
	}
	return -1;
}
