/* SPDX-License-Identifier: MIT */
/*
 * Signals by signalfd.
 *
 * Signals that are sent on purpose are passed on: HUP INT QUIT USR1 USR2 ALRM
 * TERM CONT TSTP WINCH and the real-time ones. The others are not: KILL and
 * STOP cannot be caught; TTIN and TTOU tell a process about itself; and the
 * rest report our own faults.
 */
#include "run/signals.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/macro.h"
#include "command.h"
#include "common/report.h"

static const int passed[] = {
	SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1, SIGUSR2,
	SIGALRM, SIGTERM, SIGCONT, SIGTSTP, SIGWINCH,
};

/* An ignored signal that is blocked would be queued, not dropped: leave it. */
static void catch_unless_ignored(sigset_t *set, int signal)
{
	struct sigaction action;

	if (sigaction(signal, NULL, &action) == 0 &&
	    action.sa_handler != SIG_IGN)
		sigaddset(set, signal);
}

bool signals_start(struct signals *signals)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t block;

	sigemptyset(&signals->caught);
	for (size_t i = 0; i < RLK_ARRAY_SIZE(passed); i++)
		catch_unless_ignored(&signals->caught, passed[i]);
	for (int s = SIGRTMIN; s <= SIGRTMAX; s++)
		catch_unless_ignored(&signals->caught, s);
	sigaddset(&signals->caught, SIGCHLD);
	/* tcsetpgrp() from the background must not stop us. */
	block = signals->caught;
	sigaddset(&block, SIGTTOU);
	/* A process that ignores SIGCHLD gets no exit status. */
	sigaction(SIGCHLD, &action, &signals->old_chld);
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, &signals->old_pipe);
	sigprocmask(SIG_BLOCK, &block, &signals->old_mask);
	signals->fd =
	    signalfd(-1, &signals->caught, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->fd < 0)
		report(ROWLOCK_LOG_ERROR,
		       "cannot listen to signals: %s; nothing was locked",
		       strerror(errno));
	return signals->fd >= 0;
}

int signals_next(struct signals *signals)
{
	struct signalfd_siginfo info;

	if (read(signals->fd, &info, sizeof(info)) != (ssize_t) sizeof(info))
		return 0;
	return (int) info.ssi_signo;
}

void signals_restore(const struct signals *signals)
{
	sigaction(SIGCHLD, &signals->old_chld, NULL);
	sigaction(SIGPIPE, &signals->old_pipe, NULL);
	sigprocmask(SIG_SETMASK, &signals->old_mask, NULL);
}

void signals_suffer(int signal)
{
	sigset_t one, old;

	sigemptyset(&one);
	sigaddset(&one, signal);
	/* To all of our group: a script that started us has to stop with us,
	 * or its shell does not see the job stop. */
	kill(0, signal);
	pthread_sigmask(SIG_UNBLOCK, &one, &old);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

bool signals_is_fatal(int signal)
{
	return signal != SIGCHLD && signal != SIGCONT && signal != SIGTSTP &&
	       signal != SIGWINCH;
}

bool signals_is_for_good(int signal)
{
	return signal == SIGINT || signal == SIGTERM || signal == SIGQUIT;
}

void signals_die(int signal)
{
	sigset_t one;

	report_flush();
	sigemptyset(&one);
	sigaddset(&one, signal);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	raise(signal);
	_exit(EXIT_SIGNAL + signal);
}
