// SPDX-License-Identifier: MIT
/*
 * A thread ends while it holds: what it held is lost, as nobody else may
 * release it, and others have it at once. The end of a process is none of a
 * thread. More in unit/hold/test_owner_end.c and unit/base/test_thread_end.c.
 *
 * The TTL is a day where no beat is awaited, and row holds are pinged: who has
 * the name in a test's patience has it since it was given back.
 */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sanitizers.h"
#include "sql.h"
#include "test.h"

#define TTL_MS 86400000
#define SHORT_TTL_MS 6000

static const enum rowlock_strategy both[] = { ROWLOCK_LEASE, ROWLOCK_ROW };

enum end { RETURNS, EXITS, IS_CANCELED };

struct worker {
	struct rowlock *lock;
	enum end end;
	struct test_event holds;
	pthread_t thread;
	int code;
};

/* Nothing on its stack that AddressSanitizer guards: an end within the function
 * leaves the guards there. Nor does it end in a call that blocks, from which
 * ThreadSanitizer would never see it come back. */
static void *work(void *arg)
{
	struct worker *worker = arg;

	worker->code = rowlock_acquire(worker->lock, 0, NULL);
	test_event_set(&worker->holds);
	if (worker->end == EXITS)
		pthread_exit(NULL);
	while (worker->end == IS_CANCELED) {
		pthread_testcancel();
		sched_yield();
	}
	return NULL;
}

/* A thread that acquires @lock, and ends so. */
static void acquire_and_end(struct rowlock *lock, enum end end)
{
	struct worker worker = {
		.lock = lock,
		.end = end,
		.holds = test_event_new(),
	};

	assert_int_equal(pthread_create(&worker.thread, NULL, work, &worker),
			 0);
	assert_event(&worker.holds, "the acquire of a thread");
	if (end == IS_CANCELED)
		pthread_cancel(worker.thread);
	pthread_join(worker.thread, NULL);
	test_event_end(&worker.holds);
	assert_int_equal(worker.code, 0);
}

struct loss {
	struct test_event told;
	int code;
	struct rowlock_errinfo err;
};

/* Whoever is told may ask why. */
static void note_loss(struct rowlock *lock, void *arg)
{
	struct loss *loss = arg;

	loss->code = rowlock_release(lock, &loss->err);
	test_event_set(&loss->told);
}

static void is_lost_by_an_end(enum rowlock_strategy strategy, enum end end)
{
	const char *name = test_name("left");
	TEST_CLIENT(client, test_client(TTL_MS));
	TEST_CLIENT(other, test_client(TTL_MS));
	TEST_LOCK(lock, test_lock(client, strategy, 0, name));
	TEST_LOCK(heir, test_lock(other, strategy, 0, name));
	struct loss loss = { .told = test_event_new() };

	rowlock_on_lost(lock, note_loss, &loss);
	acquire_and_end(lock, end);
	assert_int_equal(rowlock_held(lock), 0);
	assert_event(&loss.told, "the lost callback of '%s'", name);
	assert_code(loss.code, ROWLOCK_ELOST, &loss.err);
	assert_non_null(strstr(loss.err.message, "its owner ended"));
	assert_ok(rowlock_acquire(heir, (uint64_t) test_patience_ms(), &err));
	assert_ok(rowlock_verify(heir, &err));
	assert_ok(rowlock_release(heir, &err));
	test_event_end(&loss.told);
}

CASE("a thread that ends while it holds loses the hold")
{
	for (size_t i = 0; i < TEST_SIZE(both); i++)
		for (enum end end = RETURNS; end <= IS_CANCELED; end++)
			is_lost_by_an_end(both[i], end);
}

/* ---------------------------------------------------- destructors of keys */

#if !SANITIZES_THREADS
static pthread_key_t late;

static void *acquire_in_the_last_round(void *lock)
{
	pthread_setspecific(late, lock);
	return NULL;
}

static int acquired;

/* As late as that nobody calls the destructor of the library's key any more,
 * and ThreadSanitizer does not know the thread; it has not used the library
 * before. */
static void acquire_late(void *arg)
{
	static _Thread_local int rounds;

	if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(late, arg);
	else
		acquired += rowlock_acquire(arg, 0, NULL) == 0;
}

CASE("what a destructor acquires is lost at the next beat")
{
	TEST_CLIENT(client, test_client(SHORT_TTL_MS));
	struct loss losses[2];
	struct rowlock *locks[2];
	pthread_t thread;

	assert_int_equal(pthread_key_create(&late, acquire_late), 0);
	for (int i = 0; i < 2; i++) {
		losses[i] = (struct loss){ .told = test_event_new() };
		locks[i] = test_lock(client, both[i], 0, test_name("late"));
		rowlock_on_lost(locks[i], note_loss, &losses[i]);
		assert_int_equal(pthread_create(&thread, NULL,
						acquire_in_the_last_round,
						locks[i]),
				 0);
		pthread_join(thread, NULL);
		assert_int_equal(acquired, i + 1);
	}
	for (int i = 0; i < 2; i++) {
		assert_event(&losses[i].told, "the lost callback of '%s'",
			     rowlock_name(locks[i]));
		assert_code(losses[i].code, ROWLOCK_ELOST, &losses[i].err);
		assert_non_null(
		    strstr(losses[i].err.message, "its owner ended"));
		test_lock_end(locks[i]);
		test_event_end(&losses[i].told);
	}
	pthread_key_delete(late);
}
#endif

/* ------------------------------------------ processes of their own, by name */

static const char *program;

/* Run this program as @act on @name; returns its exit status. */
static int play(const char *act, const char *name)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		/* Threads that are there at the end are the point. */
		setenv("TSAN_OPTIONS", "report_thread_leaks=0", 1);
		execl(program, program, act, name, (char *) NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

struct left {
	struct rowlock_client *client;
	struct rowlock *lock;
	struct test_event told;
};

/* What goes on when the main thread has ended. */
static void *outlive_main(void *arg)
{
	struct left *left = arg;

	if (!test_event_wait(&left->told))
		_exit(2);
	_exit(rowlock_try_free(left->lock, NULL) ||
	      rowlock_client_try_free(left->client, NULL));
}

static int end_the_main_thread(const char *name)
{
	static struct left left;
	static pthread_t thread;

	left.client = test_client(TTL_MS);
	left.lock = test_lock(left.client, ROWLOCK_LEASE, 0, name);
	left.told = test_event_new();
	rowlock_on_lost(left.lock, test_event_note, &left.told);
	if (rowlock_acquire(left.lock, 0, NULL) ||
	    pthread_create(&thread, NULL, outlive_main, &left))
		return 3;
	pthread_exit(NULL);
}

static void fail_loudly(struct rowlock *lock, void *arg)
{
	(void) lock;
	(void) arg;
	_exit(4);
}

/* The process ends by exit() while two of its threads hold. */
static int end_the_process(const char *name)
{
	static struct rowlock_client *client;
	static struct worker worker = { .end = IS_CANCELED };
	char mine[160];
	struct rowlock *lock;

	client = test_client(TTL_MS);
	snprintf(mine, sizeof(mine), "%s main", name);
	lock = test_lock(client, ROWLOCK_LEASE, 0, mine);
	worker.lock = test_lock(client, ROWLOCK_LEASE, 0, name);
	worker.holds = test_event_new();
	rowlock_on_lost(lock, fail_loudly, NULL);
	rowlock_on_lost(worker.lock, fail_loudly, NULL);
	if (rowlock_acquire(lock, 0, &err) ||
	    pthread_create(&worker.thread, NULL, work, &worker) ||
	    !test_event_wait(&worker.holds) || worker.code)
		return 3;
	return 0;
}

CASE("the end of the main thread is one, too")
{
	assert_int_equal(play("main-thread", test_name("main")), 0);
}

CASE("the end of the process ends no hold")
{
	const char *name = test_name("process");
	TEST_SQL(sql);

	assert_int_equal(play("process", name), 0);
	assert_int_equal(test_sql_number(sql,
					 "SELECT COUNT(*) FROM business_lease "
					 "WHERE name LIKE '%s%%'",
					 name),
			 2);
	test_sql(sql,
		 "DELETE FROM lease_session WHERE id IN (SELECT session FROM "
		 "business_lease WHERE name LIKE '%s%%')",
		 name);
}

int main(int argc, char **argv)
{
	program = argv[0];
	if (argc == 3 && strcmp(argv[1], "main-thread") == 0)
		return end_the_main_thread(argv[2]);
	if (argc == 3)
		return end_the_process(argv[2]);
	return test_main();
}
