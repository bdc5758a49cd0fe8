/* SPDX-License-Identifier: MIT */
/*
 * From reading to writing and back, on a real server: without a gap, and never
 * two that wait for each other.
 */
#include <stdio.h>
#include <string.h>

#include "proxy.h"
#include "rwlocks.h"

CASE("a reader becomes the writer")
{
	struct pair pair = pair_new("upgrade");
	struct wait waiting;

	assert_code(rw_upgrade(pair.one, 0, &err), ROWLOCK_ENOTHELD, &err);
	expect_read(pair.one, 0);
	assert_ok(rw_upgrade(pair.one, 0, &err));
	assert_int_equal(rw_held(pair.one), RW_WRITE);
	assert_int_equal(rows_of(pair.sql, pair.name), 1);
	expect_read(pair.two, ROWLOCK_EBUSY);
	release(pair.one);
	/* Of two that both want to, one is refused. */
	expect_read(pair.one, 0);
	expect_read(pair.two, 0);
	assert_code(rw_upgrade(pair.one, 0, &err), ROWLOCK_EBUSY, &err);
	assert_code(rw_upgrade(pair.one, 50, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_int_equal(rw_held(pair.one), RW_READ);
	begin_wait(&waiting, pair.one, rw_upgrade);
	await_writer(&pair);
	assert_int_equal(rw_held(pair.one), RW_READ);
	assert_code(rw_upgrade(pair.two, ROWLOCK_FOREVER, &err), ROWLOCK_EBUSY,
		    &err);
	assert_non_null(strstr(err.message, "another writer waits"));
	assert_int_equal(rw_held(pair.two), RW_READ);
	release(pair.two);
	end_wait(&waiting, 0, "an upgrade after the other reader's end");
	release(pair.one);
	pair_end(&pair);
}

/* And may be asked for again; others may read beside it. */
CASE("an upgrade that is canceled reads on")
{
	struct pair pair = pair_new("canceled");
	struct wait waiting;

	expect_read(pair.one, 0);
	expect_read(pair.two, 0);
	begin_wait(&waiting, pair.one, rw_upgrade);
	await_writer(&pair);
	assert_code(rowlock_try_free(pair.one.writer, &err), ROWLOCK_EHELD,
		    &err);
	test_cancel(pair.one.writer);
	end_wait(&waiting, ROWLOCK_ECANCELED, "an upgrade to be canceled");
	assert_int_equal(rw_held(pair.one), RW_READ);
	assert_ok(rowlock_verify(pair.one.reader, &err));
	assert_int_equal(rows_of(pair.sql, pair.name), 2);
	release(pair.two);
	expect_read(pair.two, 0);
	release(pair.two);
	assert_ok(rw_upgrade(pair.one, 0, &err));
	release(pair.one);
	pair_end(&pair);
}

/* Those of the same client, too. */
CASE("an upgrade waits for who shares its row")
{
	struct pair pair = pair_new("shared");
	struct rw other = make(pair.clients[0], pair.name);
	struct wait waiting;

	expect_read(pair.one, 0);
	/* A try has a row of its own; who waits joins. */
	assert_ok(rw_read(other, 1000, &err));
	assert_code(rw_upgrade(pair.one, 0, &err), ROWLOCK_EBUSY, &err);
	begin_wait(&waiting, pair.one, rw_upgrade);
	await_writer(&pair);
	assert_int_equal(rw_held(pair.one), RW_READ);
	release(other);
	end_wait(&waiting, 0, "an upgrade after who shared its row");
	expect_read(other, ROWLOCK_EBUSY);
	release(pair.one);
	end(other);
	pair_end(&pair);
}

/* However long handles of the client may join a reader's row otherwise. */
CASE("who comes during an upgrade does not join")
{
	struct rowlock_client_options like =
	    test_client_options(test_ttl_ms(TTL_MS));
	struct pair pair = pair_new("during");
	struct rowlock_client *client;
	struct wait waiting;
	struct rw one, other;

	like.handover_ms = 60000;
	client = test_client_with(&like);
	one = make(client, pair.name);
	other = make(client, pair.name);
	expect_read(one, 0);
	expect_read(pair.two, 0);
	begin_wait(&waiting, one, rw_upgrade);
	await_writer(&pair);
	assert_code(rw_read(other, 50, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_int_equal(rw_held(one), RW_READ);
	release(pair.two);
	end_wait(&waiting, 0, "an upgrade after the other reader's end");
	assert_code(rw_read(other, 50, &err), ROWLOCK_ETIMEDOUT, &err);
	release(one);
	expect_read(other, 0);
	release(other);
	end(other);
	end(one);
	test_client_end(client);
	pair_end(&pair);
}

static int read_once(struct rw rwlock, uint64_t wait_ms,
		     struct rowlock_errinfo *reterr)
{
	int code = rw_read(rwlock, wait_ms, reterr);

	return code ? code : rowlock_release(rwlock.reader, reterr);
}

/* It has nothing, and is of use again. */
static void expect_loss(struct rw rwlock)
{
	assert_int_equal(rw_held(rwlock), RW_NONE);
	assert_code(rowlock_release(rwlock.reader, &err), ROWLOCK_ENOTHELD,
		    &err);
	assert_code(rowlock_release(rwlock.writer, &err), ROWLOCK_ENOTHELD,
		    &err);
}

/* Somebody may have written since. */
CASE("an upgrade tells that its reader was gone")
{
	struct pair pair = pair_new("gone");

	expect_read(pair.one, 0);
	test_sql(pair.sql, "DELETE FROM business_lease WHERE name = '%s'",
		 pair.name);
	assert_code(rw_upgrade(pair.one, 0, &err), ROWLOCK_ELOST, &err);
	expect_loss(pair.one);
	/* So does the way back. */
	expect_write(pair.one, 0);
	test_sql(pair.sql, "DELETE FROM business_lease WHERE name = '%s'",
		 pair.name);
	assert_code(rw_downgrade(pair.one, 0, &err), ROWLOCK_ELOST, &err);
	expect_loss(pair.one);
	expect_write(pair.two, 0);
	release(pair.two);
	pair_end(&pair);
}

/* However often it read; and a reader that was lost, and not released since,
 * does not keep its writer from reading. */
CASE("a loss leaves nothing to release")
{
	struct pair pair = pair_new("levels");

	for (int i = 0; i < 3; i++)
		expect_read(pair.one, 0);
	test_sql(pair.sql, "DELETE FROM business_lease WHERE name = '%s'",
		 pair.name);
	assert_code(rowlock_verify(pair.one.reader, &err), ROWLOCK_ELOST, &err);
	assert_code(rw_upgrade(pair.one, 0, &err), ROWLOCK_ELOST, &err);
	expect_loss(pair.one);
	expect_read(pair.one, 0);
	test_sql(pair.sql, "DELETE FROM business_lease WHERE name = '%s'",
		 pair.name);
	assert_code(rowlock_verify(pair.one.reader, &err), ROWLOCK_ELOST, &err);
	expect_write(pair.one, 0);
	assert_ok(rw_downgrade(pair.one, 0, &err));
	assert_int_equal(rw_held(pair.one), RW_READ);
	release(pair.one);
	pair_end(&pair);
}

static void await_delete(struct test_sql *sql)
{
	uint64_t began = test_now_ns();

	while (!test_sql_number(sql,
				"SELECT COUNT(*) FROM information_schema."
				"processlist WHERE info LIKE CONCAT('DELETE "
				"FROM business_', 'lease%%')"))
		test_keep_waiting(began, "the reader's DELETE to be under way");
}

/* Both rows were there when it looked. Then somebody removes the reader's. */
CASE("an upgrade tells of a loss behind its look")
{
	struct pair pair = pair_new("behind-look");
	struct wait waiting;
	uint64_t slot;

	expect_read(pair.one, 0);
	slot = test_sql_number(
	    pair.sql, "SELECT slot FROM business_lease WHERE name = '%s'",
	    pair.name);
	test_sql(pair.sql, "BEGIN");
	/* Its key in full: nothing else is locked. */
	test_sql_number(pair.sql,
			"SELECT slot FROM business_lease WHERE name = '%s' AND "
			"slot = %llu FOR UPDATE",
			pair.name, (unsigned long long) slot);
	begin_wait(&waiting, pair.one, rw_upgrade);
	await_delete(pair.sql);
	test_sql(pair.sql,
		 "DELETE FROM business_lease WHERE name = '%s' AND slot = %llu",
		 pair.name, (unsigned long long) slot);
	test_sql(pair.sql, "COMMIT");
	end_wait(&waiting, ROWLOCK_ELOST, "an upgrade whose reader was lost");
	expect_loss(pair.one);
	pair_end(&pair);
}

/* By way of a proxy that can lose the answer to a DELETE. */
struct far {
	struct proxy *proxy;
	struct rowlock_client *client;
	struct rw rwlock;
};

static struct far far_new(const char *name)
{
	struct rowlock_client_options like =
	    test_client_options(test_ttl_ms(TTL_MS));
	struct proxy_options options = { .seed = 1 };
	char server[64];
	char words[128];
	char dsn[512];
	struct far far = { 0 };

	proxy_server_of(test_dsn(), server, sizeof(server));
	options.server = server;
	far.proxy = proxy_start(&options, words, sizeof(words));
	if (!far.proxy)
		fail_msg("proxy: %s", words);
	proxy_dsn(far.proxy, test_dsn(), dsn, sizeof(dsn));
	like.dsn = dsn;
	far.client = test_client_with(&like);
	far.rwlock = make(far.client, name);
	return far;
}

static void far_end(struct far *far)
{
	end(far->rwlock);
	test_client_end(far->client);
	proxy_end(far->proxy);
}

static void lose_answer(const struct far *far, const char *then)
{
	char rule[128];

	snprintf(rule, sizeof(rule),
		 "reply sql=\"DELETE FROM business_lease*\" do drop then=%s",
		 then);
	assert_null(proxy_tell(far->proxy, rule));
}

/* What was not given back in time the client removes by and by. */
static void await_no_rows(const struct pair *pair)
{
	uint64_t began = test_now_ns();

	while (rows_of(pair->sql, pair->name))
		test_keep_waiting(began, "what is left to be removed");
}

/* Somebody else writes in between, and what would tell of that is lost. */
static void change_behind(const char *word, const char *then, rw_call acquire,
			  rw_call change)
{
	struct pair pair = pair_new(word);
	struct far far = far_new(pair.name);

	assert_ok(acquire(far.rwlock, 0, &err));
	assert_ok(
	    rowlock_break(pair.clients[0], ROWLOCK_LEASE, pair.name, &err));
	expect_write(pair.one, 0);
	release(pair.one);
	lose_answer(&far, then);
	assert_code(change(far.rwlock, 1000, &err), ROWLOCK_ELOST, &err);
	await_no_rows(&pair);
	expect_loss(far.rwlock);
	far_end(&far);
	pair_end(&pair);
}

CASE("upgrade and downgrade are not believed for want of an answer")
{
	change_behind("up", "rst", rw_read, rw_upgrade);
	change_behind("down", "rst", rw_write, rw_downgrade);
	/* All of the call's time is over then. */
	change_behind("down-silent", "silence", rw_write, rw_downgrade);
}

/* Nobody else has written: the look that granted has shown both rows. */
static void change_unanswered(const char *word, rw_call acquire, rw_call change)
{
	struct pair pair = pair_new(word);
	struct far far = far_new(pair.name);

	assert_ok(acquire(far.rwlock, 0, &err));
	lose_answer(&far, "rst");
	assert_ok(change(far.rwlock, 1000, &err));
	assert_ok(rowlock_verify(rw_side(far.rwlock), &err));
	release(far.rwlock);
	await_no_rows(&pair);
	far_end(&far);
	pair_end(&pair);
}

CASE("upgrade and downgrade stand though their end is not answered")
{
	change_unanswered("up-unheard", rw_read, rw_upgrade);
	change_unanswered("down-unheard", rw_write, rw_downgrade);
}

/* And that another writes by now: there is nothing to read beside. */
CASE("a downgrade tells that another writes by now")
{
	struct pair pair = pair_new("behind");
	struct test_event lost = test_event_new();

	rowlock_on_lost(pair.one.writer, test_event_note, &lost);
	expect_write(pair.one, 0);
	assert_ok(
	    rowlock_break(pair.clients[1], ROWLOCK_LEASE, pair.name, &err));
	expect_write(pair.two, 0);
	assert_code(rw_downgrade(pair.one, 0, &err), ROWLOCK_ELOST, &err);
	assert_non_null(strstr(err.message, "another writes"));
	expect_loss(pair.one);
	assert_event(&lost, "the loss of a writer to be told");
	assert_ok(rowlock_verify(pair.two.writer, &err));
	release(pair.two);
	rowlock_on_lost(pair.one.writer, NULL, NULL);
	test_event_end(&lost);
	pair_end(&pair);
}

CASE("the writer becomes a reader")
{
	struct pair pair = pair_new("downgrade");
	struct rw other = make(pair.clients[0], pair.name);
	struct wait reading;
	struct wait writing;

	assert_code(rw_downgrade(pair.one, 0, &err), ROWLOCK_ENOTHELD, &err);
	expect_write(pair.one, 0);
	/* Others want it, here and elsewhere. */
	begin_wait(&reading, other, read_once);
	begin_wait(&writing, pair.two, rw_write);
	assert_ok(rw_downgrade(pair.one, 0, &err));
	assert_int_equal(rw_held(pair.one), RW_READ);
	await_writer(&pair);
	assert_ok(rowlock_verify(pair.one.reader, &err));
	assert_int_equal(rw_held(pair.two), RW_NONE);
	release(pair.one);
	end_wait(&writing, 0, "a writer after the one that read in the end");
	release(pair.two);
	end_wait(&reading, 0, "a reader beside a downgrade and a writer");
	end(other);
	pair_end(&pair);
}

static uint64_t token_of(struct rw rwlock)
{
	uint64_t token = 0;
	uint64_t again = 0;

	assert_ok(rowlock_token(rw_side(rwlock), &token, &err));
	assert_ok(rowlock_token(rw_side(rwlock), &again, &err));
	assert_true(token > 0 && token == again);
	return token;
}

struct draw {
	struct rw rwlock;
	pthread_t thread;
	uint64_t token;
	int code;
	struct rowlock_errinfo err;
};

static void *run_draw(void *arg)
{
	struct draw *draw = arg;

	draw->code =
	    rowlock_token(draw->rwlock.reader, &draw->token, &draw->err);
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
CASE("who shares a row shares its token, also if both draw")
{
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));
	struct pair pair = pair_new("draws");
	struct rowlock_client *client;
	struct draw draws[2] = { { .code = 0 } };

	options.handover_ms = 60000;
	client = test_client_with(&options);
	/* The name's row is there from now on, to be locked. */
	expect_write(pair.two, 0);
	token_of(pair.two);
	release(pair.two);
	for (int i = 0; i < 2; i++) {
		draws[i].rwlock = make(client, pair.name);
		assert_ok(rw_read(draws[i].rwlock, 1000, &err));
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

CASE("tokens rise from writer to writer")
{
	struct pair pair = pair_new("token");
	uint64_t token;
	uint64_t last;

	assert_code(rowlock_token(pair.one.reader, &token, &err),
		    ROWLOCK_ENOTHELD, &err);
	expect_write(pair.one, 0);
	last = token_of(pair.one);
	assert_ok(rw_downgrade(pair.one, 0, &err));
	token = token_of(pair.one);
	assert_true(token > last);
	last = token;
	expect_read(pair.two, 0);
	token = token_of(pair.two);
	assert_true(token > last);
	last = token;
	release(pair.one);
	assert_ok(rw_upgrade(pair.two, 0, &err));
	assert_true(token_of(pair.two) > last);
	release(pair.two);
	pair_end(&pair);
}

CASE_MAIN(test_main)
