// SPDX-License-Identifier: MIT
/*
 * A forked child does not disturb its parent's holds, whatever it does with
 * what it inherited, and gets an error from every call.
 *
 * The child tells by its exit status which check failed: its assertions cannot
 * reach cmocka.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sanitizers.h"
#include "test.h"

#define TTL_MS 1500

/* Parent and child have one number, as where each is the first process of a
 * container, or where numbers have come round: the library, too, is told so. */
pid_t getpid(void)
{
	return 4711;
}

static const enum rowlock_strategy both[] = { ROWLOCK_LEASE, ROWLOCK_ROW };

struct holds {
	struct rowlock_client *client;
	struct rowlock *locks[2];
};

static struct holds hold_both(void)
{
	struct holds holds = { .client = test_client(test_ttl_ms(TTL_MS)) };
	size_t i;

	for (i = 0; i < 2; i++) {
		holds.locks[i] =
		    test_lock(holds.client, both[i], 0, test_name("fork"));
		assert_ok(rowlock_acquire(holds.locks[i], 0, &err));
	}
	return holds;
}

static void still_held(struct holds *holds)
{
	size_t i;

	for (i = 0; i < 2; i++) {
		assert_ok(rowlock_verify(holds->locks[i], &err));
		assert_int_equal(rowlock_held(holds->locks[i]), 1);
		assert_ok(rowlock_release(holds->locks[i], &err));
		test_lock_end(holds->locks[i]);
	}
	test_client_end(holds->client);
}

/* End with @code by way of another program: a leak checker would miss, in the
 * child, the threads that had the parent's memory. */
static void become(int code)
{
	char text[12];

	snprintf(text, sizeof(text), "%d", code);
	execlp("sh", "sh", "-c", "exit $0", text, (char *) NULL);
	_exit(127);
}

/* Fork, let the child run @fn, return its exit status. */
static int in_a_child(int (*fn)(struct holds *holds), struct holds *holds)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		become(fn(holds));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int close_all(struct holds *holds)
{
	int fd;

	(void) holds;
	for (fd = 3; fd < 1024; fd++)
		close(fd);
	return 0;
}

static int ignore(const struct rowlock_entry *entry, void *arg)
{
	(void) entry;
	(void) arg;
	return 0;
}

static void run_nothing(struct rowlock *lock, void *arg)
{
	(void) lock;
	(void) arg;
}

static int call_lock(struct rowlock *lock)
{
	uint64_t token;

	if (rowlock_acquire(lock, 0, &err) != ROWLOCK_EFORKED)
		return 1;
	if (rowlock_release(lock, &err) != ROWLOCK_EFORKED)
		return 2;
	if (rowlock_held(lock))
		return 3;
	if (rowlock_verify(lock, &err) != ROWLOCK_EFORKED)
		return 4;
	if (rowlock_token(lock, &token, &err) != ROWLOCK_EFORKED)
		return 5;
	if (rowlock_try_free(lock, &err) != ROWLOCK_EFORKED)
		return 6;
	rowlock_cancel(lock);
	rowlock_on_lost(lock, NULL, NULL);
	return 0;
}

static int call_client(struct rowlock_client *client)
{
	struct rowlock *lock;

	if (rowlock_new(client, "x", NULL, &lock, &err) != ROWLOCK_EFORKED)
		return 11;
	if (rowlock_execute(client, "x", NULL, 0, run_nothing, NULL, &err) !=
	    ROWLOCK_EFORKED)
		return 12;
	if (rowlock_list(client, NULL, ignore, NULL, &err) != ROWLOCK_EFORKED)
		return 13;
	if (rowlock_break(client, ROWLOCK_LEASE, "x", &err) != ROWLOCK_EFORKED)
		return 14;
	if (rowlock_reap(client, NULL, NULL, &err) != ROWLOCK_EFORKED)
		return 15;
	if (rowlock_client_try_free(client, &err) != ROWLOCK_EFORKED)
		return 16;
	return 0;
}

static int call_everything(struct holds *holds)
{
	int code = call_lock(holds->locks[0]);

	if (!code)
		code = call_lock(holds->locks[1]);
	return code ? code : call_client(holds->client);
}

/* exit() runs what the library may have registered, unlike _exit(). */
static int leave(struct holds *holds)
{
	(void) holds;
	fclose(stdout);
	exit(0);
}

#if !SANITIZES_THREADS
static void *outlive(void *arg)
{
	pthread_join(*(pthread_t *) arg, NULL);
	become(0);
	return NULL;
}

/* The child's copy of the thread that holds in the parent. */
static int end_its_thread(struct holds *holds)
{
	static pthread_t first;
	pthread_t second;

	(void) holds;
	first = pthread_self();
	if (pthread_create(&second, NULL, outlive, &first))
		return 31;
	pthread_exit(NULL);
}

/* A client of the child's own finds the parent's names held. */
static int open_its_own(struct holds *holds)
{
	struct rowlock_client_options options = test_client_options(TTL_MS);
	struct rowlock_options strategy = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_client *client;
	struct rowlock *lock;
	size_t i;

	if (rowlock_client_new(&options, &client, &err))
		return 21;
	for (i = 0; i < 2; i++) {
		strategy.strategy = both[i];
		if (rowlock_new(client, rowlock_name(holds->locks[i]),
				&strategy, &lock, &err))
			return 22;
		if (rowlock_acquire(lock, 0, &err) != ROWLOCK_EBUSY)
			return 23;
		if (rowlock_try_free(lock, &err))
			return 24;
	}
	return rowlock_client_try_free(client, &err) ? 25 : 0;
}
#endif

static void survives(int (*fn)(struct holds *holds))
{
	struct holds holds = hold_both();

	assert_int_equal(in_a_child(fn, &holds), 0);
	still_held(&holds);
}

CASE("a child that exits leaves its parent's holds alone")
{
	survives(leave);
}

CASE("a child that closes all leaves its parent's holds alone")
{
	survives(close_all);
}

CASE("a child gets an error from every call")
{
	survives(call_everything);
}

#if !SANITIZES_THREADS
CASE("a child's thread that ends leaves its parent's holds")
{
	survives(end_its_thread);
}

CASE("a child may make a client of its own")
{
	survives(open_its_own);
}
#endif

CASE_MAIN(test_main)
