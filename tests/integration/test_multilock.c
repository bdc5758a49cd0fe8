/* SPDX-License-Identifier: MIT */
/*
 * Multi-locks on a real server: all names or none, whoever wants which of them,
 * and what it costs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rowlock/multilock.h>

#include "actor.h"
#include "sql.h"
#include "test.h"

#define NAMES 3

/* Names of this very test: "WORD-0" and on. */
struct names {
	size_t count;
	char text[ROWLOCK_MULTILOCK_MAX + 1][80];
	const char *pointers[ROWLOCK_MULTILOCK_MAX + 1];
};

static void name_them(struct names *names, const char *word, size_t count)
{
	const char *name = test_name(word);

	names->count = count;
	for (size_t i = 0; i < count; i++) {
		snprintf(names->text[i], sizeof(names->text[i]), "%.58s-%zu",
			 name, i);
		names->pointers[i] = names->text[i];
	}
}

static struct rowlock *make_with(struct rowlock_client *client,
				 const struct names *names,
				 const struct rowlock_options *options)
{
	struct rowlock *multilock = NULL;

	assert_ok(rowlock_multilock_new(client, names->pointers, names->count,
					options, &multilock, &err));
	return multilock;
}

static struct rowlock *make(struct rowlock_client *client,
			    const struct names *names)
{
	return make_with(client, names, NULL);
}

static void end(struct rowlock *multilock)
{
	assert_ok(rowlock_try_free(multilock, &err));
}

static uint64_t rows_of(struct test_sql *sql, const struct names *names)
{
	uint64_t count = 0;

	for (size_t i = 0; i < names->count; i++)
		count += test_sql_number(sql,
					 "SELECT COUNT(*) FROM business_lease "
					 "WHERE name = '%s'",
					 names->text[i]);
	return count;
}

static int try(struct rowlock_client *client, const char *name)
{
	struct rowlock *lock = test_lock(client, ROWLOCK_LEASE, 0, name);
	int code = rowlock_acquire(lock, 0, &err);

	if (!code)
		assert_ok(rowlock_release(lock, &err));
	test_lock_end(lock);
	return code;
}

CASE("all names of a multi-lock are held, or none")
{
	TEST_CLIENT(client, test_client(test_ttl_ms(10000)));
	TEST_CLIENT(other, test_client(test_ttl_ms(10000)));
	TEST_SQL(sql);
	struct rowlock *multilock;
	struct names names;
	struct rowlock *one;

	name_them(&names, "seats", NAMES);
	multilock = make(client, &names);
	assert_false(rowlock_held(multilock));
	assert_code(rowlock_release(multilock, &err), ROWLOCK_ENOTHELD, &err);
	for (size_t i = 0; i < NAMES; i++) {
		one = test_lock(other, ROWLOCK_LEASE, 0, names.text[i]);
		assert_ok(rowlock_acquire(one, 0, &err));
		assert_code(rowlock_acquire(multilock, 0, &err), ROWLOCK_EBUSY,
			    &err);
		assert_non_null(strstr(err.message, names.text[NAMES - 1]));
		assert_int_equal(rows_of(sql, &names), 1);
		assert_ok(rowlock_release(one, &err));
		test_lock_end(one);
	}
	assert_ok(rowlock_acquire(multilock, 0, &err));
	assert_true(rowlock_held(multilock));
	assert_true(rowlock_remaining_ms(multilock) > 0);
	assert_ok(rowlock_verify(multilock, &err));
	for (size_t i = 0; i < NAMES; i++)
		assert_int_equal(try(other, names.text[i]), ROWLOCK_EBUSY);
	assert_code(rowlock_try_free(multilock, &err), ROWLOCK_EHELD, &err);
	assert_code(rowlock_acquire(multilock, 0, &err), ROWLOCK_EDEADLOCK,
		    &err);
	assert_ok(rowlock_release(multilock, &err));
	assert_int_equal(rows_of(sql, &names), 0);
	end(multilock);
}

static void come_free(unsigned int flags)
{
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(10000));
	struct rowlock *multilock;
	struct test_actor actor;
	struct names names;

	options.flags |= flags;
	TEST_CLIENT(client, test_client_with(&options));
	name_them(&names, "dead", NAMES);
	multilock = make(client, &names);
	actor =
	    test_actor_start(ROWLOCK_LEASE, names.text[1], test_ttl_ms(1000));
	assert_int_equal(test_actor_ask(&actor, "acquire 0"), 0);
	assert_code(rowlock_acquire(multilock, 0, &err), ROWLOCK_EBUSY, &err);
	test_actor_kill(&actor);
	assert_ok(
	    rowlock_acquire(multilock, (uint64_t) test_patience_ms(), &err));
	assert_ok(rowlock_release(multilock, &err));
	end(multilock);
}

CASE("names of a dead client come free")
{
	come_free(0);
}

/* Each by itself: the names behind it are not swept along. */
CASE("names of a client that was seen to be dead come free")
{
	come_free(ROWLOCK_OBSERVE_BEATS);
}

/* And what is left of it comes free. */
CASE("all names are lost with one that is broken")
{
	TEST_CLIENT(client, test_client(test_ttl_ms(1000)));
	TEST_CLIENT(other, test_client(test_ttl_ms(10000)));
	struct test_loss told = { .event = test_event_new() };
	struct rowlock *multilock;
	struct rowlock *next;
	struct names names;

	name_them(&names, "broken", NAMES);
	multilock = make(client, &names);
	next = make(other, &names);
	rowlock_on_lost(multilock, test_loss_note, &told);
	assert_ok(rowlock_acquire(multilock, 0, &err));
	assert_ok(rowlock_break(other, ROWLOCK_LEASE, names.text[1], &err));
	assert_loss(&told, "the loss of one name of three to be noticed");
	assert_code(rowlock_verify(multilock, &err), ROWLOCK_ELOST, &err);
	assert_ok(rowlock_acquire(next, (uint64_t) test_patience_ms(), &err));
	assert_ok(rowlock_release(next, &err));
	assert_code(rowlock_release(multilock, &err), ROWLOCK_ELOST, &err);
	/* It is noticed by whoever asks, too. */
	rowlock_on_lost(multilock, NULL, NULL);
	assert_ok(
	    rowlock_acquire(multilock, (uint64_t) test_patience_ms(), &err));
	assert_ok(rowlock_break(other, ROWLOCK_LEASE, names.text[0], &err));
	assert_code(rowlock_release(multilock, &err), ROWLOCK_ELOST, &err);
	assert_int_equal(try(other, names.text[2]), 0);
	end(next);
	end(multilock);
	test_event_end(&told.event);
}

CASE("each name of a multi-lock has its tokens")
{
	TEST_CLIENT(client, test_client(test_ttl_ms(10000)));
	struct rowlock *multilock;
	uint64_t tokens[NAMES];
	struct names names;
	uint64_t token;

	name_them(&names, "token", NAMES);
	multilock = make(client, &names);
	assert_code(
	    rowlock_multilock_token(multilock, names.text[0], &token, &err),
	    ROWLOCK_ENOTHELD, &err);
	assert_ok(rowlock_acquire(multilock, 0, &err));
	for (int i = 0; i < NAMES; i++) {
		assert_ok(rowlock_multilock_token(multilock, names.text[i],
						  &tokens[i], &err));
		assert_ok(rowlock_multilock_token(multilock, names.text[i],
						  &token, &err));
		assert_true(tokens[i] > 0 && token == tokens[i]);
	}
	assert_code(rowlock_multilock_token(multilock, "another", &token, &err),
		    ROWLOCK_EINVAL, &err);
	assert_code(rowlock_multilock_token(multilock, NULL, &token, &err),
		    ROWLOCK_EINVAL, &err);
	assert_ok(rowlock_release(multilock, &err));
	/* Others that lock a name by itself draw from the same row. */
	TEST_LOCK(one, test_lock(client, ROWLOCK_LEASE, 0, names.text[1]));
	assert_ok(rowlock_acquire(one, 0, &err));
	assert_ok(rowlock_token(one, &token, &err));
	assert_true(token > tokens[1]);
	assert_ok(rowlock_release(one, &err));
	assert_ok(rowlock_acquire(multilock, 0, &err));
	assert_ok(rowlock_multilock_token(multilock, names.text[1], &tokens[1],
					  &err));
	assert_true(tokens[1] > token);
	assert_ok(rowlock_release(multilock, &err));
	end(multilock);
}

/* The least of five, as below. */
static uint64_t cost(struct test_sql *sql, struct rowlock *multilock,
		     const struct names *names,
		     void (*act)(struct rowlock *multilock,
				 const struct names *names))
{
	uint64_t least = UINT64_MAX;

	for (int round = 0; round < 5; round++) {
		uint64_t before = test_sql_status(sql, "Questions");
		uint64_t took;

		act(multilock, names);
		took = test_sql_status(sql, "Questions") - 1 - before;
		if (took < least)
			least = took;
	}
	return least;
}

static void verify(struct rowlock *multilock, const struct names *names)
{
	(void) names;
	assert_ok(rowlock_verify(multilock, &err));
	assert_true(rowlock_held(multilock));
}

static void draw_twice(struct rowlock *multilock, const struct names *names)
{
	uint64_t token;

	for (int i = 0; i < 2; i++)
		for (size_t name = 0; name < names->count; name++)
			assert_ok(rowlock_multilock_token(
			    multilock, names->pointers[name], &token, &err));
}

static void hold_and_draw_twice(struct rowlock *multilock,
				const struct names *names)
{
	assert_ok(rowlock_acquire(multilock, 0, &err));
	draw_twice(multilock, names);
	assert_ok(rowlock_release(multilock, &err));
}

static void try_in_vain(struct rowlock *multilock, const struct names *names)
{
	(void) names;
	assert_code(rowlock_acquire(multilock, 0, &err), ROWLOCK_EBUSY, &err);
}

CASE("a set costs two statements, however many names")
{
	TEST_CLIENT(client, test_client(600000));
	TEST_SQL(sql);

	for (size_t count = 1; count <= ROWLOCK_MULTILOCK_MAX; count *= 4) {
		struct rowlock *multilock;
		uint64_t least = UINT64_MAX;
		struct names names;

		name_them(&names, "cost", count);
		multilock = make(client, &names);
		assert_ok(rowlock_acquire(multilock, 0, &err));
		assert_ok(rowlock_release(multilock, &err));
		/* Of the client's own threads one asks now and then. */
		for (int round = 0; round < 5; round++) {
			uint64_t before = test_sql_status(sql, "Questions");
			uint64_t took;

			assert_ok(rowlock_acquire(multilock, 0, &err));
			assert_ok(rowlock_release(multilock, &err));
			took = test_sql_status(sql, "Questions") - 1 - before;
			if (took < least)
				least = took;
		}
		assert_int_equal(least, 2);
		end(multilock);
	}
}

CASE("each other call on a multi-lock has its price")
{
	TEST_CLIENT(client, test_client(600000));
	TEST_SQL(sql);
	struct rowlock *multilock;
	struct rowlock *other;
	struct names names;

	name_them(&names, "price", NAMES);
	multilock = make(client, &names);
	other =
	    make(client, &(struct names){ .count = 1,
					  .pointers = { names.pointers[0] } });
	assert_int_equal(cost(sql, multilock, &names, hold_and_draw_twice),
			 2 + NAMES);
	assert_ok(rowlock_acquire(multilock, 0, &err));
	assert_int_equal(cost(sql, multilock, &names, verify), 1);
	draw_twice(multilock, &names);
	assert_int_equal(cost(sql, multilock, &names, draw_twice), 0);
	/* One that is busy: the INSERT, and a look who has it. */
	assert_int_equal(cost(sql, other, &names, try_in_vain), 2);
	assert_ok(rowlock_release(multilock, &err));
	end(other);
	end(multilock);
}

/* ------------------------------------------------------------ bad input */

static void expect(struct rowlock_client *client, const char *const *names,
		   size_t count, const struct rowlock_options *options,
		   int code, const char *says)
{
	struct rowlock *multilock = (void *) &multilock;

	err = (struct rowlock_errinfo){ 0 };
	assert_code(rowlock_multilock_new(client, names, count, options,
					  &multilock, &err),
		    code, &err);
	assert_ptr_equal(multilock, (void *) &multilock);
	if (!strstr(err.message, says))
		fail_msg("\"%s\" does not say \"%s\"", err.message, says);
}

CASE("bad input for a multi-lock is refused")
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	TEST_CLIENT(client, test_client(test_ttl_ms(10000)));
	const char *twice[] = { "b", "a", "b" };
	const char *null[] = { "a", NULL };
	const char *feed[] = { "a", "b\nc" };
	const char *empty[] = { "a", "" };
	struct names names;

	name_them(&names, "many", ROWLOCK_MULTILOCK_MAX + 1);
	expect(client, twice, 0, NULL, ROWLOCK_EINVAL, "0 names");
	expect(client, NULL, 2, NULL, ROWLOCK_EINVAL, "NULL");
	expect(client, names.pointers, names.count, NULL, ROWLOCK_EINVAL,
	       "65 names; give 1 to 64");
	expect(client, twice, 3, NULL, ROWLOCK_EINVAL, "'b' is given twice");
	expect(client, null, 2, NULL, ROWLOCK_ENAME, "NULL");
	expect(client, feed, 2, NULL, ROWLOCK_ENAME, "control character");
	expect(client, empty, 2, NULL, ROWLOCK_ENAME, "is empty");
	options.strategy = ROWLOCK_ROW;
	expect(client, twice, 2, &options, ROWLOCK_EUNSUPPORTED,
	       "use ROWLOCK_LEASE");
	options.strategy = (enum rowlock_strategy) 7;
	expect(client, twice, 2, &options, ROWLOCK_EINVAL, "no strategy 7");
	options.strategy = ROWLOCK_LEASE;
	options.max_hold_ms = 1;
	expect(client, twice, 2, &options, ROWLOCK_EINVAL, "max_hold_ms");
	options.size = 1;
	expect(client, twice, 2, &options, ROWLOCK_EINVAL, "size");
	assert_ok(rowlock_try_free(NULL, &err));
}

CASE("who holds a name of it does not wait for himself")
{
	TEST_CLIENT(client, test_client(test_ttl_ms(10000)));
	struct rowlock *multilock;
	struct names names;

	name_them(&names, "own", NAMES);
	multilock = make(client, &names);
	TEST_LOCK(one, test_lock(client, ROWLOCK_LEASE, 0, names.text[2]));
	assert_ok(rowlock_acquire(one, 0, &err));
	assert_code(rowlock_acquire(multilock, 50, &err), ROWLOCK_EDEADLOCK,
		    &err);
	assert_non_null(strstr(err.message, names.text[2]));
	assert_ok(rowlock_release(one, &err));
	assert_ok(rowlock_acquire(multilock, 0, &err));
	rowlock_freep(&multilock);
	assert_null(multilock);
}

/* A handle whose hold was lost has nothing, and takes nothing of the set. */
CASE("who has lost a name of it is not in the way")
{
	TEST_CLIENT(client, test_client(test_ttl_ms(10000)));
	TEST_SQL(sql);
	struct rowlock *multilock;
	struct names names;

	name_them(&names, "was-own", NAMES);
	multilock = make(client, &names);
	TEST_LOCK(one, test_lock(client, ROWLOCK_LEASE, 0, names.text[2]));
	assert_ok(rowlock_acquire(one, 0, &err));
	test_sql(sql, "DELETE FROM business_lease WHERE name = '%s'",
		 names.text[2]);
	assert_code(rowlock_verify(one, &err), ROWLOCK_ELOST, &err);
	assert_ok(rowlock_acquire(multilock, 50, &err));
	assert_code(rowlock_release(one, &err), ROWLOCK_ELOST, &err);
	assert_ok(rowlock_verify(multilock, &err));
	assert_int_equal(rows_of(sql, &names), NAMES);
	assert_ok(rowlock_release(multilock, &err));
	/* And of use again. */
	assert_ok(rowlock_acquire(one, 0, &err));
	assert_code(rowlock_acquire(multilock, 50, &err), ROWLOCK_EDEADLOCK,
		    &err);
	assert_ok(rowlock_release(one, &err));
	rowlock_freep(&multilock);
}

CASE_MAIN(test_main)
