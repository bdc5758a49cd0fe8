// SPDX-License-Identifier: MIT
/*
 * Waiting for a lease in the server's line: who gets it in which order and for
 * how many statements, also if one of them is killed; who leaves the line, and
 * who asks again and again instead of standing in it.
 */
#include <poll.h>

#include "doorbell.h"

/* ------------------------------------------------------------ the order */

#define LINE 8

CASE("processes have it in the order in which they came")
{
	const char *name = test_name("order");
	TEST_SQL(sql);
	TEST_ACTOR(holder, holder_of(sql, name, LONG_TTL_MS));
	struct test_actor line[LINE];
	uint64_t before, spent;
	int i;

	for (i = 0; i < LINE; i++) {
		line[i] = actor(name, LONG_TTL_MS);
		test_actor_tell(&line[i], "wait");
		await_line(sql, (uint64_t) i + 1);
	}
	before = test_sql_status(sql, "Questions");
	gives_it_back(&holder);
	/* One that came out of turn would keep it from the others. */
	for (i = 0; i < LINE; i++) {
		has_it(&line[i]);
		gives_it_back(&line[i]);
	}
	spent = test_sql_status(sql, "Questions") - before - 1;
	assert_in_range(spent, 2 * LINE, 3 * (LINE + 1));
	await_free(sql, name);
	for (i = 0; i < LINE; i++)
		test_actor_end(&line[i]);
}

/* ------------------------------------------------- who leaves the line */

CASE("killed waiter does not stop the line")
{
	const char *name = test_name("killed");
	TEST_SQL(sql);
	TEST_ACTOR(first, holder_of(sql, name, LONG_TTL_MS));
	struct test_actor second = actor(name, LONG_TTL_MS);
	TEST_ACTOR(third, actor(name, LONG_TTL_MS));

	test_actor_tell(&second, "wait");
	await_line(sql, 1);
	test_actor_tell(&third, "wait");
	await_line(sql, 2);
	test_actor_kill(&second);
	gives_it_back(&first);
	has_it(&third);
	gives_it_back(&third);
	await_free(sql, name);
}

static bool comes_first(const struct test_actor *one,
			const struct test_actor *other)
{
	struct pollfd answers[] = {
		{ .fd = one->from, .events = POLLIN },
		{ .fd = other->from, .events = POLLIN },
	};

	if (poll(answers, 2, test_patience_ms()) <= 0)
		fail_msg("neither actor answers");
	return answers[0].revents != 0;
}

/* Whoever sees first that it is dead takes its name: that need not be the head
 * of the line. */
CASE("killed holder is outlived by the line")
{
	const char *name = test_name("dead");
	TEST_SQL(sql);
	uint64_t ttl = test_ttl_ms(2000);
	struct test_actor first = holder_of(sql, name, ttl);
	TEST_ACTOR(second, actor(name, ttl));
	TEST_ACTOR(third, actor(name, ttl));
	bool second_is_first;

	test_actor_tell(&second, "wait");
	await_line(sql, 1);
	test_actor_tell(&third, "wait");
	await_line(sql, 2);
	test_actor_kill(&first);
	second_is_first = comes_first(&second, &third);
	has_it(second_is_first ? &second : &third);
	gives_it_back(second_is_first ? &second : &third);
	has_it(second_is_first ? &third : &second);
	gives_it_back(second_is_first ? &third : &second);
	await_free(sql, name);
}

CASE("cancel and deadline leave the line")
{
	const char *name = test_name("leave");
	TEST_SQL(sql);
	TEST_ACTOR(holder, holder_of(sql, name, LONG_TTL_MS));
	TEST_CLIENT(client, client_of(4, LONG_TTL_MS));
	struct waiter waiter;
	uint64_t owner;

	owner = owner_of(sql, name);
	start(&waiter, client, name, ROWLOCK_FOREVER);
	await_line(sql, 1);
	test_cancel(waiter.lock);
	assert_int_equal(join(&waiter), ROWLOCK_ECANCELED);
	await_line(sql, 0);
	start(&waiter, client, name, 300);
	assert_int_equal(join(&waiter), ROWLOCK_ETIMEDOUT);
	await_line(sql, 0);
	assert_int_equal(owner_of(sql, name), owner);
	gives_it_back(&holder);
	await_free(sql, name);
}

/* ---------------------------------------------- who does not stand in it */

/* When its client says so first. */
struct log {
	struct test_event bell;
	struct test_event poll;
};

static void note(enum rowlock_log_level level, const char *message, void *arg)
{
	struct log *log = arg;

	(void) level;
	if (strstr(message, "waits on its bell"))
		test_event_set(&log->bell);
	if (strstr(message, "asked for again and again"))
		test_event_set(&log->poll);
}

static struct rowlock_client *logging_client(unsigned int waits,
					     struct log *log)
{
	struct rowlock_client_options options =
	    test_client_options(LONG_TTL_MS);

	log->bell = test_event_new();
	log->poll = test_event_new();
	options.wait_connections = waits;
	if (!waits)
		options.flags |= ROWLOCK_POLL;
	options.log = note;
	options.log_arg = log;
	options.log_level = ROWLOCK_LOG_DEBUG;
	return test_client_with(&options);
}

static void log_end(struct log *log)
{
	test_event_end(&log->bell);
	test_event_end(&log->poll);
}

CASE("who finds no wait connection polls")
{
	const char *one = test_name("one");
	const char *other = test_name("other");
	TEST_SQL(sql);
	TEST_ACTOR(holder, holder_of(sql, one, LONG_TTL_MS));
	TEST_ACTOR(other_holder, actor(other, LONG_TTL_MS));
	struct waiter waits, polls;
	struct log log;
	struct rowlock_client *client = logging_client(1, &log);

	assert_int_equal(test_actor_ask(&other_holder, "acquire 0"), 0);
	start(&waits, client, one, ROWLOCK_FOREVER);
	assert_event(&log.bell, "'waits on its bell' in the log");
	await_line(sql, 1);
	start(&polls, client, other, ROWLOCK_FOREVER);
	assert_event(&log.poll, "'asked for again and again' in the log");
	gives_it_back(&other_holder);
	assert_int_equal(join(&polls), 0);
	assert_int_equal(in_line(sql), 1);
	gives_it_back(&holder);
	assert_int_equal(join(&waits), 0);
	await_free(sql, one);
	await_free(sql, other);
	test_client_end(client);
	log_end(&log);
}

CASE("without wait connections all poll")
{
	const char *name = test_name("none");
	TEST_SQL(sql);
	TEST_ACTOR(holder, actor(name, LONG_TTL_MS));
	struct waiter waiter;
	struct log log;
	struct rowlock_client *client = logging_client(0, &log);

	assert_int_equal(test_actor_ask(&holder, "acquire 0"), 0);
	start(&waiter, client, name, ROWLOCK_FOREVER);
	assert_event(&log.poll, "'asked for again and again' in the log");
	assert_int_equal(in_line(sql), 0);
	gives_it_back(&holder);
	assert_int_equal(join(&waiter), 0);
	await_free(sql, name);
	test_client_end(client);
	log_end(&log);
}

CASE_MAIN(test_main)
