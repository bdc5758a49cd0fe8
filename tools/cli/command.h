/* SPDX-License-Identifier: MIT */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

/*
 * Shared by the subcommands: the table's row, exit codes, common options.
 */

#include <rowlock/admin.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"
#include "common/connection.h"
#include "common/suggest.h"
#include "common/terms.h"

/** Exit codes; others are the child's own. */
enum {
	EXIT_DONE = 0,
	EXIT_NOT = 1,      /* not acquired, not held, not known */
	EXIT_LOST = 124,   /* run: the lock was lost */
	EXIT_FAILED = 125, /* bad usage, or the server */
	EXIT_SIGNAL = 128, /* and the signal's number */
	/* No exit code, and the signal's number: end by that signal. systemd
	 * and shells tell an end that was asked for by that. */
	EXIT_KILLED = 256,
};

/** The options of every subcommand. */
struct common {
	const char *command; /* its name; NULL: none yet */
	struct connection connection;
	bool verbose;
};

/** A subcommand. Returns the exit code, or EXIT_KILLED and a signal. */
typedef int (*command_fn)(int argc, char **argv, struct common *common);

struct command {
	const char *name;
	const char *summary;
	command_fn run;
};

int cmd_break(int argc, char **argv, struct common *common);
int cmd_doctor(int argc, char **argv, struct common *common);
int cmd_elect(int argc, char **argv, struct common *common);
int cmd_hold(int argc, char **argv, struct common *common);
int cmd_jobs(int argc, char **argv, struct common *common);
int cmd_list(int argc, char **argv, struct common *common);
int cmd_metrics(int argc, char **argv, struct common *common);
int cmd_permits(int argc, char **argv, struct common *common);
int cmd_ping(int argc, char **argv, struct common *common);
int cmd_reap(int argc, char **argv, struct common *common);
int cmd_revoke(int argc, char **argv, struct common *common);
int cmd_run(int argc, char **argv, struct common *common);
int cmd_show(int argc, char **argv, struct common *common);
int cmd_top(int argc, char **argv, struct common *common);
int cmd_wait(int argc, char **argv, struct common *common);

/** Entries for getopt_long(), the table's end included. */
#define COMMON_OPTIONS                                                         \
	CONNECTION_OPTIONS, { "verbose", no_argument, NULL, 'v' },             \
	    { "help", no_argument, NULL, 'h' },                                \
	    { "version", no_argument, NULL, 'V' },                             \
	{                                                                      \
		NULL, 0, NULL, 0                                               \
	}

/**
 * Take an option that the subcommand does not know itself. @help is its help
 * text. Returns -1 to go on, or the exit code to leave with.
 */
int common_option(struct common *common, int option, const char *argument,
		  const char *help);

/** Report a wrong use, and where to read more. Returns EXIT_FAILED. */
int command_misused(const char *command, const char *format, ...)
    RLK_PRINTF(2, 3);

/** Read the TIME of @option. Returns -1, or EXIT_FAILED: reported. */
int command_time(const char *command, const char *option, const char *argument,
		 uint64_t *ret_ms);

/** Read "row" or "lease". Returns false, and reports, otherwise. */
bool command_strategy(const char *argument, enum rowlock_strategy *ret);

/** The client options of a command: the defaults, and the log if verbose. */
struct rowlock_client_options command_client_options(
    const struct common *common);

/** connection_open() for a command that stays, with @options that begin with
 *  command_client_options(): what the library warns of while the first client
 *  of this process is opened is reported even if it is not verbose, as it is
 *  about what comes later: that a lost connection cannot be made again. */
int command_stay(const struct connection *connection,
		 struct rowlock_client_options options,
		 struct rowlock_client **ret_client,
		 struct rowlock_errinfo *reterr);

/** Open a client for a command that only asks. Returns 0, or EXIT_FAILED: the
 *  reason was reported. */
int command_open(const struct common *common,
		 struct rowlock_client **ret_client);

/** The same with @options that begin with command_client_options(). */
int command_open_with(const struct common *common,
		      struct rowlock_client_options options,
		      struct rowlock_client **ret_client);

/**
 * Is @code of a server that is out of reach, or takes no writes for now? The
 * same request may succeed when it is back: the library's table is
 * src/db/away.c.
 */
bool command_is_away(int code);

/**
 * Flush stdout. Does not return on failure: a closed pipe ends us in silence,
 * as SIGPIPE does, even if our caller ignores that; anything else is reported,
 * and ends with EXIT_FAILED. Not for a process that holds a lock.
 */
void command_flush(void);

/** Flush stdout, and do not mind if that fails: the status is the answer, and
 *  some callers (HAProxy) give us a stdout that is closed. */
void command_forget_output(void);

/** rowlock_client_free() for _cleanup_. */
void client_freep(struct rowlock_client **client);

#endif
