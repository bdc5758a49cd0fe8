/* SPDX-License-Identifier: MIT */
/*
 * A transaction that is tied to a lease, or has a row lock in it, at each of
 * its round trips, with each kind of fault: what was told of it is what became
 * of it, and the session and the hold are as they were.
 */
#include <mysql.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <rowlock/mysql.h>

#include "goes_on.h"
#include "odd.h"
#include "sql.h"

#define TTL_MS 30000

/* Of a call; half of it is for finding out. */
#define CALL_MS 3000

struct guarded {
	struct proxy *proxy;
	struct rowlock_client *client;
	struct rowlock *lock;
	struct rowlock *row;
	struct test_sql *sql;
	char dsn[512];       /* by way of the proxy */
	unsigned long flags; /* of the application's connections */
	MYSQL *mysql;
	unsigned int ends[2]; /* how many were not committed, and were */
};

/* The round trips, by what is said in them. */
static const char *const inside[] = {
	"sql=\"START TRANSACTION*\"",
	"sql=\"SELECT ?? rowlock-*\"",
};

#define AT_COMMIT "sql=\"RELEASE SAVEPOINT*\""
#define AT_END "command=set-option match=2"

static const char *const places[] = {
	"sql=\"SET TRANSACTION*\"",
	"sql=\"UPDATE sweep_account*\"",
	AT_COMMIT,
	NULL,
};

/* Where the connection does not take several statements in one text, the first
 * is refused; that is allowed by a command of its own, and forbidden by another
 * one behind the end. */
static const char *const places_one_by_one[] = {
	"sql=\"SET TRANSACTION*\"",
	"command=set-option",
	"sql=\"SET TRANSACTION*\" match=2",
	"sql=\"UPDATE sweep_account*\"",
	AT_COMMIT,
	AT_END,
	NULL,
};

static const struct {
	const char *where;
	const char *act;
	bool slow;  /* a time-out: at one place only */
	bool stays; /* the connection does */
} kinds[] = {
	{ "request", "drop then=fin", false },
	{ "request", "drop then=rst", false },
	{ "request", "drop", true },
	{ "request", "cut byte=9", false },
	{ "request", "hold", false },
	{ "request", "delay ms=20", false },
	{ "request", "error code=1213", false, true },
	{ "request", "error code=1205", false, true },
	{ "request", "error code=1317", false, true },
	/* "Got error during COMMIT", and the connection goes on. */
	{ "request", "error code=1180", false },
	{ "reply", "drop then=fin", false },
	{ "reply", "drop then=rst", false },
	{ "reply", "drop", true },
	{ "reply", "cut byte=3", false },
	{ "reply", "cut byte=15", false },
	{ "reply", "delay ms=20", false },
	{ "reply", "dribble ms=1", false },
};

static void put_rule(char *rule, size_t size, size_t kind, const char *place)
{
	snprintf(rule, size, "%s %s do %s", kinds[kind].where, place,
		 kinds[kind].act);
}

static MYSQL *connect_by(const char *dsn, unsigned long flags)
{
	MYSQL *mysql = mysql_init(NULL);

	assert_non_null(mysql);
	if (!mysql_real_connect(mysql, dsn, NULL, NULL, NULL, 0, NULL, flags))
		fail_msg("connect: %s", mysql_error(mysql));
	return mysql;
}

static int begin_sweep(void **state)
{
	static struct guarded guarded;
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));

	options.call_timeout_ms = CALL_MS;
	guarded = (struct guarded){
		.proxy = proxy_to(test_dsn()),
		.flags = CLIENT_MULTI_STATEMENTS,
		.client = test_client_with(&options),
		.sql = test_sql_open(),
	};
	proxy_dsn(guarded.proxy, test_dsn(), guarded.dsn, sizeof(guarded.dsn));
	guarded.lock =
	    test_lock(guarded.client, ROWLOCK_LEASE, 0, test_name("guarded"));
	guarded.row =
	    test_lock(guarded.client, ROWLOCK_ROW, 0, test_name("guarded"));
	test_sql(guarded.sql,
		 "CREATE TABLE IF NOT EXISTS sweep_account (id INT PRIMARY "
		 "KEY, balance INT NOT NULL) ENGINE=InnoDB");
	*state = &guarded;
	return 0;
}

static int end_sweep(void **state)
{
	struct guarded *guarded = *state;

	proxy_end(guarded->proxy);
	test_lock_end(guarded->lock);
	test_lock_end(guarded->row);
	test_client_end(guarded->client);
	test_sql(guarded->sql, "DROP TABLE sweep_account");
	test_sql_end(guarded->sql);
	return 0;
}

#define SWEEP(sentence) CASE_WITH(sentence, begin_sweep, end_sweep)

/* 0, or the code of what failed. */
static int play(const struct guarded *guarded, bool releases,
		struct rowlock_errinfo *error)
{
	int code = rowlock_begin(guarded->lock, guarded->mysql, 0, error);

	if (code)
		return code;
	if (mysql_query(guarded->mysql,
			"UPDATE sweep_account SET balance = 90")) {
		assert_false(
		    rowlock_rollback(guarded->lock, guarded->mysql, NULL));
		return ROWLOCK_EDB;
	}
	return releases ? rowlock_commit_release(guarded->lock, guarded->mysql,
						 error)
			: rowlock_commit(guarded->lock, guarded->mysql, error);
}

/* Without it the second one would make it a syntax error (1064). */
static bool takes_several(MYSQL *mysql)
{
	if (mysql_query(mysql, "DO 1; DO 2"))
		return false;
	while (!mysql_next_result(mysql))
		;
	return true;
}

/* It commits by itself, with nothing open, and takes several statements in one
 * text if it did so before; or it is closed, unless it @stays. */
static void check_session(const struct guarded *guarded, const char *rule,
			  bool stays)
{
	MYSQL *mysql = guarded->mysql;

	if (mysql_query(mysql, "SELECT @@SESSION.autocommit")) {
		if (stays || mysql_errno(mysql) < 2000)
			fail_msg("%s: the session has ended: %s", rule,
				 mysql_error(mysql));
		return;
	}
	mysql_free_result(mysql_store_result(mysql));
	if (!(mysql->server_status & SERVER_STATUS_AUTOCOMMIT) ||
	    mysql->server_status & SERVER_STATUS_IN_TRANS ||
	    takes_several(mysql) != (guarded->flags != 0))
		fail_msg("%s: the session is not as it was", rule);
}

static uint64_t balance(const struct guarded *guarded)
{
	return test_sql_number(guarded->sql,
			       "SELECT balance FROM sweep_account");
}

/* What was held comes now, and the server is done with all of it. */
static void let_all_end(const struct guarded *guarded)
{
	uint64_t since = test_now_ns();

	tell(guarded->proxy, "deliver");
	mysql_close(guarded->mysql);
	while (proxy_counts(guarded->proxy).links)
		test_keep_waiting(since, "the end of all connections");
}

static void one_run(struct guarded *guarded, const char *rule, bool stays,
		    bool releases)
{
	uint64_t wanted;
	int code;

	assert_ok(rowlock_acquire(guarded->lock, 0, &err));
	test_sql(guarded->sql, "REPLACE INTO sweep_account VALUES (1, 100)");
	guarded->mysql = connect_by(guarded->dsn, guarded->flags);
	tell(guarded->proxy, "clear\nreset\n%s", rule);
	code = play(guarded, releases, &err);
	if (code == ROWLOCK_EUNKNOWN || code == ROWLOCK_ELOST)
		fail_msg("%s: %s", rule, err.message);
	wanted = code ? 100 : 90;
	guarded->ends[!code]++;
	if (balance(guarded) != wanted)
		fail_msg("%s: told %d (%s), and it was%s committed", rule, code,
			 err.message, code ? "" : " not");
	check_session(guarded, rule, stays);
	if (proxy_counts(guarded->proxy).acts != 1)
		fail_msg("%s: it did not come about", rule);
	tell(guarded->proxy, "clear");
	let_all_end(guarded);
	/* Nor later. */
	assert_int_equal(balance(guarded), wanted);
	if (releases && !code)
		return;
	assert_ok(rowlock_verify(guarded->lock, &err));
	assert_goes_on(guarded->lock);
	assert_ok(rowlock_release(guarded->lock, &err));
}

static void sweep(struct guarded *guarded, const char *const *at,
		  const char *slow_at, bool releases)
{
	char rule[160];

	for (; *at; at++)
		for (size_t kind = 0; kind < TEST_SIZE(kinds); kind++) {
			if (kinds[kind].slow && strcmp(*at, slow_at) != 0)
				continue;
			put_rule(rule, sizeof(rule), kind, *at);
			/* What cannot be forbidden again is no session for the
			 * application. */
			one_run(guarded, rule,
				kinds[kind].stays && strcmp(*at, AT_END) != 0,
				releases);
		}
	/* Both come about. */
	assert_true(guarded->ends[0] && guarded->ends[1]);
	print_message("# %u committed, %u not\n", guarded->ends[1],
		      guarded->ends[0]);
}

/* ------------------------------------------------------- a lock inside it */

static void one_lock(struct guarded *guarded, const char *rule, bool stays,
		     uint64_t wait_ms)
{
	int code;

	guarded->mysql = connect_by(guarded->dsn, guarded->flags);
	tell(guarded->proxy, "clear\nreset\n%s", rule);
	code = rowlock_acquire_in_transaction(guarded->row, guarded->mysql,
					      wait_ms, &err);
	guarded->ends[!code]++;
	if (proxy_counts(guarded->proxy).acts != 1)
		fail_msg("%s: it did not come about", rule);
	tell(guarded->proxy, "clear");
	if (code) {
		check_session(guarded, rule, stays);
	} else {
		assert_true(guarded->mysql->server_status &
			    SERVER_STATUS_IN_TRANS);
		assert_code(rowlock_acquire(guarded->row, 0, &err),
			    ROWLOCK_EBUSY, &err);
	}
	let_all_end(guarded);
	/* The server may be a moment later than the proxy. */
	assert_ok(rowlock_acquire(guarded->row, test_patience_ms(), &err));
	assert_ok(rowlock_release(guarded->row, &err));
}

SWEEP("what is told of a commit is what became of it")
{
	sweep(*state, places, AT_COMMIT, false);
}

SWEEP("what is told of a commit that releases is what became of both")
{
	sweep(*state, places, AT_COMMIT, true);
}

SWEEP("what is told of a commit is so where statements come one by one")
{
	struct guarded *guarded = *state;

	guarded->flags = 0;
	sweep(guarded, places_one_by_one, AT_END, false);
}

SWEEP("what is told of a commit that releases is so where statements come one "
      "by one")
{
	struct guarded *guarded = *state;

	guarded->flags = 0;
	sweep(guarded, places_one_by_one, "", true);
}

/* -------------------------------------------------- one behind the other */

/* A client that is cut off while its application's COMMIT is under way. */
static struct rowlock *hold_behind(struct proxy *proxy,
				   struct rowlock_client **ret_client)
{
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));
	struct rowlock *lock;
	char dsn[512];

	proxy_dsn(proxy, test_dsn(), dsn, sizeof(dsn));
	options.dsn = dsn;
	options.call_timeout_ms = CALL_MS;
	*ret_client = test_client_with(&options);
	lock = test_lock(*ret_client, ROWLOCK_LEASE, 0, test_name("behind"));
	assert_ok(rowlock_acquire(lock, 0, &err));
	return lock;
}

/* A commit of which nothing is known comes when the hold's next transaction has
 * begun, whose own is never said. */
SWEEP("what may still come is not taken for the next")
{
	struct guarded *guarded = *state;
	struct proxy *proxy = proxy_to(test_dsn());
	struct rowlock_client *client;
	struct rowlock *lock = hold_behind(proxy, &client);
	MYSQL *next = connect_by(test_dsn(), CLIENT_MULTI_STATEMENTS);

	test_sql(guarded->sql, "REPLACE INTO sweep_account VALUES (1, 100)");
	guarded->mysql = connect_by(guarded->dsn, guarded->flags);
	assert_ok(rowlock_begin(lock, guarded->mysql, 0, &err));
	tell(guarded->proxy, "clear\nreset\nrequest sql=\"RELEASE*\" do hold");
	tell(proxy, "deaf\nend rst");
	assert_code(rowlock_commit(lock, guarded->mysql, &err),
		    ROWLOCK_EUNKNOWN, &err);
	tell(proxy, "listen");
	assert_ok(rowlock_begin(lock, next, 0, &err));
	assert_false(
	    mysql_query(next, "UPDATE sweep_account SET balance = 90"));
	let_all_end(guarded);
	test_sql(guarded->sql, "KILL %lu", mysql_thread_id(next));
	assert_code(rowlock_commit(lock, next, &err), ROWLOCK_ECONNECT, &err);
	assert_int_equal(balance(guarded), 100);
	assert_ok(rowlock_verify(lock, &err));
	assert_goes_on(lock);
	assert_ok(rowlock_release(lock, &err));
	mysql_close(next);
	test_end(lock, client);
	proxy_end(proxy);
}

SWEEP("a transaction that is open has the lock, no other one")
{
	struct guarded *guarded = *state;
	char rule[160];

	/* Where the begin is not answered, the wait does not begin. */
	for (size_t place = 0; place < TEST_SIZE(inside); place++)
		for (size_t kind = 0; kind < TEST_SIZE(kinds); kind++) {
			put_rule(rule, sizeof(rule), kind, inside[place]);
			one_lock(guarded, rule, kinds[kind].stays,
				 place == 0 ? ROWLOCK_FOREVER : 0);
		}
	assert_true(guarded->ends[0] && guarded->ends[1]);
}

CASE_MAIN(test_main)
