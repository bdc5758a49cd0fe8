/* SPDX-License-Identifier: MIT */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

/*
 * Signals as things to read, so that none can come between a look and a wait.
 */

#include <signal.h>
#include <stdbool.h>

struct signals {
	int fd; /* a signalfd; -1: not started */
	sigset_t caught;
	sigset_t old_mask;
	struct sigaction old_chld;
	struct sigaction old_pipe;
};

/**
 * Block what is passed on, and SIGCHLD; ignore SIGPIPE. Signals that our
 * caller ignores stay ignored, also by the command (nohup). To be called
 * before any thread starts. False: reported.
 */
bool signals_start(struct signals *signals);

/** The next signal, 0 if there is none. Does not block. */
int signals_next(struct signals *signals);

/** As our caller had it: for the command between fork and exec
 *  (async-signal-safe), and when nothing is left to be protected. */
void signals_restore(const struct signals *signals);

/** Let @signal have its default effect on our process group once. */
void signals_suffer(int signal);

/** Does it ask for an end, if nothing else is done about it? */
bool signals_is_fatal(int signal);

/** Is it one that people send for that, and no other use? INT, TERM, QUIT. */
bool signals_is_for_good(int signal);

#endif
