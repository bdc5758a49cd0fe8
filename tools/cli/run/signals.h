/* SPDX-License-Identifier: MIT */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

/*
 * Signals to be read, so that none can come between a look and a wait.
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
 * Block the signals that are passed on, and SIGCHLD; ignore SIGPIPE. Signals
 * that our caller ignores stay ignored, even by the command (nohup). To be
 * called before any thread starts. Returns false, and reports, on failure.
 */
bool signals_start(struct signals *signals);

/** The next signal, 0 if there is none. Does not block. */
int signals_next(struct signals *signals);

/** Restore our caller's settings: for the command between fork and exec
 *  (async-signal-safe), and when there is nothing left to protect. */
void signals_restore(const struct signals *signals);

/** Let @signal have its default effect on our process group once. */
void signals_suffer(int signal);

/** Does its default action end a process? */
bool signals_is_fatal(int signal);

/** Does it only ever ask for an end? INT, TERM, QUIT. */
bool signals_is_for_good(int signal);

/** End by @signal, or with EXIT_SIGNAL and it where it is ignored, as process 1
 *  does. */
_Noreturn void signals_die(int signal);

#endif
