/* SPDX-License-Identifier: MIT */
/*
 * Semaphores on a real server: how many come in, who is next, what is refused,
 * and what it costs. How permits end, and what their number means, is in
 * test_semaphore_end.c.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "semaphores.h"

/* ------------------------------------------------------------------ cases */

CASE("as many come in as there are, all they want or none")
{
	struct pair pair = pair_new("many", 3);
	struct rowlock *third =
	    make(pair.clients[0], pair.name, ROWLOCK_PERMITS_STORED);

	assert_code(rowlock_release(pair.one, &err), ROWLOCK_ENOTHELD, &err);
	expect_count(pair.clients[0], pair.name, 0, 0);
	expect(pair.one, 2, 0);
	expect_count(pair.clients[1], pair.name, 3, 2);
	assert_int_equal(rows_of(pair.sql, pair.name), 2);
	expect(pair.two, 2, ROWLOCK_EBUSY);
	/* None of them in part. */
	assert_int_equal(rows_of(pair.sql, pair.name), 2);
	expect(pair.two, 1, 0);
	expect(third, 1, ROWLOCK_EBUSY);
	assert_ok(rowlock_verify(pair.one, &err));
	assert_ok(rowlock_verify(pair.two, &err));
	assert_true(rowlock_remaining_ms(pair.two) > 0);
	assert_code(rowlock_semaphore_acquire(pair.one, 1, 0, &err),
		    ROWLOCK_EDEADLOCK, &err);
	assert_int_equal(rowlock_semaphore_held(pair.one), 2);
	assert_code(rowlock_try_free(pair.two, &err), ROWLOCK_EHELD, &err);
	release(pair.one);
	expect_count(pair.clients[1], pair.name, 3, 1);
	expect(third, 2, 0);
	release(third);
	release(pair.two);
	expect(pair.two, 3, 0);
	release(pair.two);
	end(third);
	pair_end(&pair);
}

CASE("a lock of the same name is another lock")
{
	struct pair pair = pair_new("plain", 1);
	struct rowlock *lock =
	    test_lock(pair.clients[0], ROWLOCK_LEASE, 0, pair.name);

	assert_ok(rowlock_acquire(lock, 0, &err));
	expect(pair.two, 1, 0);
	assert_ok(rowlock_release(lock, &err));
	release(pair.two);
	test_lock_end(lock);
	pair_end(&pair);
}

/* The first lets the next one ask, and does not wait until it has ended. */
CASE("all who stand in line come in when there is room")
{
	struct pair pair = pair_new("room", 3);
	struct rowlock *first = make(pair.clients[0], pair.name, 3);
	struct wait waits[2];

	expect(first, 3, 0);
	begin_wait(&waits[0], pair.one, 1);
	begin_wait(&waits[1], pair.two, 2);
	release(first);
	end_wait(&waits[0], 0, "one who waits to get in");
	end_wait(&waits[1], 0, "the other to get in, too");
	expect_count(pair.clients[0], pair.name, 3, 3);
	release(pair.one);
	release(pair.two);
	end(first);
	pair_end(&pair);
}

/* It may get in as well: whether it does only the server can tell, which a
 * transaction keeps from answering here. */
CASE("a try asks the server while another thread does")
{
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));
	struct pair pair = pair_new("beside", 3);
	struct rowlock *one;
	struct rowlock *two;
	struct rowlock_client *client;
	uint64_t began;
	struct wait wait;
	int code;

	options.call_timeout_ms = 500;
	client = test_client_with(&options);
	one = make(client, pair.name, 3);
	two = make(client, pair.name, 3);
	expect(pair.one, 1, 0);
	test_sql(pair.sql, "BEGIN");
	test_sql(pair.sql,
		 "UPDATE lock_permits SET permits = permits WHERE name = '%s'",
		 pair.name);
	begin_wait(&wait, one, 1);
	began = test_now_ns();
	while (test_sql_number(pair.sql,
			       "SELECT COUNT(*) FROM information_schema."
			       "processlist WHERE info LIKE CONCAT('INSERT "
			       "INTO business_lease%%', HEX('%s'), '%%') AND "
			       "id <> CONNECTION_ID()",
			       pair.name) == 0)
		test_keep_waiting(began, "an INSERT that waits");
	code = rowlock_semaphore_acquire(two, 1, 0, &err);
	test_sql(pair.sql, "COMMIT");
	assert_true(code == ROWLOCK_EDB || code == ROWLOCK_ECONNECT);
	end_wait(&wait, 0, "the other thread to get in");
	assert_ok(rowlock_semaphore_acquire(
	    two, 1, (uint64_t) test_patience_ms(), &err));
	release(one);
	release(two);
	end(one);
	end(two);
	test_client_end(client);
	release(pair.one);
	pair_end(&pair);
}

static char *attempt_of(struct pair *pair)
{
	return test_sql_text(pair->sql,
			     "SELECT MIN(attempt) FROM business_lease WHERE "
			     "name = '%s'",
			     pair->name);
}

/* Give up two of three permits, for which another thread stands in line. Did
 * the rows stay? */
static bool hand_over(struct pair *pair, struct rowlock *from,
		      struct rowlock *to, unsigned int count)
{
	char *before = attempt_of(pair);
	struct wait wait;
	char *after;
	bool same;

	begin_wait(&wait, to, count);
	await_line(pair->two);
	release(from);
	end_wait(&wait, 0, "the next thread to get in");
	after = attempt_of(pair);
	same = strcmp(before, after) == 0;
	free(before);
	free(after);
	return same;
}

CASE("threads of a client hand permits over")
{
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));
	struct pair pair = pair_new("handed", 3);
	struct rowlock *handles[2];
	struct rowlock_client *client;
	uint64_t began = test_now_ns();
	unsigned int who = 0;
	bool handed = false;

	options.handover_ms = 60000;
	client = test_client_with(&options);
	handles[0] = make(client, pair.name, 3);
	handles[1] = make(client, pair.name, 3);
	expect(handles[0], 2, 0);
	/* Not if it asks at that very moment. */
	for (; !handed; who = !who) {
		handed = hand_over(&pair, handles[who], handles[!who], 2);
		assert_int_equal(rowlock_semaphore_held(handles[!who]), 2);
		test_keep_waiting(began, "two permits to be handed over");
	}
	/* Who wants another number has others. */
	assert_false(hand_over(&pair, handles[who], handles[!who], 3));
	assert_int_equal(rows_of(pair.sql, pair.name), 3);
	release(handles[!who]);
	end(handles[0]);
	end(handles[1]);
	test_client_end(client);
	pair_end(&pair);
}

/* Without a line: the server has bells for nobody. */
CASE("without bells permits are asked for again and again")
{
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));
	struct pair pair = pair_new("polls", 2);
	struct rowlock_client *client;
	struct rowlock *semaphore;
	struct wait wait;

	options.flags |= ROWLOCK_POLL;
	client = test_client_with(&options);
	semaphore = make(client, pair.name, 2);
	expect(pair.one, 2, 0);
	begin_wait(&wait, semaphore, 1);
	release(pair.one);
	end_wait(&wait, 0, "who polls to get in");
	release(semaphore);
	end(semaphore);
	test_client_end(client);
	pair_end(&pair);
}

/* -------------------------------------------------------------- the price */

struct act {
	struct rowlock_client *client;
	struct rowlock *semaphore;
	const char *name;
	unsigned int count;
};

/* The least of seven: of the client's own threads one asks now and then. */
static uint64_t cost(struct test_sql *sql, const struct act *act,
		     void (*does)(const struct act *act))
{
	uint64_t least = UINT64_MAX;

	for (int round = 0; round < 7; round++) {
		uint64_t before = test_sql_status(sql, "Questions");
		uint64_t took;

		does(act);
		took = test_sql_status(sql, "Questions") - 1 - before;
		if (took < least)
			least = took;
	}
	return least;
}

static void acquire_and_release(const struct act *act)
{
	expect(act->semaphore, act->count, 0);
	release(act->semaphore);
}

static void verify(const struct act *act)
{
	assert_ok(rowlock_verify(act->semaphore, &err));
}

static void count(const struct act *act)
{
	expect_count(act->client, act->name, 50, 40);
}

static void resize(const struct act *act)
{
	assert_ok(rowlock_semaphore_resize(act->client, act->name, 50, &err));
}

/* Nobody has used it before. */
static void use_a_new_one(const struct act *act)
{
	struct act one = *act;

	one.name = test_name("new");
	one.semaphore = make(act->client, one.name, 50);
	acquire_and_release(&one);
	end(one.semaphore);
}

static void ask_nobody(const struct act *act)
{
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(rowlock_semaphore_held(act->semaphore),
				 act->count);
		assert_true(rowlock_remaining_ms(act->semaphore) > 0);
	}
}

CASE("permits cost what they should, however many")
{
	TEST_SQL(sql);
	struct act act = { .client = test_client(600000),
			   .name = test_name("cost"),
			   .count = 1 };

	act.semaphore = make(act.client, act.name, 50);
	/* An INSERT, a DELETE: it came at once before. */
	assert_int_equal(cost(sql, &act, acquire_and_release), 2);
	/* A look, too. */
	act.count = 40;
	assert_int_equal(cost(sql, &act, acquire_and_release), 3);
	/* It is looked for, and made. */
	act.count = 1;
	assert_int_equal(cost(sql, &act, use_a_new_one), 5);
	act.count = 40;
	expect(act.semaphore, 40, 0);
	assert_int_equal(cost(sql, &act, ask_nobody), 0);
	assert_int_equal(cost(sql, &act, verify), 1);
	assert_int_equal(cost(sql, &act, count), 1);
	/* The first in line hears of it. */
	assert_int_equal(cost(sql, &act, resize), 2);
	release(act.semaphore);
	end(act.semaphore);
	test_client_end(act.client);
}

/* -------------------------------------------------------------- bad input */

static void expect_refusal(struct rowlock_client *client, const char *name,
			   unsigned int permits,
			   const struct rowlock_options *options, int code,
			   const char *says)
{
	struct rowlock *semaphore = (void *) &semaphore;

	err = (struct rowlock_errinfo){ 0 };
	assert_code(rowlock_semaphore_new(client, name, permits, options,
					  &semaphore, &err),
		    code, &err);
	assert_ptr_equal(semaphore, (void *) &semaphore);
	if (!strstr(err.message, says))
		fail_msg("\"%s\" does not say \"%s\"", err.message, says);
}

CASE("bad input is refused, and changes nothing")
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	TEST_CLIENT(client, test_client(test_ttl_ms(TTL_MS)));
	const char *name = test_name("bad");
	struct rowlock *semaphore = make(client, name, 3);
	unsigned int had[2] = { 7, 8 };

	expect_refusal(client, NULL, 1, NULL, ROWLOCK_ENAME, "NULL");
	expect_refusal(client, "", 1, NULL, ROWLOCK_ENAME, "is empty");
	expect_refusal(client, "a\nb", 1, NULL, ROWLOCK_ENAME,
		       "control character");
	expect_refusal(client, "a", 0, NULL, ROWLOCK_EINVAL, "0 permits");
	expect_refusal(client, "a", ROWLOCK_SEMAPHORE_MAX + 1, NULL,
		       ROWLOCK_EINVAL, "1001 permits; give 1 to 1000");
	options.strategy = ROWLOCK_ROW;
	expect_refusal(client, "a", 1, &options, ROWLOCK_EUNSUPPORTED,
		       "use ROWLOCK_LEASE");
	options.strategy = (enum rowlock_strategy) 7;
	expect_refusal(client, "a", 1, &options, ROWLOCK_EINVAL,
		       "no strategy 7");
	options.strategy = ROWLOCK_LEASE;
	options.info = "\n";
	expect_refusal(client, "a", 1, &options, ROWLOCK_EINVAL, "info");
	options.size = 1;
	expect_refusal(client, "a", 1, &options, ROWLOCK_EINVAL, "size");
	expect(semaphore, 0, ROWLOCK_EINVAL);
	expect(semaphore, 4, ROWLOCK_EINVAL);
	assert_code(rowlock_verify(semaphore, &err), ROWLOCK_ENOTHELD, &err);
	assert_code(rowlock_semaphore_resize(client, name, 0, &err),
		    ROWLOCK_EINVAL, &err);
	assert_code(rowlock_semaphore_resize(client, name, 1001, &err),
		    ROWLOCK_EINVAL, &err);
	assert_code(rowlock_semaphore_resize(client, NULL, 1, &err),
		    ROWLOCK_ENAME, &err);
	assert_code(rowlock_semaphore_count(client, "", &had[0], &had[1], &err),
		    ROWLOCK_ENAME, &err);
	assert_int_equal(had[0], 7);
	/* None of it has made anything. */
	expect_count(client, name, 0, 0);
	assert_ok(rowlock_try_free(NULL, &err));
	expect(semaphore, 3, 0);
	rowlock_freep(&semaphore);
	assert_null(semaphore);
	expect_count(client, name, 3, 0);
}

static int use_all(struct rowlock_client *client, struct rowlock *semaphore)
{
	unsigned int had[2];

	rowlock_cancel(semaphore);
	rowlock_on_lost(semaphore, NULL, NULL);
	return rowlock_semaphore_acquire(semaphore, 1, 0, NULL) ==
		   ROWLOCK_EFORKED &&
	       rowlock_verify(semaphore, NULL) == ROWLOCK_EFORKED &&
	       rowlock_release(semaphore, NULL) == ROWLOCK_EFORKED &&
	       rowlock_try_free(semaphore, NULL) == ROWLOCK_EFORKED &&
	       rowlock_semaphore_count(client, "a", &had[0], &had[1], NULL) ==
		   ROWLOCK_EFORKED &&
	       rowlock_semaphore_resize(client, "a", 1, NULL) ==
		   ROWLOCK_EFORKED &&
	       rowlock_remaining_ms(semaphore) == 0 &&
	       rowlock_semaphore_held(semaphore) == 0;
}

CASE("a child of fork() has nothing of a semaphore")
{
	struct pair pair = pair_new("fork", 2);
	int status;
	pid_t pid;

	expect(pair.one, 1, 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(use_all(pair.clients[0], pair.one) ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_ok(rowlock_verify(pair.one, &err));
	release(pair.one);
	pair_end(&pair);
}

CASE_MAIN(test_main)
