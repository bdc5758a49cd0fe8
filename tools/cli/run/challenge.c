/* SPDX-License-Identifier: MIT */
/*
 * See challenge.h. No answer means no challenge: the leader notices a server
 * that is away by other ways.
 */
#include "run/challenge.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/pace.h"
#include "common/report.h"

#define INTERVAL_MS 1000

/* The pause before it gives way to the same candidate again. */
#define PAUSE_FIRST_MS 60000
#define PAUSE_MOST_MS 3600000

static void set(int fd)
{
	uint64_t one = 1;
	ssize_t n = write(fd, &one, sizeof(one));

	(void) n;
}

/* A candidate that led or left since then stands for a shorter time. */
static bool gives_way(struct challenge_past *past, uint64_t stood_ms)
{
	uint64_t now = pace_now_ms(), since = now - past->gave_way_at;
	bool in_vain = past->gave_way_at && stood_ms >= since;

	if (in_vain && since < past->pause_ms)
		return false;
	past->pause_ms = in_vain ? 2 * past->pause_ms : PAUSE_FIRST_MS;
	if (past->pause_ms > PAUSE_MOST_MS)
		past->pause_ms = PAUSE_MOST_MS;
	past->gave_way_at = now;
	return true;
}

static bool is_challenged(struct challenge *challenge)
{
	struct rowlock_errinfo error;
	unsigned int weight;
	uint64_t stood_ms;

	if (rowlock_election_challenger(challenge->lock, &weight, &stood_ms,
					&error))
		return false;
	atomic_store(&challenge->weight, weight);
	return weight > 0 && stood_ms >= challenge->after_ms &&
	       gives_way(challenge->past, stood_ms);
}

static void *ask(void *arg)
{
	struct challenge *challenge = arg;
	struct pollfd stop = { .fd = challenge->stop_fd, .events = POLLIN };

	for (;;) {
		int n = pace_poll(&stop, 1, INTERVAL_MS);

		if (n > 0)
			return NULL;
		if (n < 0 || !is_challenged(challenge))
			continue;
		set(challenge->fd);
		return NULL;
	}
}

static void close_both(struct challenge *challenge)
{
	if (challenge->fd >= 0)
		close(challenge->fd);
	if (challenge->stop_fd >= 0)
		close(challenge->stop_fd);
	challenge->fd = -1;
}

bool challenge_start(struct challenge *challenge, const char *name)
{
	int r = 0;

	challenge->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	challenge->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (challenge->fd < 0 || challenge->stop_fd < 0)
		r = errno;
	if (r == 0)
		r = pthread_create(&challenge->thread, NULL, ask, challenge);
	if (r == 0)
		return true;
	report(ROWLOCK_LOG_ERROR,
	       "elect: cannot ask who else stands for '%s': %s; the command "
	       "is not started",
	       name, strerror(r));
	close_both(challenge);
	return false;
}

void challenge_stop(struct challenge *challenge)
{
	if (challenge->fd < 0)
		return;
	set(challenge->stop_fd);
	pthread_join(challenge->thread, NULL);
	close_both(challenge);
}
