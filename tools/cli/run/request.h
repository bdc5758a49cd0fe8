/* SPDX-License-Identifier: MIT */
#ifndef CLI_REQUEST_H
#define CLI_REQUEST_H

/*
 * A request for a lock: the part of the command line that 'run' and 'hold'
 * share.
 */

#include "run/task.h"

struct request {
	struct task task;
	unsigned int conflict_code;
};

enum {
	OPTION_ALSO = TASK_OPTION_MORE,
	OPTION_READ,
	OPTION_WRITE,
	OPTION_PERMITS,
	OPTION_TAKE,
	OPTION_RETRY,
	OPTION_RELEASE,
	OPTION_GUARDED,
	OPTION_AT_LEAST,
	OPTION_DELAY,
	OPTION_MAX,
	OPTION_ON_REVOKE,
	REQUEST_OPTION_MORE,
};

/** The lines about them in a help text, those of TASK_OPTIONS among them. */
#define REQUEST_HELP                                                           \
	"  -n, --nb, --nonblock       do not wait if another holds it\n"       \
	"  -w, --wait, --timeout=TIME wait no longer (seconds, or 500ms 2m "   \
	"1h 1d)\n"                                                             \
	"      --retry-connect=TIME   try for so long to reach a server that " \
	"is "                                                                  \
	"away\n"                                                               \
	"      --refusal-timeout=TIME wait for so long for a login or a "      \
	"table that\n"                                                         \
	"                             is refused, though it worked before "    \
	"(5m)\n"                                                               \
	"      --also=NAME            hold NAME as well, all of them or "      \
	"none\n"                                                               \
	"      --read, --write        hold NAME as a read/write lock: many "   \
	"read, or\n"                                                           \
	"                             one writes; others may hold NAME "       \
	"without it\n"                                                         \
	"      --permits=N            hold a permit of NAME, of which there "  \
	"are N\n"                                                              \
	"                             (stored: as many as the database "       \
	"says)\n"                                                              \
	"      --take=N               ... N permits at once, all or none\n"    \
	"      --at-least=TIME        keep NAME taken for this time from the " \
	"start, even\n"                                                        \
	"                             if it is released, or its host dies\n"   \
	"      --delay-after-loss=TIME  give NAME to nobody for this time if " \
	"its\n"                                                                \
	"                             holder dies, or loses it\n"              \
	"      --max=TIME             hold NAME no longer, even if its host "  \
	"lives\n"                                                              \
	"      --on-revoke=ANSWER     to 'rowlock revoke': 'no', 'later' "     \
	"(when "                                                               \
	"it is\n"                                                              \
	"                             done), or later with a signal for "      \
	"COMMAND, as TERM\n"                                                   \
	"  -E, --conflict-exit-code=N exit with N if it was not acquired "     \
	"(1)\n"                                                                \
	"      --release-exit-code=N  exit with N if it could not be "         \
	"released\n"                                                           \
	"  -s, --strategy=lease|row   how the lock lives (lease)\n"            \
	"  -t, --ttl=TIME             how long it outlives a host that "       \
	"vanished\n"                                                           \
	"                             (lease 30s, row 10s)\n"                  \
	"      --info=TEXT            shown by 'rowlock list'\n"

/** Entries for getopt_long(); TASK_OPTIONS follow. */
#define REQUEST_OPTIONS                                                        \
	{ "also", required_argument, NULL, OPTION_ALSO },                      \
	    { "read", no_argument, NULL, OPTION_READ },                        \
	    { "write", no_argument, NULL, OPTION_WRITE },                      \
	    { "permits", required_argument, NULL, OPTION_PERMITS },            \
	    { "take", required_argument, NULL, OPTION_TAKE },                  \
	    { "at-least", required_argument, NULL, OPTION_AT_LEAST },          \
	    { "delay-after-loss", required_argument, NULL, OPTION_DELAY },     \
	    { "max", required_argument, NULL, OPTION_MAX },                    \
	    { "on-revoke", required_argument, NULL, OPTION_ON_REVOKE },        \
	    { "retry-connect", required_argument, NULL, OPTION_RETRY },        \
	    { "release-exit-code", required_argument, NULL, OPTION_RELEASE },  \
	    { "guarded", optional_argument, NULL, OPTION_GUARDED },            \
	    { "nb", no_argument, NULL, 'n' },                                  \
	    { "nonblock", no_argument, NULL, 'n' },                            \
	    { "wait", required_argument, NULL, 'w' },                          \
	    { "timeout", required_argument, NULL, 'w' },                       \
	{                                                                      \
		"conflict-exit-code", required_argument, NULL, 'E'             \
	}

/** Take an option; a task_option_fn of a task that is in a request. */
int request_option(struct task *task, int option);

/** Refuse options that exclude each other. Returns -1 or the exit code. */
int request_check(struct task *task);

/** Acquire. Returns -1; or the exit code, on failure or after a signal.
 */
int request_acquire(struct request *request, struct acquisition *acquisition,
		    struct signals *signals);

/** It was not acquired: report why, if it failed or if verbose. Returns the
 *  exit code. */
int request_not_acquired(const struct request *request,
			 struct acquisition *acquisition);

#endif
