/* SPDX-License-Identifier: MIT */
/*
 * The server's tables of locks, for people who want to know who has a row.
 *
 * The row that is locked comes as a text made for people: 'it''s'. It has a '?'
 * for each character that the server cannot show there, such as those of four
 * bytes: a text with a '?' may be one of several names, and is taken for none.
 *
 * Failure modes: an account that may not ask gets an empty list, as if no known
 * transaction had locked anything; without memory there is an error.
 */
#include "strategy/row_holders.h"

#include <stdlib.h>
#include <string.h>

#include "db/stmt.h"
#include "strategy/strategy.h"

static void holder_fini(struct rlk_row_holder *holder)
{
	free(holder->name);
	free(holder->host);
	free(holder->since);
}

void rlk_row_holders_fini(struct rlk_row_holders *holders)
{
	for (size_t i = 0; i < holders->count; i++)
		holder_fini(&holders->list[i]);
	free(holders->list);
	*holders = (struct rlk_row_holders){ .list = NULL };
}

/* The text between the quotes, in which quotes and backslashes are doubled;
 * NULL if there is none, or no memory. */
char *rlk_row_shown_name(const struct rlk_value *shown)
{
	const char *from = shown->text;
	char *name, *to;

	if (shown->length < 2 || *from != '\'' ||
	    from[shown->length - 1] != '\'' || strchr(from, '?'))
		return NULL;
	name = to = malloc(shown->length);
	if (!name)
		return NULL;
	for (from++; from[1]; from++) {
		*to++ = *from;
		if (strchr("'\\", *from) && from[1] == *from && from[2])
			from++;
	}
	*to = '\0';
	return name;
}

/* "10.1.2.3:50412" without its port; an address of IPv6 has more colons. */
char *rlk_shown_host(const struct rlk_value *shown)
{
	const char *text = shown->text;
	const char *colon = strrchr(text, ':');

	return strndup(text, colon ? (size_t) (colon - text) : strlen(text));
}

static bool grow(struct rlk_row_holders *holders)
{
	size_t size = holders->size ? holders->size * 2 : 16;
	struct rlk_row_holder *list;

	if (holders->count < holders->size)
		return true;
	list = reallocarray(holders->list, size, sizeof(*list));
	if (!list)
		return false;
	holders->list = list;
	holders->size = size;
	return true;
}

static void add(const struct rlk_value *columns, void *arg)
{
	struct rlk_row_holders *holders = arg;
	struct rlk_row_holder holder = {
		.name = rlk_row_shown_name(&columns[0]),
		.host = rlk_shown_host(&columns[2]),
		.since = strdup(columns[3].text),
		.held_ms =
		    columns[4].i64 > 0 ? (uint64_t) columns[4].i64 / 1000 : 0,
		.connection = columns[1].u64,
	};

	if (holder.name && holder.host && holder.since && grow(holders)) {
		holders->list[holders->count++] = holder;
		return;
	}
	/* A row that we cannot name may be any. */
	holders->complete = false;
	if (holder.name || !holder.host || !holder.since)
		holders->no_memory = true;
	holder_fini(&holder);
}

/* Does it list all locks? */
static enum rlk_fault ask_whether_all(struct rlk_conn *conn,
				      const struct rlk_stmt_def *ask,
				      bool *ret_all,
				      struct rowlock_errinfo *reterr)
{
	struct rlk_reply reply;
	enum rlk_fault fault = rlk_stmt_give_up(
	    conn, rlk_stmt_run(conn, ask, NULL, &reply, reterr), reterr);

	*ret_all = !fault && reply.has_row && reply.columns[0].i64 == 1;
	return fault;
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct rlk_row_holder *) a)->name,
		      ((const struct rlk_row_holder *) b)->name);
}

enum rlk_fault rlk_row_holders_read(struct rlk_conn *conn,
				    struct rlk_row_holders *ret_holders,
				    struct rowlock_errinfo *reterr)
{
	const struct rlk_dialect *dialect = rlk_conn_dialect(conn);
	enum rlk_fault fault;

	ret_holders->complete = dialect->row_holders_all != NULL;
	fault = rlk_stmt_each(conn, dialect->row_holders, NULL, add,
			      ret_holders, reterr);
	if (!fault && ret_holders->complete)
		fault = ask_whether_all(conn, dialect->row_holders_all,
					&ret_holders->complete, reterr);
	if (fault)
		ret_holders->complete = false;
	if (fault == RLK_REFUSED)
		return RLK_DONE;
	if (ret_holders->no_memory)
		return rlk_fail_memory(reterr);
	if (ret_holders->count > 1)
		qsort(ret_holders->list, ret_holders->count,
		      sizeof(*ret_holders->list), compare);
	return fault;
}

const struct rlk_row_holder *rlk_row_holders_find(
    const struct rlk_row_holders *holders, const char *name)
{
	struct rlk_row_holder key = { .name = (char *) name };

	if (holders->count == 0)
		return NULL;
	return bsearch(&key, holders->list, holders->count, sizeof(key),
		       compare);
}
