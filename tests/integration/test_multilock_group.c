/* SPDX-License-Identifier: MIT */
/*
 * Many threads of one process with multi-locks that share names, or not: their
 * requests go together, and what is lost on the way costs nobody a set.
 */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <rowlock/multilock.h>

#include "server.h"
#include "test.h"

#define THREADS 32
#define NAMES 4
#define ROUNDS 25
#define CUTS 30

/* Of each name: who has it. */
static _Atomic int holders[THREADS * NAMES];
static _Atomic bool over;

struct person {
	struct rowlock *multilock;
	pthread_t thread;
	int number;
	int rounds;
	size_t names[NAMES];
	int failures;
	int overlaps;
	struct rowlock_errinfo err;
};

static void start(struct person *people, void *(*live)(void *arg))
{
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
		    pthread_create(&people[i].thread, NULL, live, &people[i]),
		    0);
}

static void join(struct person *people)
{
	for (int i = 0; i < THREADS; i++)
		pthread_join(people[i].thread, NULL);
}

/* Each has NAMES names, @step behind those of the one before. */
static void make(struct person *people, struct rowlock_client *client,
		 const char *word, size_t step)
{
	for (int i = 0; i < THREADS; i++) {
		const char *pointers[NAMES];
		char names[NAMES][100];

		people[i] =
		    (struct person){ .number = i + 1, .rounds = ROUNDS };
		for (size_t n = 0; n < NAMES; n++) {
			size_t which =
			    ((size_t) i * step + n) % (THREADS * NAMES);

			people[i].names[n] = which;
			snprintf(names[n], sizeof(names[n]), "%s-%zu", word,
				 which);
			pointers[n] = names[n];
		}
		assert_ok(rowlock_multilock_new(client, pointers, NAMES, NULL,
						&people[i].multilock, &err));
	}
}

static void end(struct person *people)
{
	for (int i = 0; i < THREADS; i++)
		assert_ok(rowlock_try_free(people[i].multilock, &err));
}

static void check_alone(struct person *person)
{
	for (size_t n = 0; n < NAMES; n++)
		if (atomic_exchange(&holders[person->names[n]], person->number))
			person->overlaps++;
	for (size_t n = 0; n < NAMES; n++)
		if (atomic_exchange(&holders[person->names[n]], 0) !=
		    person->number)
			person->overlaps++;
}

static void *take_turns(void *arg)
{
	struct person *person = arg;

	for (int i = 0; i < person->rounds && !over; i++) {
		if (rowlock_acquire(person->multilock,
				    (uint64_t) test_patience_ms(), &err)) {
			person->failures++;
			person->err = err;
			continue;
		}
		check_alone(person);
		if (rowlock_release(person->multilock, &err)) {
			person->failures++;
			person->err = err;
		}
	}
	return NULL;
}

static void assert_well(struct person *people, struct test_sql *sql,
			const char *word)
{
	for (int i = 0; i < THREADS; i++) {
		assert_code(people[i].failures ? people[i].err.code : 0, 0,
			    &people[i].err);
		assert_int_equal(people[i].overlaps, 0);
	}
	assert_int_equal(test_sql_number(sql,
					 "SELECT COUNT(*) FROM business_lease "
					 "WHERE name LIKE '%s-%%'",
					 word),
			 0);
}

static uint64_t statements(struct test_sql *sql)
{
	return test_sql_status(sql, "Com_insert_select") +
	       test_sql_status(sql, "Com_insert") +
	       test_sql_status(sql, "Com_delete") +
	       test_sql_status(sql, "Com_delete_multi");
}

CASE("many sets take few statements")
{
	static struct person people[THREADS];
	struct rowlock_client *client = test_client(30000);
	struct test_sql *sql = test_server_root();
	const char *word = test_name("sets");
	uint64_t pairs = THREADS * ROUNDS;
	uint64_t took;

	make(people, client, word, NAMES);
	took = statements(sql);
	start(people, take_turns);
	join(people);
	took = statements(sql) - took;
	assert_well(people, sql, word);
	test_figure((double) took / (double) pairs, "",
		    "multi-lock: statements per acquire and release of %d "
		    "names, %d threads",
		    NAMES, THREADS);
	/* Alone they are 2. */
	if (!getenv("ROWLOCK_TEST_GROUP"))
		assert_true(took < pairs);
	end(people);
	test_client_end(client);
	test_sql_end(sql);
}

CASE("neighbours that share names exclude each other")
{
	static struct person people[THREADS];
	struct rowlock_client *client = test_client(30000);
	struct test_sql *sql = test_server_root();
	const char *word = test_name("next");

	make(people, client, word, 1);
	start(people, take_turns);
	join(people);
	assert_well(people, sql, word);
	end(people);
	test_client_end(client);
	test_sql_end(sql);
}

static void *cut(void *arg)
{
	test_server_cut(arg, CUTS);
	over = true;
	return NULL;
}

CASE("lost answers cost nobody a set")
{
	static struct person people[THREADS];
	struct rowlock_client *client = test_client(60000);
	struct test_sql *sql = test_server_root();
	struct test_sql *knife = test_server_root();
	const char *word = test_name("cut");
	pthread_t cutter;

	/* Of three neighbours two share a name. */
	make(people, client, word, NAMES - 1);
	for (int i = 0; i < THREADS; i++)
		people[i].rounds = INT_MAX;
	assert_int_equal(pthread_create(&cutter, NULL, cut, knife), 0);
	start(people, take_turns);
	join(people);
	pthread_join(cutter, NULL);
	over = false;
	/* The chores may still have an attempt to take back. */
	end(people);
	test_client_end(client);
	assert_well(people, sql, word);
	test_sql_end(knife);
	test_sql_end(sql);
}

CASE_MAIN(test_main_own_server)
