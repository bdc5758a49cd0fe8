/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_REPORT_H
#define TOOLS_REPORT_H

/*
 * The tools' messages on stderr: one line at a time, in one write, with
 * everything escaped that could steer a terminal or forge a second line.
 */

#include <rowlock.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/macro.h"
#include "journal.h"

/** How a line begins. If stderr goes to systemd's journal, a priority comes
 *  first, and the journal dates it: "<3>rowlock: message", "<3>message". */
enum report_style {
	REPORT_PLAIN, /* "rowlock: message" */
	REPORT_DATED, /* "2026-11-20T12:00:00Z rowlock-reaperd[7]: message" */
};

/** Call this first: also makes sure that descriptors 0 to 2 are open, if need
 *  be on /dev/null. @program is kept, not copied. */
void report_init(const char *program, enum report_style style);

/** The priority that begins a line of @level for the journal, "<3>"; else "".
 *  Static. */
const char *report_priority(enum rowlock_log_level level);

/** One line, without its newline. Any thread. Does not wait for whoever reads
 *  stderr: a line that finds no room is written when there is some, before the
 *  next one. */
void report(enum rowlock_log_level level, const char *format, ...)
    RLK_PRINTF(2, 3);

/** report() for @event of the lock @name, which may be NULL. Where stderr leads
 *  to systemd's journal, it is an entry with fields. */
void report_event(enum journal_event event, const char *name,
		  enum rowlock_log_level level, const char *format, ...)
    RLK_PRINTF(4, 5);

/**
 * Write a line on a terminal of @columns that stays until the next one, or
 * report(), replaces it; an empty one removes it. Only one thread may write
 * such lines.
 */
void report_for_now(size_t columns, const char *format, ...) RLK_PRINTF(2, 3);

/** Remove the line of report_for_now(). Signal handlers may call it. */
void report_interrupted(void);

/** Write what found no room; wait a moment for that. exit() does so by itself;
 *  to be called before _exit(). */
void report_flush(void);

/** report() as a rowlock_log_fn. */
void report_log(enum rowlock_log_level level, const char *message, void *arg);

#endif
