/* SPDX-License-Identifier: MIT */
/*
 * How entries are shown: a table, lines, JSON.
 *
 * The table's columns are padded with blanks; colours and the terminal's own
 * idea of width are used on a terminal only, so that a pipe sees the same text
 * in every locale. An empty field is "-". Failure modes: out of memory (125);
 * main() looks whether stdout could be written.
 */
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
#include "entries.h"

#define COLUMNS 9

/* One line of the table, escaped. */
struct line {
	char *cell[COLUMNS];
};

struct lines {
	struct line *list;
	size_t count;
};

static const char *const titles[COLUMNS] = {
	"STRATEGY", "NAME",   "KIND",  "STATE", "HELD",
	"EXPIRES",  "HOLDER", "TOKEN", "INFO",
};

static void lines_fini(struct lines *lines)
{
	for (size_t i = 0; i < lines->count; i++) {
		for (size_t c = 0; c < COLUMNS; c++)
			free(lines->list[i].cell[c]);
	}
	free(lines->list);
}

/* Only the command that shows is running: nothing is held. */
static void leave(void)
{
	report(ROWLOCK_LOG_ERROR, "list: out of memory");
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

/* 0.250s, 12.0s, 4m05s, 3h20m, 2d03h: three digits that matter. */
static char *span(uint64_t ms)
{
	uint64_t s = ms / 1000;
	char *text = NULL;
	int n;

	if (s < 60)
		n = asprintf(&text, "%" PRIu64 ".%01us", s,
			     (unsigned int) (ms % 1000 / 100));
	else if (s < 3600)
		n = asprintf(&text, "%" PRIu64 "m%02us", s / 60,
			     (unsigned int) (s % 60));
	else if (s < 86400)
		n = asprintf(&text, "%" PRIu64 "h%02um", s / 3600,
			     (unsigned int) (s / 60 % 60));
	else
		n = asprintf(&text, "%" PRIu64 "d%02uh", s / 86400,
			     (unsigned int) (s / 3600 % 24));
	return n < 0 ? NULL : text;
}

static char *number(uint64_t value)
{
	char *text = NULL;

	if (value == 0)
		return strdup("-");
	return asprintf(&text, "%" PRIu64, value) < 0 ? NULL : text;
}

/* "program[pid]@host", as far as known. */
static char *holder(const struct rowlock_entry *entry)
{
	_cleanup_(text_freep) char *text = NULL;

	if (!*entry->host && !*entry->program && entry->pid == 0)
		return strdup("-");
	if (asprintf(&text, "%s[%u]@%s", entry->program, entry->pid,
		     entry->host) < 0) {
		text = NULL;
		return NULL;
	}
	return escaped(text);
}

static bool holds(const struct rowlock_entry *entry)
{
	return *entry->acquired_at != '\0';
}

static bool line_init(struct line *line, const struct rowlock_entry *entry)
{
	char **cell = line->cell;

	cell[0] = strdup(strategy_word(entry->strategy));
	cell[1] = escaped(entry->name);
	cell[2] = strdup(kind_word(entry->kind));
	cell[3] = strdup(state_word(entry->state));
	cell[4] = holds(entry) ? span(entry->held_ms) : strdup("-");
	cell[5] =
	    entry->remaining_ms > 0 ? span(entry->remaining_ms) : strdup("-");
	cell[6] = holder(entry);
	cell[7] = number(entry->token);
	cell[8] = escaped(entry->info);
	for (size_t c = 0; c < COLUMNS; c++) {
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

static void put_cell(const char *text, size_t width, const char *paint)
{
	size_t own = text_width(text);

	printf("%s%s%s", paint ? paint : "", text, paint ? "\033[0m" : "");
	for (; own < width; own++)
		putchar(' ');
}

static void put_line(const char *const *cell, const size_t *width,
		     const char *paint)
{
	for (size_t c = 0; c < COLUMNS; c++) {
		bool last = c == COLUMNS - 1;

		put_cell(cell[c], last ? 0 : width[c], c == 3 ? paint : NULL);
		fputs(last ? "\n" : "  ", stdout);
	}
}

void entries_put_table(const struct entries *entries)
{
	_cleanup_(lines_fini) struct lines lines = { NULL, 0 };
	bool terminal = isatty(STDOUT_FILENO) == 1;
	const char *no_color = getenv("NO_COLOR");
	bool paint = terminal && !(no_color && *no_color);
	size_t width[COLUMNS];

	if (terminal)
		setlocale(LC_CTYPE, "");
	lines.list = calloc(entries->count + 1, sizeof(*lines.list));
	if (!lines.list)
		leave();
	for (size_t c = 0; c < COLUMNS; c++)
		width[c] = strlen(titles[c]);
	for (size_t i = 0; i < entries->count; i++) {
		lines.count++;
		if (!line_init(&lines.list[i], &entries->list[i]))
			leave();
		for (size_t c = 0; c < COLUMNS; c++) {
			size_t own = text_width(lines.list[i].cell[c]);

			width[c] = own > width[c] ? own : width[c];
		}
	}
	put_line(titles, width, NULL);
	for (size_t i = 0; i < entries->count; i++)
		put_line((const char *const *) lines.list[i].cell, width,
			 paint ? colour(entries->list[i].state) : NULL);
}

static void put_field(const char *key, const char *value)
{
	printf("%-10s ", key);
	text_escape(stdout, *value ? value : "-", true);
	putchar('\n');
}

void entry_put_lines(const struct rowlock_entry *entry)
{
	put_field("name:", entry->name);
	put_field("strategy:", strategy_word(entry->strategy));
	put_field("kind:", kind_word(entry->kind));
	printf("%-10s %u\n", "slot:", entry->slot);
	put_field("state:", state_word(entry->state));
	put_field("info:", entry->info);
	put_field("host:", entry->host);
	printf("%-10s %u\n", "pid:", entry->pid);
	put_field("program:", entry->program);
	put_field("acquired:", entry->acquired_at);
	printf("%-10s %" PRIu64 " ms\n", "held:", entry->held_ms);
	printf("%-10s %" PRIu64 " ms\n", "expires:", entry->remaining_ms);
	printf("%-10s %" PRIu64 "\n", "session:", entry->session);
	printf("%-10s %" PRIu64 "\n", "attempt:", entry->attempt);
	printf("%-10s %" PRIu64 "\n", "token:", entry->token);
}

/* "2026-11-20 12:00:00.000000" (UTC) as RFC 3339 writes it; null if unknown. */
static void put_json_time(const char *text)
{
	if (!*text) {
		fputs("null", stdout);
		return;
	}
	putchar('"');
	for (; *text; text++) {
		if (*text == ' ')
			putchar('T');
		else if (strchr("0123456789-:.", *text))
			putchar(*text);
	}
	fputs("Z\"", stdout);
}

static void put_json_text(const char *key, const char *value)
{
	printf(",\"%s\":", key);
	text_json(stdout, value);
}

/* Session and attempt use all 64 bits, and many readers of JSON keep 53: they
 * are text. The token counts microseconds and stays below 2^53 until 2255. */
static void put_json_entry(const struct rowlock_entry *entry)
{
	fputs("{\"name\":", stdout);
	text_json(stdout, entry->name);
	put_json_text("strategy", strategy_word(entry->strategy));
	put_json_text("kind", kind_word(entry->kind));
	printf(",\"slot\":%u", entry->slot);
	put_json_text("state", state_word(entry->state));
	put_json_text("info", entry->info);
	put_json_text("host", entry->host);
	printf(",\"pid\":%u", entry->pid);
	put_json_text("program", entry->program);
	fputs(",\"acquired_at\":", stdout);
	put_json_time(entry->acquired_at);
	printf(",\"held_ms\":%" PRIu64 ",\"remaining_ms\":%" PRIu64
	       ",\"session\":\"%" PRIu64 "\",\"attempt\":\"%" PRIu64
	       "\",\"token\":%" PRIu64 "}",
	       entry->held_ms, entry->remaining_ms, entry->session,
	       entry->attempt, entry->token);
}

void entries_put_json(const struct entries *entries)
{
	putchar('[');
	for (size_t i = 0; i < entries->count; i++) {
		fputs(i == 0 ? "\n" : ",\n", stdout);
		put_json_entry(&entries->list[i]);
	}
	fputs(entries->count ? "\n]\n" : "]\n", stdout);
}
