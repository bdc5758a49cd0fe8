// SPDX-License-Identifier: MIT
#include "pulse.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "test.h"

enum {
	BEAT_NS = 10000000,
	BEATS = 8192, /* more than a minute, which no call takes */
	/* The caller, the proxy, the server, the opener of a connection: each
	 * may have to wait for a processor in its turn. */
	PASSED = 4,
};

/** The last beats: when each came, and how late. */
static struct beat {
	uint64_t at, late;
} beats[BEATS];

static uint64_t count;
static uint64_t due;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void note_beat(uint64_t now)
{
	pthread_mutex_lock(&mutex);
	beats[count++ % BEATS] = (struct beat){ now, now - due };
	due = now + BEAT_NS;
	pthread_mutex_unlock(&mutex);
}

static void *beat_on(void *arg)
{
	const struct timespec pause = { 0, BEAT_NS };

	(void) arg;
	for (;;) {
		uint64_t now;

		nanosleep(&pause, NULL);
		now = test_now_ns();
		note_beat(now > due ? now : due);
	}
	return NULL;
}

void pulse_start(void)
{
	pthread_t thread;

	if (count)
		return;
	due = test_now_ns();
	note_beat(due);
	if (pthread_create(&thread, NULL, beat_on, NULL) ||
	    pthread_detach(thread)) {
		fputs("no thread for the pulse\n", stderr);
		exit(99);
	}
}

double pulse_excuse_ms(uint64_t began_ns)
{
	uint64_t now = test_now_ns();
	uint64_t late = 0;

	pthread_mutex_lock(&mutex);
	for (uint64_t i = count; i > 0 && count - i < BEATS; i--) {
		const struct beat *beat = &beats[(i - 1) % BEATS];

		if (beat->at < began_ns)
			break;
		late += beat->late;
	}
	/* The one that is late just now. */
	late += now > due ? now - due : 0;
	pthread_mutex_unlock(&mutex);
	return (double) late / 1e6 * PASSED;
}
