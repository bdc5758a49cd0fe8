/* SPDX-License-Identifier: MIT */
/*
 * Many acquires, releases and draws in one round trip: each comes out as if it
 * had been asked alone, and none waits for another.
 */
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "parts.h"

EACH("each is answered as if alone")
{
	const char *word = test_name("batch");
	struct rlk_part parts[7];
	struct rlk_request held = ground_request(1, parts_name(word, 1));
	struct rlk_request mine = ground_request(0, parts_name(word, 2));
	struct rlk_request gone = ground_request(0, parts_name(word, 3));
	struct rlk_request drawn = ground_request(0, parts_name(word, 4));

	held.max_hold_ms = 30000;
	ground_ask(1, &held, RLK_ASK_FIRST, NULL);
	ground_ask(0, &mine, RLK_ASK_FIRST, NULL);
	ground_ask(0, &drawn, RLK_ASK_FIRST, NULL);
	parts[0] = parts_of(RLK_ACT_DRAW, &drawn);
	parts[1] = parts_ask(0, held.name);
	parts[2] = parts_of(RLK_ACT_RELEASE, &mine);
	parts[3] = parts_ask(0, parts_name(word, 5));
	parts[4] = parts_of(RLK_ACT_RELEASE, &gone);
	parts[5] = parts_of(RLK_ACT_DRAW, &gone);
	parts[6] = parts[1];
	parts[6].act = RLK_ACT_DRAW;
	parts_run_all(0, parts, 7);

	assert_true(parts[0].token > 0);
	assert_true(ground_draw(&drawn) > parts[0].token);
	assert_int_equal(parts[1].verdict, RLK_HELD);
	assert_true(parts[1].holder.known && parts[1].holder.looked);
	assert_true(parts[1].holder.attempt == held.attempt);
	assert_true(parts[1].holder.session == held.session);
	assert_false(parts[1].holder.absent);
	assert_in_range(parts[1].holder.left_us, 1, 60000000);
	assert_true(parts[1].holder.has_max);
	assert_true(parts[1].holder.max_ms == 30000);
	assert_int_equal(parts[1].holder.ttl_ms, 60000);
	assert_true(parts[2].found);
	assert_int_equal(parts_rows(mine.name), 0);
	assert_int_equal(parts[3].verdict, RLK_DONE);
	assert_true(ground_confirm(0, &parts[3].request));
	assert_false(parts[4].found);
	assert_true(parts[5].token == 0);
	assert_true(parts[6].token == 0);
	/* The other's is as it was. */
	assert_true(ground_confirm(1, &held));
	assert_true(ground_release(1, &held));
	assert_true(ground_release(0, &drawn));
	assert_true(ground_release(0, &parts[3].request));
}

EACH("an own row of an earlier sending is a grant")
{
	const char *word = test_name("batch-own");
	struct rlk_part parts[3];

	for (size_t i = 0; i < 3; i++)
		parts[i] = parts_ask(0, parts_name(word, i));
	ground_ask(0, &parts[1].request, RLK_ASK_FIRST, NULL);
	parts_run_all(0, parts, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(parts[i].verdict, RLK_DONE);
		assert_true(ground_release(0, &parts[i].request));
	}
}

/* Who has it was told before. */
EACH("asking again looks only if some were free")
{
	const char *word = test_name("batch-again");
	struct rlk_request held[2];
	struct rlk_part parts[2];

	for (int i = 0; i < 2; i++) {
		held[i] = ground_request(1, parts_name(word, (size_t) i));
		ground_ask(1, &held[i], RLK_ASK_FIRST, NULL);
		parts[i] = parts_ask(0, held[i].name);
		parts[i].ask = RLK_ASK_AGAIN;
	}
	parts_run_all(0, parts, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(parts[i].verdict, RLK_HELD);
		assert_false(parts[i].holder.known);
	}
	ground_release(1, &held[1]);
	parts_run_all(0, parts, 2);
	assert_int_equal(parts[0].verdict, RLK_HELD);
	assert_int_equal(parts[1].verdict, RLK_DONE);
	assert_true(ground_release(0, &parts[1].request));
	/* One that asks for the first time is told. */
	ground_ask(1, &held[1], RLK_ASK_FIRST, NULL);
	parts[0] = parts_ask(0, held[0].name);
	parts_run_all(0, parts, 2);
	assert_int_equal(parts[0].verdict, RLK_HELD);
	assert_true(parts[0].holder.known);
	assert_true(ground_release(1, &held[0]));
	assert_true(ground_release(1, &held[1]));
}

EACH("a dead holder shows")
{
	const char *word = test_name("batch-dead");
	struct rlk_part parts[2] = { parts_ask(0, parts_name(word, 0)),
				     parts_ask(0, parts_name(word, 1)) };
	struct rlk_request dead = ground_request(1, parts_name(word, 1));

	ground_ask(1, &dead, RLK_ASK_FIRST, NULL);
	test_sql(ground->sql, "DELETE FROM lease_session WHERE id = %llu",
		 (unsigned long long) dead.session);
	parts_run_all(0, parts, 2);
	for (int i = 0; i < 2; i++)
		if (!strcmp(parts[i].request.name, dead.name)) {
			assert_int_equal(parts[i].verdict, RLK_HELD);
			assert_true(parts[i].holder.absent);
		} else {
			assert_int_equal(parts[i].verdict, RLK_DONE);
		}
	assert_true(ground_release(1, &dead));
	ground_release(0, &parts[0].request);
	ground_release(0, &parts[1].request);
}

/* Somebody's transaction has a held name's row locked. */
EACH("a guarded name delays nobody")
{
	const char *word = test_name("batch-guard");
	struct rlk_part parts[4];
	struct rlk_request held = ground_request(1, parts_name(word, 1));
	struct rlk_request mine = ground_request(0, parts_name(word, 3));
	struct rlk_conn *patient = ground_open(true, 60);
	struct rlk_conn *guard;

	ground_ask(0, &mine, RLK_ASK_FIRST, NULL);
	ground_ask(1, &held, RLK_ASK_FIRST, NULL);
	guard = parts_guard(held.name);
	for (size_t i = 0; i < 3; i++)
		parts[i] = parts_ask(0, parts_name(word, i));
	parts[3] = parts_of(RLK_ACT_RELEASE, &mine);
	/* It is answered, and to be seen by all, while the transaction is
	 * open, however long one may wait for it. */
	rlk_conn_close(ground->conns[0]);
	ground->conns[0] = patient;
	parts_run_all(0, parts, 4);
	assert_int_equal(parts[0].verdict, RLK_DONE);
	assert_int_equal(parts[1].verdict, RLK_HELD);
	assert_int_equal(parts[2].verdict, RLK_DONE);
	assert_true(parts[3].found);
	assert_int_equal(parts_rows(parts[0].request.name), 1);
	assert_int_equal(parts_rows(parts[2].request.name), 1);
	assert_int_equal(parts_rows(mine.name), 0);
	parts_unguard(guard);
	assert_true(ground_release(1, &held));
	assert_true(ground_release(0, &parts[0].request));
	assert_true(ground_release(0, &parts[2].request));
}

/* On Galera each statement commits by itself: what was given back is not given
 * back once more when the rest is sent again. */
LEASE("lease: a guarded name hides no release on Galera")
{
	struct rlk_server *server =
	    (struct rlk_server *) (uintptr_t) rlk_conn_server(ground->conns[0]);
	const char *word = test_name("batch-node");
	struct rlk_request held = ground_request(1, parts_name(word, 0));
	struct rlk_request mine = ground_request(0, parts_name(word, 1));
	struct rlk_part parts[] = {
		parts_ask(0, held.name),
		parts_of(RLK_ACT_RELEASE, &mine),
	};
	struct rlk_conn *guard;

	ground_ask(0, &mine, RLK_ASK_FIRST, NULL);
	ground_ask(1, &held, RLK_ASK_FIRST, NULL);
	guard = parts_guard(held.name);
	server->galera = true;
	parts_run_all(0, parts, 2);
	server->galera = false;
	assert_int_equal(parts[0].verdict, RLK_HELD);
	assert_true(parts[1].answered && parts[1].found);
	parts_unguard(guard);
	assert_true(ground_release(1, &held));
}

/* Which only a release does: none of them is gone then, and all can be sent
 * alone. */
EACH("a guarded release lets all of them be")
{
	const char *word = test_name("batch-locked");
	struct rlk_part parts[3];
	struct rlk_conn *guard;

	for (size_t i = 0; i < 2; i++) {
		struct rlk_request request =
		    ground_request(0, parts_name(word, i));

		ground_ask(0, &request, RLK_ASK_FIRST, NULL);
		parts[i] = parts_of(RLK_ACT_RELEASE, &request);
	}
	parts[2] = parts_ask(0, parts_name(word, 2));
	guard = parts_guard(parts[1].request.name);
	assert_int_equal(parts_run(0, parts, 3, &err), RLK_BUSY);
	for (size_t i = 0; i < 3; i++)
		assert_false(parts[i].answered);
	parts_unguard(guard);
	/* Each commits by itself again. */
	assert_true(ground_release(0, &parts[0].request));
	assert_true(ground_release(0, &parts[1].request));
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(parts_rows(parts[i].request.name), 0);
}

/* Reading a small table as a whole would wait for it. */
LEASE("lease: a guard of another lease is nothing to a release")
{
	const char *word = test_name("batch-aside");
	struct rlk_request other = ground_request(1, test_name("held"));
	struct rlk_part parts[24];
	struct rlk_conn *guard;

	ground_ask(1, &other, RLK_ASK_FIRST, NULL);
	for (size_t i = 0; i < TEST_SIZE(parts); i++)
		parts[i] = parts_ask(0, parts_name(word, i));
	parts_run_all(0, parts, TEST_SIZE(parts));
	test_sql(ground->sql, "ANALYZE TABLE business_lease");
	guard = parts_guard(other.name);
	for (size_t i = 0; i < TEST_SIZE(parts); i++) {
		parts[i].act = RLK_ACT_RELEASE;
		parts[i].answered = false;
	}
	parts_run_all(0, parts, TEST_SIZE(parts));
	for (size_t i = 0; i < TEST_SIZE(parts); i++)
		assert_true(parts[i].found);
	parts_unguard(guard);
	assert_true(ground_release(1, &other));
}

/* A transaction that is half done when its client stops: who asks for one of
 * its names has to wait, but not for the client. */
LEASE("lease: a silent client keeps nothing locked")
{
	struct rlk_conn *other = ground_open(true, 15);
	struct rlk_request request =
	    ground_request(0, test_name("batch-silent"));
	char sql[200];

	/* Elsewhere there are no such transactions. */
	if (!rlk_server_dialect(rlk_conn_server(ground->conns[0]))
		 ->lease_acquire_many) {
		rlk_conn_close(other);
		return;
	}
	ground_ask(0, &request, RLK_ASK_FIRST, NULL);
	assert_done(rlk_stmt_text(ground->conns[0], "BEGIN", &err));
	snprintf(sql, sizeof(sql),
		 "DELETE FROM business_lease WHERE name = '%s'", request.name);
	assert_done(rlk_stmt_text(ground->conns[0], sql, &err));
	assert_done(rlk_stmt_text(other, sql, &err));
	assert_false(rlk_conn_alive(ground->conns[0]));
	rlk_conn_close(other);
}

static uint64_t count_inserts(void)
{
	return test_sql_status(ground->sql, "Com_insert") +
	       test_sql_status(ground->sql, "Com_insert_select");
}

EACH("hundreds go in a few statements")
{
	const char *word = test_name("batch-many");
	static struct rlk_part parts[PARTS_MOST];
	uint64_t before;
	uint64_t took;

	for (size_t i = 0; i < PARTS_MOST; i++) {
		parts[i] = parts_ask(0, parts_name(word, i));
		parts[i].request.info = i % 3 ? NULL : "it's \\ said";
		parts[i].request.max_hold_ms = i % 2 ? 0 : 60000;
	}
	before = count_inserts();
	parts_run_all(0, parts, PARTS_MOST);
	took = count_inserts() - before;
	/* Other programs may run on the server meanwhile. */
	assert_in_range(took, 1, PARTS_MOST / 4);
	for (size_t i = 0; i < PARTS_MOST; i++)
		assert_int_equal(parts[i].verdict, RLK_DONE);
	assert_int_equal(
	    test_sql_number(ground->sql,
			    "SELECT COUNT(*) FROM business_lease WHERE name "
			    "LIKE '%s-%%' AND session = %llu AND (info IS NULL "
			    "OR info = 'it''s \\\\ said')",
			    word,
			    (unsigned long long) parts[0].request.session),
	    PARTS_MOST);
	assert_int_equal(
	    test_sql_number(ground->sql,
			    "SELECT COUNT(*) FROM business_lease WHERE name "
			    "LIKE '%s-%%' AND expires_at IS NOT NULL AND "
			    "TIMESTAMPDIFF(MICROSECOND, acquired_at, "
			    "expires_at) = 60000000",
			    word),
	    PARTS_MOST / 2);
	/* Each by its own attempt only. */
	for (size_t i = 0; i < PARTS_MOST; i++) {
		parts[i].act = RLK_ACT_RELEASE;
		parts[i].answered = false;
		if (i == 100)
			parts[i].request.attempt++;
	}
	parts_run_all(0, parts, PARTS_MOST);
	for (size_t i = 0; i < PARTS_MOST; i++)
		assert_int_equal(parts[i].found, parts[i].request.name !=
						     parts_name(word, 100));
	assert_int_equal(test_sql_number(ground->sql,
					 "SELECT COUNT(*) FROM business_lease "
					 "WHERE name LIKE '%s-%%'",
					 word),
			 1);
	test_sql(ground->sql, "DELETE FROM business_lease WHERE name = '%s'",
		 parts_name(word, 100));
}

EACH("nasty names are names")
{
	static const char *const names[] = {
		"batch '",    "batch ''; --",           "batch \\", "batch \\'",
		"batch \"?0", "batch \xf0\x9f\x94\x92", "Batch A",  "batch a",
	};
	struct rlk_part parts[TEST_SIZE(names)];

	for (size_t i = 0; i < TEST_SIZE(names); i++)
		parts[i] = parts_ask(0, names[i]);
	parts_run_all(0, parts, TEST_SIZE(names));
	for (size_t i = 0; i < TEST_SIZE(names); i++) {
		assert_int_equal(parts[i].verdict, RLK_DONE);
		assert_true(ground_confirm(0, &parts[i].request));
		/* Alone it is the same name. */
		assert_true(ground_release(0, &parts[i].request));
	}
}

/* A row of another test may be in the way for a moment, as once on MySQL 9.7:
 * who asks asks again. */
static enum rlk_fault lasting_fault(struct rlk_part *parts, size_t count)
{
	struct rowlock_errinfo error = { 0 };
	uint64_t began = test_now_ns();
	enum rlk_fault fault;

	while ((fault = parts_run(0, parts, count, &error)) == RLK_BUSY ||
	       fault == RLK_CONFLICT)
		test_keep_waiting(began, "a row that is in the way: %s",
				  error.message);
	return fault;
}

/* One info is longer than its column. */
EACH("what is refused has made nothing")
{
	const char *word = test_name("batch-refused");
	struct rlk_part parts[3];
	char info[1000];

	memset(info, 'x', sizeof(info) - 1);
	info[sizeof(info) - 1] = '\0';
	for (size_t i = 0; i < 3; i++)
		parts[i] = parts_ask(0, parts_name(word, i));
	parts[1].request.info = info;
	for (size_t count = 2; count <= 3; count++) {
		/* Alone, or together with a release. */
		parts[2].act = RLK_ACT_RELEASE;
		assert_int_equal(lasting_fault(parts, count), RLK_REFUSED);
		for (size_t i = 0; i < 2; i++) {
			assert_false(parts[i].answered);
			assert_true(parts[i].not_made);
			assert_int_equal(parts_rows(parts[i].request.name), 0);
		}
	}
	/* Of what got no answer that is not certain. */
	parts[1].request.info = NULL;
	test_sql(ground->sql, "KILL %llu",
		 (unsigned long long) rlk_conn_id(ground->conns[0]));
	assert_int_equal(parts_run(0, parts, 2, &err), RLK_UNKNOWN);
	assert_false(parts[0].not_made || parts[1].not_made);
}

CASE_MAIN(test_main)
