/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_LOST_SCENE_H
#define ROWLOCK_TEST_LOST_SCENE_H

/*
 * A transaction that is tied to a lease, on a connection behind a relay that
 * can lose its COMMIT, or the answer to it. ACCOUNT is the table of the program
 * that includes this.
 */
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rowlock/mysql.h>

#include "dsn.h"
#include "goes_on.h"
#include "one_relay.h"
#include "sql.h"
#include "test.h"
#include "timeouts.h"

#define TTL_MS 30000

static inline MYSQL *connect_by(struct one_relay *relay)
{
	const char *port = strstr(test_dsn(), "port=");
	MYSQL *mysql = mysql_init(NULL);
	char more[64];
	char dsn[1024];

	snprintf(more, sizeof(more), "host=127.0.0.1;port=%u",
		 one_relay_start(relay,
				 port ? (unsigned int) atoi(port + 5) : 3306));
	test_dsn_with(test_dsn(), more, dsn, sizeof(dsn));
	if (!mysql_real_connect(mysql, dsn, NULL, NULL, NULL, 0, NULL,
				CLIENT_MULTI_STATEMENTS))
		fail_msg("connect: %s", mysql_error(mysql));
	return mysql;
}

/* A transaction that is open, behind the relay. */
struct scene {
	struct rowlock_client *client;
	struct rowlock *lock;
	const char *name;
	struct test_sql *sql;
	struct one_relay relay;
	MYSQL *mysql;
};

static inline int set_up(void **state)
{
	static struct scene scene;
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));

	memset(&scene, 0, sizeof(scene));
	options.call_timeout_ms = test_timeout_ms(4000);
	assert_ok(rowlock_client_new(&options, &scene.client, &err));
	scene.name = test_name("lost");
	scene.lock = test_lock(scene.client, ROWLOCK_LEASE, 0, scene.name);
	scene.sql = test_sql_open();
	test_sql(scene.sql, "CREATE TABLE IF NOT EXISTS " ACCOUNT " (id INT "
			    "PRIMARY KEY, balance INT NOT NULL) ENGINE=InnoDB");
	test_sql(scene.sql, "REPLACE INTO " ACCOUNT " VALUES (1, 100)");
	scene.mysql = connect_by(&scene.relay);
	assert_ok(rowlock_acquire(scene.lock, 0, &err));
	assert_ok(rowlock_begin(scene.lock, scene.mysql, 0, &err));
	assert_int_equal(mysql_query(scene.mysql,
				     "UPDATE " ACCOUNT " SET balance = balance "
				     "- 10 WHERE id = 1"),
			 0);
	*state = &scene;
	return 0;
}

static inline int tear_down(void **state)
{
	struct scene *scene = *state;

	rowlock_rollback(scene->lock, scene->mysql, NULL);
	rowlock_release(scene->lock, NULL);
	test_lock_end(scene->lock);
	mysql_close(scene->mysql);
	one_relay_end(&scene->relay);
	test_client_end(scene->client);
	test_sql(scene->sql, "DROP TABLE " ACCOUNT);
	test_sql_end(scene->sql);
	return 0;
}

static inline uint64_t balance(const struct scene *scene)
{
	return test_sql_number(scene->sql,
			       "SELECT balance FROM " ACCOUNT " WHERE id = 1");
}

/* The COMMIT that has not come so far. */
static inline void assert_late_one_does_nothing(struct scene *scene)
{
	sem_post(&scene->relay.deliver);
	sem_wait(&scene->relay.delivered);
	assert_int_equal(balance(scene), 100);
}

static inline uint64_t rows(const struct scene *scene)
{
	return test_sql_number(scene->sql,
			       "SELECT COUNT(*) FROM business_lease "
			       "WHERE name = '%s'",
			       scene->name);
}

#define LOST(sentence) CASE_WITH(sentence, set_up, tear_down)

#endif
