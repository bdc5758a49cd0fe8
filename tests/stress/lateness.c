// SPDX-License-Identifier: MIT
/*
 * How late is the lost callback? Many holds, of both strategies, each with a
 * client of its own; their server is frozen, so that no beat and no ping is
 * answered; every callback writes down when it ran. The deadline is what
 * rowlock_remaining_ms() said last, which is exact to a millisecond.
 *
 * The suite runs it to see that every hold is lost, once. By hand it is a
 * measurement: ROWLOCK_LATENESS_ROUNDS=50, with the machine idle or under
 * stress-ng, and ROWLOCK_TEST_REPORT for the figures.
 *
 * On a server of its own.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server.h"
#include "test.h"

#define HOLDS 40
#define DESCRIPTORS 2048 /* about 25 a client, and the same again to spare */
#define TTL_MS 1000
#define IDLE_MS 2000
#define MOST_SAMPLES 100000

struct held {
	struct rowlock_client *client;
	struct rowlock *lock;
	uint64_t deadline_ns;
	_Atomic uint64_t lost_ns;
	_Atomic unsigned int losses;
};

static struct held holds[HOLDS];
static double late_ms[MOST_SAMPLES];
static size_t samples;

static void on_lost(struct rowlock *lock, void *arg)
{
	struct held *held = arg;

	(void) lock;
	held->lost_ns = test_now_ns();
	held->losses++;
}

static void open_all(void)
{
	size_t i;

	for (i = 0; i < HOLDS; i++) {
		struct rowlock_client_options options =
		    test_client_options(TTL_MS);

		options.row_idle_ms = IDLE_MS;
		holds[i].client = test_client_with(&options);
		holds[i].lock = test_lock(holds[i].client,
					  i % 2 ? ROWLOCK_ROW : ROWLOCK_LEASE,
					  0, test_name("late"));
		rowlock_on_lost(holds[i].lock, on_lost, &holds[i]);
	}
}

/* A beat that was answered just before the server froze may still move the
 * end: so it is asked again and again until the hold is over. */
static bool look(struct held *held)
{
	uint64_t before = test_now_ns() / 1000000;
	uint64_t left = rowlock_remaining_ms(held->lock);

	if (left && test_now_ns() / 1000000 == before)
		held->deadline_ns = (before + left) * 1000000;
	return held->losses == 0;
}

static void watch_all(void)
{
	const struct timespec nap = { 0, 5 * 1000 * 1000 };
	uint64_t began = test_now_ns();
	unsigned int left = HOLDS;
	size_t i;

	while (left) {
		test_keep_waiting(began, "%u of %u holds to be lost", left,
				  HOLDS);
		left = 0;
		for (i = 0; i < HOLDS; i++)
			left += look(&holds[i]);
		nanosleep(&nap, NULL);
	}
}

static void one_round(void)
{
	size_t i;

	for (i = 0; i < HOLDS; i++) {
		holds[i].losses = 0;
		assert_ok(rowlock_acquire(holds[i].lock,
					  (uint64_t) test_patience_ms(), &err));
	}
	test_server_freeze();
	watch_all();
	for (i = 0; i < HOLDS; i++) {
		assert_int_equal(rowlock_held(holds[i].lock), 0);
		if (samples < MOST_SAMPLES)
			late_ms[samples++] =
			    test_ms(holds[i].deadline_ns, holds[i].lost_ns);
	}
	test_server_thaw();
	for (i = 0; i < HOLDS; i++) {
		assert_code(rowlock_release(holds[i].lock, &err), ROWLOCK_ELOST,
			    &err);
		assert_int_equal(holds[i].losses, 1);
	}
}

static int compare(const void *a, const void *b)
{
	const double *x = a;
	const double *y = b;

	return (*x > *y) - (*x < *y);
}

static void report(void)
{
	qsort(late_ms, samples, sizeof(late_ms[0]), compare);
	test_figure(late_ms[samples / 2], "ms",
		    "deadline to lost callback, median of %zu", samples);
	test_figure(late_ms[samples - 1 - samples / 1000], "ms",
		    "deadline to lost callback, p99.9 of %zu", samples);
	test_figure(late_ms[samples - 1], "ms",
		    "deadline to lost callback, worst of %zu", samples);
}

CASE("every hold of a frozen server is lost once")
{
	const char *text = getenv("ROWLOCK_LATENESS_ROUNDS");
	unsigned long rounds = text ? strtoul(text, NULL, 10) : 2;
	size_t i;

	open_all();
	for (; rounds; rounds--)
		one_round();
	report();
	for (i = 0; i < HOLDS; i++) {
		test_end(holds[i].lock, holds[i].client);
	}
}

int main(void)
{
	if (!test_descriptors(DESCRIPTORS))
		return test_skip_all("needs 2,048 descriptors: raise the limit "
				     "(ulimit -n)");
	return test_main_own_server();
}
