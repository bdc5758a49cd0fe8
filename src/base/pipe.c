/* SPDX-License-Identifier: MIT */
/*
 * See pipe.h. One that came for us is taken away before it can be delivered; it
 * is pending for the thread, and another that was pending before is not ours.
 */
#include "base/pipe.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

static sigset_t only_pipe(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	return set;
}

static bool is_pending(void)
{
	sigset_t pending;

	sigemptyset(&pending);
	sigpending(&pending);
	return sigismember(&pending, SIGPIPE) == 1;
}

struct rlk_pipe rlk_pipe_off(bool needed)
{
	struct rlk_pipe pipe = { .guarded = needed };
	sigset_t before;
	sigset_t set;

	if (!needed)
		return pipe;
	set = only_pipe();
	sigemptyset(&before);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	pipe.was_blocked = sigismember(&before, SIGPIPE) == 1;
	pipe.was_pending = pipe.was_blocked && is_pending();
	return pipe;
}

void rlk_pipe_onp(struct rlk_pipe *pipe)
{
	const struct timespec now = { 0 };
	sigset_t set;

	if (!pipe->guarded)
		return;
	set = only_pipe();
	if (!pipe->was_pending && is_pending())
		sigtimedwait(&set, NULL, &now);
	if (!pipe->was_blocked)
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
