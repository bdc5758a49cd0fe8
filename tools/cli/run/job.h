/* SPDX-License-Identifier: MIT */
#ifndef CLI_JOB_H
#define CLI_JOB_H

/*
 * A command that is to succeed once per window of time (rowlock/once.h): its
 * part of the command line, and its begin and end.
 */

#include <rowlock/mysql.h>
#include <rowlock/once.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/signals.h"
#include "run/window.h"

/** Exit codes above are rowlock's own, or tell of a signal. */
#define JOB_CODE_MOST 123

struct job {
	struct window window; /* of no kind: it is not bound to one */
	const char *per;      /* the options' texts; NULL: not given */
	const char *zone;
	const char *offset;
	const char *retries;
	const char *keep;
	const char *success_codes;
	const char *done_code_text;
	uint64_t most;           /* runs of a window; 0: any number */
	uint64_t kept;           /* runs of each kind; 0: as the library does */
	unsigned int done_code;  /* exit with it if there is nothing to do */
	struct signals *signals; /* one ends the tries to note its end */
	bool succeeds[JOB_CODE_MOST + 1]; /* an exit code is a success */
	bool guarded; /* only what its own transaction notes is one */

	/* Private. */
	struct rowlock_run run;
	bool chosen; /* run has its window */
	bool begun;
	bool started; /* its command was */
};

enum {
	JOB_OPTION_FIRST = 2000,
	JOB_OPTION_PER = JOB_OPTION_FIRST,
	JOB_OPTION_ZONE,
	JOB_OPTION_OFFSET,
	JOB_OPTION_RETRIES,
	JOB_OPTION_KEEP,
	JOB_OPTION_SUCCESS,
	JOB_OPTION_DONE,
	JOB_OPTION_LAST = JOB_OPTION_DONE,
};

/** Entries for getopt_long(). */
#define JOB_OPTIONS                                                            \
	{ "once-per", required_argument, NULL, JOB_OPTION_PER },               \
	    { "zone", required_argument, NULL, JOB_OPTION_ZONE },              \
	    { "offset", required_argument, NULL, JOB_OPTION_OFFSET },          \
	    { "retries", required_argument, NULL, JOB_OPTION_RETRIES },        \
	    { "keep", required_argument, NULL, JOB_OPTION_KEEP },              \
	    { "success-codes", required_argument, NULL, JOB_OPTION_SUCCESS },  \
	{                                                                      \
		"done-exit-code", required_argument, NULL, JOB_OPTION_DONE     \
	}

/** The lines about them in a help text. */
#define JOB_HELP                                                               \
	"      --once-per=WINDOW      run until it succeeds once in this "     \
	"hour, "                                                               \
	"day, week\n"                                                          \
	"                             or TIME; then there is nothing to do "   \
	"(0)\n"                                                                \
	"      --zone=AREA/CITY       whose day or week (UTC)\n"               \
	"      --offset=TIME          the window begins so much later\n"       \
	"      --retries=N            ... and N more runs in it, at most "     \
	"(any number)\n"                                                       \
	"      --keep=N               keep the last N runs that succeeded, "   \
	"and\n"                                                                \
	"                             the last N that did not (20)\n"          \
	"      --success-codes=LIST   exit codes that are a success, as "      \
	"0,3,10-12 (0)\n"                                                      \
	"      --done-exit-code=N     exit with N if there is nothing to do "  \
	"(0)\n"

/** Take an option, of @job. */
void job_option(struct job *job, int option, const char *argument);

/** Read what was taken. Returns -1 or the exit code. */
int job_read(struct job *job, const char *title);

/** Choose the window by the server's clock, unless it is chosen. */
int job_choose(struct job *job, struct rowlock_client *client,
	       struct rowlock_errinfo *reterr);

/** As rowlock_once_begin(). */
int job_begin(struct job *job, struct rowlock *lock,
	      struct rowlock_errinfo *reterr);

/** As rowlock_once_sql(), with ROWLOCK_GUARD_SQL_SIZE bytes. */
int job_guard_sql(const struct job *job, struct rowlock *lock, char *ret_text,
		  struct rowlock_errinfo *reterr);

/** Is @code the end of a command that has succeeded? */
bool job_succeeded(const struct job *job, int code);

/** As rowlock_once_end(), which notes a success unless the job is guarded:
 *  ROWLOCK_EDONE says then that its transaction has. Again and again for
 *  @patience_ms, while the server is away or the outcome unknown, and the lock
 *  held. */
int job_end(struct job *job, struct rowlock *lock, int code,
	    uint64_t patience_ms, struct rowlock_errinfo *error);

#endif
