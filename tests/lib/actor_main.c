// SPDX-License-Identifier: MIT
/*
 * actor STRATEGY NAME TTL_MS DSN: one client, one lock, and words on standard
 * input that say what to do with it (actor.h lists them). Each is answered on
 * standard output by two numbers: the result, and the time when it was there.
 *
 * Reasons of failures go to standard error, where a test's log keeps them.
 */
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rowlock.h>

#include "handover.h"
#include "timeouts.h"

struct state {
	struct rowlock_client *client;
	struct rowlock *lock;
	atomic_int lost;
	int lost_event;
};

static int64_t explain(int code, const struct rowlock_errinfo *err)
{
	if (code)
		fprintf(stderr, "# actor %d: %s\n", (int) getpid(),
			err->message);
	return code;
}

static void count_lost(struct rowlock *lock, void *arg)
{
	struct state *state = arg;

	(void) lock;
	atomic_fetch_add(&state->lost, 1);
	eventfd_write(state->lost_event, 1);
}

static int64_t say_acquire(struct state *state, uint64_t wait_ms)
{
	struct rowlock_errinfo err;

	return explain(rowlock_acquire(state->lock, wait_ms, &err), &err);
}

/* Whoever waits for the answer loses patience first. */
static int64_t say_wait(struct state *state, uint64_t unused)
{
	(void) unused;
	return say_acquire(state, 2 * (uint64_t) test_patience_ms());
}

static int64_t say_release(struct state *state, uint64_t unused)
{
	struct rowlock_errinfo err;

	(void) unused;
	return explain(rowlock_release(state->lock, &err), &err);
}

static int64_t say_verify(struct state *state, uint64_t unused)
{
	struct rowlock_errinfo err;

	(void) unused;
	return explain(rowlock_verify(state->lock, &err), &err);
}

static int64_t say_held(struct state *state, uint64_t unused)
{
	(void) unused;
	return rowlock_held(state->lock);
}

static int64_t say_depth(struct state *state, uint64_t unused)
{
	(void) unused;
	return rowlock_depth(state->lock);
}

static int64_t say_remaining(struct state *state, uint64_t unused)
{
	(void) unused;
	return (int64_t) rowlock_remaining_ms(state->lock);
}

static int64_t say_token(struct state *state, uint64_t unused)
{
	struct rowlock_errinfo err;
	uint64_t token = 0;
	int code = rowlock_token(state->lock, &token, &err);

	(void) unused;
	return code ? explain(code, &err) : (int64_t) token;
}

static int64_t say_lost(struct state *state, uint64_t unused)
{
	(void) unused;
	return atomic_load(&state->lost);
}

static int64_t say_await_lost(struct state *state, uint64_t unused)
{
	struct pollfd wait[] = {
		{ .fd = state->lost_event, .events = POLLIN },
		{ .fd = 0 }, /* hung up: the test has ended */
	};

	if (!atomic_load(&state->lost))
		poll(wait, 2, -1);
	return say_lost(state, unused);
}

static int64_t say_free(struct state *state, uint64_t unused)
{
	struct rowlock_errinfo err;
	int64_t code = explain(rowlock_try_free(state->lock, &err), &err);

	(void) unused;
	if (code)
		return code;
	state->lock = NULL;
	return explain(rowlock_client_try_free(state->client, &err), &err);
}

static const struct word {
	const char *name;
	int64_t (*say)(struct state *state, uint64_t number);
} words[] = {
	{ "acquire", say_acquire },     { "wait", say_wait },
	{ "release", say_release },     { "verify", say_verify },
	{ "held", say_held },           { "depth", say_depth },
	{ "remaining", say_remaining }, { "token", say_token },
	{ "lost", say_lost },           { "await_lost", say_await_lost },
	{ "free", say_free },
};

static void answer(int64_t number)
{
	struct timespec now;
	int64_t both[2] = { number, 0 };

	clock_gettime(CLOCK_BOOTTIME, &now);
	both[1] = (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
	if (write(1, both, sizeof(both)) != sizeof(both))
		_exit(3);
}

static int start(struct state *state, char **argv)
{
	struct rowlock_client_options client = ROWLOCK_CLIENT_OPTIONS_DEFAULT;
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_errinfo err;

	client.dsn = argv[4];
	client.program = getenv("ROWLOCK_TEST_PROGRAM");
	client.ttl_ms = strtoull(argv[3], NULL, 10);
	client.row_idle_ms = test_at_most(
	    client.ttl_ms > 2000 ? client.ttl_ms : 2000, TEST_IDLE_MOST_MS);
	client.flags |= ROWLOCK_NO_REAPER;
	test_timeouts(&client);
	test_handover(&client);
	options.strategy = strcmp(argv[1], "row") ? ROWLOCK_LEASE : ROWLOCK_ROW;
	options.info = "a test's actor";
	if (explain(rowlock_client_new(&client, &state->client, &err), &err))
		return err.code;
	if (explain(rowlock_new(state->client, argv[2], &options, &state->lock,
				&err),
		    &err))
		return err.code;
	rowlock_on_lost(state->lock, count_lost, state);
	return 0;
}

static void obey(struct state *state, char *line)
{
	char *rest;
	size_t i;

	rest = line + strcspn(line, " \n");
	if (*rest)
		*rest++ = '\0';
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i].name, line)) {
			answer(words[i].say(state, strtoull(rest, NULL, 10)));
			return;
		}
	fprintf(stderr, "# actor: what is '%s'?\n", line);
	exit(2);
}

int main(int argc, char **argv)
{
	struct state state = { .lost_event = eventfd(0, EFD_CLOEXEC) };
	char line[64];

	if (argc != 5)
		return 2;
	answer(start(&state, argv));
	while (state.client && fgets(line, sizeof(line), stdin)) {
		obey(&state, line);
		if (!state.lock)
			break;
	}
	close(state.lost_event);
	return 0;
}
