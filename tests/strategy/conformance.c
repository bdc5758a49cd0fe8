/* SPDX-License-Identifier: MIT */
/*
 * What every strategy promises, tried with each, by two clients in both
 * orders.
 */
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "db/conn_fence.h"
#include "ground.h"

/* "Again" is no verdict: on a busy server others' transactions may be in the
 * way for a moment, and core asks again, too. */
static enum rlk_fault ask(int who, const struct rlk_request *request,
			  enum rlk_ask how, struct rlk_holder *ret_holder)
{
	enum rlk_fault verdict = RLK_CONFLICT;

	for (int i = 0; rlk_fault_passes(verdict) && i < 20; i++)
		verdict = ground_ask(who, request, how, ret_holder);
	return verdict;
}

#define LOCKS(sentence, function)                                              \
	ON(ROWLOCK_LEASE, "lease: " sentence, function),                       \
	    ON(GROUND_LEASE_LOOKS, "lease that looks: " sentence, function),   \
	    ON(GROUND_SETS, "sets of leases: " sentence, function),            \
	    ON(GROUND_WRITERS, "writers: " sentence, function),                \
	    ON(ROWLOCK_ROW, "row: " sentence, function)

#define PERMITS(sentence, function)                                            \
	ON(GROUND_PERMITS, "permits: " sentence, function)
#define READERS(sentence, function)                                            \
	ON(GROUND_READERS, "readers: " sentence, function)
#define CANDIDATES(sentence, function)                                         \
	ON(GROUND_CANDIDATES, "candidates: " sentence, function)

/* Those of which one excludes the other. */
#define EXCLUSIVE(sentence)                                                    \
	CASES(LOCKS(sentence, CASE_HERE), PERMITS(sentence, CASE_HERE))

/* Those that have tokens. */
#define DRAWN(sentence)                                                        \
	CASES(LOCKS(sentence, CASE_HERE), READERS(sentence, CASE_HERE))

/* Those of which one does not. */
#define SHARED(sentence)                                                       \
	CASES(READERS(sentence, CASE_HERE), CANDIDATES(sentence, CASE_HERE))

#define ALL(sentence)                                                          \
	CASES(LOCKS(sentence, CASE_HERE), PERMITS(sentence, CASE_HERE),        \
	      READERS(sentence, CASE_HERE), CANDIDATES(sentence, CASE_HERE))

EXCLUSIVE("a free name is granted and a held one is not")
{
	static const enum rlk_ask asks[] = { RLK_ASK_FIRST, RLK_ASK_AGAIN };
	const char *name = test_name("held");

	for (int one = 0; one < 2; one++) {
		int two = !one;

		for (size_t i = 0; i < TEST_SIZE(asks); i++) {
			struct rlk_request a = ground_request(one, name);
			struct rlk_request b = ground_request(two, name);

			assert_int_equal(ask(one, &a, asks[i], NULL), RLK_DONE);
			assert_int_equal(ask(two, &b, RLK_ASK_FIRST, NULL),
					 RLK_HELD);
			assert_int_equal(ask(two, &b, RLK_ASK_AGAIN, NULL),
					 RLK_HELD);
			/* Asking has changed nothing. */
			assert_true(ground_confirm(one, &a));
			assert_true(ground_release(one, &a));
			assert_int_equal(ask(two, &b, asks[i], NULL), RLK_DONE);
			assert_int_equal(ask(one, &a, asks[!i], NULL),
					 RLK_HELD);
			assert_true(ground_release(two, &b));
		}
	}
}

SHARED("those that share a name have it together")
{
	GROUND_TWO("shared");

	assert_int_equal(ask(0, &a, RLK_ASK_FIRST, NULL), RLK_DONE);
	assert_int_equal(ask(1, &b, RLK_ASK_FIRST, NULL), RLK_DONE);
	assert_true(ground_release(0, &a));
	assert_false(ground_confirm(0, &a));
	assert_true(ground_confirm(1, &b));
	assert_true(ground_release(1, &b));
}

ALL("a grant is granted again")
{
	struct rlk_request a = ground_request(0, test_name("idempotent"));

	for (int i = 0; i < 3; i++)
		assert_int_equal(ask(0, &a, RLK_ASK_FIRST, NULL), RLK_DONE);
	assert_true(ground_confirm(0, &a));
	assert_true(ground_release(0, &a));
}

EXCLUSIVE("a release frees only its own name")
{
	struct rlk_request a = ground_request(0, test_name("one"));
	struct rlk_request b = ground_request(1, test_name("two"));
	struct rlk_request c;

	assert_int_equal(ask(0, &a, RLK_ASK_FIRST, NULL), RLK_DONE);
	assert_int_equal(ask(1, &b, RLK_ASK_FIRST, NULL), RLK_DONE);
	assert_true(ground_release(0, &a));
	assert_true(ground_confirm(1, &b));
	c = ground_request(0, b.name);
	assert_int_equal(ask(0, &c, RLK_ASK_FIRST, NULL), RLK_HELD);
	assert_true(ground_release(1, &b));
}

DRAWN("tokens grow from hold to hold")
{
	const char *name = test_name("token");
	uint64_t last = 0;

	for (int i = 0; i < 20; i++) {
		struct rlk_request request = ground_request(i % 2, name);
		uint64_t token;

		assert_int_equal(ask(i % 2, &request, RLK_ASK_FIRST, NULL),
				 RLK_DONE);
		token = ground_draw(&request);
		assert_true(token > last);
		last = token;
		/* Also where the server's clock has gone back. */
		if (i == 10) {
			last += 1000000000000u;
			test_sql(ground->sql,
				 "UPDATE lock_token SET token = %llu WHERE "
				 "name = '%s'",
				 (unsigned long long) last, name);
		}
		assert_true(ground_release(i % 2, &request));
	}
}

DRAWN("a token starts above what was removed")
{
	struct rlk_request request = ground_request(0, test_name("removed"));
	uint64_t before;

	assert_int_equal(ask(0, &request, RLK_ASK_FIRST, NULL), RLK_DONE);
	before = ground_draw(&request);
	assert_int_equal(test_sql(ground->sql,
				  "DELETE FROM lock_token WHERE name = '%s'",
				  request.name),
			 1);
	assert_true(ground_draw(&request) > before);
	assert_true(ground_release(0, &request));
}

/* After a failover, or where a clock was set. */
DRAWN("tokens grow though the server's clock is behind")
{
	struct rlk_request request = ground_request(0, test_name("behind"));
	uint64_t before;

	assert_int_equal(ask(0, &request, RLK_ASK_FIRST, NULL), RLK_DONE);
	before = ground_draw(&request) + 86400000000;
	assert_int_equal(test_sql(ground->sql,
				  "UPDATE lock_token SET token = %llu WHERE "
				  "name = '%s'",
				  (unsigned long long) before, request.name),
			 1);
	assert_true(ground_draw(&request) == before + 1);
	assert_true(ground_draw(&request) == before + 2);
	assert_true(ground_release(0, &request));
}

/* Told of what it has lost; by whoever has the name, only. */
DRAWN("tokens are raised by the holder")
{
	const struct rlk_strategy *strategy = ground->strategy;
	struct rlk_request request = ground_request(0, test_name("raised"));
	struct rlk_request other = request;
	uint64_t first;
	uint64_t last;

	assert_int_equal(ask(0, &request, RLK_ASK_FIRST, NULL), RLK_DONE);
	first = ground_draw(&request);
	last = first + 86400000000;
	assert_done(strategy->raise(ground->beside, &request, last, &err));
	/* It does not go back. */
	assert_done(strategy->raise(ground->beside, &request, first, &err));
	/* It is nobody's until it is drawn. */
	assert_int_equal(
	    test_sql_number(ground->sql,
			    "SELECT COUNT(*) FROM lock_token WHERE name = '%s' "
			    "AND token = %llu AND attempt IS NULL",
			    request.name, (unsigned long long) last),
	    1);
	assert_true(ground_draw(&request) == last + 1);
	other.attempt++;
	assert_done(strategy->raise(ground->beside, &other, 2 * last, &err));
	if (!strategy->pins_connection)
		assert_true(ground_draw(&request) == last + 2);
	assert_true(ground_release(0, &request));
}

EXCLUSIVE("names that look alike are different locks")
{
	static const char *const ends[] = {
		"job",
		"Job",
		"JOB",
		"j\xc3\xb6"
		"b",
		"j\xc3\x96"
		"b",
		"jo\xcc\x88"
		"b",
		"job\xc2\xa0",
		"job\xe2\x80\x8b",
		"job\xe3\x80\x80",
		"jobs",
		"j%b",
		"j_b",
		"j'b",
		"j\\b",
		"jo b",
	};
	struct rlk_request held[TEST_SIZE(ends)];
	char names[TEST_SIZE(ends)][128];
	const char *start = test_name("alike");

	for (size_t i = 0; i < TEST_SIZE(ends); i++) {
		snprintf(names[i], sizeof(names[i]), "%s.%s", start, ends[i]);
		held[i] = ground_request(0, names[i]);
		assert_int_equal(ask(0, &held[i], RLK_ASK_FIRST, NULL),
				 RLK_DONE);
	}
	for (size_t i = 0; i < TEST_SIZE(ends); i++) {
		struct rlk_request other = ground_request(1, names[i]);

		assert_int_equal(ask(1, &other, RLK_ASK_FIRST, NULL), RLK_HELD);
	}
	for (size_t i = 0; i < TEST_SIZE(ends); i++)
		assert_true(ground_release(0, &held[i]));
}

EXCLUSIVE("one hundred characters of four bytes are a name")
{
	static const enum rlk_ask ways[] = { RLK_ASK_FIRST, RLK_ASK_AGAIN };
	struct rlk_request a;
	struct rlk_request b;
	char first[401];
	char second[401];

	for (size_t i = 0; i < 100; i++) {
		unsigned int code =
		    0x10000 + (unsigned int) (rlk_random() % 0xfffff);

		first[4 * i] = (char) (0xf0 | code >> 18);
		first[4 * i + 1] = (char) (0x80 | (code >> 12 & 0x3f));
		first[4 * i + 2] = (char) (0x80 | (code >> 6 & 0x3f));
		first[4 * i + 3] = (char) (0x80 | (code & 0x3e));
	}
	first[400] = '\0';
	memcpy(second, first, sizeof(second));
	/* They differ in the last bit that there is. */
	second[399] |= 1;
	a = ground_request(0, first);
	b = ground_request(1, second);
	for (size_t i = 0; i < TEST_SIZE(ways); i++) {
		b.name = second;
		assert_int_equal(ask(0, &a, ways[i], NULL), RLK_DONE);
		assert_int_equal(ask(1, &b, ways[i], NULL), RLK_DONE);
		assert_true(ground_release(1, &b));
		b.name = first;
		assert_int_equal(ask(1, &b, ways[i], NULL), RLK_HELD);
		assert_true(ground_release(0, &a));
	}
	test_sql(ground->sql,
		 "DELETE FROM business_lock WHERE name IN ('%s', '%s')", first,
		 second);
}

ALL("the info is stored as it is")
{
	struct rlk_request request = ground_request(0, test_name("info"));
	const char *table = !ground->strategy->pins_connection
				? "business_lease"
				: "business_lock";

	request.info = "it's 100 % \xf0\x9f\x94\x92";
	assert_int_equal(ask(0, &request, RLK_ASK_AGAIN, NULL), RLK_DONE);
	assert_int_equal(
	    test_sql_number(ground->sql,
			    "SELECT COUNT(*) FROM %s WHERE name = '%s' AND "
			    "info = 'it''s 100 %% \xf0\x9f\x94\x92'",
			    table, request.name),
	    1);
	assert_true(ground_release(0, &request));
}

/* The connection ends under the first question; after that nothing is sent. */
ALL("a lost connection gives no verdict")
{
	const struct rlk_strategy *strategy = ground->strategy;
	struct rlk_request a = ground_request(0, test_name("lost"));
	struct rlk_conn *conn = ground->conns[0];
	struct rlk_holder holder = { 0 };
	struct rlk_mark mark;
	uint64_t token = 7;
	bool found = true;

	assert_int_equal(ask(0, &a, RLK_ASK_FIRST, NULL), RLK_DONE);
	rlk_conn_mark(conn, &mark);
	assert_done(rlk_conn_fence(ground->beside, &mark, RLK_NEVER, &err));
	assert_int_equal(
	    strategy->acquire(conn, &a, RLK_ASK_FIRST, &holder, &err),
	    RLK_UNKNOWN);
	assert_int_equal(err.code, ROWLOCK_ECONNECT);
	for (int again = 0; again < 2; again++)
		assert_int_equal(
		    strategy->acquire(conn, &a,
				      again ? RLK_ASK_AGAIN : RLK_ASK_FIRST,
				      &holder, &err),
		    RLK_FAILED);
	assert_int_equal(strategy->release(conn, &a, &found, &err), RLK_FAILED);
	assert_int_equal(strategy->confirm(conn, &a, &found, &err), RLK_FAILED);
	if (strategy->draw)
		assert_int_equal(strategy->draw(conn, &a, &token, &err),
				 RLK_FAILED);
	/* Outputs are written on success only. */
	assert_true(found);
	assert_int_equal(token, 7);
	if (strategy->look)
		assert_int_equal(strategy->look(conn, &a, &holder, &err),
				 RLK_FAILED);
	if (strategy->end)
		assert_int_equal(strategy->end(conn, a.name, &found, &err),
				 RLK_FAILED);
	if (!strategy->pins_connection)
		test_sql(ground->sql,
			 "DELETE FROM business_lease WHERE name = '%s'",
			 a.name);
}

CASE_MAIN(test_main)
