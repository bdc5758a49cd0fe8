// SPDX-License-Identifier: MIT
/*
 * Waiting for a lease in the server's line: who gets it in which order and for
 * how many statements, also if one of them is killed.
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

CASE_MAIN(test_main)
