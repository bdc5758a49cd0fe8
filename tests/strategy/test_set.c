/* SPDX-License-Identifier: MIT */
/*
 * Sets of leases: all names or none.
 */
#include <stdio.h>
#include <string.h>

#include "sets.h"

static void take(int who, const struct rlk_request *request)
{
	assert_int_equal(ground_ask(who, request, RLK_ASK_FIRST, NULL),
			 RLK_DONE);
}

CASE_ON("all rows of a set are of one attempt", GROUND_SETS)
{
	struct sets_trio trio = sets_trio("all");
	struct rlk_request request = ground_request(0, trio.all);
	struct rlk_request other = ground_request(0, trio.all);

	request.info = "it's \"mine\"";
	request.max_hold_ms = 30000;
	take(0, &request);
	assert_int_equal(sets_rows(&trio, request.attempt), 3);
	assert_int_equal(
	    test_sql_number(ground->sql,
			    "SELECT COUNT(*) FROM business_lease WHERE session "
			    "= %llu AND info = 'it''s \"mine\"' AND "
			    "expires_at > UTC_TIMESTAMP(6)",
			    (unsigned long long) request.session),
	    3);
	assert_false(ground_confirm(1, &other));
	assert_false(ground_release(1, &other));
	assert_true(ground_confirm(1, &request));
	assert_true(ground_release(1, &request));
	assert_int_equal(sets_rows(&trio, 0), 0);
	assert_false(ground_release(0, &request));
	assert_false(ground_confirm(0, &request));
}

CASE_ON("the same attempt is granted again", GROUND_SETS)
{
	struct sets_trio trio = sets_trio("again");
	struct rlk_request request = ground_request(0, trio.all);

	take(0, &request);
	/* As after a lost answer, once the old connection is gone. */
	take(1, &request);
	assert_int_equal(sets_rows(&trio, request.attempt), 3);
	assert_true(ground_release(1, &request));
}

CASE_ON("one name that is held keeps all of them", GROUND_SETS)
{
	struct sets_trio trio = sets_trio("held");
	struct rlk_request mine = ground_request(0, trio.all);

	for (int i = 0; i < SETS_NAMES; i++) {
		struct rlk_request one = sets_take_one(1, trio.names[i]);
		struct rlk_holder holder;

		assert_int_equal(ground_ask(0, &mine, RLK_ASK_FIRST, &holder),
				 RLK_HELD);
		assert_true(holder.known);
		assert_true(holder.attempt == one.attempt);
		assert_int_equal(holder.which, i);
		assert_int_equal(ground_ask(0, &mine, RLK_ASK_AGAIN, NULL),
				 RLK_HELD);
		assert_int_equal(sets_rows(&trio, 0), 1);
		sets_release_one(1, &one);
	}
	take(0, &mine);
	assert_true(ground_release(0, &mine));
}

CASE_ON("sets that share a name exclude each other", GROUND_SETS)
{
	struct sets_trio trio = sets_trio("share");
	struct rlk_request a = ground_request(0, trio.first_two);
	struct rlk_request b = ground_request(1, trio.last_two);
	struct rlk_request c = ground_request(1, trio.last);

	take(0, &a);
	assert_int_equal(ground_ask(1, &b, RLK_ASK_FIRST, NULL), RLK_HELD);
	take(1, &c);
	assert_int_equal(sets_rows(&trio, 0), 3);
	assert_true(ground_release(0, &a));
	assert_true(ground_release(1, &c));
	take(1, &b);
	assert_true(ground_release(1, &b));
}

/* So that it is removed, or looked at, in time. */
CASE_ON("the holder that ends first is told", GROUND_SETS)
{
	struct sets_trio trio = sets_trio("first");
	struct rlk_request mine = ground_request(0, trio.all);
	struct rlk_request a = sets_take_one(0, trio.names[0]);
	struct rlk_request b = sets_take_one(1, trio.names[1]);
	struct rlk_holder holder;
	unsigned int told = 0;

	test_sql(ground->sql,
		 "UPDATE lease_session SET expires_at = UTC_TIMESTAMP(6) - "
		 "INTERVAL 1 SECOND WHERE id = %llu",
		 (unsigned long long) b.session);
	assert_int_equal(ground_ask(0, &mine, RLK_ASK_FIRST, &holder),
			 RLK_HELD);
	assert_int_equal(holder.which, 1);
	assert_true(holder.left_us < 0);
	test_sql(ground->sql, "DELETE FROM lease_session WHERE id = %llu",
		 (unsigned long long) a.session);
	assert_int_equal(ground_ask(1, &mine, RLK_ASK_FIRST, &holder),
			 RLK_HELD);
	assert_int_equal(holder.which, 0);
	assert_true(holder.absent);
	/* Who observes beats has to see both. */
	mine.observes = true;
	for (int i = 0; i < 1000 && told != 3; i++) {
		assert_int_equal(ground_ask(1, &mine, RLK_ASK_FIRST, &holder),
				 RLK_HELD);
		told |= 1u << holder.which;
	}
	assert_int_equal(told, 3);
	sets_release_one(0, &a);
	sets_release_one(1, &b);
}

/* A lease of it was broken by hand: what is left is nobody's use. */
CASE_ON("what is left of a set is given back", GROUND_SETS)
{
	struct sets_trio trio = sets_trio("part");
	struct rlk_request request = ground_request(0, trio.all);
	struct rlk_holder holder;

	take(0, &request);
	test_sql(ground->sql, "DELETE FROM business_lease WHERE name = '%s'",
		 trio.names[1]);
	assert_false(ground_confirm(0, &request));
	assert_int_equal(ground_ask(0, &request, RLK_ASK_FIRST, &holder),
			 RLK_HELD);
	assert_false(holder.known);
	assert_int_equal(sets_rows(&trio, 0), 0);
	/* Nor is what is left given back as if it had been all of it. */
	take(0, &request);
	test_sql(ground->sql, "DELETE FROM business_lease WHERE name = '%s'",
		 trio.names[0]);
	assert_false(ground_release(0, &request));
	assert_int_equal(sets_rows(&trio, 0), 0);
}

#define ERROR_UNKNOWN_VARIABLE 1193

/* A member of a group may lack rows that are committed elsewhere. This server
 * is in none, so that it does not know what the barrier is made of. */
CASE_ON("rows that are missing are counted behind the barrier", GROUND_SETS)
{
	struct rlk_server *server =
	    (struct rlk_server *) (uintptr_t) rlk_conn_server(ground->conns[0]);
	const struct rlk_server before = *server;
	struct sets_trio trio = sets_trio("member");
	struct rlk_request request = ground_request(0, trio.all);
	bool found = true;

	take(0, &request);
	for (unsigned int i = 0; i < SETS_NAMES; i++)
		test_sql(ground->sql,
			 "DELETE FROM business_lease WHERE name = '%s'",
			 trio.names[i]);
	server->flavour = RLK_MYSQL;
	server->multi_primary = true;
	assert_int_equal(
	    ground->strategy->release(ground->conns[0], &request, &found, &err),
	    RLK_REFUSED);
	assert_int_equal(err.mysql, ERROR_UNKNOWN_VARIABLE);
	*server = before;
	assert_false(ground_release(0, &request));
}

CASE_ON("each name has a token of its own", GROUND_SETS)
{
	struct sets_trio trio = sets_trio("token");
	struct rlk_request request = ground_request(0, trio.all);
	struct rlk_request one = sets_take_one(1, trio.names[2]);
	uint64_t before = 0;

	assert_done(rlk_strategy(ROWLOCK_LEASE)
			->draw(ground->beside, &one, &before, &err));
	sets_release_one(1, &one);
	assert_int_equal(ground_draw(&request), 0);
	take(0, &request);
	for (unsigned int i = 0; i < SETS_NAMES; i++) {
		uint64_t token;

		request.which = i;
		token = ground_draw(&request);
		assert_true(token > 0);
		assert_true(i < 2 || token > before);
		assert_true(
		    test_sql_number(ground->sql,
				    "SELECT token FROM lock_token WHERE "
				    "strategy = 'lease' AND name = '%s'",
				    trio.names[i]) == token);
	}
	assert_true(ground_release(0, &request));
}

/* It is no error of the caller's that another one was quicker, and nothing is
 * left of what was begun. */
CASE_ON("a race that is lost makes nothing", GROUND_SETS)
{
	struct sets_trio trio = sets_trio("race");
	struct rlk_request mine = ground_request(0, trio.all);
	struct rlk_request theirs;

	/* Seen by those who insert, and by nobody who looks. */
	test_sql(ground->sql, "BEGIN");
	test_sql(ground->sql,
		 "INSERT INTO business_lease (name, slot, session, attempt, "
		 "acquired_at) VALUES ('%s', 0, %llu, 1, UTC_TIMESTAMP(6))",
		 trio.names[2], (unsigned long long) ground->sessions[1]);
	assert_true(
	    rlk_fault_passes(ground_ask(0, &mine, RLK_ASK_FIRST, NULL)));
	test_sql(ground->sql, "COMMIT");
	assert_int_equal(sets_rows(&trio, 0), 1);
	test_sql(ground->sql, "DELETE FROM business_lease WHERE name = '%s'",
		 trio.names[2]);
	theirs = sets_take_one(1, trio.names[0]);
	assert_int_equal(ground_ask(0, &mine, RLK_ASK_FIRST, NULL), RLK_HELD);
	assert_int_equal(sets_rows(&trio, 0), 1);
	sets_release_one(1, &theirs);
}

/* A name twice in one statement is what a row is that came in between. */
CASE_ON("a row that came in between undoes all", GROUND_SETS)
{
	struct sets_trio trio = sets_trio("between");
	struct rlk_request mine;
	char twice[300];

	snprintf(twice, sizeof(twice), "%s\n%s\n%s", trio.names[0],
		 trio.names[1], trio.names[1]);
	mine = ground_request(0, twice);
	assert_true(
	    rlk_fault_passes(ground_ask(0, &mine, RLK_ASK_FIRST, NULL)));
	assert_true(
	    rlk_fault_passes(ground_ask(0, &mine, RLK_ASK_AGAIN, NULL)));
	assert_int_equal(sets_rows(&trio, 0), 0);
}

CASE_MAIN(test_main)
