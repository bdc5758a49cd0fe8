/* SPDX-License-Identifier: MIT */
/*
 * A replica of the lock's server has the lock's rows, and excludes nobody: what
 * is to be tied to a lock there is refused, and changes nothing, whether the
 * replica takes writes or not.
 */
#define ACCOUNTS "replica_test"
#include "guarded.h"

#include <string.h>

#include "server.h"

struct scene {
	struct app *app;
	struct rowlock *row;
	struct test_sql *root; /* there */
	MYSQL *mysql;          /* the application's, there */
};

static MYSQL *connect_there(void)
{
	char dsn[512];

	test_replica_dsn("", dsn, sizeof(dsn));
	return connect_to(dsn, CLIENT_MULTI_STATEMENTS);
}

static int begin_there(void **state)
{
	static struct scene scene;
	struct test_sql *root = scene.root;

	if (!root)
		root = test_replica_start();
	scene = (struct scene){ .root = root, .mysql = connect_there() };
	assert_int_equal(set_up((void **) &scene.app), 0);
	scene.row =
	    test_lock(scene.app->client, ROWLOCK_ROW, 0, test_name("row"));
	*state = &scene;
	return 0;
}

static int end_there(void **state)
{
	struct scene *scene = *state;

	mysql_close(scene->mysql);
	test_lock_end(scene->row);
	return tear_down((void **) &scene->app);
}

#define THERE(sentence) CASE_WITH(sentence, begin_there, end_there)

/* The replica goes on as it was: it has all, and as its primary has it. */
static void assert_nothing_changed(const struct scene *scene)
{
	const struct app *app = scene->app;

	assert_int_equal(number(scene->mysql, "SELECT @@SESSION.autocommit"),
			 1);
	assert_false(scene->mysql->server_status & SERVER_STATUS_IN_TRANS);
	test_replica_catch_up(scene->root);
	assert_int_equal(test_sql_number(scene->root,
					 "SELECT balance FROM " ACCOUNTS
					 " WHERE id = 1"),
			 100);
	assert_int_equal(
	    test_sql_number(scene->root,
			    "SELECT guards FROM business_lease WHERE "
			    "name = '%s'",
			    app->name),
	    test_sql_number(app->sql,
			    "SELECT guards FROM business_lease WHERE "
			    "name = '%s'",
			    app->name));
}

/* With @read_only it refuses to write by itself. */
static void let_it_write(const struct scene *scene, bool read_only)
{
	test_sql(scene->root, "SET GLOBAL read_only = %d", read_only);
}

static void assert_refused(const struct scene *scene, unsigned int flags)
{
	assert_code(rowlock_begin(scene->app->lock, scene->mysql, flags, &err),
		    ROWLOCK_EINVAL, &err);
	assert_non_null(strstr(err.message, "a replica of it"));
	assert_nothing_changed(scene);
}

THERE("no transaction begins on a replica")
{
	static const unsigned int flags[] = { 0, ROWLOCK_SNAPSHOT,
					      ROWLOCK_EARLY_GUARD,
					      ROWLOCK_SNAPSHOT |
						  ROWLOCK_EARLY_GUARD };
	const struct scene *scene = *state;

	for (int read_only = 0; read_only < 2; read_only++) {
		let_it_write(scene, read_only);
		test_replica_catch_up(scene->root);
		for (size_t i = 0; i < TEST_SIZE(flags); i++)
			assert_refused(scene, flags[i]);
	}
	let_it_write(scene, false);
	assert_ok(rowlock_verify(scene->app->lock, &err));
}

/* The application's connection leads there by the time of its commit: a new one
 * in its place, which even has its number. */
THERE("no transaction is committed on a replica")
{
	const struct scene *scene = *state;
	const struct app *app = scene->app;
	unsigned long id;
	char dsn[512];
	MYSQL mysql;

	test_replica_dsn("", dsn, sizeof(dsn));
	for (int same = 0; same < 2; same++) {
		assert_non_null(mysql_init(&mysql));
		assert_non_null(mysql_real_connect(&mysql, test_dsn(), NULL,
						   NULL, NULL, 0, NULL,
						   CLIENT_MULTI_STATEMENTS));
		assert_ok(rowlock_begin(app->lock, &mysql, 0, &err));
		id = mysql.thread_id;
		mysql_close(&mysql);
		test_replica_catch_up(scene->root);
		assert_non_null(mysql_init(&mysql));
		assert_non_null(mysql_real_connect(&mysql, dsn, NULL, NULL,
						   NULL, 0, NULL,
						   CLIENT_MULTI_STATEMENTS));
		say(&mysql, "SET autocommit = 0");
		say(&mysql, "UPDATE " ACCOUNTS " SET balance = 7");
		if (same)
			mysql.thread_id = id;
		assert_code(rowlock_commit(app->lock, &mysql, &err),
			    ROWLOCK_EBROKEN, &err);
		assert_false(mysql.server_status & SERVER_STATUS_IN_TRANS);
		mysql_close(&mysql);
		assert_nothing_changed(scene);
	}
	assert_ok(rowlock_verify(app->lock, &err));
}

THERE("no lock is acquired in a transaction on a replica")
{
	const struct scene *scene = *state;
	uint64_t token = 4711;

	/* So that its row is there. */
	assert_ok(rowlock_acquire(scene->row, 0, &err));
	assert_ok(rowlock_release(scene->row, &err));
	test_replica_catch_up(scene->root);
	assert_code(
	    rowlock_acquire_in_transaction(scene->row, scene->mysql, 0, &err),
	    ROWLOCK_EINVAL, &err);
	assert_non_null(strstr(err.message, "a replica of it"));
	assert_nothing_changed(scene);
	say(scene->mysql, "START TRANSACTION");
	assert_code(rowlock_token_in_transaction(scene->row, scene->mysql,
						 &token, &err),
		    ROWLOCK_EINVAL, &err);
	assert_non_null(strstr(err.message, "a replica of it"));
	say(scene->mysql, "COMMIT");
	assert_int_equal(token, 4711);
	assert_int_equal(test_sql_number(scene->root,
					 "SELECT COUNT(*) FROM lock_token "
					 "WHERE strategy = 'row'"),
			 0);
	let_it_write(scene, true);
	assert_code(
	    rowlock_acquire_in_transaction(scene->row, scene->mysql, 0, &err),
	    ROWLOCK_EREADONLY, &err);
	assert_nothing_changed(scene);
	let_it_write(scene, false);
}

/* A fence is where the data are; that they are not there to be written is said
 * by the server alone. */
THERE("a fence that takes no writes is told")
{
	const struct scene *scene = *state;
	char text[4096];

	read_sql("fence.sql", text, sizeof(text));
	say(scene->app->mysql, text);
	test_replica_catch_up(scene->root);
	let_it_write(scene, true);
	say(scene->mysql, "SET autocommit = 0");
	assert_code(rowlock_fence(scene->mysql, "account/1", 7, &err),
		    ROWLOCK_EREADONLY, &err);
	say(scene->mysql, "ROLLBACK");
	say(scene->mysql, "SET autocommit = 1");
	assert_int_equal(
	    number(scene->mysql, "SELECT COUNT(*) FROM lock_fence"), 0);
	let_it_write(scene, false);
	assert_nothing_changed(scene);
	say(scene->app->mysql, "DROP TABLE lock_fence");
}

/* What MariaDB calls its own id is that of two containers on two hosts, too:
 * what no replica can have of its primary is another id. */
THERE("a server of another number is another one")
{
	const struct scene *scene = *state;
	const struct app *app = scene->app;
	struct test_sql *root = test_server_root();

	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	take_ten(app);
	test_sql(root, "SET GLOBAL server_id = 3");
	assert_code(rowlock_commit(app->lock, app->mysql, &err),
		    ROWLOCK_EBROKEN, &err);
	assert_balance(app, 100);
	assert_code(rowlock_begin(app->lock, app->mysql, 0, &err),
		    ROWLOCK_EINVAL, &err);
	test_sql(root, "SET GLOBAL server_id = 1");
	assert_ok(rowlock_begin(app->lock, app->mysql, 0, &err));
	assert_ok(rowlock_commit(app->lock, app->mysql, &err));
	test_sql_end(root);
}

CASE_MAIN(test_main_own_primary)
