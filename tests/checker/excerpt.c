// SPDX-License-Identifier: MIT
/*
 * The lines that show a violation. A hold remembers only where its first line
 * is; the others are looked up again from there, as violations are rare.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rowlock.h>

#include "run.h"

#define MOST_LINES                                                             \
	(sizeof(((struct check_excerpt *) 0)->lines) /                         \
	 sizeof(((struct check_excerpt *) 0)->lines[0]))

void excerpt_add_line(struct check_excerpt *excerpt,
		      const struct history_line *line)
{
	size_t i;

	for (i = 0; i < excerpt->n; i++)
		if (excerpt->lines[i].text == line->text)
			return;
	if (!line->text || excerpt->n == MOST_LINES)
		return;
	excerpt->lines[excerpt->n].text = line->text;
	excerpt->lines[excerpt->n++].length = line->length;
}

/* The end of the text that @at lies in. */
static const char *end_of(const struct run *run, const char *at)
{
	const char *end = NULL;
	size_t i;

	for (i = 0; i < run->n_ends; i++)
		if (run->ends[i] > at && (!end || run->ends[i] < end))
			end = run->ends[i];
	return end;
}

/* Step to the next line of @hold; false at the end of the text. */
static bool next_line(const struct hold *hold, const char **at, const char *end,
		      struct history_line *ret_line)
{
	const char *newline;

	while (*at < end &&
	       (newline = memchr(*at, '\n', (size_t) (end - *at)))) {
		bool good =
		    history_parse(*at, (size_t) (newline - *at), ret_line);

		*at = newline + 1;
		if (good && ret_line->process == hold->process &&
		    ret_line->thread == hold->thread &&
		    ret_line->serial == hold->serial)
			return true;
	}
	return false;
}

void excerpt_add(const struct run *run, struct check_excerpt *excerpt,
		 const struct hold *hold, enum history_event event,
		 uint64_t time)
{
	const char *at = hold->text, *end = end_of(run, at);
	struct history_line line;

	while (next_line(hold, &at, end, &line))
		if (line.event == event && line.time == time) {
			excerpt_add_line(excerpt, &line);
			return;
		}
}

void excerpt_add_call(const struct run *run, struct check_excerpt *excerpt,
		      const struct hold *hold, enum history_event event,
		      uint64_t time)
{
	const char *at = hold->text, *end = end_of(run, at);
	struct history_line line, call = { .text = NULL };

	while (next_line(hold, &at, end, &line)) {
		if (line.event == event && line.time == time) {
			excerpt_add_line(excerpt, &call);
			excerpt_add_line(excerpt, &line);
			return;
		}
		if (line.event != HISTORY_LOST && line.event != HISTORY_HELD)
			call = line;
	}
}

static bool ends_a_proof(enum history_event event)
{
	return event == HISTORY_DREW || event == HISTORY_VERIFIED ||
	       event == HISTORY_RELEASED;
}

void excerpt_add_proof(const struct run *run, struct check_excerpt *excerpt,
		       const struct hold *hold, uint64_t time, uint64_t slack)
{
	const char *at = hold->text, *end = end_of(run, at);
	struct history_line line, call = { .text = NULL }, last[2];
	bool found = false;

	while (next_line(hold, &at, end, &line)) {
		if (line.event == HISTORY_HELD && line.yes &&
		    line.time >= time + slack) {
			excerpt_add_line(excerpt, &line);
			return;
		}
		if (!found && ends_a_proof(line.event) && !line.code &&
		    call.text && call.time >= time &&
		    call.time <= hold->proved) {
			last[0] = call;
			last[1] = line;
			found = true;
		}
		if (line.event != HISTORY_LOST && line.event != HISTORY_HELD)
			call = line;
	}
	if (!found)
		return;
	excerpt_add_line(excerpt, &last[0]);
	excerpt_add_line(excerpt, &last[1]);
}

void excerpt_add_denial(const struct run *run, struct check_excerpt *excerpt,
			const struct hold *hold, uint64_t time)
{
	const char *at = hold->text, *end = end_of(run, at);
	struct history_line line, call = { .text = NULL };

	while (next_line(hold, &at, end, &line)) {
		if (line.time == time &&
		    (line.event == HISTORY_LOST ||
		     (line.event == HISTORY_HELD && !line.yes) ||
		     line.code == ROWLOCK_ELOST)) {
			if (line.code)
				excerpt_add_line(excerpt, &call);
			excerpt_add_line(excerpt, &line);
			return;
		}
		if (line.event != HISTORY_LOST && line.event != HISTORY_HELD)
			call = line;
	}
}

static int by_time(const void *left, const void *right)
{
	uint64_t a = strtoull(*(const char *const *) left, NULL, 10);
	uint64_t b = strtoull(*(const char *const *) right, NULL, 10);

	return a < b ? -1 : a > b;
}

bool run_wants(const struct run *run, enum check_kind kind)
{
	return run->rules->report &&
	       run->result->violations[kind] < run->rules->most;
}

void run_report(struct run *run, enum check_kind kind,
		struct check_excerpt *excerpt, const char *format, ...)
{
	bool wanted = run_wants(run, kind);
	char what[512];
	va_list args;

	run->result->violations[kind]++;
	if (!wanted)
		return;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	/* Text first in each: what it points to begins with its time. */
	qsort(excerpt->lines, excerpt->n, sizeof(excerpt->lines[0]), by_time);
	run->rules->report(kind, what, excerpt, run->rules->arg);
}
