// SPDX-License-Identifier: MIT
/*
 * Clients are processes, each with one random subset of ten names after the
 * other; now and then one of them is killed. Never do two have a name, no state
 * of the database has a live set in part, and no deadlock reaches a caller.
 *
 *     test_subsets [CLIENTS [SECONDS]]    8 and 3 by default; every second
 * one is killed
 *
 * Whoever has a name writes its number into memory that all share, after its
 * grant and until its release. So nobody is accused for what lies between a
 * call and its return. A set tells how many names it has by its info.
 *
 * Of four acquires one is a try; the others wait until they have it: on a busy
 * machine a short time might end in the middle of a question.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rowlock/multilock.h>

#include "clients.h"
#include "sql.h"
#include "test.h"

#define NAMES 10
#define MOST_NAMES 5
#define TTL_MS 1000

static unsigned int clients = 8;
static unsigned int seconds = 3;

struct shared {
	struct clients clients;
	/* Of each name: 1 and up, who has it. */
	_Atomic unsigned int holders[NAMES];
	_Atomic uint64_t grants;
	_Atomic uint64_t refused;
	_Atomic unsigned int overlaps;
	uint64_t ttl_ms;
	char word[64];
};

static struct shared *shared;

/* ------------------------------------------------------------- a client */

static size_t choose(const char **ret_names, unsigned int *ret_which,
		     char (*text)[80])
{
	size_t count = 1 + (size_t) rand() % MOST_NAMES;
	unsigned int order[NAMES];

	for (unsigned int i = 0; i < NAMES; i++)
		order[i] = i;
	for (size_t i = 0; i < count; i++) {
		size_t other = i + (size_t) rand() % (NAMES - i);
		unsigned int kept = order[i];

		order[i] = order[other];
		order[other] = kept;
		ret_which[i] = order[i];
		snprintf(text[i], sizeof(text[i]), "%s-%u", shared->word,
			 order[i]);
		ret_names[i] = text[i];
	}
	return count;
}

static void enter(unsigned int number, const unsigned int *which, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		unsigned int other =
		    atomic_exchange(&shared->holders[which[i]], number);

		if (other && !shared->clients.killed[other])
			shared->overlaps++;
	}
}

static void leave(unsigned int number, const unsigned int *which, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (atomic_exchange(&shared->holders[which[i]], 0) != number)
			shared->overlaps++;
}

static int lock_once(struct rowlock_client *client, unsigned int number,
		     struct rowlock_errinfo *err)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock *multilock = NULL;
	const char *names[MOST_NAMES];
	unsigned int which[MOST_NAMES];
	char text[MOST_NAMES][80];
	char info[16];
	size_t count = choose(names, which, text);
	int code;

	snprintf(info, sizeof(info), "%zu", count);
	options.info = info;
	code = rowlock_multilock_new(client, names, count, &options, &multilock,
				     err);
	if (code)
		return code;
	code = rowlock_acquire(
	    multilock, rand() % 4 ? (uint64_t) test_patience_ms() : 0, err);
	if (code == 0) {
		shared->grants++;
		enter(number, which, count);
		leave(number, which, count);
		code = rowlock_release(multilock, err);
	} else if (code == ROWLOCK_EBUSY) {
		shared->refused++;
		code = 0;
	}
	rowlock_freep(&multilock);
	return code;
}

static int live(unsigned int place, unsigned int number)
{
	struct rowlock_client_options options =
	    test_client_options(shared->ttl_ms);
	struct rowlock_client *client = NULL;
	struct rowlock_errinfo err = { 0 };
	int code = rowlock_client_new(&options, &client, &err);

	(void) place;
	srand(number);
	while (!code && !shared->clients.over) {
		code = lock_once(client, number, &err);
		/* A machine that stands still for a TTL. */
		if (code == ROWLOCK_ELOST)
			code = 0;
	}
	if (code)
		fprintf(stderr, "# client %u: %s\n", number, err.message);
	rowlock_client_free(client);
	return code ? 1 : 0;
}

/* ------------------------------------------------------------- the test */

/* Of those that live: what dead ones leave is removed bit by bit. */
static void check_parts(struct test_sql *sql)
{
	char *parts = test_sql_text(
	    sql,
	    "SELECT l.attempt, MIN(l.info), COUNT(*) FROM business_lease l "
	    "JOIN lease_session s ON s.id = l.session "
	    "WHERE l.name LIKE '%s-%%' GROUP BY l.attempt "
	    "HAVING COUNT(*) <> MIN(l.info)",
	    shared->word);

	if (*parts)
		fail_msg("a set in part (attempt, names, rows): %s", parts);
	free(parts);
}

static void no_two_have_a_name(void **state)
{
	struct test_sql *sql = test_sql_open();
	uint64_t began = test_now_ns();
	unsigned int looks = 0;

	(void) state;
	shared->ttl_ms = test_ttl_ms(TTL_MS);
	snprintf(shared->word, sizeof(shared->word), "%s",
		 test_name("subsets"));
	clients_start(&shared->clients, clients, live);
	while (test_ms(began, test_now_ns()) < seconds * 1000.0 ||
	       shared->grants < 100) {
		test_keep_waiting(began + seconds * 1000000000ull,
				  "100 grants; there were %llu",
				  (unsigned long long) shared->grants);
		check_parts(sql);
		looks++;
		clients_kill(&shared->clients);
	}
	clients_end(&shared->clients);
	assert_int_equal(shared->overlaps, 0);
	print_message("# %u clients, %u killed: %llu grants, %llu tries "
		      "refused; %u looks found no set in part\n",
		      clients, shared->clients.kills,
		      (unsigned long long) shared->grants,
		      (unsigned long long) shared->refused, looks);
	test_sql_end(sql);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST("of random subsets no two have a name, and none is in "
		     "part",
		     no_two_have_a_name),
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
