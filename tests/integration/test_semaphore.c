/* SPDX-License-Identifier: MIT */
/*
 * Semaphores on a real server: how many come in, who is next, what is refused,
 * and what it costs.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rowlock/semaphore.h>

#include "sql.h"
#include "test.h"

#define TTL_MS 10000
/* Of a client that is to die. */
#define SHORT_TTL_MS 1000

static struct rowlock_semaphore *make(struct rowlock_client *client,
				      const char *name, unsigned int permits)
{
	struct rowlock_semaphore *semaphore = NULL;
	struct rowlock_errinfo err;

	assert_ok(rowlock_semaphore_new(client, name, permits, NULL, &semaphore,
					&err));
	return semaphore;
}

static void end(struct rowlock_semaphore *semaphore)
{
	struct rowlock_errinfo err;

	assert_ok(rowlock_semaphore_free(semaphore, &err));
}

static void expect(struct rowlock_semaphore *semaphore, unsigned int count,
		   int code)
{
	struct rowlock_errinfo err;

	assert_code(rowlock_semaphore_acquire(semaphore, count, 0, &err), code,
		    &err);
	assert_int_equal(rowlock_semaphore_held(semaphore),
			 code == 0 ? count : 0);
}

static void release(struct rowlock_semaphore *semaphore)
{
	struct rowlock_errinfo err;

	assert_ok(rowlock_semaphore_release(semaphore, &err));
	assert_int_equal(rowlock_semaphore_held(semaphore), 0);
}

static void expect_count(struct rowlock_client *client, const char *name,
			 unsigned int permits, unsigned int used)
{
	unsigned int had[2];
	struct rowlock_errinfo err;

	assert_ok(
	    rowlock_semaphore_count(client, name, &had[0], &had[1], &err));
	assert_int_equal(had[0], permits);
	assert_int_equal(had[1], used);
}

/* ------------------------------------------------------------ two clients */

struct pair {
	struct rowlock_client *clients[2];
	struct rowlock_semaphore *one;
	struct rowlock_semaphore *two; /* of the other client */
	struct test_sql *sql;
	const char *name;
};

static struct pair pair_new(const char *word, unsigned int permits)
{
	struct pair pair = {
		.clients = { test_client(test_ttl_ms(TTL_MS)),
			     test_client(test_ttl_ms(TTL_MS)) },
		.sql = test_sql_open(),
		.name = test_name(word),
	};

	pair.one = make(pair.clients[0], pair.name, permits);
	pair.two = make(pair.clients[1], pair.name, permits);
	return pair;
}

static uint64_t rows_of(struct test_sql *sql, const char *name)
{
	return test_sql_number(
	    sql, "SELECT COUNT(*) FROM business_lease WHERE name = '%s'", name);
}

static void pair_end(struct pair *pair)
{
	assert_int_equal(rows_of(pair->sql, pair->name), 0);
	end(pair->one);
	end(pair->two);
	test_client_end(pair->clients[0]);
	test_client_end(pair->clients[1]);
	test_sql_end(pair->sql);
}

/* ------------------------------------------------------------------ waits */

struct wait {
	struct rowlock_semaphore *semaphore;
	unsigned int count;
	pthread_t thread;
	struct test_event over;
	int code;
	struct rowlock_errinfo err;
};

static void *run_wait(void *arg)
{
	struct wait *wait = arg;

	wait->code = rowlock_semaphore_acquire(wait->semaphore, wait->count,
					       ROWLOCK_FOREVER, &wait->err);
	test_event_set(&wait->over);
	return NULL;
}

static void begin_wait(struct wait *wait, struct rowlock_semaphore *semaphore,
		       unsigned int count)
{
	*wait = (struct wait){ .semaphore = semaphore,
			       .count = count,
			       .over = test_event_new() };
	assert_int_equal(pthread_create(&wait->thread, NULL, run_wait, wait),
			 0);
}

static void end_wait(struct wait *wait, int code, const char *what)
{
	assert_event(&wait->over, "%s", what);
	pthread_join(wait->thread, NULL);
	test_event_end(&wait->over);
	assert_code(wait->code, code, &wait->err);
}

/* Until somebody stands in line: then who comes is refused, also if there are
 * enough. */
static void await_line(struct rowlock_semaphore *other)
{
	uint64_t began = test_now_ns();
	struct rowlock_errinfo err;
	int code;

	while ((code = rowlock_semaphore_acquire(other, 1, 0, NULL)) == 0) {
		assert_ok(rowlock_semaphore_release(other, &err));
		test_keep_waiting(began, "somebody to stand in line");
	}
	assert_int_equal(code, ROWLOCK_EBUSY);
}

/* ------------------------------------------------------------------ cases */

static void as_many_come_in_as_there_are(void **state)
{
	struct pair pair = pair_new("many", 3);
	struct rowlock_semaphore *third =
	    make(pair.clients[0], pair.name, ROWLOCK_PERMITS_STORED);
	struct rowlock_errinfo err;

	(void) state;
	assert_code(rowlock_semaphore_release(pair.one, &err), ROWLOCK_ENOTHELD,
		    &err);
	expect_count(pair.clients[0], pair.name, 0, 0);
	expect(pair.one, 2, 0);
	expect_count(pair.clients[1], pair.name, 3, 2);
	assert_int_equal(rows_of(pair.sql, pair.name), 2);
	expect(pair.two, 2, ROWLOCK_EBUSY);
	/* None of them in part. */
	assert_int_equal(rows_of(pair.sql, pair.name), 2);
	expect(pair.two, 1, 0);
	expect(third, 1, ROWLOCK_EBUSY);
	assert_ok(rowlock_semaphore_verify(pair.one, &err));
	assert_ok(rowlock_semaphore_verify(pair.two, &err));
	assert_true(rowlock_semaphore_remaining_ms(pair.two) > 0);
	assert_code(rowlock_semaphore_acquire(pair.one, 1, 0, &err),
		    ROWLOCK_EDEADLOCK, &err);
	assert_int_equal(rowlock_semaphore_held(pair.one), 2);
	assert_code(rowlock_semaphore_free(pair.two, &err), ROWLOCK_EHELD,
		    &err);
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

static void a_lock_of_the_same_name_is_another(void **state)
{
	struct pair pair = pair_new("plain", 1);
	struct rowlock *lock =
	    test_lock(pair.clients[0], ROWLOCK_LEASE, 0, pair.name);
	struct rowlock_errinfo err;

	(void) state;
	assert_ok(rowlock_acquire(lock, 0, &err));
	expect(pair.two, 1, 0);
	assert_ok(rowlock_release(lock, &err));
	release(pair.two);
	test_lock_end(lock);
	pair_end(&pair);
}

static void who_wants_many_is_not_overtaken(void **state)
{
	struct pair pair = pair_new("line", 3);
	struct rowlock_semaphore *first = make(pair.clients[0], pair.name, 3);
	struct wait all;
	struct wait behind;

	(void) state;
	expect(first, 1, 0);
	begin_wait(&all, pair.one, 3);
	await_line(pair.two);
	/* Two are free, and stay so. */
	begin_wait(&behind, pair.two, 1);
	expect_count(pair.clients[0], pair.name, 3, 1);
	release(first);
	end_wait(&all, 0, "who wants all of them to get in");
	expect_count(pair.clients[0], pair.name, 3, 3);
	release(pair.one);
	end_wait(&behind, 0, "who stands behind to get in");
	release(pair.two);
	end(first);
	pair_end(&pair);
}

/* The first lets the next one ask, and does not wait until it has ended. */
static void all_come_in_when_there_is_room(void **state)
{
	struct pair pair = pair_new("room", 3);
	struct rowlock_semaphore *first = make(pair.clients[0], pair.name, 3);
	struct wait waits[2];

	(void) state;
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
static void a_try_asks_while_another_thread_asks(void **state)
{
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));
	struct pair pair = pair_new("beside", 3);
	struct rowlock_semaphore *one;
	struct rowlock_semaphore *two;
	struct rowlock_client *client;
	struct rowlock_errinfo err;
	uint64_t began;
	struct wait wait;
	int code;

	(void) state;
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
			       "processlist WHERE info LIKE 'INSERT INTO "
			       "business_lease%%%s%%' AND id <> "
			       "CONNECTION_ID()",
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
static bool hand_over(struct pair *pair, struct rowlock_semaphore *from,
		      struct rowlock_semaphore *to, unsigned int count)
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

static void threads_hand_permits_over(void **state)
{
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));
	struct pair pair = pair_new("handed", 3);
	struct rowlock_semaphore *handles[2];
	struct rowlock_client *client;
	uint64_t began = test_now_ns();
	unsigned int who = 0;
	bool handed = false;

	(void) state;
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
static void without_bells_it_is_asked_again_and_again(void **state)
{
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));
	struct pair pair = pair_new("polls", 2);
	struct rowlock_client *client;
	struct rowlock_semaphore *semaphore;
	struct wait wait;

	(void) state;
	options.wait_connections = 0;
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

static void a_wait_ends_by_time_or_by_cancel(void **state)
{
	struct pair pair = pair_new("over", 2);
	struct rowlock_semaphore *other = make(pair.clients[0], pair.name, 2);
	struct rowlock_errinfo err;
	struct wait wait;

	(void) state;
	expect(pair.one, 1, 0);
	assert_code(rowlock_semaphore_acquire(pair.two, 2, 50, &err),
		    ROWLOCK_ETIMEDOUT, &err);
	assert_non_null(strstr(err.message, "so many permits"));
	begin_wait(&wait, pair.two, 2);
	await_line(other);
	rowlock_semaphore_cancel(pair.two);
	end_wait(&wait, ROWLOCK_ECANCELED, "a wait to be canceled");
	assert_int_equal(rows_of(pair.sql, pair.name), 1);
	rowlock_semaphore_cancel(pair.two);
	expect(pair.two, 1, ROWLOCK_ECANCELED);
	expect(pair.two, 1, 0);
	release(pair.two);
	release(pair.one);
	end(other);
	pair_end(&pair);
}

/* ------------------------------------------------------------------- ends */

/* A process that has @count of @permits until it is killed. */
static pid_t start_holder(const char *name, unsigned int permits,
			  unsigned int count)
{
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(SHORT_TTL_MS));
	struct rowlock_semaphore *semaphore = NULL;
	struct rowlock_client *client = NULL;
	int told[2];
	char word = 0;
	pid_t pid;

	assert_int_equal(pipe(told), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (rowlock_client_new(&options, &client, NULL) == 0 &&
		    rowlock_semaphore_new(client, name, permits, NULL,
					  &semaphore, NULL) == 0 &&
		    rowlock_semaphore_acquire(semaphore, count, 0, NULL) == 0 &&
		    write(told[1], "h", 1) == 1)
			pause();
		_exit(1);
	}
	close(told[1]);
	assert_true(test_readable(told[0]));
	assert_int_equal(read(told[0], &word, 1), 1);
	close(told[0]);
	return pid;
}

static void outlive(unsigned int flags)
{
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));
	const char *name = test_name("dead");
	pid_t holders[2] = { start_holder(name, 5, 3),
			     start_holder(name, 5, 1) };
	struct rowlock_client *client;
	struct rowlock_semaphore *semaphore;
	struct rowlock_errinfo err;

	options.flags |= flags;
	client = test_client_with(&options);
	semaphore = make(client, name, 5);
	expect(semaphore, 2, ROWLOCK_EBUSY);
	for (int i = 0; i < 2; i++) {
		kill(holders[i], SIGKILL);
		waitpid(holders[i], NULL, 0);
	}
	assert_ok(rowlock_semaphore_acquire(
	    semaphore, 5, (uint64_t) test_patience_ms(), &err));
	release(semaphore);
	expect_count(client, name, 5, 0);
	end(semaphore);
	test_client_end(client);
}

static void permits_of_the_dead_come_back(void **state)
{
	(void) state;
	outlive(0);
}

static void permits_of_those_seen_dead_come_back(void **state)
{
	(void) state;
	outlive(ROWLOCK_OBSERVE_BEATS);
}

static void lost(struct rowlock_semaphore *semaphore, void *arg)
{
	assert_int_equal(rowlock_semaphore_held(semaphore), 0);
	test_event_set(arg);
}

static void expect_lost(struct rowlock_semaphore *semaphore)
{
	struct rowlock_errinfo err;

	assert_code(rowlock_semaphore_acquire(semaphore, 1, 0, &err),
		    ROWLOCK_ELOST, &err);
	assert_code(rowlock_semaphore_release(semaphore, &err), ROWLOCK_ELOST,
		    &err);
}

static void a_loss_is_told(void **state)
{
	struct pair pair = pair_new("lost", 3);
	struct rowlock_client *client = test_client(test_ttl_ms(SHORT_TTL_MS));
	struct rowlock_semaphore *semaphore = make(client, pair.name, 3);
	struct test_event told = test_event_new();

	(void) state;
	rowlock_semaphore_on_lost(semaphore, lost, &told);
	expect(semaphore, 2, 0);
	expect(pair.one, 1, 0);
	/* One of its permits is enough. */
	test_sql(pair.sql,
		 "UPDATE business_lease l JOIN lease_session s ON s.id = "
		 "l.session JOIN (SELECT MIN(slot) slot FROM business_lease "
		 "WHERE name = '%s' GROUP BY attempt HAVING COUNT(*) = 2) m "
		 "ON m.slot = l.slot SET l.attempt = 0, l.session = 0, "
		 "s.breaks = s.breaks + 1 WHERE l.name = '%s'",
		 pair.name, pair.name);
	assert_event(&told, "the loss of two permits");
	expect_lost(semaphore);
	assert_int_equal(rowlock_semaphore_held(pair.one), 1);
	/* What is left of it is in nobody's way. */
	expect(pair.two, 2, 0);
	release(pair.two);
	release(pair.one);
	end(semaphore);
	test_event_end(&told);
	test_client_end(client);
	pair_end(&pair);
}

static void a_break_ends_all_of_them(void **state)
{
	struct pair pair = pair_new("broken", 3);
	struct rowlock_errinfo err;

	(void) state;
	expect(pair.one, 2, 0);
	expect(pair.two, 1, 0);
	assert_ok(
	    rowlock_break(pair.clients[0], ROWLOCK_LEASE, pair.name, &err));
	expect_count(pair.clients[0], pair.name, 3, 0);
	assert_code(rowlock_semaphore_verify(pair.one, &err), ROWLOCK_ELOST,
		    &err);
	assert_code(rowlock_semaphore_release(pair.one, &err), ROWLOCK_ELOST,
		    &err);
	assert_code(rowlock_semaphore_release(pair.two, &err), ROWLOCK_ELOST,
		    &err);
	pair_end(&pair);
}

static void a_maximum_ends_all_of_them(void **state)
{
	struct rowlock_semaphore_options options =
	    ROWLOCK_SEMAPHORE_OPTIONS_DEFAULT;
	struct pair pair = pair_new("maximum", 2);
	struct rowlock_semaphore *semaphore = NULL;
	struct test_event told = test_event_new();
	struct rowlock_errinfo err;

	(void) state;
	options.max_hold_ms = 1000;
	assert_ok(rowlock_semaphore_new(pair.clients[0], pair.name, 2, &options,
					&semaphore, &err));
	rowlock_semaphore_on_lost(semaphore, lost, &told);
	expect(semaphore, 2, 0);
	assert_event(&told, "the end of the maximum");
	assert_ok(rowlock_semaphore_acquire(
	    pair.two, 2, (uint64_t) test_patience_ms(), &err));
	release(pair.two);
	assert_code(rowlock_semaphore_release(semaphore, &err), ROWLOCK_ELOST,
		    &err);
	end(semaphore);
	test_event_end(&told);
	pair_end(&pair);
}

/* ---------------------------------------------------------------- numbers */

static void who_says_another_number_is_refused(void **state)
{
	struct pair pair = pair_new("number", 3);
	struct rowlock_semaphore *other =
	    make(pair.clients[0], pair.name, ROWLOCK_PERMITS_STORED);
	struct rowlock_semaphore *five = make(pair.clients[0], pair.name, 5);
	struct rowlock_errinfo err;

	(void) state;
	assert_code(rowlock_semaphore_acquire(other, 1, 0, &err),
		    ROWLOCK_EINVAL, &err);
	assert_non_null(strstr(err.message, "not there"));
	expect(pair.one, 1, 0);
	assert_code(rowlock_semaphore_acquire(five, 1, ROWLOCK_FOREVER, &err),
		    ROWLOCK_EINVAL, &err);
	assert_non_null(strstr(err.message, "has 3 permits"));
	assert_code(rowlock_semaphore_acquire(other, 4, ROWLOCK_FOREVER, &err),
		    ROWLOCK_EINVAL, &err);
	expect_count(pair.clients[0], pair.name, 3, 1);
	assert_ok(
	    rowlock_semaphore_resize(pair.clients[1], pair.name, 5, &err));
	expect(pair.two, 1, ROWLOCK_EINVAL);
	expect(five, 4, 0);
	expect(other, 1, ROWLOCK_EBUSY);
	release(five);
	expect(other, 4, 0);
	release(other);
	release(pair.one);
	end(other);
	end(five);
	pair_end(&pair);
}

/* Of each two that are given back one is too many. */
static void a_lowered_number_is_kept_by_all(void **state)
{
	struct pair pair = pair_new("lowered", ROWLOCK_PERMITS_STORED);
	struct rowlock_semaphore *had[6];
	struct rowlock_errinfo err;
	unsigned int used = 6;

	(void) state;
	assert_ok(
	    rowlock_semaphore_resize(pair.clients[0], pair.name, 6, &err));
	for (unsigned int i = 0; i < 6; i++) {
		had[i] = make(pair.clients[0], pair.name, 6);
		expect(had[i], 1, 0);
	}
	assert_ok(
	    rowlock_semaphore_resize(pair.clients[0], pair.name, 3, &err));
	for (unsigned int i = 0; i < 6; i++) {
		expect_count(pair.clients[0], pair.name, 3, used);
		assert_int_equal(rowlock_semaphore_held(had[i]), 1);
		expect(pair.two, 1, used < 3 ? 0 : ROWLOCK_EBUSY);
		if (used < 3) {
			expect(pair.one, 3 - used, ROWLOCK_EBUSY);
			release(pair.two);
		}
		release(had[i]);
		used--;
		end(had[i]);
	}
	expect(pair.one, 3, 0);
	release(pair.one);
	pair_end(&pair);
}

/* -------------------------------------------------------------- the price */

/* The least of five: of the client's own threads one asks now and then. */
static uint64_t cost(struct test_sql *sql, struct rowlock_semaphore *semaphore,
		     unsigned int count)
{
	uint64_t least = UINT64_MAX;

	for (int round = 0; round < 7; round++) {
		uint64_t before = test_sql_status(sql, "Questions");
		uint64_t took;

		expect(semaphore, count, 0);
		release(semaphore);
		took = test_sql_status(sql, "Questions") - 1 - before;
		if (took < least)
			least = took;
	}
	return least;
}

static void each_act_has_its_price(void **state)
{
	struct rowlock_client *client = test_client(600000);
	struct test_sql *sql = test_sql_open();
	struct rowlock_semaphore *semaphore =
	    make(client, test_name("cost"), 50);

	(void) state;
	/* A look, an INSERT, a DELETE. */
	assert_int_equal(cost(sql, semaphore, 1), 3);
	assert_int_equal(cost(sql, semaphore, 40), 3);
	end(semaphore);
	test_client_end(client);
	test_sql_end(sql);
}

/* -------------------------------------------------------------- bad input */

static void expect_refusal(struct rowlock_client *client, const char *name,
			   unsigned int permits,
			   const struct rowlock_semaphore_options *options,
			   int code, const char *says)
{
	struct rowlock_semaphore *semaphore = (void *) &semaphore;
	struct rowlock_errinfo err = { 0 };

	assert_code(rowlock_semaphore_new(client, name, permits, options,
					  &semaphore, &err),
		    code, &err);
	assert_ptr_equal(semaphore, (void *) &semaphore);
	if (!strstr(err.message, says))
		fail_msg("\"%s\" does not say \"%s\"", err.message, says);
}

static void bad_input_is_refused(void **state)
{
	struct rowlock_semaphore_options options =
	    ROWLOCK_SEMAPHORE_OPTIONS_DEFAULT;
	struct rowlock_client *client = test_client(test_ttl_ms(TTL_MS));
	const char *name = test_name("bad");
	struct rowlock_semaphore *semaphore = make(client, name, 3);
	unsigned int had[2] = { 7, 8 };
	struct rowlock_errinfo err;

	(void) state;
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
	assert_code(rowlock_semaphore_verify(semaphore, &err), ROWLOCK_ENOTHELD,
		    &err);
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
	assert_ok(rowlock_semaphore_free(NULL, &err));
	expect(semaphore, 3, 0);
	rowlock_semaphore_freep(&semaphore);
	assert_null(semaphore);
	expect_count(client, name, 3, 0);
	test_client_end(client);
}

static int use_all(struct rowlock_client *client,
		   struct rowlock_semaphore *semaphore)
{
	unsigned int had[2];

	rowlock_semaphore_cancel(semaphore);
	rowlock_semaphore_on_lost(semaphore, NULL, NULL);
	return rowlock_semaphore_acquire(semaphore, 1, 0, NULL) ==
		   ROWLOCK_EFORKED &&
	       rowlock_semaphore_verify(semaphore, NULL) == ROWLOCK_EFORKED &&
	       rowlock_semaphore_release(semaphore, NULL) == ROWLOCK_EFORKED &&
	       rowlock_semaphore_free(semaphore, NULL) == ROWLOCK_EFORKED &&
	       rowlock_semaphore_count(client, "a", &had[0], &had[1], NULL) ==
		   ROWLOCK_EFORKED &&
	       rowlock_semaphore_resize(client, "a", 1, NULL) ==
		   ROWLOCK_EFORKED &&
	       rowlock_semaphore_remaining_ms(semaphore) == 0 &&
	       rowlock_semaphore_held(semaphore) == 0;
}

static void a_child_of_fork_has_nothing_of_it(void **state)
{
	struct pair pair = pair_new("fork", 2);
	struct rowlock_errinfo err;
	int status;
	pid_t pid;

	(void) state;
	expect(pair.one, 1, 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(use_all(pair.clients[0], pair.one) ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_ok(rowlock_semaphore_verify(pair.one, &err));
	release(pair.one);
	pair_end(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST("as many come in as there are, all they want or none",
		     as_many_come_in_as_there_are),
		TEST("a lock of the same name is another lock",
		     a_lock_of_the_same_name_is_another),
		TEST("who wants many is not overtaken by who wants few",
		     who_wants_many_is_not_overtaken),
		TEST("all who stand in line come in when there is room",
		     all_come_in_when_there_is_room),
		TEST("a try asks the server while another thread does",
		     a_try_asks_while_another_thread_asks),
		TEST("threads of a client hand permits over",
		     threads_hand_permits_over),
		TEST("without bells permits are asked for again and again",
		     without_bells_it_is_asked_again_and_again),
		TEST("a wait for permits ends by time, or by cancel",
		     a_wait_ends_by_time_or_by_cancel),
		TEST("permits of dead clients come back",
		     permits_of_the_dead_come_back),
		TEST("permits of clients that were seen dead come back",
		     permits_of_those_seen_dead_come_back),
		TEST("who loses one of his permits is told, and has none",
		     a_loss_is_told),
		TEST("a break ends whoever has permits",
		     a_break_ends_all_of_them),
		TEST("a maximum ends all permits of an acquire",
		     a_maximum_ends_all_of_them),
		TEST("who says another number of permits is refused",
		     who_says_another_number_is_refused),
		TEST("no more come in than a lowered number allows",
		     a_lowered_number_is_kept_by_all),
		TEST("permits cost what they should, however many",
		     each_act_has_its_price),
		TEST("bad input is refused, and changes nothing",
		     bad_input_is_refused),
		TEST("a child of fork() has nothing of a semaphore",
		     a_child_of_fork_has_nothing_of_it),
	};

	return test_main(tests);
}
