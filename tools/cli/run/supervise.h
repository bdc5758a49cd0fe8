/* SPDX-License-Identifier: MIT */
#ifndef CLI_SUPERVISE_H
#define CLI_SUPERVISE_H

/*
 * The time between grant and release: a command runs, and must not outlive the
 * hold.
 */

#include <rowlock.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/challenge.h"
#include "run/child.h"
#include "run/guard.h"
#include "run/hold.h"
#include "run/revocation.h"
#include "run/signals.h"

struct supervision {
	const char *title;    /* of the subcommand, for messages */
	struct rowlock *lock; /* held */
	const char *server;
	const char *name;
	uint64_t ttl_ms;
	uint64_t max_ms; /* the maximum of the hold; 0: none */
	const struct child_command *command;
	struct signals *signals;
	struct guard *guard;
	bool verbose;
	const char *or_else; /* the advice where the command becomes another
				user's, besides to run rowlock as that user */
	struct challenge *challenge;   /* looks for a heavier candidate, if
					  started */
	struct revocation *revocation; /* requests for the lock; NULL: none */
	int *ret_told;     /* the last signal that was passed on, or that the
			      terminal sent to the command, and asks for an end
			      (signals_is_fatal()); one that does so for good
			      stays */
	bool *ret_started; /* NULL, or set when the command is executed */
	bool *ret_lost; /* set if the hold was lost meanwhile: the exit status
			   does not tell, as a command may end with 124 */
	bool delays;    /* after an unclean end others wait */
	bool *ret_runs_on; /* set if the lock was lost, and processes are left
			      of the command */
	const char **ret_stays; /* set to the reason if a lock that is held
				   still must not be released */
};

/**
 * Run the command while @lock is held.
 *
 * Returns its exit status as a shell would tell it; EXIT_KILLED plus the signal
 * that was passed on to it, and ended it; EXIT_LOST: it was ended, or not
 * started, as the lock was lost or about to be; EXIT_FAILED.
 */
int supervise(const struct supervision *supervision);

#endif
