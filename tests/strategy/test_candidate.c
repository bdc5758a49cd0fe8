/* SPDX-License-Identifier: MIT */
/*
 * Which of several candidates is seen, on a real server: whatever the order in
 * which their rows are read.
 */
#include "parts.h"
#include "strategy/candidate.h"

/* A candidate on a slot of its own that has stood for this many seconds. */
static void put(const char *name, unsigned int number, unsigned int weight,
		int seconds)
{
	test_sql(ground->sql,
		 "INSERT INTO business_lease (name, slot, session, attempt, "
		 "acquired_at, info) VALUES ('%s', %u, %llu, %u, "
		 "UTC_TIMESTAMP(6) - INTERVAL %d SECOND, 'weight=%u')",
		 name, 1073741824u + number,
		 (unsigned long long) ground->sessions[number % 2], number + 1,
		 seconds, weight);
}

static struct rlk_heaviest look(const char *name, unsigned int weight)
{
	struct rlk_heaviest heaviest = { 99, 99 };

	assert_done(rlk_candidates_look(ground->conns[0], name, weight,
					&heaviest, &err));
	return heaviest;
}

static void forget(const char *name)
{
	test_sql(ground->sql, "DELETE FROM business_lease WHERE name = '%s'",
		 name);
}

#define STANDS(sentence) CASE_ON(sentence, GROUND_CANDIDATES)

STANDS("of one weight the longest is seen")
{
	/* Rows are read in the order of their slots. */
	static const int stood[][3] = {
		{ 300, 2000, 40 },
		{ 2000, 300, 40 },
		{ 40, 300, 2000 },
	};
	const char *name = test_name("candidates");

	for (size_t i = 0; i < TEST_SIZE(stood); i++) {
		struct rlk_heaviest seen;

		for (unsigned int number = 0; number < 3; number++)
			put(name, number, 5, stood[i][number]);
		seen = look(name, 4);
		assert_int_equal(seen.weight, 5);
		assert_true(seen.stood_ms >= 2000000);
		/* One of no larger weight is nobody. */
		assert_int_equal(look(name, 5).weight, 0);
		forget(name);
	}
}

STANDS("a heavier one is seen before a longer one")
{
	static const unsigned int weights[][3] = {
		{ 5, 6, 4 },
		{ 6, 5, 4 },
		{ 4, 5, 6 },
	};
	const char *name = test_name("candidates");

	for (size_t i = 0; i < TEST_SIZE(weights); i++) {
		struct rlk_heaviest seen;

		for (unsigned int number = 0; number < 3; number++)
			put(name, number, weights[i][number],
			    weights[i][number] == 6 ? 40 : 2000);
		seen = look(name, 0);
		assert_int_equal(seen.weight, 6);
		assert_in_range(seen.stood_ms, 40000, 1999999);
		forget(name);
	}
}

STANDS("the dead are not seen")
{
	const char *name = test_name("candidates");

	put(name, 0, 5, 40);
	put(name, 1, 6, 40);
	test_sql(ground->sql,
		 "UPDATE lease_session SET expires_at = UTC_TIMESTAMP(6) "
		 "WHERE id = %llu",
		 (unsigned long long) ground->sessions[1]);
	assert_int_equal(look(name, 0).weight, 5);
	forget(name);
}

CASE_MAIN(test_main)
