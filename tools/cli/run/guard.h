/* SPDX-License-Identifier: MIT */
#ifndef CLI_GUARD_H
#define CLI_GUARD_H

/*
 * A second process that ends the command if the first one cannot, or tells the
 * program that is served ('rowlock hold --json') that its lock is lost.
 *
 * 'rowlock run' may be killed (SIGKILL, out of memory) or stopped while its
 * command runs on, and the lock then goes to another. The guard learns what to
 * kill and when before the command is executed. If we die, it ends the
 * command's group: SIGTERM, half a second later SIGKILL. If we do not move the
 * time in time, it sends SIGKILL at that time. It does nothing else, holds no
 * lock and no connection.
 *
 * With words for a program it writes these on standard output instead, and
 * kills us if we are stopped: then the program sees the end of our output.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct guard {
	pid_t pid;
	int pidfd;
	int fd;       /* our end of the pipe; -1: none */
	uint64_t due; /* the time that it was told last */
	bool gone;    /* it could not be told: it was killed, */
	bool missed;  /* and that was reported */
};

/** Lines that it writes on standard output in our place. */
struct guard_words {
	const char *stopped; /* we did not move the time */
	const char *killed;  /* we are dead, and were told a time */
};

/** Call it at the beginning of main(), with its arguments: for the name of the
 *  guard's process. */
void guard_init(int argc, char **argv);

/** Make the guard of a command; with @words, of a program. To be called before
 *  any thread starts or connection is opened, as it shares what exists. False:
 *  reported. */
bool guard_start(struct guard *guard, const struct guard_words *words);

/** Kill @group at @due_ms (CLOCK_BOOTTIME), or say the words, unless told
 *  otherwise. A guard that is gone is reported once; the caller looks at the
 *  first message's outcome itself. */
void guard_set(struct guard *guard, pid_t group, uint64_t due_ms);

/** Has the time come that it was told last? Then it acts, unless it is told
 *  another one at this moment. */
bool guard_is_due(const struct guard *guard, uint64_t now_ms);

/** All is over: end the guard. */
void guard_stop(struct guard *guard);

#endif
