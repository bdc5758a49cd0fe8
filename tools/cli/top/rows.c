/* SPDX-License-Identifier: MIT */
/*
 * Reads holds and waiters, and sorts them.
 *
 * Failure modes: the server's; a list that is too long is cut, and says so.
 */
#include "top/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "common/terms.h"

/* As many as the library asks for at a time. */
#define BLOCK 256

static const char *const sort_words[ROWS_SORTS] = {
	[ROWS_BY_NAME] = "name",       [ROWS_BY_STATE] = "state",
	[ROWS_BY_HELD] = "held",       [ROWS_BY_EXPIRES] = "expires",
	[ROWS_BY_WAITERS] = "waiters", [ROWS_BY_HOST] = "host",
};

const char *rows_sort_word(enum rows_sort sort)
{
	return sort_words[sort];
}

bool rows_sort_of(const char *word, enum rows_sort *ret_sort)
{
	for (size_t i = 0; i < ROWS_SORTS; i++) {
		if (strcmp(word, sort_words[i]) == 0) {
			*ret_sort = (enum rows_sort) i;
			return true;
		}
	}
	return false;
}

/* ---------------------------------------------------------------- reading */

static int keep(const struct rowlock_entry *entry, struct entries *list,
		struct reading *reading)
{
	reading->cut |= list->count == ROWS_MOST;
	if (list->count == ROWS_MOST)
		return 1;
	return entries_add(entry, list);
}

/* A rowlock_list_fn. */
static int see_hold(const struct rowlock_entry *entry, void *arg)
{
	struct reading *reading = arg;

	reading->cut |= reading->seen == ROWS_SEEN_MOST;
	if (reading->seen++ == ROWS_SEEN_MOST)
		return 1;
	if (!reading->all && (entry->state == ROWLOCK_STATE_FREE ||
			      entry->state == ROWLOCK_STATE_UNKNOWN))
		return 0;
	if (keep(entry, &reading->holds, reading))
		return 1;
	/* A newer library may have more states. */
	if ((size_t) entry->state < RLK_ARRAY_SIZE(reading->states))
		reading->states[entry->state]++;
	return 0;
}

/* The same. */
static int see_waiter(const struct rowlock_entry *entry, void *arg)
{
	struct reading *reading = arg;

	return keep(entry, &reading->waiters, reading);
}

int reading_read(struct reading *reading, struct rowlock_client *client,
		 const struct rowlock_list_options *what,
		 struct rowlock_errinfo *reterr)
{
	int r = rowlock_list(client, what, see_hold, reading, reterr);

	reading->result.size = sizeof(reading->result);
	if (r == 0)
		r = rowlock_list_waiters(client, what, see_waiter, reading,
					 &reading->result, reterr);
	if (r < 0)
		return r;
	if (reading->holds.failed || reading->waiters.failed) {
		reterr->code = ROWLOCK_ENOMEM;
		snprintf(reterr->message, sizeof(reterr->message),
			 "top: out of memory after %zu holds on %.200s; give a "
			 "pattern",
			 reading->holds.count, rowlock_client_server(client));
		return ROWLOCK_ENOMEM;
	}
	reading->cut |= reading->holds.full || reading->waiters.full;
	return 0;
}

void reading_fini(struct reading *reading)
{
	entries_fini(&reading->holds);
	entries_fini(&reading->waiters);
}

/* ---------------------------------------------------------------- waiters */

/* The kind of the waiters behind a hold of @kind. */
static enum rowlock_kind line_of(enum rowlock_kind kind)
{
	switch (kind) {
	case ROWLOCK_KIND_WRITER:
	case ROWLOCK_KIND_READER:
		return ROWLOCK_KIND_RWLOCK;
	default:
		return kind;
	}
}

static int compare_lines(const void *a, const void *b)
{
	const struct rowlock_entry *one = a, *two = b;
	enum rowlock_kind first = line_of(one->kind),
			  second = line_of(two->kind);

	if (one->strategy != two->strategy)
		return one->strategy < two->strategy ? -1 : 1;
	if (first != second)
		return first < second ? -1 : 1;
	return strcmp(one->name, two->name);
}

/* How many of the waiters, which are sorted, come before @entry's line; or
 * before and in it. */
static size_t before(const struct entries *waiters,
		     const struct rowlock_entry *entry, bool and_in)
{
	size_t low = 0, high = waiters->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = compare_lines(&waiters->list[middle], entry);

		if (order < 0 || (and_in && order == 0))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ------------------------------------------------------------------- rows */

static bool matches(const struct rowlock_entry *entry, const char *filter)
{
	char holder[2100];

	if (!*filter || strcasestr(entry->name, filter) ||
	    strcasestr(entry->info, filter))
		return true;
	entry_holder(entry, holder, sizeof(holder));
	return strcasestr(holder, filter) != NULL;
}

/* First what needs a look: the dead, the oldest, the next to expire, those for
 * which most wait. Not known is last. */
static uint64_t rank_of(const struct row *row, enum rows_sort sort)
{
	static const unsigned char states[] = {
		[ROWLOCK_STATE_DEAD] = 0,    [ROWLOCK_STATE_KEPT] = 1,
		[ROWLOCK_STATE_HELD] = 2,    [ROWLOCK_STATE_WAITING] = 3,
		[ROWLOCK_STATE_UNKNOWN] = 4, [ROWLOCK_STATE_FREE] = 5,
	};
	const struct rowlock_entry *entry = row->entry;

	switch (sort) {
	case ROWS_BY_STATE:
		return (size_t) entry->state < RLK_ARRAY_SIZE(states)
			   ? states[entry->state]
			   : states[ROWLOCK_STATE_UNKNOWN];
	case ROWS_BY_HELD:
		return *entry->acquired_at ? UINT64_MAX - 1 - entry->held_ms
					   : UINT64_MAX;
	case ROWS_BY_EXPIRES:
		if (entry->state == ROWLOCK_STATE_DEAD)
			return 0;
		return entry->remaining_ms ? entry->remaining_ms : UINT64_MAX;
	case ROWS_BY_WAITERS:
		return UINT64_MAX - row->waiting;
	default:
		return 0;
	}
}

static int compare(const void *a, const void *b)
{
	const struct row *one = a, *two = b;
	int order;

	if (one->rank != two->rank)
		return one->rank < two->rank ? -1 : 1;
	order = strcmp(one->text, two->text);
	if (order != 0)
		return order;
	return one->place < two->place ? -1 : one->place > two->place;
}

static void turn(struct rows *rows)
{
	for (size_t i = 0; i < rows->count / 2; i++) {
		struct row *other = &rows->list[rows->count - 1 - i];
		struct row row = rows->list[i];

		rows->list[i] = *other;
		*other = row;
	}
}

bool rows_make(struct rows *rows, struct reading *reading,
	       const struct rows_view *view)
{
	const struct entries *waiters = &reading->waiters;

	rows->count = 0;
	free(rows->list);
	rows->list = calloc(reading->holds.count + 1, sizeof(*rows->list));
	if (!rows->list)
		return false;
	if (waiters->count > 0)
		qsort(waiters->list, waiters->count, sizeof(*waiters->list),
		      compare_lines);
	for (size_t i = 0; i < reading->holds.count; i++) {
		const struct rowlock_entry *entry = &reading->holds.list[i];
		struct row *row = &rows->list[rows->count];

		if (!matches(entry, view->filter))
			continue;
		*row = (struct row){
			.entry = entry,
			.waiting = before(waiters, entry, true) -
				   before(waiters, entry, false),
			.text = view->sort == ROWS_BY_HOST ? entry->host
							   : entry->name,
			.place = i,
		};
		row->rank = rank_of(row, view->sort);
		rows->count++;
	}
	qsort(rows->list, rows->count, sizeof(*rows->list), compare);
	if (view->reverse)
		turn(rows);
	return true;
}

void rows_fini(struct rows *rows)
{
	free(rows->list);
}

void rows_put(const struct rows *rows, size_t first, size_t count,
	      struct table *table)
{
	struct rowlock_entry list[BLOCK];
	uint64_t waiting[BLOCK];
	struct entries block = { .list = list };

	table->waiting = waiting;
	do {
		for (block.count = 0;
		     block.count < count && block.count < BLOCK;
		     block.count++) {
			const struct row *row =
			    &rows->list[first + block.count];

			list[block.count] = *row->entry;
			waiting[block.count] = row->waiting;
		}
		first += block.count;
		count -= block.count;
		table_put(table, &block, count > 0);
	} while (count > 0);
}

void rows_head(const struct reading *reading, char *ret_head)
{
	char kept[40] = "";

	if (reading->states[ROWLOCK_STATE_KEPT] > 0)
		snprintf(kept, sizeof(kept), ", %" PRIu64 " kept",
			 reading->states[ROWLOCK_STATE_KEPT]);
	snprintf(ret_head, ROWS_HEAD_SIZE,
		 "%s%" PRIu64 " held, %" PRIu64 " dead%s, %zu waiting%s",
		 reading->cut ? "at least " : "",
		 reading->states[ROWLOCK_STATE_HELD],
		 reading->states[ROWLOCK_STATE_DEAD], kept,
		 reading->waiters.count,
		 *reading->result.incomplete ? " or more" : "");
}
