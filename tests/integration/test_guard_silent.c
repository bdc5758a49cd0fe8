/* SPDX-License-Identifier: MIT */
/*
 * Transactions that lock the lease's row from their beginning on, on a
 * connection that falls silent: the server keeps it, and with it the row, as it
 * hears of no end.
 */
#define ACCOUNTS "guard_silent_test"
#include "guarded.h"

#include <stdio.h>

#include "proxy.h"
#include "server.h"
#include "timeouts.h"

#define SILENT " always do drop then=vanish"

/* A client, and an application, each by way of a proxy. */
struct scene {
	struct app app;
	struct proxy *way;        /* of the client */
	struct proxy *silent_way; /* of the application */
};

static struct proxy *proxy_on_the_way(const char *to, char *ret_dsn,
				      size_t size)
{
	struct proxy_options options = { .seed = 1 };
	char server[64];
	char words[128];
	struct proxy *proxy;

	proxy_server_of(to, server, sizeof(server));
	options.server = server;
	proxy = proxy_start(&options, words, sizeof(words));
	if (!proxy)
		fail_msg("proxy: %s", words);
	proxy_dsn(proxy, to, ret_dsn, size);
	return proxy;
}

/* The application's server is @at. */
static struct scene scene_at(const struct app *app, const char *at)
{
	struct scene scene = { .app = *app };
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));
	char dsn[512];

	scene.app.name = test_name("silent");
	scene.way = proxy_on_the_way(test_dsn(), dsn, sizeof(dsn));
	options.dsn = dsn;
	options.call_timeout_ms = test_timeout_ms(2000);
	scene.app.client = test_client_with(&options);
	scene.app.lock =
	    test_lock(scene.app.client, ROWLOCK_LEASE, 0, scene.app.name);
	assert_ok(rowlock_acquire(scene.app.lock, test_patience_ms(), &err));
	scene.silent_way = proxy_on_the_way(at, dsn, sizeof(dsn));
	scene.app.mysql = connect_to(dsn, CLIENT_MULTI_STATEMENTS);
	return scene;
}

static struct scene scene_of(const struct app *app)
{
	return scene_at(app, test_dsn());
}

static void scene_end(struct scene *scene)
{
	mysql_close(scene->app.mysql);
	test_lock_end(scene->app.lock);
	test_client_end(scene->app.client);
	proxy_end(scene->silent_way);
	proxy_end(scene->way);
}

static int begin_early(const struct scene *scene,
		       struct rowlock_errinfo *reterr)
{
	return rowlock_begin(scene->app.lock, scene->app.mysql,
			     ROWLOCK_EARLY_GUARD, reterr);
}

/* Another transaction of the hold commits, and the lock is released: nobody has
 * its row locked any more. */
static void assert_is_settled(const struct scene *scene)
{
	MYSQL *next = connect_to(test_dsn(), CLIENT_MULTI_STATEMENTS);

	assert_ok(rowlock_begin(scene->app.lock, next, 0, &err));
	say(next, "UPDATE " ACCOUNTS " SET balance = 50 WHERE id = 1");
	assert_ok(rowlock_commit(scene->app.lock, next, &err));
	assert_balance(&scene->app, 50);
	mysql_close(next);
	assert_ok(rowlock_release(scene->app.lock, &err));
	assert_int_equal(test_sql_number(scene->app.sql,
					 "SELECT COUNT(*) FROM business_lease "
					 "WHERE name = '%s'",
					 scene->app.name),
			 0);
}

GUARD("a begin without an answer keeps no row")
{
	struct scene scene = scene_of(*state);

	assert_null(proxy_tell(scene.silent_way,
			       "reply sql=\"*LOCK IN SHARE MODE*\"" SILENT));
	assert_code(begin_early(&scene, &err), ROWLOCK_ECONNECT, &err);
	assert_non_null(strstr(err.message, "not begun"));
	assert_int_equal(proxy_counts(scene.silent_way).acts, 1);
	assert_is_settled(&scene);
	scene_end(&scene);
}

/* It is refused, and so is to be rolled back. */
GUARD("a rollback without an answer keeps no row")
{
	struct scene scene = scene_of(*state);

	assert_ok(begin_early(&scene, &err));
	take_ten(&scene.app);
	assert_null(proxy_tell(scene.silent_way,
			       "request sql=\"*SET guards*\" do error "
			       "code=1317\n"
			       "request sql=\"*ROLLBACK*\"" SILENT));
	assert_code(rowlock_commit(scene.app.lock, scene.app.mysql, &err),
		    ROWLOCK_EDB, &err);
	assert_int_equal(proxy_counts(scene.silent_way).acts, 2);
	assert_is_settled(&scene);
	scene_end(&scene);
}

/* Nothing gets through to the server: neither the end of the transaction, nor
 * any question of the client. It is settled when that can ask again. */
static void end_in_silence(struct scene *scene, bool commits)
{

	assert_ok(begin_early(scene, &err));
	take_ten(&scene->app);
	assert_null(proxy_tell(scene->silent_way, "request sql=\"*\"" SILENT));
	assert_null(proxy_tell(scene->way, "freeze"));
	if (commits) {
		assert_code(
		    rowlock_commit(scene->app.lock, scene->app.mysql, &err),
		    ROWLOCK_EUNKNOWN, &err);
		assert_non_null(strstr(err.message, "it may still come"));
	} else {
		assert_ok(
		    rowlock_rollback(scene->app.lock, scene->app.mysql, &err));
	}
	assert_int_equal(proxy_counts(scene->silent_way).acts, 1);
	assert_null(proxy_tell(scene->way, "thaw"));
	assert_balance(&scene->app, 100);
}

GUARD("a commit in silence is settled later")
{
	struct scene scene = scene_of(*state);

	end_in_silence(&scene, true);
	assert_is_settled(&scene);
	scene_end(&scene);
}

GUARD("a rollback in silence is settled later")
{
	struct scene scene = scene_of(*state);

	end_in_silence(&scene, false);
	assert_is_settled(&scene);
	scene_end(&scene);
}

/* The next connection of the lock's server that has @number, or a larger one.
 */
static MYSQL *connect_until(unsigned long number)
{
	MYSQL *mysql = connect_to(test_dsn(), 0);

	while (mysql_thread_id(mysql) < number) {
		mysql_close(mysql);
		mysql = connect_to(test_dsn(), 0);
	}
	return mysql;
}

/* The application is connected to another server by mistake, where its number
 * is one that somebody has on the lock's server. */
GUARD("a number of another server is not ended")
{
	struct scene scene = scene_at(*state, getenv("ROWLOCK_TEST_DSN"));
	MYSQL *stranger = connect_until(mysql_thread_id(scene.app.mysql));
	char dsn[512];

	proxy_dsn(scene.silent_way, getenv("ROWLOCK_TEST_DSN"), dsn,
		  sizeof(dsn));
	while (mysql_thread_id(scene.app.mysql) != mysql_thread_id(stranger)) {
		mysql_close(scene.app.mysql);
		scene.app.mysql = connect_to(dsn, CLIENT_MULTI_STATEMENTS);
		if (mysql_thread_id(scene.app.mysql) <=
		    mysql_thread_id(stranger))
			continue;
		mysql_close(stranger);
		stranger = connect_until(mysql_thread_id(scene.app.mysql));
	}
	assert_null(proxy_tell(scene.silent_way,
			       "reply sql=\"*LOCK IN SHARE MODE*\"" SILENT));
	assert_code(begin_early(&scene, &err), ROWLOCK_ECONNECT, &err);
	assert_is_settled(&scene);
	assert_int_equal(mysql_query(stranger, "DO 0"), 0);
	mysql_close(stranger);
	scene_end(&scene);
}

CASE_MAIN(test_main_own_server)
