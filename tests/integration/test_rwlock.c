/* SPDX-License-Identifier: MIT */
/*
 * Read/write locks on a real server: who keeps whom out, who gets in next, and
 * what it costs. How one becomes the other is in test_upgrade.c.
 */
#include <string.h>

#include "holder.h"
#include "rwlocks.h"

/* Of a client that is to die. */
#define SHORT_TTL_MS 1000

CASE("many read, or one writes")
{
	struct pair pair = pair_new("many");

	assert_int_equal(rw_held(pair.one), RW_NONE);
	assert_code(rowlock_release(pair.one.reader, &err), ROWLOCK_ENOTHELD,
		    &err);
	expect_read(pair.one, 0);
	assert_code(rw_downgrade(pair.one, 0, &err), ROWLOCK_ENOTHELD, &err);
	assert_non_null(strstr(err.message, "is not held through this handle"));
	expect_read(pair.two, 0);
	assert_int_equal(rows_of(pair.sql, pair.name), 2);
	assert_int_equal(rw_held(pair.one), RW_READ);
	assert_ok(rowlock_verify(pair.two.reader, &err));
	assert_true(rowlock_remaining_ms(pair.two.reader) > 0);
	release(pair.two);
	expect_write(pair.two, ROWLOCK_EBUSY);
	/* It has left nothing behind. */
	assert_int_equal(rows_of(pair.sql, pair.name), 1);
	release(pair.one);
	expect_write(pair.two, 0);
	assert_int_equal(rw_held(pair.two), RW_WRITE);
	expect_read(pair.one, ROWLOCK_EBUSY);
	expect_write(pair.one, ROWLOCK_EBUSY);
	assert_code(rowlock_try_free(pair.two.writer, &err), ROWLOCK_EHELD,
		    &err);
	assert_ok(rowlock_verify(pair.two.writer, &err));
	release(pair.two);
	expect_read(pair.one, 0);
	assert_code(rowlock_try_free(pair.one.reader, &err), ROWLOCK_EHELD,
		    &err);
	release(pair.one);
	pair_end(&pair);
}

CASE("a lock of the same name is another lock")
{
	struct pair pair = pair_new("plain");
	struct rowlock *lock =
	    test_lock(pair.clients[0], ROWLOCK_LEASE, 0, pair.name);

	assert_ok(rowlock_acquire(lock, 0, &err));
	expect_write(pair.two, 0);
	assert_ok(rowlock_release(lock, &err));
	release(pair.two);
	test_lock_end(lock);
	pair_end(&pair);
}

CASE("a handle reads as often as it releases")
{
	struct pair pair = pair_new("nest");

	expect_read(pair.one, 0);
	expect_read(pair.one, 0);
	expect_write(pair.one, ROWLOCK_EDEADLOCK);
	assert_code(rw_upgrade(pair.one, 0, &err), ROWLOCK_EDEADLOCK, &err);
	release(pair.one);
	expect_write(pair.two, ROWLOCK_EBUSY);
	release(pair.one);
	expect_write(pair.two, 0);
	expect_write(pair.two, ROWLOCK_EDEADLOCK);
	expect_read(pair.two, ROWLOCK_EDEADLOCK);
	release(pair.two);
	pair_end(&pair);
}

/* ------------------------------------------------------------------ waits */

CASE("a writer that waits keeps new readers out")
{
	struct pair pair = pair_new("intent");
	struct rowlock_client *third = test_client(test_ttl_ms(TTL_MS));
	struct rw late = make(third, pair.name);
	struct wait reading;
	struct wait writing;

	expect_read(pair.one, 0);
	begin_wait(&writing, pair.two, rw_write);
	await_writer(&pair);
	assert_int_equal(rw_held(pair.two), RW_NONE);
	/* Nor is there anything to release, verify, or go down from. */
	assert_code(rowlock_release(pair.two.writer, &err), ROWLOCK_ENOTHELD,
		    &err);
	assert_code(rowlock_verify(pair.two.writer, &err), ROWLOCK_ENOTHELD,
		    &err);
	assert_code(rw_downgrade(pair.two, 0, &err), ROWLOCK_ENOTHELD, &err);
	assert_code(rowlock_try_free(pair.two.writer, &err), ROWLOCK_EHELD,
		    &err);
	expect_read(late, ROWLOCK_EBUSY);
	begin_wait(&reading, late, rw_read);
	/* Who reads may do so once more. */
	expect_read(pair.one, 0);
	release(pair.one);
	release(pair.one);
	end_wait(&writing, 0, "a writer to get in after the last reader");
	assert_code(rw_read(pair.one, 20, &err), ROWLOCK_ETIMEDOUT, &err);
	release(pair.two);
	end_wait(&reading, 0, "a reader to get in after the writer");
	release(late);
	end(late);
	test_client_end(third);
	pair_end(&pair);
}

/* ------------------------------------------------------------------- ends */

/* How a holder has the name. */
struct side {
	const char *name;
	rw_call call;
};

static bool have_side(struct rowlock_client *client, void *arg)
{
	const struct side *side = arg;
	struct rw rw;

	return rowlock_rwlock_new(client, side->name, NULL, &rw.reader,
				  &rw.writer, NULL) == 0 &&
	       side->call(rw, 0, NULL) == 0;
}

static pid_t start_holder(const char *name, rw_call call)
{
	struct side side = { name, call };

	return holder_start(test_ttl_ms(SHORT_TTL_MS), have_side, &side);
}

static void outlive(rw_call dead, rw_call next, unsigned int flags)
{
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));
	const char *name = test_name("dead");
	pid_t holder = start_holder(name, dead);
	struct rw rwlock;

	options.flags |= flags;
	TEST_CLIENT(client, test_client_with(&options));
	rwlock = make(client, name);
	assert_code(next(rwlock, 0, &err), ROWLOCK_EBUSY, &err);
	holder_kill(holder);
	assert_ok(next(rwlock, (uint64_t) test_patience_ms(), &err));
	release(rwlock);
	end(rwlock);
}

CASE("readers and writers that died are removed")
{
	outlive(rw_read, rw_write, 0);
	outlive(rw_write, rw_write, 0);
	outlive(rw_write, rw_read, 0);
}

CASE("readers and writers that were seen dead are removed")
{
	outlive(rw_read, rw_write, ROWLOCK_OBSERVE_BEATS);
	outlive(rw_write, rw_read, ROWLOCK_OBSERVE_BEATS);
}

static void evict(struct test_sql *sql, const char *name)
{
	test_sql(sql,
		 "DELETE s FROM lease_session s JOIN business_lease l "
		 "ON l.session = s.id WHERE l.name = '%s'",
		 name);
}

CASE("a loss is told to all who share a row")
{
	struct pair pair = pair_new("lost");
	struct rowlock_client *client = test_client(test_ttl_ms(SHORT_TTL_MS));
	struct rw readers[2] = { make(client, pair.name),
				 make(client, pair.name) };
	struct test_loss told[2] = { { .event = test_event_new() },
				     { .event = test_event_new() } };

	for (int i = 0; i < 2; i++) {
		rowlock_on_lost(readers[i].reader, test_loss_note, &told[i]);
		assert_ok(rw_read(readers[i], 1000, &err));
	}
	evict(pair.sql, pair.name);
	for (int i = 0; i < 2; i++) {
		assert_loss(&told[i], "the loss of what %d shares", i);
		assert_code(rowlock_verify(readers[i].reader, &err),
			    ROWLOCK_ELOST, &err);
		/* Whatever comes next is told of it, once. */
		if (i == 0)
			expect_read(readers[i], ROWLOCK_ELOST);
		else
			assert_code(rw_upgrade(readers[i], 0, &err),
				    ROWLOCK_ELOST, &err);
		assert_code(rowlock_release(readers[i].reader, &err),
			    ROWLOCK_ENOTHELD, &err);
		expect_read(readers[i], 0);
		release(readers[i]);
		end(readers[i]);
		test_event_end(&told[i].event);
	}
	/* What is left of the first is in nobody's way. */
	expect_write(pair.two, 0);
	release(pair.two);
	test_client_end(client);
	pair_end(&pair);
}

/* All of them, and the holder of the lock of that name. */
CASE("a break ends whoever reads or writes")
{
	struct pair pair = pair_new("broken");

	assert_code(
	    rowlock_break(pair.clients[0], ROWLOCK_LEASE, pair.name, &err),
	    ROWLOCK_ENOTHELD, &err);
	expect_read(pair.one, 0);
	expect_read(pair.two, 0);
	assert_ok(
	    rowlock_break(pair.clients[0], ROWLOCK_LEASE, pair.name, &err));
	assert_int_equal(rows_of(pair.sql, pair.name), 0);
	assert_code(rowlock_verify(pair.one.reader, &err), ROWLOCK_ELOST, &err);
	assert_code(rowlock_release(pair.one.reader, &err), ROWLOCK_ELOST,
		    &err);
	assert_code(rowlock_release(pair.two.reader, &err), ROWLOCK_ELOST,
		    &err);
	expect_write(pair.two, 0);
	assert_ok(
	    rowlock_break(pair.clients[0], ROWLOCK_LEASE, pair.name, &err));
	expect_read(pair.one, 0);
	assert_code(rowlock_release(pair.two.writer, &err), ROWLOCK_ELOST,
		    &err);
	release(pair.one);
	pair_end(&pair);
}

/* Its row goes, and with it what it kept out; it asks anew. */
CASE("a writer that is lost while it waits asks anew")
{
	struct pair pair = pair_new("anew");
	struct rowlock_client *client = test_client(test_ttl_ms(SHORT_TTL_MS));
	struct rw writer = make(client, pair.name);
	struct test_loss told = { .event = test_event_new() };
	struct wait writing;

	expect_read(pair.one, 0);
	rowlock_on_lost(writer.writer, test_loss_note, &told);
	begin_wait(&writing, writer, rw_write);
	await_writer(&pair);
	test_sql(pair.sql,
		 "DELETE s FROM lease_session s JOIN business_lease l "
		 "ON l.session = s.id WHERE l.name = '%s' AND l.slot = "
		 "2147483648",
		 pair.name);
	test_sql(pair.sql,
		 "DELETE FROM business_lease WHERE name = '%s' AND slot = "
		 "2147483648",
		 pair.name);
	await_writer(&pair);
	release(pair.one);
	end_wait(&writing, 0, "a writer that had to ask anew");
	/* It was told of nothing that it had not been shown. */
	rowlock_on_lost(writer.writer, NULL, NULL);
	assert_int_equal(rw_held(writer), RW_WRITE);
	release(writer);
	end(writer);
	test_event_end(&told.event);
	test_client_end(client);
	pair_end(&pair);
}

static void remove_rows(const struct pair *pair)
{
	test_sql(pair->sql, "DELETE FROM business_lease WHERE name = '%s'",
		 pair->name);
}

static void break_name(const struct pair *pair)
{
	assert_ok(
	    rowlock_break(pair->clients[0], ROWLOCK_LEASE, pair->name, &err));
}

/* The reader's row goes with it, so nothing is left to wait for; but by then
 * another may have come. */
static void wait_while(const char *word, void (*ends)(const struct pair *pair))
{
	struct pair pair = pair_new(word);
	struct wait writing;

	expect_read(pair.one, 0);
	begin_wait(&writing, pair.two, rw_write);
	await_writer(&pair);
	ends(&pair);
	end_wait(&writing, 0, "a writer whose row was broken");
	assert_ok(rowlock_verify(pair.two.writer, &err));
	assert_code(rowlock_release(pair.one.reader, &err), ROWLOCK_ELOST,
		    &err);
	expect_write(pair.one, ROWLOCK_EBUSY);
	release(pair.two);
	pair_end(&pair);
}

CASE("a writer whose row is broken while it waits asks anew")
{
	wait_while("own-broken", break_name);
	wait_while("own-removed", remove_rows);
}

/* -------------------------------------------------------------- the price */

/* The least of five: of the client's own threads one asks now and then. */
static uint64_t cost(struct test_sql *sql, struct rw rwlock,
		     void (*act)(struct rw rwlock))
{
	uint64_t least = UINT64_MAX;

	act(rwlock);
	for (int round = 0; round < 5; round++) {
		uint64_t before = test_sql_status(sql, "Questions");
		uint64_t took;

		act(rwlock);
		took = test_sql_status(sql, "Questions") - 1 - before;
		if (took < least)
			least = took;
	}
	return least;
}

static void read_and_release(struct rw rwlock)
{
	expect_read(rwlock, 0);
	release(rwlock);
}

static void join_and_release(struct rw rwlock)
{
	assert_ok(rw_read(rwlock, 1000, &err));
	release(rwlock);
}

static void write_and_release(struct rw rwlock)
{
	expect_write(rwlock, 0);
	release(rwlock);
}

static void go_up_and_down(struct rw rwlock)
{
	expect_read(rwlock, 0);
	assert_ok(rw_upgrade(rwlock, 0, &err));
	assert_ok(rw_downgrade(rwlock, 0, &err));
	release(rwlock);
}

static void read_with_a_token(struct rw rwlock)
{
	uint64_t token;

	expect_read(rwlock, 0);
	for (int i = 0; i < 3; i++)
		assert_ok(rowlock_token(rwlock.reader, &token, &err));
	release(rwlock);
}

static void nest(struct rw rwlock)
{
	expect_read(rwlock, 0);
	assert_true(rowlock_remaining_ms(rwlock.reader) > 0);
	assert_int_equal(rw_held(rwlock), RW_READ);
	release(rwlock);
}

static void verify(struct rw rwlock)
{
	assert_ok(rowlock_verify(rwlock.reader, &err));
}

CASE("reading and writing cost what they should")
{
	struct rowlock_client_options options = test_client_options(600000);
	TEST_SQL(sql);
	const char *name = test_name("cost");
	struct rw first;
	struct rw rwlock;

	options.handover_ms = 60000;
	TEST_CLIENT(client, test_client_with(&options));
	first = make(client, name);
	rwlock = make(client, name);
	/* INSERT and look, in one round trip; DELETE. */
	assert_int_equal(cost(sql, rwlock, read_and_release), 3);
	assert_int_equal(cost(sql, rwlock, write_and_release), 3);
	/* And for each way a row, and the end of the one before; up, a look. */
	assert_int_equal(cost(sql, rwlock, go_up_and_down), 3 + 3 + 3);
	assert_int_equal(cost(sql, rwlock, read_with_a_token), 3 + 1);
	assert_ok(rw_read(first, 1000, &err));
	assert_int_equal(cost(sql, rwlock, join_and_release), 0);
	assert_int_equal(cost(sql, first, nest), 0);
	assert_int_equal(cost(sql, first, verify), 1);
	release(first);
	end(first);
	end(rwlock);
}

/* Readers that come all the time share rows for a bounded time each. */
CASE("readers that come all the time let a writer in")
{
	struct pair pair = pair_new("relay");
	struct rw other = make(pair.clients[0], pair.name);
	struct rw turns[2] = { pair.one, other };
	uint64_t began = test_now_ns();
	struct wait writing;
	uint64_t passes = 0;
	int code = 0;

	expect_read(turns[0], 0);
	begin_wait(&writing, pair.two, rw_write);
	/* One of them reads at each moment. */
	for (int next = 1; code == 0; next = !next) {
		code = rw_read(turns[next], 1, &err);
		release(turns[!next]);
		passes++;
		test_keep_waiting(began,
				  "readers to be kept out by a writer; %llu "
				  "came in",
				  (unsigned long long) passes);
	}
	assert_code(code, ROWLOCK_ETIMEDOUT, &err);
	end_wait(&writing, 0, "a writer to get in between readers");
	release(pair.two);
	end(other);
	pair_end(&pair);
}

static int use_all(struct rw rwlock)
{
	uint64_t token;

	rowlock_cancel(rwlock.writer);
	rowlock_on_lost(rwlock.writer, NULL, NULL);
	return rw_read(rwlock, 0, NULL) == ROWLOCK_EFORKED &&
	       rw_write(rwlock, 0, NULL) == ROWLOCK_EFORKED &&
	       rw_upgrade(rwlock, 0, NULL) == ROWLOCK_EFORKED &&
	       rw_downgrade(rwlock, 0, NULL) == ROWLOCK_EFORKED &&
	       rowlock_verify(rwlock.reader, NULL) == ROWLOCK_EFORKED &&
	       rowlock_token(rwlock.reader, &token, NULL) == ROWLOCK_EFORKED &&
	       rowlock_release(rwlock.reader, NULL) == ROWLOCK_EFORKED &&
	       rowlock_try_free(rwlock.reader, NULL) == ROWLOCK_EFORKED &&
	       rw_held(rwlock) == RW_NONE;
}

CASE("a child of fork() has nothing of a read/write lock")
{
	struct pair pair = pair_new("fork");
	int status;
	pid_t pid;

	expect_read(pair.one, 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(use_all(pair.one) && use_all(pair.two) ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_ok(rowlock_verify(pair.one.reader, &err));
	release(pair.one);
	pair_end(&pair);
}

/* -------------------------------------------------------------- bad input */

static void expect_refusal(struct rowlock_client *client, const char *name,
			   const struct rowlock_options *options, int code,
			   const char *says)
{
	struct rw rw = { (void *) &rw, (void *) &rw };

	err = (struct rowlock_errinfo){ 0 };
	assert_code(rowlock_rwlock_new(client, name, options, &rw.reader,
				       &rw.writer, &err),
		    code, &err);
	assert_ptr_equal(rw.reader, (void *) &rw);
	assert_ptr_equal(rw.writer, (void *) &rw);
	if (!strstr(err.message, says))
		fail_msg("\"%s\" does not say \"%s\"", err.message, says);
}

CASE("bad input for a read/write lock is refused")
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	TEST_CLIENT(client, test_client(test_ttl_ms(TTL_MS)));
	struct rw rwlock = make(client, test_name("bad"));

	expect_refusal(client, NULL, NULL, ROWLOCK_ENAME, "NULL");
	expect_refusal(client, "", NULL, ROWLOCK_ENAME, "is empty");
	expect_refusal(client, "a\nb", NULL, ROWLOCK_ENAME,
		       "control character");
	options.strategy = ROWLOCK_ROW;
	expect_refusal(client, "a", &options, ROWLOCK_EUNSUPPORTED,
		       "use ROWLOCK_LEASE");
	options.strategy = (enum rowlock_strategy) 7;
	expect_refusal(client, "a", &options, ROWLOCK_EINVAL, "no strategy 7");
	options.strategy = ROWLOCK_LEASE;
	options.max_hold_ms = 1000;
	expect_refusal(client, "a", &options, ROWLOCK_EUNSUPPORTED,
		       "max_hold_ms");
	options.max_hold_ms = 0;
	options.flags = ROWLOCK_TOKEN_WITH_GRANT;
	expect_refusal(client, "a", &options, ROWLOCK_EUNSUPPORTED,
		       "ROWLOCK_TOKEN_WITH_GRANT");
	options.flags = 1u << 10;
	expect_refusal(client, "a", &options, ROWLOCK_EINVAL, "flags");
	options.flags = 0;
	options.info = "\n";
	expect_refusal(client, "a", &options, ROWLOCK_EINVAL, "info");
	options.size = 1;
	expect_refusal(client, "a", &options, ROWLOCK_EINVAL, "size");
	assert_code(rowlock_verify(rwlock.reader, &err), ROWLOCK_ENOTHELD,
		    &err);
	assert_ok(rowlock_try_free(NULL, &err));
	expect_read(rwlock, 0);
	rowlock_freep(&rwlock.reader);
	assert_null(rwlock.reader);
	/* The one that is left is a lock still, but of no pair. */
	expect_write(rwlock, 0);
	assert_code(rw_downgrade(rwlock, 0, &err), ROWLOCK_EUNSUPPORTED, &err);
	assert_code(rowlock_rwlock_upgrade(rwlock.writer, 0, &err),
		    ROWLOCK_EUNSUPPORTED, &err);
	rowlock_freep(&rwlock.writer);
	assert_null(rwlock.writer);
}

CASE_MAIN(test_main)
