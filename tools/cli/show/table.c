/* SPDX-License-Identifier: MIT */
/*
 * A table for people, and for pipes.
 *
 * In a pipe all columns are shown, in full, padded with blanks, and the text is
 * the same in every locale. On a terminal a line fits its width: the most
 * important columns stay (table_fit()), a holder is cut at its beginning, as
 * the host is at its end, and the others at their end. Strategy and kind are
 * one column there: only leases are of several kinds. An empty or unknown field
 * is "-".
 *
 * Failure modes: out of memory (125); main() checks that stdout could be
 * written.
 */
#include "show/table.h"

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "command.h"
#include "common/report.h"
#include "common/text.h"
#include "terminal.h"

/* One line of the table, escaped. */
struct line {
	char *cell[COLUMN_COUNT];
	enum rowlock_state state;
};

struct lines {
	struct line *list;
	size_t count;
};

static const char *const titles[COLUMN_COUNT] = {
	[COLUMN_STRATEGY] = "STRATEGY", [COLUMN_NAME] = "NAME",
	[COLUMN_KIND] = "KIND",         [COLUMN_STATE] = "STATE",
	[COLUMN_HELD] = "HELD",         [COLUMN_EXPIRES] = "EXPIRES",
	[COLUMN_HOLDER] = "HOLDER",     [COLUMN_TOKEN] = "TOKEN",
	[COLUMN_INFO] = "INFO",
};

/* NULL: no such column. */
static const char *const titles_of_waiters[COLUMN_COUNT] = {
	[COLUMN_STRATEGY] = "STRATEGY", [COLUMN_NAME] = "NAME",
	[COLUMN_KIND] = "KIND",         [COLUMN_STATE] = "PLACE",
	[COLUMN_HELD] = "WAITED",       [COLUMN_HOLDER] = "WAITER",
};

static const char *title(const struct table *table, size_t c)
{
	return table->waiters ? titles_of_waiters[c] : titles[c];
}

static void lines_fini(struct lines *lines)
{
	for (size_t i = 0; i < lines->count; i++) {
		for (size_t c = 0; c < COLUMN_COUNT; c++)
			free(lines->list[i].cell[c]);
	}
	free(lines->list);
}

/* No lock is held while a table is shown. */
static void leave(void)
{
	report(ROWLOCK_LOG_ERROR,
	       "list: out of memory: what is shown is not all; give a pattern");
	exit(EXIT_FAILED);
}

static char *escaped(const char *text)
{
	char *result = NULL;
	size_t size;
	FILE *out;

	if (!*text)
		return strdup("-");
	out = open_memstream(&result, &size);
	if (!out)
		return NULL;
	text_escape(out, text, true);
	return fclose(out) == 0 ? result : NULL;
}

static char *span(uint64_t ms, const char *tail)
{
	char text[TEXT_SPAN_SIZE], *result;

	text_span(ms, text);
	return asprintf(&result, "%s%s", text, tail) < 0 ? NULL : result;
}

static char *expires(const struct rowlock_entry *entry)
{
	if (entry->expired_ms > 0)
		return span(entry->expired_ms, " ago");
	if (entry->remaining_ms > 0)
		return span(entry->remaining_ms, "");
	return strdup("-");
}

static char *number(uint64_t value)
{
	char *text = NULL;

	if (value == 0)
		return strdup("-");
	return asprintf(&text, "%" PRIu64, value) < 0 ? NULL : text;
}

static char *holder(const struct rowlock_entry *entry)
{
	/* Program and host have 255 characters at most, as columns. */
	char text[2100];

	entry_holder(entry, text, sizeof(text));
	return escaped(text);
}

static const char *kind(const struct table *table,
			const struct rowlock_entry *entry)
{
	if (table->columns > 0 && entry->kind == ROWLOCK_KIND_LOCK)
		return strategy_word(entry->strategy);
	return kind_word(entry->kind);
}

static bool line_init(struct line *line, const struct table *table,
		      const struct rowlock_entry *entry)
{
	bool holds = *entry->acquired_at != '\0';
	char **cell = line->cell;

	line->state = entry->state;
	cell[COLUMN_STRATEGY] = strdup(strategy_word(entry->strategy));
	cell[COLUMN_NAME] = escaped(entry->name);
	cell[COLUMN_KIND] = strdup(kind(table, entry));
	cell[COLUMN_STATE] = table->waiters ? number(entry->place)
					    : strdup(state_word(entry->state));
	cell[COLUMN_HELD] = holds ? span(entry->held_ms, "") : strdup("-");
	cell[COLUMN_EXPIRES] = expires(entry);
	cell[COLUMN_HOLDER] = holder(entry);
	cell[COLUMN_TOKEN] = number(entry->token);
	cell[COLUMN_INFO] = escaped(entry->info);
	for (size_t c = 0; c < COLUMN_COUNT; c++) {
		if (!cell[c])
			return false;
	}
	return true;
}

static const char *colour(enum rowlock_state state)
{
	switch (state) {
	case ROWLOCK_STATE_HELD:
		return "\033[32m";
	case ROWLOCK_STATE_DEAD:
		return "\033[31m";
	default:
		return "\033[2m";
	}
}

/* Returns the number of columns that it took. */
static size_t put_cell(const struct table *table, enum table_column c,
		       const char *text)
{
	size_t own = text_width(text);

	if (table->columns == 0 || own <= table->width[c]) {
		fputs(text, stdout);
		return own;
	}
	text_put_cut(stdout, text, table->width[c], c == COLUMN_HOLDER);
	return table->width[c];
}

static void put_line(const struct table *table, const char *const *cell,
		     const char *paint)
{
	size_t last = 0;

	for (size_t c = 0; c < COLUMN_COUNT; c++) {
		if (table->width[c] > 0)
			last = c;
	}
	for (size_t c = 0; c <= last; c++) {
		bool painted = paint && c == COLUMN_STATE;
		size_t own;

		if (table->width[c] == 0)
			continue;
		fputs(painted ? paint : "", stdout);
		own = put_cell(table, (enum table_column) c, cell[c]);
		fputs(painted ? "\033[0m" : "", stdout);
		if (c == last)
			break;
		for (; own < table->width[c] + TABLE_GAP; own++)
			putchar(' ');
	}
	putchar('\n');
}

void table_init(struct table *table, bool wide)
{
	const char *no_color = getenv("NO_COLOR");

	*table = (struct table){ .columns = 0 };
	if (isatty(STDOUT_FILENO) != 1)
		return;
	setlocale(LC_CTYPE, "");
	table->paint = !(no_color && *no_color);
	if (!wide)
		table->columns = terminal_columns(STDOUT_FILENO);
}

static void begin(struct table *table, const struct lines *lines, bool more)
{
	for (size_t c = 0; c < COLUMN_COUNT; c++) {
		table->width[c] = 0;
		if (!title(table, c))
			continue;
		table->width[c] = strlen(title(table, c));
		for (size_t i = 0; i < lines->count; i++) {
			size_t own = text_width(lines->list[i].cell[c]);

			if (own > table->width[c])
				table->width[c] = own;
		}
	}
	if (table->columns > 0)
		table_fit(table->width, table->columns, more);
	put_line(table, table->waiters ? titles_of_waiters : titles, NULL);
	table->begun = true;
}

void table_put(struct table *table, const struct entries *block, bool more)
{
	_cleanup_(lines_fini) struct lines lines = { NULL, 0 };

	lines.list = calloc(block->count + 1, sizeof(*lines.list));
	if (!lines.list)
		leave();
	for (size_t i = 0; i < block->count; i++) {
		lines.count++;
		if (!line_init(&lines.list[i], table, &block->list[i]))
			leave();
	}
	if (!table->begun)
		begin(table, &lines, more);
	for (size_t i = 0; i < lines.count; i++)
		put_line(table, (const char *const *) lines.list[i].cell,
			 table->paint ? colour(lines.list[i].state) : NULL);
}
