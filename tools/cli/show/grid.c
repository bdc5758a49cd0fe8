/* SPDX-License-Identifier: MIT */
/*
 * See grid.h. A cell that is too long is cut at its end, or at its beginning.
 *
 * Failure modes: out of memory (125); main() checks that stdout could be
 * written.
 */
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "common/report.h"
#include "common/text.h"
#include "show/grid_private.h"
#include "terminal.h"

/* No lock is held while a table is shown. */
static void leave(const struct grid *grid)
{
	report(ROWLOCK_LOG_ERROR,
	       "%s: out of memory: what is shown is not all; give a pattern",
	       grid->command);
	exit(EXIT_FAILED);
}

char *cell_text(const char *text)
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

char *cell_number(uint64_t number)
{
	char *text = NULL;

	if (number == 0)
		return strdup("-");
	return asprintf(&text, "%" PRIu64, number) < 0 ? NULL : text;
}

char *cell_span(const char *head, uint64_t ms, const char *tail)
{
	char text[TEXT_SPAN_SIZE], *result;

	text_span(ms, text);
	return asprintf(&result, "%s%s%s", head, text, tail) < 0 ? NULL
								 : result;
}

/* Returns the number of columns that it took. */
static size_t put_cell(const struct grid *grid, size_t c, const char *text)
{
	size_t own = text_width(text);

	if (grid->limit == 0 || own <= grid->width[c]) {
		fputs(text, grid->out);
		return own;
	}
	text_put_cut(grid->out, text, grid->width[c], grid->columns[c].tail);
	return grid->width[c];
}

static void put_line(const struct grid *grid, const struct grid_line *line)
{
	size_t last = 0;

	for (size_t c = 0; c < grid->count; c++) {
		if (grid->width[c] > 0)
			last = c;
	}
	for (size_t c = 0; c <= last; c++) {
		bool painted =
		    grid->paint && line->colour && c == grid->painted;
		size_t own;

		if (grid->width[c] == 0)
			continue;
		fputs(painted ? line->colour : "", grid->out);
		own = put_cell(grid, c, line->cell[c]);
		fputs(painted ? COLOUR_END : "", grid->out);
		if (c == last)
			break;
		for (; own < grid->width[c] + GRID_GAP; own++)
			fputc(' ', grid->out);
	}
	fputc('\n', grid->out);
}

void grid_init(struct grid *grid, const char *command, bool wide)
{
	const char *no_color = getenv("NO_COLOR");

	*grid = (struct grid){ .command = command, .out = stdout };
	if (isatty(STDOUT_FILENO) != 1)
		return;
	setlocale(LC_CTYPE, "");
	grid->paint = !(no_color && *no_color);
	if (!wide)
		grid->limit = terminal_columns(STDOUT_FILENO);
}

struct grid_line *grid_lines(const struct grid *grid, size_t count)
{
	struct grid_line *lines = calloc(count + 1, sizeof(*lines));

	if (!lines)
		leave(grid);
	return lines;
}

static void begin(struct grid *grid, const struct grid_line *lines,
		  size_t count, bool more)
{
	struct grid_line titles = { .colour = NULL };

	for (size_t c = 0; c < grid->count; c++) {
		grid->width[c] = 0;
		titles.cell[c] = (char *) grid->columns[c].title;
		if (!titles.cell[c])
			continue;
		grid->width[c] = strlen(titles.cell[c]);
		for (size_t i = 0; i < count; i++) {
			size_t own = text_width(lines[i].cell[c]);

			if (own > grid->width[c])
				grid->width[c] = own;
		}
	}
	if (grid->limit > 0)
		grid_fit(grid, more);
	put_line(grid, &titles);
	grid->begun = true;
}

void grid_put(struct grid *grid, struct grid_line *lines, size_t count,
	      bool more)
{
	for (size_t i = 0; i < count; i++)
		for (size_t c = 0; c < grid->count; c++)
			if (!lines[i].cell[c])
				leave(grid);
	if (!grid->begun)
		begin(grid, lines, count, more);
	for (size_t i = 0; i < count; i++)
		put_line(grid, &lines[i]);
	for (size_t i = 0; i < count; i++)
		for (size_t c = 0; c < grid->count; c++)
			free(lines[i].cell[c]);
	free(lines);
}
