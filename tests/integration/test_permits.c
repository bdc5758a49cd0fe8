// SPDX-License-Identifier: MIT
/*
 * Clients are processes, each with some permits of one semaphore after the
 * other; now and then one of them is killed. Never are more in use than there
 * are, and in the end all can be had.
 *
 *     test_permits [CLIENTS [SECONDS]]    10 and 3 by default; every second
 * one is killed
 *
 * ROWLOCK_TEST_NODES has the connection strings of the nodes of a cluster, a
 * blank between two: the clients talk to them in turn.
 *
 * Whoever has permits says so in memory that all share, after its grant and
 * until its release. So nobody is accused for what lies between a call and its
 * return.
 *
 * At the end one is killed that has some, and all are to be had again. How long
 * that takes is reported, and judged only with ROWLOCK_TEST_JUDGE_TIME: the
 * machine may be busy.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rowlock/semaphore.h>

#include "clients.h"
#include "sql.h"
#include "test.h"

#define PERMITS 5
#define MOST_WANTED 3
#define TTL_MS 1000
#define WAIT_MS 500

static unsigned int clients = 10;
static unsigned int seconds = 3;

struct shared {
	struct clients clients;
	pthread_mutex_t mutex; /* protects what follows */
	struct {
		unsigned int number;
		unsigned int count;
	} holders[CLIENTS_MOST];
	unsigned int most;

	uint64_t ttl_ms;
	_Atomic uint64_t grants;
	_Atomic uint64_t waits; /* that ended without a grant */
	_Atomic unsigned int excesses;
	char name[64];
};

static struct shared *shared;

/* ------------------------------------------------------------- a client */

/* Who had it before may have been killed. */
static void lock(void)
{
	if (pthread_mutex_lock(&shared->mutex) == EOWNERDEAD)
		pthread_mutex_consistent(&shared->mutex);
}

static void enter(unsigned int place, unsigned int number, unsigned int count)
{
	unsigned int sum = 0;

	lock();
	shared->holders[place].number = number;
	shared->holders[place].count = count;
	for (unsigned int i = 0; i < CLIENTS_MOST; i++)
		if (!shared->clients.killed[shared->holders[i].number])
			sum += shared->holders[i].count;
	if (sum > shared->most)
		shared->most = sum;
	if (sum > PERMITS)
		shared->excesses++;
	pthread_mutex_unlock(&shared->mutex);
}

static void leave(unsigned int place)
{
	lock();
	shared->holders[place].count = 0;
	pthread_mutex_unlock(&shared->mutex);
}

static int use_once(struct rowlock *semaphore, unsigned int place,
		    unsigned int number, struct rowlock_errinfo *err)
{
	unsigned int count = 1 + (unsigned int) rand() % MOST_WANTED;
	uint64_t began = test_now_ns();
	int code = rowlock_semaphore_acquire(semaphore, count, WAIT_MS, err);

	/* A machine is slow at times: no answer came in all that time. */
	bool late = code == ROWLOCK_ECONNECT &&
		    test_ms(began, test_now_ns()) >= WAIT_MS;

	if (code == ROWLOCK_ETIMEDOUT || late) {
		shared->waits++;
		return 0;
	}
	if (code)
		return code;
	shared->grants++;
	enter(place, number, count);
	usleep((useconds_t) rand() % 2000);
	leave(place);
	return rowlock_release(semaphore, err);
}

static int live(unsigned int place, unsigned int number)
{
	struct rowlock_client_options options =
	    test_client_options(shared->ttl_ms);
	struct rowlock *semaphore = NULL;
	struct rowlock_client *client = NULL;
	struct rowlock_errinfo err = { 0 };
	int code;

	srand(number);
	options.dsn = clients_dsn(place);
	/* Nor may it be that slow for ever: others' grants are waited for. */
	do
		code = rowlock_client_new(&options, &client, &err);
	while (code == ROWLOCK_ECONNECT && !shared->clients.over);
	if (code == ROWLOCK_ECONNECT)
		return 0;
	if (!code)
		code = rowlock_semaphore_new(client, shared->name, PERMITS,
					     NULL, &semaphore, &err);
	while (!code && !shared->clients.over) {
		code = use_once(semaphore, place, number, &err);
		/* A machine that stands still for a TTL. */
		if (code == ROWLOCK_ELOST)
			code = 0;
	}
	if (code)
		fprintf(stderr, "# client %u: %s\n", number, err.message);
	rowlock_freep(&semaphore);
	rowlock_client_free(client);
	return code ? 1 : 0;
}

/* ------------------------------------------------------------- the test */

static void init_mutex(void)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&shared->mutex, &attributes);
	pthread_mutexattr_destroy(&attributes);
}

/* Of those that have permits, one. Who holds the mutex cannot be killed
 * meanwhile, and nobody begins or ends to have some. */
static bool kill_one_that_has_some(void)
{
	bool found = false;

	lock();
	for (unsigned int i = 0; !found && i < clients; i++) {
		unsigned int number = shared->clients.places[i].number;

		found = shared->holders[i].number == number &&
			shared->holders[i].count > 0;
		if (found)
			clients_kill_one(&shared->clients, i);
	}
	pthread_mutex_unlock(&shared->mutex);
	return found;
}

/* How long it takes until a client has all of them. */
static double have_all(void)
{
	struct rowlock_client *client = test_client(shared->ttl_ms);
	struct rowlock *semaphore = NULL;
	uint64_t began = test_now_ns();
	struct rowlock_errinfo err;
	double took;

	assert_ok(rowlock_semaphore_new(client, shared->name, PERMITS, NULL,
					&semaphore, &err));
	assert_ok(rowlock_semaphore_acquire(
	    semaphore, PERMITS, (uint64_t) test_patience_ms(), &err));
	took = test_ms(began, test_now_ns());
	assert_ok(rowlock_release(semaphore, &err));
	assert_ok(rowlock_try_free(semaphore, &err));
	test_client_end(client);
	return took;
}

static void no_more_are_in_use_than_there_are(void **state)
{
	uint64_t began = test_now_ns();
	double all;

	(void) state;
	init_mutex();
	shared->ttl_ms = test_ttl_ms(TTL_MS);
	snprintf(shared->name, sizeof(shared->name), "%s",
		 test_name("permits"));
	clients_start(&shared->clients, clients, live);
	while (test_ms(began, test_now_ns()) < seconds * 1000.0 ||
	       shared->grants < 100) {
		test_keep_waiting(began + seconds * 1000000000ull,
				  "100 grants; there were %llu",
				  (unsigned long long) shared->grants);
		usleep(10000);
		clients_kill(&shared->clients);
	}
	began = test_now_ns();
	while (!kill_one_that_has_some())
		test_keep_waiting(began, "one that has permits");
	clients_end(&shared->clients);
	assert_int_equal(shared->excesses, 0);
	all = have_all();
	print_message("# %u clients, %u killed: %llu grants, %llu waits of "
		      "500 ms without one; %u permits in use at most, all of "
		      "them back %.0f ms after the end\n",
		      clients, shared->clients.kills,
		      (unsigned long long) shared->grants,
		      (unsigned long long) shared->waits, shared->most, all);
	test_figure(all, "ms",
		    "end of the last holder that was killed to all permits, "
		    "TTL %llu ms",
		    (unsigned long long) shared->ttl_ms);
	if (getenv("ROWLOCK_TEST_JUDGE_TIME"))
		assert_true(all < (double) shared->ttl_ms + 200);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST("of a semaphore's permits no more are in use than there "
		     "are",
		     no_more_are_in_use_than_there_are),
	};

	if (argc > 1)
		clients = (unsigned int) atoi(argv[1]);
	if (argc > 2)
		seconds = (unsigned int) atoi(argv[2]);
	if (clients < 1 || clients > CLIENTS_MOST || seconds > 3600)
		return 2;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	return test_main(tests);
}
