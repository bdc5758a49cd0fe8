/* SPDX-License-Identifier: MIT */
/*
 * A table that fits a telephone: there each cell is a line of its own. Failure
 * modes: a list that ends early says so above the table.
 */
#include "page.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/terms.h"
#include "common/text.h"

const char page_style[] =
    "body{font:16px/1.4 sans-serif;margin:1em;color:#111;background:#fff;"
    "overflow-wrap:anywhere}\n"
    "h1{font-size:1.3em;margin:0}\n"
    "table{border-collapse:collapse;width:100%}\n"
    "th,td{text-align:left;vertical-align:top;padding:.3em .6em .3em 0;"
    "border-bottom:1px solid #ccc}\n"
    "td:first-child{min-width:10em}\n"
    ".dead,.failed{color:#a00;font-weight:bold}\n"
    "@media(max-width:45em){thead{display:none}"
    "tr{display:block;padding:.5em 0;border-bottom:1px solid #ccc}"
    "td{display:block;border:0;padding:.1em 0}"
    "td:first-child{font-weight:bold}}\n"
    "@media(prefers-color-scheme:dark){body{color:#eee;background:#111}"
    ".dead,.failed{color:#f88}}\n";

static const char page_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
    "<meta http-equiv=\"refresh\" content=\"5\">\n"
    "<title>rowlock</title>\n"
    "<link rel=\"stylesheet\" href=\"style.css\">\n"
    "</head>\n<body>\n<h1>Locks</h1>\n";

static const char page_tail[] = "</body>\n</html>\n";

struct rows {
	FILE *out;
	unsigned int shown;
	bool more;
};

/* Without memory it writes nothing. */
static void put_text(FILE *out, const char *text)
{
	_cleanup_(text_freep) char *safe = NULL;
	size_t size;
	FILE *memory = open_memstream(&safe, &size);

	if (!memory)
		return;
	text_escape(memory, text, false);
	if (fclose(memory) != 0)
		return;
	for (const char *p = safe; *p; p++) {
		switch (*p) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			fputc(*p, out);
		}
	}
}

/* Letters that are written from right to left turn nothing around them. */
static void put_alone(FILE *out, const char *text)
{
	fputs("<bdi>", out);
	put_text(out, text);
	fputs("</bdi>", out);
}

static void put_cell(FILE *out, const char *text)
{
	fputs("<td>", out);
	put_alone(out, text);
	fputs("</td>", out);
}

/* A program that is written from right to left stays before its host. */
static void put_holder(FILE *out, const struct rowlock_entry *entry)
{
	char between[ENTRY_BETWEEN_SIZE];

	fputs("<td>", out);
	put_alone(out, entry->program);
	fputs(entry_between(entry, between), out);
	put_alone(out, entry->host);
	fputs("</td>", out);
}

static void put_until(FILE *out, const struct rowlock_entry *entry)
{
	char span[TEXT_SPAN_SIZE] = "";

	if (entry->state == ROWLOCK_STATE_DEAD && entry->expired_ms > 0) {
		text_span(entry->expired_ms, span);
		fprintf(out, "<td>over for %s</td>", span);
	} else if (entry->state != ROWLOCK_STATE_DEAD &&
		   entry->remaining_ms > 0) {
		text_span(entry->remaining_ms, span);
		fprintf(out, "<td>%s more, if it does not beat</td>", span);
	} else {
		fputs("<td></td>", out);
	}
}

static void put_row(FILE *out, const struct rowlock_entry *entry)
{
	const char *state = state_word(entry->state);
	char span[TEXT_SPAN_SIZE], since[64] = "";

	if (*entry->acquired_at) {
		text_span(entry->held_ms, span);
		snprintf(since, sizeof(since), "%.19s UTC, %s",
			 entry->acquired_at, span);
	}
	fputs("<tr>", out);
	put_cell(out, entry->name);
	fprintf(out, "<td class=\"%s\">%s, %s</td>", state, state,
		entry->kind == ROWLOCK_KIND_LOCK
		    ? strategy_word(entry->strategy)
		    : kind_word(entry->kind));
	put_holder(out, entry);
	put_cell(out, since);
	put_until(out, entry);
	put_cell(out, entry->info);
	fputs("</tr>\n", out);
}

/* A rowlock_list_fn. */
static int see(const struct rowlock_entry *entry, void *arg)
{
	struct rows *rows = arg;

	rows->more = rows->shown == PAGE_ROWS;
	if (rows->more)
		return 1;
	rows->shown++;
	put_row(rows->out, entry);
	return 0;
}

static void put_counts(FILE *out, const struct look *look,
		       const struct classes *classes)
{
	uint64_t counts[LOOK_STATES] = { 0 };

	for (size_t c = 0; c < classes_count(classes); c++)
		for (size_t k = 0; k < LOOK_KINDS; k++)
			for (size_t s = 0; s < LOOK_STATES; s++)
				counts[s] += look->leases[c][k][s].count;
	fprintf(out,
		"<p>%s%" PRIu64 " held, <span class=\"%s\">%" PRIu64
		" dead</span>, %" PRIu64 " client%s",
		look->truncated ? "At least " : "", counts[ROWLOCK_STATE_HELD],
		counts[ROWLOCK_STATE_DEAD] ? "dead" : "none",
		counts[ROWLOCK_STATE_DEAD], look->sessions_live,
		look->sessions_live == 1 ? "" : "s");
	if (look->sees_waiters)
		fprintf(out, ", %" PRIu64 " waiting",
			look->waiters[ROWLOCK_LEASE].count +
			    look->waiters[ROWLOCK_ROW].count);
	fputs("</p>\n", out);
}

static void put_reason(FILE *out, const char *reason)
{
	fputs("<p class=\"failed\">", out);
	put_alone(out, reason);
	fputs("</p>\n", out);
}

void page_put_failure(FILE *out, const char *reason)
{
	fputs(page_head, out);
	put_reason(out, reason);
	fputs(page_tail, out);
}

/* Above the table: nobody scrolls through it to see that it is a part. */
static void put_table(FILE *out, const struct rows *rows, bool part,
		      const char *text)
{
	if (part)
		fprintf(out,
			"<p>This is a part: the first %u row%s in the order of "
			"names. <code>rowlock list</code> shows all.</p>\n",
			rows->shown, rows->shown == 1 ? "" : "s");
	fputs("<table>\n<thead><tr><th>Name</th><th>State</th><th>Holder</th>"
	      "<th>Since</th><th>Until</th><th>Info</th></tr></thead>\n"
	      "<tbody>\n",
	      out);
	fputs(text, out);
	fputs("</tbody>\n</table>\n", out);
}

/* Returns the rows, or NULL without memory. */
static char *list_rows(struct rowlock_client *client, struct rows *rows,
		       int *ret_r, struct rowlock_errinfo *reterr)
{
	struct rowlock_list_options what = ROWLOCK_LIST_OPTIONS_DEFAULT;
	char *text = NULL;
	size_t size;

	rows->out = open_memstream(&text, &size);
	if (!rows->out)
		return NULL;
	what.flags = ROWLOCK_LIST_LEASES;
	*ret_r = rowlock_list(client, &what, see, rows, reterr);
	if (*ret_r == 0 && !rows->more) {
		what.flags = ROWLOCK_LIST_ROWS;
		*ret_r = rowlock_list(client, &what, see, rows, reterr);
	}
	if (fclose(rows->out) == 0)
		return text;
	free(text);
	return NULL;
}

void page_put(FILE *out, const struct look *look, struct rowlock_client *client,
	      const struct classes *classes)
{
	_cleanup_(text_freep) char *text = NULL;
	struct rowlock_errinfo error;
	struct rows rows = { .shown = 0 };
	int r = 0;

	text = list_rows(client, &rows, &r, &error);
	fputs(page_head, out);
	put_counts(out, look, classes);
	if (!text)
		put_reason(out, "out of memory");
	else if (r < 0)
		put_reason(out, error.message);
	else if (rows.shown == 0)
		fputs("<p>Nobody holds anything.</p>\n", out);
	if (text && rows.shown > 0)
		put_table(out, &rows, rows.more || r < 0, text);
	fputs(page_tail, out);
}
