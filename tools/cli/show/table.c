/* SPDX-License-Identifier: MIT */
/*
 * A table of entries.
 *
 * On a terminal the most important columns stay: the holder and the name matter
 * most. A holder is cut at its beginning, as the host is at its end, and the
 * others at their end. Strategy and kind are one column there: only leases are
 * of several kinds. Failure modes: those of grid.h.
 */
#include "show/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "command.h"

enum column {
	COLUMN_STRATEGY,
	COLUMN_NAME,
	COLUMN_KIND,
	COLUMN_STATE,
	COLUMN_HELD,
	COLUMN_EXPIRES,
	COLUMN_WAITERS,
	COLUMN_HOLDER,
	COLUMN_TOKEN,
	COLUMN_INFO,
	COLUMN_COUNT,
};

/* The widest: "candidate", "waiting", "12h34m ago". */
static const struct grid_column of_entries[COLUMN_COUNT] = {
	[COLUMN_STRATEGY] = { "STRATEGY", 0, false },
	[COLUMN_NAME] = { "NAME", 0, false },
	[COLUMN_KIND] = { "KIND", 9, false },
	[COLUMN_STATE] = { "STATE", 7, false },
	[COLUMN_HELD] = { "HELD", 6, false },
	[COLUMN_EXPIRES] = { "EXPIRES", 10, false },
	[COLUMN_HOLDER] = { "HOLDER", 0, true },
	[COLUMN_TOKEN] = { "TOKEN", 16, false },
	[COLUMN_INFO] = { "INFO", 0, false },
};

static const struct grid_column of_waiters[COLUMN_COUNT] = {
	[COLUMN_STRATEGY] = { "STRATEGY", 0, false },
	[COLUMN_NAME] = { "NAME", 0, false },
	[COLUMN_KIND] = { "KIND", 9, false },
	[COLUMN_STATE] = { "PLACE", 7, false },
	[COLUMN_HELD] = { "WAITED", 6, false },
	[COLUMN_HOLDER] = { "WAITER", 0, true },
};

/* A shorter part of a name, a holder or an info is useless; the last steps are
 * for terminals on which nothing else helps. */
static const struct grid_step steps[] = {
	{ COLUMN_TOKEN, 0 },   { COLUMN_INFO, 12 },   { COLUMN_INFO, 0 },
	{ COLUMN_HOLDER, 16 }, { COLUMN_NAME, 16 },   { COLUMN_KIND, 0 },
	{ COLUMN_EXPIRES, 0 }, { COLUMN_WAITERS, 0 }, { COLUMN_HELD, 0 },
	{ COLUMN_HOLDER, 6 },  { COLUMN_NAME, 6 },
};

void table_init(struct table *table, enum table_of of, bool wide)
{
	struct grid *grid = &table->grid;

	grid_init(grid, of == TABLE_WATCHED ? "top" : "list", wide);
	memcpy(grid->columns, of == TABLE_WAITERS ? of_waiters : of_entries,
	       sizeof(of_entries));
	if (of == TABLE_WATCHED) {
		grid->columns[COLUMN_WAITERS].title = "WAITERS";
		grid->columns[COLUMN_TOKEN].title = NULL;
	}
	if (grid->limit > 0)
		grid->columns[COLUMN_STRATEGY].title = NULL;
	grid->count = COLUMN_COUNT;
	grid->steps = steps;
	grid->step_count = RLK_ARRAY_SIZE(steps);
	grid->elastic = COLUMN_NAME;
	grid->painted = COLUMN_STATE;
	table->of = of;
	table->waiting = NULL;
}

static char *expires(const struct rowlock_entry *entry)
{
	if (entry->expired_ms > 0)
		return cell_span("", entry->expired_ms, " ago");
	if (entry->remaining_ms > 0)
		return cell_span("", entry->remaining_ms, "");
	return strdup("-");
}

static char *holder(const struct rowlock_entry *entry)
{
	/* Program and host have 255 characters at most, as columns. */
	char text[2100];

	entry_holder(entry, text, sizeof(text));
	return cell_text(text);
}

static const char *kind(const struct table *table,
			const struct rowlock_entry *entry)
{
	if (table->grid.limit > 0 && entry->kind == ROWLOCK_KIND_LOCK)
		return strategy_word(entry->strategy);
	return kind_word(entry->kind);
}

static const char *colour(enum rowlock_state state)
{
	switch (state) {
	case ROWLOCK_STATE_HELD:
		return COLOUR_GOOD;
	case ROWLOCK_STATE_DEAD:
		return COLOUR_BAD;
	default:
		return COLOUR_DIM;
	}
}

static void fill(struct grid_line *line, const struct table *table,
		 const struct rowlock_entry *entry, uint64_t waiting)
{
	bool holds = *entry->acquired_at != '\0';
	char **cell = line->cell;

	line->colour = colour(entry->state);
	cell[COLUMN_STRATEGY] = strdup(strategy_word(entry->strategy));
	cell[COLUMN_NAME] = cell_text(entry->name);
	cell[COLUMN_KIND] = strdup(kind(table, entry));
	cell[COLUMN_STATE] = table->of == TABLE_WAITERS
				 ? cell_number(entry->place)
				 : strdup(state_word(entry->state));
	cell[COLUMN_HELD] =
	    holds ? cell_span("", entry->held_ms, "") : strdup("-");
	cell[COLUMN_EXPIRES] = expires(entry);
	cell[COLUMN_WAITERS] = cell_number(waiting);
	cell[COLUMN_HOLDER] = holder(entry);
	cell[COLUMN_TOKEN] = cell_number(entry->token);
	cell[COLUMN_INFO] = cell_text(entry->info);
}

void table_put(struct table *table, const struct entries *block, bool more)
{
	struct grid_line *lines = grid_lines(&table->grid, block->count);

	for (size_t i = 0; i < block->count; i++)
		fill(&lines[i], table, &block->list[i],
		     table->waiting ? table->waiting[i] : 0);
	grid_put(&table->grid, lines, block->count, more);
}
