// SPDX-License-Identifier: MIT
/*
 * A lease is handed over by a string: to another client, to the same one, and
 * across the end of its exporter.
 */
#include <pthread.h>
#include <rowlock/adoption.h>
#include <rowlock/multilock.h>
#include <rowlock/mysql.h>
#include <rowlock/rwlock.h>
#include <rowlock/semaphore.h>
#include <string.h>

#include "guarded.h"
#include "holder.h"

#define FAST_TTL_MS 3000

static void export(struct rowlock *lock, char *text)
{
	assert_ok(rowlock_export(lock, text, ROWLOCK_EXPORT_SIZE, &err));
}

static void expect(int code, int wanted, const char *words)
{
	assert_int_equal(code, wanted);
	if (!strstr(err.message, words))
		fail_msg("no '%s' in: %s", words, err.message);
}

/* A lease of one client, and a handle of the other. */
#define TWO(word, ttl_ms)                                                      \
	const char *name = test_name(word);                                    \
	char text[ROWLOCK_EXPORT_SIZE];                                        \
	TEST_CLIENT(one, test_client(ttl_ms));                                 \
	TEST_CLIENT(other, test_client(ttl_ms));                               \
	TEST_LOCK(from, test_lock(one, ROWLOCK_LEASE, 0, name));               \
	TEST_LOCK(to, test_lock(other, ROWLOCK_LEASE, 0, name));               \
	assert_ok(rowlock_acquire(from, 0, &err))

CASE("an exported lease is held by nobody, and not free, until it is adopted")
{
	TWO("adopted", TTL_MS);
	uint64_t first = 0, second = 0;

	assert_ok(rowlock_token(from, &first, &err));
	export(from, text);
	assert_int_equal(rowlock_held(from), 0);
	assert_string_equal(rowlock_lost_reason(from), "it was exported");
	expect(rowlock_token(from, &first, &err), ROWLOCK_ELOST, "exported");
	expect(rowlock_acquire(to, 0, &err), ROWLOCK_EBUSY, "held by another");
	assert_ok(rowlock_adopt(to, text, &err));
	assert_int_equal(rowlock_held(to), 1);
	assert_ok(rowlock_verify(to, &err));
	assert_ok(rowlock_token(to, &second, &err));
	assert_true(second > first);
	expect(rowlock_release(from, &err), ROWLOCK_ELOST, "adopted");
	assert_ok(rowlock_verify(to, &err));
	assert_ok(rowlock_release(to, &err));
	assert_ok(rowlock_acquire(from, 0, &err));
	assert_ok(rowlock_release(from, &err));
}

CASE("the exporter is told at its next heartbeat that it was adopted")
{
	TWO("told", test_ttl_ms(FAST_TTL_MS));
	struct test_loss loss = { test_event_new(), -1 };

	rowlock_on_lost(from, test_loss_note, &loss);
	export(from, text);
	assert_ok(rowlock_adopt(to, text, &err));
	assert_loss(&loss, "the adoption to be told");
	assert_non_null(strstr(rowlock_lost_reason(from), "exported"));
	assert_non_null(strstr(rowlock_lost_reason(from), "]@"));
	assert_non_null(strstr(rowlock_lost_reason(from), " has it since 2"));
	expect(rowlock_release(from, &err), ROWLOCK_ELOST, "adopted");
	assert_ok(rowlock_verify(to, &err));
	assert_ok(rowlock_release(to, &err));
	test_event_end(&loss.event);
}

/* One transaction under @lock. */
static void commit(struct rowlock *lock, MYSQL *mysql)
{
	assert_ok(rowlock_begin(lock, mysql, 0, &err));
	assert_ok(rowlock_commit(lock, mysql, &err));
}

/* A connection on which a client has committed before asks for no row at the
 * next begin: the client counts. */
CASE("an adopter commits behind the commits of its exporter")
{
	TWO("commits", TTL_MS);
	TEST_LOCK(before,
		  test_lock(other, ROWLOCK_LEASE, 0, test_name("before")));
	MYSQL *mine = connect_to(test_dsn(), 0);
	MYSQL *theirs = connect_to(test_dsn(), 0);

	assert_ok(rowlock_acquire(before, 0, &err));
	commit(before, theirs);
	assert_ok(rowlock_release(before, &err));
	commit(from, mine);
	commit(from, mine);
	export(from, text);
	assert_ok(rowlock_adopt(to, text, &err));
	commit(to, theirs);
	commit(to, theirs);
	export(to, text);
	assert_ok(rowlock_adopt(from, text, &err));
	commit(from, mine);
	assert_ok(rowlock_release(from, &err));
	mysql_close(mine);
	mysql_close(theirs);
}

CASE("a string is good once")
{
	TWO("once", TTL_MS);
	TEST_LOCK(late, test_lock(one, ROWLOCK_LEASE, 0, name));

	export(from, text);
	assert_ok(rowlock_adopt(to, text, &err));
	expect(rowlock_adopt(late, text, &err), ROWLOCK_ELOST,
	       "another has it now");
	expect(rowlock_adopt(to, text, &err), ROWLOCK_EHELD, "holds it");
	assert_ok(rowlock_verify(to, &err));
	assert_ok(rowlock_release(to, &err));
	expect(rowlock_adopt(to, text, &err), ROWLOCK_ELOST,
	       "nobody has it any more");
}

CASE("a handle that may join its thread's hold does not take that for adopted")
{
	TWO("joined", TTL_MS);
	TEST_LOCK(adopter,
		  test_lock(other, ROWLOCK_LEASE, ROWLOCK_OWNER_THREAD, name));
	TEST_LOCK(late,
		  test_lock(other, ROWLOCK_LEASE, ROWLOCK_OWNER_THREAD, name));

	export(from, text);
	assert_ok(rowlock_adopt(adopter, text, &err));
	expect(rowlock_adopt(late, text, &err), ROWLOCK_EBUSY,
	       "another handle");
	assert_int_equal(rowlock_held(late), 0);
	assert_ok(rowlock_acquire(late, 0, &err));
	assert_ok(rowlock_release(late, &err));
	assert_ok(rowlock_release(adopter, &err));
}

CASE("a release takes an exported lease back, and frees the name")
{
	TWO("withdrawn", TTL_MS);

	export(from, text);
	assert_ok(rowlock_release(from, &err));
	expect(rowlock_adopt(to, text, &err), ROWLOCK_ELOST, "nobody");
	assert_ok(rowlock_acquire(to, 0, &err));
	expect(rowlock_adopt(from, text, &err), ROWLOCK_ELOST, "another");
	assert_ok(rowlock_release(to, &err));
}

CASE("its exporter adopts it again, by the same handle")
{
	TWO("own", TTL_MS);
	uint64_t attempt = rowlock_attempt(from);

	export(from, text);
	assert_ok(rowlock_adopt(from, text, &err));
	assert_int_not_equal(rowlock_attempt(from), attempt);
	assert_ok(rowlock_verify(from, &err));
	expect(rowlock_adopt(to, text, &err), ROWLOCK_ELOST, "another");
	assert_ok(rowlock_release(from, &err));
	assert_ok(rowlock_acquire(to, 0, &err));
	assert_ok(rowlock_release(to, &err));
}

CASE("an acquire by the handle that exported it waits as others do")
{
	TWO("waits", TTL_MS);

	export(from, text);
	expect(rowlock_acquire(from, 0, &err), ROWLOCK_EBUSY, "held");
	assert_ok(rowlock_adopt(to, text, &err));
	assert_ok(rowlock_release(to, &err));
	assert_ok(rowlock_acquire(from, 0, &err));
	assert_ok(rowlock_release(from, &err));
}

CASE("what fails leaves an exported lease to be taken back")
{
	TWO("kept", TTL_MS);

	export(from, text);
	expect(rowlock_acquire(from, 0, &err), ROWLOCK_EBUSY, "held");
	expect(rowlock_adopt(from, "rowlock1.", &err), ROWLOCK_EINVAL,
	       "no string");
	expect(rowlock_acquire(to, 0, &err), ROWLOCK_EBUSY, "held");
	assert_ok(rowlock_release(from, &err));
	assert_ok(rowlock_acquire(to, 0, &err));
	assert_ok(rowlock_release(to, &err));
}

CASE("it outlives its handle and its client, by what is left of the TTL")
{
	const char *name = test_name("freed");
	char text[ROWLOCK_EXPORT_SIZE];
	struct rowlock_client *one = test_client(TTL_MS);
	struct rowlock *from = test_lock(one, ROWLOCK_LEASE, 0, name);
	struct rowlock *second =
	    test_lock(one, ROWLOCK_LEASE, 0, test_name("beside"));
	TEST_CLIENT(other, test_client(TTL_MS));
	TEST_LOCK(to, test_lock(other, ROWLOCK_LEASE, 0, name));

	assert_ok(rowlock_acquire(from, 0, &err));
	assert_ok(rowlock_acquire(second, 0, &err));
	export(from, text);
	rowlock_free(from);
	expect(rowlock_acquire(to, 0, &err), ROWLOCK_EBUSY, "held");
	/* It releases what is not exported. */
	rowlock_client_free(one);
	{
		TEST_LOCK(rival, test_lock(other, ROWLOCK_LEASE, 0,
					   rowlock_name(second)));

		assert_ok(rowlock_acquire(rival, 0, &err));
		assert_ok(rowlock_release(rival, &err));
	}
	rowlock_free(second);
	expect(rowlock_acquire(to, 0, &err), ROWLOCK_EBUSY, "held");
	assert_ok(rowlock_adopt(to, text, &err));
	assert_ok(rowlock_verify(to, &err));
	assert_ok(rowlock_release(to, &err));
}

CASE("a dead exporter's lease that was evicted is not adopted")
{
	TWO("expired", TTL_MS);
	TEST_SQL(sql);

	export(from, text);
	test_sql(sql,
		 "DELETE s FROM lease_session s JOIN business_lease l"
		 " ON l.session = s.id WHERE l.name = '%s'",
		 name);
	expect(rowlock_adopt(to, text, &err), ROWLOCK_ELOST, "nobody");
	assert_ok(rowlock_acquire(to, 0, &err));
	assert_ok(rowlock_release(to, &err));
}

CASE("a broken lease is not adopted")
{
	TWO("broken", TTL_MS);

	export(from, text);
	assert_ok(rowlock_break(other, ROWLOCK_LEASE, name, &err));
	expect(rowlock_adopt(to, text, &err), ROWLOCK_ELOST, "nobody");
}

CASE("strings that are none, or another name's, change nothing")
{
	TWO("foreign", TTL_MS);
	TEST_LOCK(elsewhere,
		  test_lock(other, ROWLOCK_LEASE, 0, test_name("elsewhere")));
	char bad[ROWLOCK_EXPORT_SIZE];

	export(from, text);
	expect(rowlock_adopt(elsewhere, text, &err), ROWLOCK_EINVAL,
	       "another name");
	strcpy(bad, text);
	bad[strlen(bad) - 1] = bad[strlen(bad) - 1] == 'a' ? 'b' : 'a';
	expect(rowlock_adopt(to, bad, &err), ROWLOCK_EINVAL, "altered");
	expect(rowlock_adopt(to, "rowlock1.", &err), ROWLOCK_EINVAL,
	       "no string of an export, which has 57 characters: it has 9");
	memset(bad, '0', sizeof(bad));
	bad[57] = '\0';
	expect(rowlock_adopt(to, bad, &err), ROWLOCK_EINVAL,
	       "this is no string of an export");
	expect(rowlock_adopt(to,
			     "0000000000000000000000000000000000000000"
			     "0000000000000000000000000000000000000000",
			     &err),
	       ROWLOCK_EINVAL, "it has 64 or more");
	expect(rowlock_adopt(to, NULL, &err), ROWLOCK_EINVAL, "NULL");
	assert_ok(rowlock_adopt(to, text, &err));
	assert_ok(rowlock_release(to, &err));
}

CASE("what cannot be exported stays held")
{
	TWO("refused", TTL_MS);
	const struct rowlock_options kept = { .size = sizeof(kept),
					      .at_least_ms = 1000 };
	struct rowlock *lock = NULL;

	expect(rowlock_export(to, text, sizeof(text), &err), ROWLOCK_ENOTHELD,
	       "not held");
	expect(rowlock_export(from, text, 10, &err), ROWLOCK_EINVAL, "SIZE");
	expect(rowlock_export(from, NULL, 64, &err), ROWLOCK_EINVAL, "NULL");
	assert_ok(rowlock_acquire(from, 0, &err));
	expect(rowlock_export(from, text, sizeof(text), &err), ROWLOCK_EHELD,
	       "levels");
	assert_ok(rowlock_release(from, &err));
	assert_int_equal(rowlock_held(from), 1);
	assert_ok(rowlock_new(other, name, &kept, &lock, &err));
	expect(rowlock_export(lock, text, sizeof(text), &err),
	       ROWLOCK_EUNSUPPORTED, "at least");
	rowlock_free(lock);
	lock = test_lock(other, ROWLOCK_ROW, 0, name);
	expect(rowlock_export(lock, text, sizeof(text), &err),
	       ROWLOCK_EUNSUPPORTED, "plain lease");
	expect(rowlock_adopt(lock, "x", &err), ROWLOCK_EUNSUPPORTED,
	       "plain lease");
	rowlock_free(lock);
	assert_ok(rowlock_semaphore_new(other, name, 2, NULL, &lock, &err));
	expect(rowlock_export(lock, text, sizeof(text), &err),
	       ROWLOCK_EUNSUPPORTED, "plain lease");
	rowlock_free(lock);
	assert_ok(rowlock_release(from, &err));
}

static void *wait_for_it(void *arg)
{
	return (void *) (intptr_t) rowlock_acquire(arg, ROWLOCK_FOREVER, NULL);
}

CASE("a client does not adopt what another thread of it waits for")
{
	TWO("waited", TTL_MS);
	TEST_LOCK(waits,
		  test_lock(other, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE, name));
	pthread_t thread;
	void *code;

	export(from, text);
	pthread_create(&thread, NULL, wait_for_it, waits);
	while (rowlock_adopt(to, text, &err) != ROWLOCK_EBUSY) {
		/* It came before the waiter. */
		if (rowlock_held(to))
			export(to, text);
	}
	assert_ok(rowlock_adopt(from, text, &err));
	assert_ok(rowlock_release(from, &err));
	pthread_join(thread, &code);
	assert_int_equal((intptr_t) code, 0);
	assert_ok(rowlock_release(waits, &err));
}

CASE("a waiter of another client gets it when its adopter gives it back")
{
	TWO("line", TTL_MS);
	TEST_CLIENT(third, test_client(TTL_MS));
	TEST_LOCK(waits,
		  test_lock(third, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE, name));
	pthread_t thread;
	void *code;

	pthread_create(&thread, NULL, wait_for_it, waits);
	export(from, text);
	assert_ok(rowlock_adopt(to, text, &err));
	assert_int_equal(rowlock_held(waits), 0);
	assert_ok(rowlock_release(to, &err));
	pthread_join(thread, &code);
	assert_int_equal((intptr_t) code, 0);
	assert_ok(rowlock_release(waits, &err));
}

static void *export_and_end(void *arg)
{
	char *text = ((char **) arg)[1];
	struct rowlock *lock = ((struct rowlock **) arg)[0];

	return (void *) (intptr_t) (rowlock_acquire(lock, 0, NULL)
					? -1
					: rowlock_export(lock, text,
							 ROWLOCK_EXPORT_SIZE,
							 NULL));
}

CASE("any thread takes an exported lease back")
{
	char text[ROWLOCK_EXPORT_SIZE];
	TEST_CLIENT(one, test_client(TTL_MS));
	TEST_LOCK(from,
		  test_lock(one, ROWLOCK_LEASE, 0, test_name("taken-back")));
	void *args[] = { from, text };
	pthread_t thread;
	void *code;

	pthread_create(&thread, NULL, export_and_end, args);
	pthread_join(thread, &code);
	assert_int_equal((intptr_t) code, 0);
	assert_ok(rowlock_release(from, &err));
	assert_ok(rowlock_acquire(from, 0, &err));
	assert_ok(rowlock_release(from, &err));
}

CASE("it outlives the thread that exported it")
{
	const char *name = test_name("thread");
	char text[ROWLOCK_EXPORT_SIZE];
	TEST_CLIENT(one, test_client(TTL_MS));
	TEST_LOCK(from, test_lock(one, ROWLOCK_LEASE, 0, name));
	TEST_LOCK(to, test_lock(one, ROWLOCK_LEASE, 0, name));
	void *args[] = { from, text };
	pthread_t thread;
	void *code;

	pthread_create(&thread, NULL, export_and_end, args);
	pthread_join(thread, &code);
	assert_int_equal((intptr_t) code, 0);
	assert_ok(rowlock_adopt(to, text, &err));
	assert_ok(rowlock_verify(to, &err));
	assert_ok(rowlock_release(to, &err));
}

CASE_MAIN(test_main)
