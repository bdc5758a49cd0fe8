/* SPDX-License-Identifier: MIT */
/*
 * Requests to give a lock back, on the fake librowlock: there is at most one.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "fake_ask.h"
#include "fake_entry.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct rowlock_revocation known = { .size = sizeof(known) };

void fake_request(const char *line)
{
	static char word[3][2048];
	struct rowlock_revocation next = { .size = sizeof(next), .name = "n" };
	int answer;

	if (sscanf(line, "%d %" SCNu64 " %u %2047s %2047s %2047s %31[^\n]",
		   &answer, &next.attempt, &next.pid, word[0], word[1], word[2],
		   next.asked_at) < 6)
		abort();
	next.answer = (enum rowlock_answer) answer;
	snprintf(next.host, sizeof(next.host), "%.1000s", unhex(word[0]));
	snprintf(next.program, sizeof(next.program), "%.1000s", unhex(word[1]));
	snprintf(next.reason, sizeof(next.reason), "%.1000s", unhex(word[2]));
	pthread_mutex_lock(&mutex);
	known = next;
	pthread_mutex_unlock(&mutex);
}

const struct rowlock_revocation *fake_requested(void)
{
	return &known;
}

/* A look is not told: it finds what the test has said before. */
int rowlock_revoke(struct rowlock_client *client, const char *name,
		   const char *reason, struct rowlock_revocation *result,
		   struct rowlock_errinfo *reterr)
{
	char text[2][2048];
	int r = 0;

	(void) client;
	if (reason)
		r = fake_ask(NULL, reterr, "revoke name=%s reason=%s",
			     fake_hex(name, text[0], sizeof(text[0])),
			     fake_hex(reason, text[1], sizeof(text[1])));
	pthread_mutex_lock(&mutex);
	if (!known.attempt && !r)
		r = ROWLOCK_ENOTHELD;
	if (!r && result)
		*result = known;
	pthread_mutex_unlock(&mutex);
	return r;
}
