/* SPDX-License-Identifier: MIT */
#ifndef CLI_TASK_H
#define CLI_TASK_H

/*
 * A command that runs under a lock: the part that 'run' and 'elect' share, on
 * the command line and after it.
 */

#include <getopt.h>
#include <rowlock.h>
#include <stdbool.h>
#include <stdint.h>

#include "command.h"
#include "run/acquisition.h"
#include "run/challenge.h"
#include "run/guard.h"
#include "run/revocation.h"
#include "run/signals.h"

struct task {
	const char *title; /* of the subcommand, for messages */
	const char *help;
	struct common *common;
	struct rowlock_options lock;
	const char *name; /* the first of names */
	const char *names[ROWLOCK_MULTILOCK_MAX];
	size_t name_count; /* with the first one, even before it is known */
	struct hold_manner manner;
	struct job *job; /* what is to succeed once per window; NULL: none */
	struct revocation
	    *revocation; /* NULL where no request is listened to */
	bool no_command; /* no command is to run */
	const char *shell_command;
	char **argv;
	char *shell_argv[4];
	bool tells_release;        /* one that failed, */
	unsigned int release_code; /* by this exit code */
	bool in_place;             /* it takes the place of this process */
	const char *or_else;       /* than to run rowlock as its user */
	bool json;            /* tell in JSON of the grant and of the end */
	bool adopts;          /* manner.adopt is to be read */
	bool guarded;         /* tell the command its guard, */
	bool guarded_by_call; /* as a call of rowlock_guard() */
	uint64_t wait_ms;
	uint64_t retry_ms;     /* how long to try to reach the server */
	uint64_t ttl_ms;       /* 0: the default */
	uint64_t refusal_ms;   /* how long a refusal may pass; 0: the default */
	bool gives_way;        /* to a heavier candidate that has waited */
	uint64_t gives_way_ms; /* for this time */
	struct challenge_past gave_way;

	/* The result. */
	bool lost;       /* the lock was seen to be lost */
	int told;        /* the signal that asked for an end meanwhile; or 0 */
	uint64_t ran_ms; /* how long the command ran */
};

/** Hold @name as well. Returns -1, or the exit code to leave with. */
int task_also(struct task *task, const char *name);

/** Entries for getopt_long() and its letters; COMMON_OPTIONS follow. */
enum { TASK_OPTION_INFO = 1, TASK_OPTION_REFUSAL, TASK_OPTION_MORE };
#define TASK_OPTIONS                                                           \
	{ "strategy", required_argument, NULL, 's' },                          \
	    { "ttl", required_argument, NULL, 't' },                           \
	    { "info", required_argument, NULL, TASK_OPTION_INFO },             \
	    { "refusal-timeout", required_argument, NULL,                      \
	      TASK_OPTION_REFUSAL },                                           \
	{                                                                      \
		"command", required_argument, NULL, 'c'                        \
	}

/** Take an option that the subcommand does not know itself. Returns -1 to go
 *  on, or the exit code to leave with. */
int task_option(struct task *task, int option);

/** Takes the subcommand's own options. Returns -1 or the exit code. */
typedef int (*task_option_fn)(struct task *task, int option);

/** Read options, NAME and COMMAND; @letters and @options are getopt_long()'s.
 *  Returns -1, or the exit code to leave with. */
int task_parse(struct task *task, int argc, char **argv, const char *letters,
	       const struct option *options, task_option_fn fn);

/** Is its lock one that rowlock_revoke() can ask for? */
bool task_can_be_asked(const struct task *task);

/** Listen for requests to give its lock back. Returns false, and reports, on
 *  failure. */
bool task_listen(struct task *task);

/** How to acquire its lock; @program is a room for a text. */
struct acquisition task_acquisition(const struct task *task, char *program,
				    size_t size);

/** It was acquired: get its tokens; for a single lock without I/O, as the token
 *  was drawn with the grant. Returns -1, or the exit code; acquisition->error
 *  has the reason. */
int task_tokens(const struct task *task, struct acquisition *acquisition,
		uint64_t *ret_tokens);

/** It was acquired: get its guard, of ROWLOCK_GUARD_SQL_SIZE bytes. Returns as
 *  task_tokens(). */
int task_guard(const struct task *task, struct acquisition *acquisition,
	       char *ret_text);

/** The TTL of a lease, or the idle bound of a row. */
uint64_t task_ttl_ms(const struct task *task,
		     const struct acquisition *acquisition);

/** Report that it was acquired, if verbose, and the part of its info that was
 *  not stored. */
void task_tell(const struct task *task, const struct acquisition *acquisition,
	       uint64_t token);

/** It was acquired: give it back, without having run the command, or after.
 *  Returns @code, or EXIT_LOST. The outcome of the release, unless task->lost,
 *  is acquisition->result and ->error. */
int task_release(const struct task *task, struct acquisition *acquisition,
		 int code);

/** It was acquired: run the command, and give it back. Returns the exit code.
 */
int task_run(struct task *task, struct acquisition *acquisition,
	     struct signals *signals, struct guard *guard);

#endif
