/* SPDX-License-Identifier: MIT */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

/*
 * The command of 'rowlock run': a process, and the process group that it
 * leads.
 *
 * We are the subreaper of what it leaves behind, so that the end of each
 * process of the group is an event to us, even if its own parent is gone. A
 * process that leaves the group (setsid: daemons) is out of our reach.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "run/signals.h"
#include "terminal.h"

struct child {
	pid_t pid;   /* also its process group */
	bool ended;  /* the leader has */
	int code;    /* its exit status as a shell would tell it */
	int stopped; /* the signal that stopped it; 0: it runs */
	int go;      /* our end of a pipe; a byte lets it execute; -1: none */
};

/** What to run. */
struct child_command {
	char **argv;
	char **environment;
};

/**
 * Make the process of the command. It gets the terminal if it is at once to
 * have it, and waits for child_go(): so whoever has to end the command, should
 * we not live to do it, can be told before there is anything to end. If we die
 * before that, the command is never executed.
 *
 * False: no process could be made; reported.
 */
bool child_start(struct child *child, const struct child_command *command,
		 const struct signals *signals, struct terminal *terminal);

/** Let it execute its command. If that cannot be executed, the process says so
 *  and ends with 126 or 127. */
void child_go(struct child *child);

/** To be called in the end: a process that was not let go ends. */
void child_fini(struct child *child);

/** Send @signal to the whole group. */
void child_signal(const struct child *child, int signal);

/** Note who has ended, stopped or gone on: after each SIGCHLD. */
void child_reap(struct child *child);

/** Is any process of the group alive, or not reaped yet? */
bool child_group_is_alive(const struct child *child);

#endif
