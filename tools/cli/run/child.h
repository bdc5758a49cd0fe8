/* SPDX-License-Identifier: MIT */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

/*
 * The command of 'rowlock run': a process, and the process group that it
 * leads.
 *
 * We are the subreaper of processes that it leaves behind, so that we see the
 * end of each process of the group, even if its own parent is gone. A process
 * that leaves the group (setsid: daemons) is out of our reach.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "run/signals.h"
#include "terminal.h"

struct child {
	pid_t pid;   /* also its process group */
	bool ended;  /* the leader has */
	int code;    /* its exit status as a shell would tell it */
	int killed;  /* the signal that ended it; 0: it ended by itself */
	int stopped; /* the signal that stopped it; 0: it runs */
	int go;      /* our end of a pipe; a byte lets it execute; -1: none */
};

/** The command to run. */
struct child_command {
	char **argv;
	char **environment;
};

/**
 * Make the process of the command. It gets the terminal if at_once is set, and
 * waits for child_go(): so the guard, which ends the command if we die, can be
 * told before the command runs. If we die before that, the command is never
 * executed.
 *
 * Returns false, and reports, if no process could be made.
 */
bool child_start(struct child *child, const struct child_command *command,
		 const struct signals *signals, struct terminal *terminal);

/** Let it execute its command. If that fails, the process reports it and ends
 *  with 126 or 127. */
void child_go(struct child *child);

/** To be called at the end: a process without child_go() ends. */
void child_fini(struct child *child);

/** Send @signal to the whole group. Returns false if no process of it may be
 *  signalled by us. */
bool child_signal(const struct child *child, int signal);

/** Note processes that ended, stopped or continued: after each SIGCHLD. */
void child_reap(struct child *child);

/** Is any process of the group alive, or not reaped yet? */
bool child_group_is_alive(const struct child *child);

#endif
