/* SPDX-License-Identifier: MIT */
/*
 * From reading to writing and back, on a real server: without a gap, and never
 * two that wait for each other.
 */
#include <string.h>

#include "rwlocks.h"

static void a_reader_becomes_the_writer(void **state)
{
	struct pair pair = pair_new("upgrade");
	struct rowlock_errinfo err;
	struct wait waiting;

	(void) state;
	assert_code(rowlock_rwlock_upgrade(pair.one, 0, &err), ROWLOCK_ENOTHELD,
		    &err);
	expect_read(pair.one, 0);
	assert_ok(rowlock_rwlock_upgrade(pair.one, 0, &err));
	assert_int_equal(rowlock_rwlock_held(pair.one), ROWLOCK_RWLOCK_WRITE);
	assert_int_equal(rows_of(pair.sql, pair.name), 1);
	expect_read(pair.two, ROWLOCK_EBUSY);
	release(pair.one);
	/* Of two that both want to, one is refused. */
	expect_read(pair.one, 0);
	expect_read(pair.two, 0);
	assert_code(rowlock_rwlock_upgrade(pair.one, 0, &err), ROWLOCK_EBUSY,
		    &err);
	assert_code(rowlock_rwlock_upgrade(pair.one, 50, &err),
		    ROWLOCK_ETIMEDOUT, &err);
	assert_int_equal(rowlock_rwlock_held(pair.one), ROWLOCK_RWLOCK_READ);
	begin_wait(&waiting, pair.one, rowlock_rwlock_upgrade);
	await_writer(&pair);
	assert_int_equal(rowlock_rwlock_held(pair.one), ROWLOCK_RWLOCK_READ);
	assert_code(rowlock_rwlock_upgrade(pair.two, ROWLOCK_FOREVER, &err),
		    ROWLOCK_EBUSY, &err);
	assert_non_null(strstr(err.message, "another writer waits"));
	assert_int_equal(rowlock_rwlock_held(pair.two), ROWLOCK_RWLOCK_READ);
	release(pair.two);
	end_wait(&waiting, 0, "an upgrade after the other reader's end");
	release(pair.one);
	pair_end(&pair);
}

/* And may be asked for again; others may read beside it. */
static void an_upgrade_that_is_canceled_reads_on(void **state)
{
	struct pair pair = pair_new("canceled");
	struct rowlock_errinfo err;
	struct wait waiting;

	(void) state;
	expect_read(pair.one, 0);
	expect_read(pair.two, 0);
	begin_wait(&waiting, pair.one, rowlock_rwlock_upgrade);
	await_writer(&pair);
	assert_code(rowlock_rwlock_free(pair.one, &err), ROWLOCK_EHELD, &err);
	rowlock_rwlock_cancel(pair.one);
	end_wait(&waiting, ROWLOCK_ECANCELED, "an upgrade to be canceled");
	assert_int_equal(rowlock_rwlock_held(pair.one), ROWLOCK_RWLOCK_READ);
	assert_ok(rowlock_rwlock_verify(pair.one, &err));
	assert_int_equal(rows_of(pair.sql, pair.name), 2);
	release(pair.two);
	expect_read(pair.two, 0);
	release(pair.two);
	assert_ok(rowlock_rwlock_upgrade(pair.one, 0, &err));
	release(pair.one);
	pair_end(&pair);
}

/* Those of the same client, too. */
static void an_upgrade_waits_for_who_shares_its_row(void **state)
{
	struct pair pair = pair_new("shared");
	struct rowlock_rwlock *other = make(pair.clients[0], pair.name);
	struct rowlock_errinfo err;
	struct wait waiting;

	(void) state;
	expect_read(pair.one, 0);
	/* A try has a row of its own; who waits joins. */
	assert_ok(rowlock_rwlock_acquire_read(other, 1000, &err));
	assert_code(rowlock_rwlock_upgrade(pair.one, 0, &err), ROWLOCK_EBUSY,
		    &err);
	begin_wait(&waiting, pair.one, rowlock_rwlock_upgrade);
	await_writer(&pair);
	assert_int_equal(rowlock_rwlock_held(pair.one), ROWLOCK_RWLOCK_READ);
	release(other);
	end_wait(&waiting, 0, "an upgrade after who shared its row");
	expect_read(other, ROWLOCK_EBUSY);
	release(pair.one);
	end(other);
	pair_end(&pair);
}

static int read_once(struct rowlock_rwlock *rwlock, uint64_t wait_ms,
		     struct rowlock_errinfo *reterr)
{
	int code = rowlock_rwlock_acquire_read(rwlock, wait_ms, reterr);

	return code ? code : rowlock_rwlock_release(rwlock, reterr);
}

static void the_writer_becomes_a_reader(void **state)
{
	struct pair pair = pair_new("downgrade");
	struct rowlock_rwlock *other = make(pair.clients[0], pair.name);
	struct rowlock_errinfo err;
	struct wait reading;
	struct wait writing;

	(void) state;
	assert_code(rowlock_rwlock_downgrade(pair.one, &err), ROWLOCK_ENOTHELD,
		    &err);
	expect_write(pair.one, 0);
	/* Others want it, here and elsewhere. */
	begin_wait(&reading, other, read_once);
	begin_wait(&writing, pair.two, rowlock_rwlock_acquire_write);
	assert_ok(rowlock_rwlock_downgrade(pair.one, &err));
	assert_int_equal(rowlock_rwlock_held(pair.one), ROWLOCK_RWLOCK_READ);
	await_writer(&pair);
	assert_ok(rowlock_rwlock_verify(pair.one, &err));
	assert_int_equal(rowlock_rwlock_held(pair.two), ROWLOCK_RWLOCK_NONE);
	release(pair.one);
	end_wait(&writing, 0, "a writer after the one that read in the end");
	release(pair.two);
	end_wait(&reading, 0, "a reader beside a downgrade and a writer");
	end(other);
	pair_end(&pair);
}

/* It has nothing, and is of use again once it is released. */
static void expect_loss(struct rowlock_rwlock *rwlock)
{
	struct rowlock_errinfo err;
	uint64_t token;

	assert_int_equal(rowlock_rwlock_held(rwlock), ROWLOCK_RWLOCK_NONE);
	expect_read(rwlock, ROWLOCK_ELOST);
	expect_write(rwlock, ROWLOCK_ELOST);
	assert_code(rowlock_rwlock_verify(rwlock, &err), ROWLOCK_ELOST, &err);
	assert_code(rowlock_rwlock_token(rwlock, &token, &err), ROWLOCK_ELOST,
		    &err);
	assert_code(rowlock_rwlock_release(rwlock, &err), ROWLOCK_ELOST, &err);
	assert_code(rowlock_rwlock_release(rwlock, &err), ROWLOCK_ENOTHELD,
		    &err);
}

/* Somebody may have written since. */
static void an_upgrade_tells_that_its_reader_was_gone(void **state)
{
	struct pair pair = pair_new("gone");
	struct rowlock_errinfo err;

	(void) state;
	expect_read(pair.one, 0);
	test_sql(pair.sql, "DELETE FROM business_lease WHERE name = '%s'",
		 pair.name);
	assert_code(rowlock_rwlock_upgrade(pair.one, 0, &err), ROWLOCK_ELOST,
		    &err);
	expect_loss(pair.one);
	/* So does the way back. */
	expect_write(pair.one, 0);
	test_sql(pair.sql, "DELETE FROM business_lease WHERE name = '%s'",
		 pair.name);
	assert_code(rowlock_rwlock_downgrade(pair.one, &err), ROWLOCK_ELOST,
		    &err);
	expect_loss(pair.one);
	expect_write(pair.two, 0);
	release(pair.two);
	pair_end(&pair);
}

static void told(struct rowlock_rwlock *rwlock, void *arg)
{
	(void) rwlock;
	test_event_set(arg);
}

/* And that another writes by now: there is nothing to read beside. */
static void a_downgrade_tells_that_another_writes(void **state)
{
	struct pair pair = pair_new("behind");
	struct test_event lost = test_event_new();
	struct rowlock_errinfo err;

	(void) state;
	rowlock_rwlock_on_lost(pair.one, told, &lost);
	expect_write(pair.one, 0);
	assert_ok(
	    rowlock_break(pair.clients[1], ROWLOCK_LEASE, pair.name, &err));
	expect_write(pair.two, 0);
	assert_code(rowlock_rwlock_downgrade(pair.one, &err), ROWLOCK_ELOST,
		    &err);
	assert_non_null(strstr(err.message, "another writes"));
	expect_loss(pair.one);
	assert_event(&lost, "the loss of a writer to be told");
	assert_ok(rowlock_rwlock_verify(pair.two, &err));
	release(pair.two);
	rowlock_rwlock_on_lost(pair.one, NULL, NULL);
	test_event_end(&lost);
	pair_end(&pair);
}

static uint64_t token_of(struct rowlock_rwlock *rwlock)
{
	struct rowlock_errinfo err;
	uint64_t token = 0;
	uint64_t again = 0;

	assert_ok(rowlock_rwlock_token(rwlock, &token, &err));
	assert_ok(rowlock_rwlock_token(rwlock, &again, &err));
	assert_true(token > 0 && token == again);
	return token;
}

static void tokens_rise_from_writer_to_writer(void **state)
{
	struct pair pair = pair_new("token");
	struct rowlock_errinfo err;
	uint64_t token;
	uint64_t last;

	(void) state;
	assert_code(rowlock_rwlock_token(pair.one, &token, &err),
		    ROWLOCK_ENOTHELD, &err);
	expect_write(pair.one, 0);
	last = token_of(pair.one);
	assert_ok(rowlock_rwlock_downgrade(pair.one, &err));
	token = token_of(pair.one);
	assert_true(token > last);
	last = token;
	expect_read(pair.two, 0);
	token = token_of(pair.two);
	assert_true(token > last);
	last = token;
	release(pair.one);
	assert_ok(rowlock_rwlock_upgrade(pair.two, 0, &err));
	assert_true(token_of(pair.two) > last);
	release(pair.two);
	pair_end(&pair);
}

struct draw {
	struct rowlock_rwlock *rwlock;
	pthread_t thread;
	uint64_t token;
	int code;
	struct rowlock_errinfo err;
};

static void *run_draw(void *arg)
{
	struct draw *draw = arg;

	draw->code =
	    rowlock_rwlock_token(draw->rwlock, &draw->token, &draw->err);
	return NULL;
}

static void await_draws(struct test_sql *sql, unsigned int count)
{
	uint64_t began = test_now_ns();

	while (test_sql_number(sql, "SELECT COUNT(*) FROM information_schema."
				    "processlist WHERE info LIKE CONCAT("
				    "'INSERT INTO lock_', 'token%%')") < count)
		test_keep_waiting(began, "%u draws to be under way", count);
}

/* Both draw at one moment, as neither has a token when it asks. */
static void who_shares_a_row_shares_its_token(void **state)
{
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));
	struct pair pair = pair_new("draws");
	struct rowlock_client *client;
	struct draw draws[2] = { { .code = 0 } };
	struct rowlock_errinfo err;

	(void) state;
	options.handover_ms = 60000;
	client = test_client_with(&options);
	/* The name's row is there from now on, to be locked. */
	expect_write(pair.two, 0);
	token_of(pair.two);
	release(pair.two);
	for (int i = 0; i < 2; i++) {
		draws[i].rwlock = make(client, pair.name);
		assert_ok(
		    rowlock_rwlock_acquire_read(draws[i].rwlock, 1000, &err));
	}
	assert_int_equal(rows_of(pair.sql, pair.name), 1);
	test_sql(pair.sql, "BEGIN");
	test_sql_number(pair.sql,
			"SELECT token FROM lock_token WHERE strategy = 'lease' "
			"AND name = '%s' FOR UPDATE",
			pair.name);
	for (int i = 0; i < 2; i++)
		assert_int_equal(
		    pthread_create(&draws[i].thread, NULL, run_draw, &draws[i]),
		    0);
	await_draws(pair.sql, 2);
	test_sql(pair.sql, "COMMIT");
	for (int i = 0; i < 2; i++) {
		pthread_join(draws[i].thread, NULL);
		assert_code(draws[i].code, 0, &draws[i].err);
	}
	assert_int_equal(draws[0].token, draws[1].token);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(token_of(draws[i].rwlock), draws[0].token);
		release(draws[i].rwlock);
		end(draws[i].rwlock);
	}
	test_client_end(client);
	pair_end(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST("a reader becomes the writer",
		     a_reader_becomes_the_writer),
		TEST("an upgrade that is canceled reads on",
		     an_upgrade_that_is_canceled_reads_on),
		TEST("an upgrade waits for who shares its row",
		     an_upgrade_waits_for_who_shares_its_row),
		TEST("an upgrade tells that its reader was gone",
		     an_upgrade_tells_that_its_reader_was_gone),
		TEST("a downgrade tells that another writes by now",
		     a_downgrade_tells_that_another_writes),
		TEST("the writer becomes a reader",
		     the_writer_becomes_a_reader),
		TEST("who shares a row shares its token, also if both draw",
		     who_shares_a_row_shares_its_token),
		TEST("tokens rise from writer to writer",
		     tokens_rise_from_writer_to_writer),
	};

	return test_main(tests);
}
