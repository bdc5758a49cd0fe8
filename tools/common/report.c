/* SPDX-License-Identifier: MIT */
/*
 * Messages for people and for the journal.
 *
 * A message is formatted, translated to the command line's words if it is the
 * library's, escaped, and written in one piece, so that lines of several
 * threads do not mix. Failure modes: without memory the line is dropped; a
 * closed stderr is ignored; a stderr that nobody reads gets its lines later
 * (outbox.h). None may end, or hold up, a program that holds a lock.
 */
#include "report.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "journal.h"
#include "outbox.h"
#include "text.h"
#include "words.h"

/* How long the end of the program waits for a reader of what is left. */
#define FLUSH_MS 500

static const char *report_program = "rowlock";
static enum report_style report_how = REPORT_PLAIN;
static bool is_for_journal;

/* A program that was started with stdin, stdout or stderr closed would get its
 * next pipe or socket as one of them, and messages would go there. */
static void fill_standard_descriptors(void)
{
	/* In their order: open() takes the first that is free. A missing stdout
	 * stays one that cannot be written. */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null",
			     fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
	}
}

void report_init(const char *program, enum report_style style)
{
	fill_standard_descriptors();
	report_program = program;
	report_how = style;
	is_for_journal = journal_is_stderr();
	outbox_init();
	atexit(report_flush);
}

const char *report_priority(enum rowlock_log_level level)
{
	return is_for_journal ? journal_head(level) : "";
}

static void put_head(FILE *out, enum rowlock_log_level level)
{
	char date[32];
	time_t now;
	struct tm tm;

	fputs(report_priority(level), out);
	switch (report_how) {
	case REPORT_DATED:
		if (is_for_journal)
			return;
		now = time(NULL);
		gmtime_r(&now, &tm);
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
		fprintf(out, "%s %s[%d]: ", date, report_program,
			(int) getpid());
		return;
	case REPORT_PLAIN:
		fprintf(out, "%s: ", report_program);
		return;
	}
}

/* Returns NULL if memory is out: then print the library's words. */
static char *in_our_words(const char *message)
{
	char *said = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&said, &size);

	if (!out)
		return NULL;
	words_put(out, message);
	if (fclose(out) == 0)
		return said;
	free(said);
	return NULL;
}

/* Columns that report_for_now() has written on, or is about to. */
static atomic_size_t line_for_now;

/* Blanks, as a terminal may lack control sequences. */
static void put_blanks(FILE *out, size_t columns)
{
	if (columns > 0)
		fprintf(out, "\r%*s\r", (int) columns, "");
}

static void wipe(FILE *out)
{
	put_blanks(out, atomic_exchange(&line_for_now, 0));
}

/* Lines for which there was no room any more. */
static atomic_uint left_out;

static void put_left_out(FILE *out, unsigned int lines)
{
	if (lines == 0)
		return;
	put_head(out, ROWLOCK_LOG_WARNING);
	fprintf(out, "%u messages are missing here: nobody read stderr\n",
		lines);
}

void report_flush(void)
{
	_cleanup_(text_freep) char *line = NULL;
	size_t size = 0;
	FILE *out;

	outbox_flush(FLUSH_MS);
	out = open_memstream(&line, &size);
	if (!out)
		return;
	put_left_out(out, atomic_exchange(&left_out, 0));
	if (fclose(out) == 0)
		outbox_put(line, size);
}

static void put_line(enum rowlock_log_level level, const char *message)
{
	_cleanup_(text_freep) char *said = in_our_words(message);
	_cleanup_(text_freep) char *line = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&line, &size);
	unsigned int missing = atomic_exchange(&left_out, 0);

	if (!out)
		return;
	wipe(out);
	put_left_out(out, missing);
	put_head(out, level);
	text_escape(out, said ? said : message, false);
	fputc('\n', out);
	if (fclose(out) == 0 && !outbox_put(line, size))
		atomic_fetch_add(&left_out, missing + 1);
}

/* The last column stays free: some terminals go on to the next line there. */
static void put_for_now(size_t columns, const char *message)
{
	_cleanup_(text_freep) char *line = NULL;
	_cleanup_(text_freep) char *whole = NULL;
	size_t size = 0, width;
	FILE *out;

	/* The next one tells more. */
	if (!outbox_is_empty())
		return;
	out = open_memstream(&line, &size);
	if (!out)
		return;
	text_escape(out, message, false);
	if (fclose(out) != 0)
		return;
	width = text_width(line);
	out = open_memstream(&whole, &size);
	if (!out)
		return;
	put_blanks(out, atomic_load(&line_for_now));
	if (width < columns)
		fputs(line, out);
	else
		text_put_cut(out, line, columns - 1, false);
	if (fclose(out) != 0)
		return;
	/* A signal may come in between. */
	atomic_store(&line_for_now, columns - 1);
	outbox_put(whole, size);
	atomic_store(&line_for_now, width < columns ? width : columns - 1);
}

void report_for_now(size_t columns, const char *format, ...)
{
	_cleanup_(text_freep) char *message = NULL;
	va_list args;

	va_start(args, format);
	message = text_format(format, args);
	va_end(args);
	if (!message)
		return;
	if (*message && columns > 1) {
		put_for_now(columns, message);
	} else {
		_cleanup_(text_freep) char *blanks = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&blanks, &size);

		if (!out)
			return;
		wipe(out);
		if (fclose(out) == 0)
			outbox_put(blanks, size);
	}
}

void report_interrupted(void)
{
	static const char blanks[] = "\r                                ";
	size_t columns = atomic_exchange(&line_for_now, 0);

	if (columns == 0)
		return;
	outbox_put_now(blanks, 1);
	for (size_t n; columns > 0; columns -= n) {
		n = columns < sizeof(blanks) - 2 ? columns : sizeof(blanks) - 2;
		outbox_put_now(blanks + 1, n);
	}
	outbox_put_now(blanks, 1);
}

void report(enum rowlock_log_level level, const char *format, ...)
{
	_cleanup_(text_freep) char *message = NULL;
	va_list args;

	va_start(args, format);
	message = text_format(format, args);
	va_end(args);
	if (message)
		put_line(level, message);
}

void report_event(enum journal_event event, const char *name,
		  enum rowlock_log_level level, const char *format, ...)
{
	_cleanup_(text_freep) char *message = NULL, *said = NULL;
	va_list args;

	va_start(args, format);
	message = text_format(format, args);
	va_end(args);
	if (!message)
		return;
	said = is_for_journal ? in_our_words(message) : NULL;
	if (!said || !journal_send(event, level, report_program, name, said))
		put_line(level, message);
}

void report_log(enum rowlock_log_level level, const char *message, void *arg)
{
	(void) arg;
	put_line(level, message);
}
