/* SPDX-License-Identifier: MIT */
/*
 * See revocation.h. Failure modes: a request that comes before the last one was
 * taken replaces it. One whose answer did not arrive comes once more, and gets
 * the same answer; nobody is told of it twice.
 */
#include "run/revocation.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/macro.h"
#include "common/text.h"

/* Those that ask a program for something. */
static const struct {
	const char *name;
	int number;
} signals_known[] = {
	{ "HUP", SIGHUP },   { "INT", SIGINT },     { "QUIT", SIGQUIT },
	{ "TERM", SIGTERM }, { "USR1", SIGUSR1 },   { "USR2", SIGUSR2 },
	{ "ALRM", SIGALRM }, { "WINCH", SIGWINCH }, { "URG", SIGURG },
	{ "XCPU", SIGXCPU }, { "KILL", SIGKILL },
};

static int signal_of(const char *text)
{
	unsigned int number;

	if (text_number(text, 1, 64, &number))
		return (int) number;
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	for (size_t i = 0; i < RLK_ARRAY_SIZE(signals_known); i++)
		if (strcasecmp(text, signals_known[i].name) == 0)
			return signals_known[i].number;
	return 0;
}

bool revocation_read(struct revocation *revocation, const char *text,
		     bool signals)
{
	revocation->signal = 0;
	revocation->answer = ROWLOCK_ANSWER_LATER;
	if (strcmp(text, "later") == 0)
		return true;
	if (strcmp(text, "no") == 0) {
		revocation->answer = ROWLOCK_ANSWER_NO;
		return true;
	}
	revocation->signal = signals ? signal_of(text) : 0;
	return revocation->signal != 0;
}

bool revocation_start(struct revocation *revocation)
{
	pthread_mutex_init(&revocation->mutex, NULL);
	revocation->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	revocation->started = revocation->fd >= 0;
	return revocation->started;
}

static bool is_same(const struct rowlock_revocation *a,
		    const struct rowlock_revocation *b)
{
	return a->attempt == b->attempt && *a->asked_at &&
	       strcmp(a->asked_at, b->asked_at) == 0 &&
	       strcmp(a->name, b->name) == 0;
}

enum rowlock_answer revocation_hear(const struct rowlock_revocation *asked,
				    void *arg)
{
	struct revocation *revocation = arg;
	bool again;

	pthread_mutex_lock(&revocation->mutex);
	again = is_same(asked, &revocation->last);
	revocation->last = *asked;
	pthread_mutex_unlock(&revocation->mutex);
	if (!again)
		eventfd_write(revocation->fd, 1);
	return revocation->answer;
}

int revocation_fd(const struct revocation *revocation)
{
	return revocation && revocation->started ? revocation->fd : -1;
}

bool revocation_take(struct revocation *revocation,
		     struct rowlock_revocation *ret_asked)
{
	eventfd_t count;

	if (eventfd_read(revocation->fd, &count) < 0)
		return false;
	pthread_mutex_lock(&revocation->mutex);
	*ret_asked = revocation->last;
	pthread_mutex_unlock(&revocation->mutex);
	return true;
}

void revocation_words(const struct rowlock_revocation *asked, char *ret_text)
{
	snprintf(ret_text, REVOCATION_WORDS_SIZE, "%s[%u]@%s%s%s",
		 asked->program, asked->pid, asked->host,
		 *asked->reason ? ": " : "", asked->reason);
}
