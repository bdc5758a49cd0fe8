// SPDX-License-Identifier: MIT
/*
 * Tables that somebody has put triggers on: an audit, a tool that copies a
 * table while it is in use, and some that change what is written. Nothing that
 * the library concludes from counts and numbers beside an answer may change by
 * that, and what cannot be done is told, and not tried for ever.
 *
 * On a server of its own.
 */
#include "guarded.h"
#include "server.h"

#include <pthread.h>
#include <rowlock/admin.h>
#include <string.h>

static const char *const tables[] = { "business_lease", "business_lock",
				      "lease_session",  "lock_token",
				      "lock_permits",   "lock_token_floor" };
static const char *const events[] = { "INSERT", "UPDATE", "DELETE" };
static const char *const times[] = { "BEFORE", "AFTER" };

#define EACH_TRIGGER(i)                                                        \
	for (size_t i = 0;                                                     \
	     i < TEST_SIZE(tables) * TEST_SIZE(events) * TEST_SIZE(times);     \
	     i++)
#define TABLE(i) tables[(i) % TEST_SIZE(tables)]
#define EVENT(i) events[(i) / TEST_SIZE(tables) % TEST_SIZE(events)]
#define TIME(i) times[(i) / TEST_SIZE(tables) / TEST_SIZE(events)]

static struct test_sql *root;

/* Each of them makes a row with a number of its own. */
static int audit_begin(void **state)
{
	(void) state;
	root = test_server_root();
	test_sql(root, "CREATE TABLE audit (id INT AUTO_INCREMENT PRIMARY KEY, "
		       "what VARCHAR(100)) AUTO_INCREMENT = 1000");
	EACH_TRIGGER(i)
	test_sql(root,
		 "CREATE TRIGGER %s_%s_%s %s %s ON %s FOR EACH ROW "
		 "INSERT INTO audit (what) VALUES ('%s')",
		 TIME(i), EVENT(i), TABLE(i), TIME(i), EVENT(i), TABLE(i),
		 TABLE(i));
	return 0;
}

static int audit_end(void **state)
{
	(void) state;
	EACH_TRIGGER(i)
	test_sql(root, "DROP TRIGGER %s_%s_%s", TIME(i), EVENT(i), TABLE(i));
	test_sql(root, "DROP TABLE audit");
	test_sql_end(root);
	return 0;
}

static int plain_begin(void **state)
{
	(void) state;
	root = test_server_root();
	return 0;
}

static int plain_end(void **state)
{
	(void) state;
	test_sql(root, "DROP TRIGGER IF EXISTS t");
	test_sql_end(root);
	return 0;
}

static uint64_t acquire_drawing(struct rowlock *lock)
{
	uint64_t token = 0;

	assert_ok(rowlock_acquire(lock, 5000, &err));
	assert_ok(rowlock_token(lock, &token, &err));
	assert_ok(rowlock_verify(lock, &err));
	assert_ok(rowlock_release(lock, &err));
	return token;
}

/* Both kinds of draw, with the grant and by itself. */
static void tokens_grow(enum rowlock_strategy strategy, unsigned int flags)
{
	TEST_CLIENT(client, test_client(test_ttl_ms(60000)));
	TEST_LOCK(lock,
		  test_lock(client, strategy, flags, test_name("audited")));
	uint64_t last = 1000000000000000;

	for (int i = 0; i < 3; i++) {
		uint64_t token = acquire_drawing(lock);

		assert_true(token > last);
		last = token;
	}
}

CASE_WITH("tokens are drawn beside an audit's triggers", audit_begin, audit_end)
{
	tokens_grow(ROWLOCK_LEASE, 0);
	tokens_grow(ROWLOCK_LEASE, ROWLOCK_TOKEN_WITH_GRANT);
	tokens_grow(ROWLOCK_ROW, 0);
	tokens_grow(ROWLOCK_ROW, ROWLOCK_TOKEN_WITH_GRANT);
}

/* In the application's own transaction, which has the lock. */
CASE_WITH("tokens are drawn beside them in a transaction", audit_begin,
	  audit_end)
{
	TEST_CLIENT(client, test_client(test_ttl_ms(60000)));
	TEST_LOCK(lock, test_lock(client, ROWLOCK_ROW, 0, test_name("inside")));
	MYSQL *mysql = connect_to(test_dsn(), 0);
	uint64_t last = 1000000000000000;

	for (int i = 0; i < 3; i++) {
		uint64_t token = 0;

		assert_ok(
		    rowlock_acquire_in_transaction(lock, mysql, 5000, &err));
		assert_ok(
		    rowlock_token_in_transaction(lock, mysql, &token, &err));
		assert_true(token > last);
		assert_true(token ==
			    number(mysql, "SELECT token FROM lock_token WHERE "
					  "strategy = 'row' ORDER BY drawn_at "
					  "DESC LIMIT 1"));
		say(mysql, "COMMIT");
		last = token;
	}
	mysql_close(mysql);
}

/* The count of breaks comes beside the answer to a beat. */
CASE_WITH("a break is heard of beside an audit's triggers", audit_begin,
	  audit_end)
{
	TEST_EVENT(lost);
	TEST_CLIENT(client, test_client(test_ttl_ms(1500)));
	TEST_LOCK(lock,
		  test_lock(client, ROWLOCK_LEASE, 0, test_name("broken")));

	rowlock_on_lost(lock, test_event_note, &lost);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(
	    rowlock_break(client, ROWLOCK_LEASE, rowlock_name(lock), &err));
	assert_event(&lost, "the lost callback of a lease that was broken");
}

static void on_log(enum rowlock_log_level level, const char *line, void *arg)
{
	struct test_event *told = arg;

	(void) level;
	if (strstr(line, "heartbeat failed"))
		test_event_set(&told[0]);
	if (strstr(line, "heartbeat is answered again"))
		test_event_set(&told[1]);
}

/* As MariaDB answers an UPDATE that was killed. */
CASE_WITH("a beat that changes nothing is no eviction", plain_begin, plain_end)
{
	struct test_event told[] = { test_event_new(), test_event_new() };
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(6000));
	struct rowlock_client *client;
	struct rowlock *lock;

	options.log = on_log;
	options.log_arg = told;
	client = test_client_with(&options);
	lock = test_lock(client, ROWLOCK_LEASE, 0, test_name("beats"));
	assert_ok(rowlock_acquire(lock, 0, &err));
	test_sql(root,
		 "CREATE TRIGGER t BEFORE UPDATE ON lease_session FOR EACH ROW "
		 "SET NEW.beat = OLD.beat, NEW.expires_at = OLD.expires_at");
	assert_event(&told[0], "a beat that fails");
	assert_true(rowlock_held(lock));
	test_sql(root, "DROP TRIGGER t");
	assert_event(&told[1], "a beat that is answered");
	assert_true(rowlock_held(lock));
	assert_ok(rowlock_release(lock, &err));
	test_end(lock, client);
	for (size_t i = 0; i < TEST_SIZE(told); i++)
		test_event_end(&told[i]);
}

/* The same of the row that a lease belongs to whose name is kept. The hold is
 * given up by its client's own clock, before others may have the name. */
CASE_WITH("a keep that no beat reaches is not believed in", plain_begin,
	  plain_end)
{
	const struct rowlock_options options = { .size = sizeof(options),
						 .at_least_ms = 1 };
	TEST_CLIENT(client, test_client(test_ttl_ms(3000)));
	struct test_event lost = test_event_new();
	struct rowlock *lock = NULL;

	assert_ok(
	    rowlock_new(client, test_name("kept"), &options, &lock, &err));
	rowlock_on_lost(lock, test_event_note, &lost);
	assert_ok(rowlock_acquire(lock, 5000, &err));
	test_sql(root, "CREATE TRIGGER t BEFORE UPDATE ON lease_session FOR "
		       "EACH ROW SET NEW.beat = IF(OLD.breaks > 4294967295, "
		       "OLD.beat, NEW.beat), NEW.expires_at = IF(OLD.breaks > "
		       "4294967295, OLD.expires_at, NEW.expires_at), NEW.ttl = "
		       "OLD.ttl");
	assert_event(&lost, "the lost callback of a hold without its keep");
	assert_code(rowlock_release(lock, &err), ROWLOCK_ELOST, &err);
	test_lock_end(lock);
	test_event_end(&lost);
}

static enum rowlock_answer refuse(const struct rowlock_revocation *asked,
				  void *arg)
{
	_Atomic int *told = arg;

	(void) asked;
	(*told)++;
	return ROWLOCK_ANSWER_NO;
}

static enum rowlock_answer answer_of(struct rowlock_client *client,
				     const char *name)
{
	struct rowlock_revocation known = { .size = sizeof(known) };

	assert_ok(rowlock_revoke(client, name, NULL, &known, &err));
	return known.answer;
}

CASE_WITH("an answer that changes nothing is given again", plain_begin,
	  plain_end)
{
	_Atomic int told = 0;
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(3000));
	uint64_t since = test_now_ns();

	options.on_revoke = refuse;
	options.revoke_arg = (void *) &told;
	TEST_CLIENT(client, test_client_with(&options));
	TEST_LOCK(lock,
		  test_lock(client, ROWLOCK_LEASE, 0, test_name("asked")));
	assert_ok(rowlock_acquire(lock, 5000, &err));
	test_sql(root, "CREATE TRIGGER t BEFORE UPDATE ON lease_revocation FOR "
		       "EACH ROW SET NEW.answer = OLD.answer");
	assert_ok(rowlock_revoke(client, rowlock_name(lock), "", NULL, &err));
	while (told < 2)
		test_keep_waiting(since, "being told again");
	test_sql(root, "DROP TRIGGER t");
	while (answer_of(client, rowlock_name(lock)) != ROWLOCK_ANSWER_NO)
		test_keep_waiting(since, "the answer");
	assert_ok(rowlock_release(lock, &err));
}

/* A draw that changes nothing looks like a hold that is gone: it was taken for
 * one, and asked for again without end. */
CASE_WITH("a draw that brings nothing is told, and ends", plain_begin,
	  plain_end)
{
	TEST_CLIENT(client, test_client(test_ttl_ms(60000)));
	TEST_LOCK(lock,
		  test_lock(client, ROWLOCK_LEASE, ROWLOCK_TOKEN_WITH_GRANT,
			    test_name("undrawn")));

	acquire_drawing(lock);
	test_sql(root, "CREATE TRIGGER t BEFORE UPDATE ON lock_token FOR EACH "
		       "ROW SET NEW.token = OLD.token, NEW.attempt = "
		       "OLD.attempt, NEW.drawn_at = OLD.drawn_at");
	assert_code(rowlock_acquire(lock, ROWLOCK_FOREVER, &err), ROWLOCK_EDB,
		    &err);
	assert_non_null(strstr(err.message, "trigger on lock_token"));
	assert_int_equal(test_sql_number(root,
					 "SELECT COUNT(*) FROM business_lease "
					 "WHERE name = '%s'",
					 rowlock_name(lock)),
			 0);
}

/* One leads, and the others are asked for together. */
#define TAKERS 5

struct taker {
	struct rowlock *held;
	struct rowlock *lock;
	pthread_barrier_t *start;
	int code;
};

static void *take(void *arg)
{
	struct taker *taker = arg;

	pthread_barrier_wait(taker->start);
	taker->code = rowlock_acquire(taker->lock, 0, NULL);
	return NULL;
}

/* Names that were not asked for before, for a name that was held is only looked
 * at. */
static void take_held_ones(struct rowlock_client *holder,
			   struct rowlock_client *client)
{
	struct taker takers[TAKERS];
	pthread_t threads[TAKERS];
	pthread_barrier_t start;

	pthread_barrier_init(&start, NULL, TAKERS);
	for (size_t i = 0; i < TAKERS; i++) {
		const char *name = test_name("met");

		takers[i] = (struct taker){
			test_lock(holder, ROWLOCK_LEASE, 0, name),
			test_lock(client, ROWLOCK_LEASE, ROWLOCK_OWNER_HANDLE,
				  name),
			&start,
			0,
		};
		assert_ok(rowlock_acquire(takers[i].held, 5000, &err));
	}
	for (size_t i = 0; i < TAKERS; i++)
		assert_int_equal(
		    pthread_create(&threads[i], NULL, take, &takers[i]), 0);
	for (size_t i = 0; i < TAKERS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < TAKERS; i++) {
		assert_int_equal(takers[i].code, ROWLOCK_EBUSY);
		assert_ok(rowlock_release(takers[i].held, &err));
		test_lock_end(takers[i].held);
		test_lock_end(takers[i].lock);
	}
	pthread_barrier_destroy(&start);
}

/* Some of the rows that are met are changed by that: as many are affected as if
 * some had been made. */
CASE_WITH("rows that are met are not made", plain_begin, plain_end)
{
	TEST_CLIENT(holder, test_client(test_ttl_ms(60000)));
	TEST_CLIENT(client, test_client(test_ttl_ms(60000)));

	test_sql(root, "CREATE TRIGGER t BEFORE UPDATE ON business_lease FOR "
		       "EACH ROW SET NEW.info = IF(RAND() < 0.5, OLD.info, "
		       "LEFT(RAND(), 9))");
	for (int round = 0; round < 40; round++)
		take_held_ones(holder, client);
}

CASE_WITH("a row that does not come is told, and ends", plain_begin, plain_end)
{
	TEST_CLIENT(client, test_client(test_ttl_ms(60000)));
	TEST_LOCK(lock, test_lock(client, ROWLOCK_ROW, 0, test_name("unmade")));

	test_sql(root, "CREATE TRIGGER t BEFORE INSERT ON business_lock FOR "
		       "EACH ROW SET NEW.name = CONCAT('another-', NEW.name)");
	assert_code(rowlock_acquire(lock, ROWLOCK_FOREVER, &err), ROWLOCK_EDB,
		    &err);
	assert_non_null(strstr(err.message, "trigger"));
}

CASE_MAIN(test_main_own_server)
