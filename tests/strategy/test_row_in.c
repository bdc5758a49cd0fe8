/* SPDX-License-Identifier: MIT */
/*
 * A row lock in the application's transaction, below core: what becomes of the
 * application's connection when a wait is interrupted.
 */
#include <mysql.h>
#include <unistd.h>

#include "ground.h"
#include "strategy/row_in.h"

struct scene {
	const char *name;
	MYSQL *application;
	bool killed;
	bool asked_again; /* to interrupt what follows, too */
};

static struct scene begin(void)
{
	struct scene scene = {
		.name = test_name("inside"),
		.application = mysql_init(NULL),
	};

	assert_non_null(scene.application);
	assert_non_null(mysql_real_connect(scene.application, test_dsn(), NULL,
					   NULL, NULL, 0, NULL, 0));
	test_sql(ground->sql, "INSERT INTO business_lock (name) VALUES ('%s')",
		 scene.name);
	return scene;
}

static void end(struct scene *scene)
{
	mysql_close(scene->application);
	test_sql(ground->sql, "ROLLBACK");
	test_sql(ground->sql, "DELETE FROM business_lock WHERE name = '%s'",
		 scene->name);
}

static bool waits(const struct scene *scene)
{
	return test_sql_number(ground->sql,
			       "SELECT COUNT(*) FROM "
			       "information_schema.PROCESSLIST WHERE ID = %lu "
			       "AND INFO LIKE '%%business_lock%%FOR UPDATE'",
			       mysql_thread_id(scene->application)) != 0;
}

/* Once, and not before it waits. Whatever is waited for behind that, has no
 * time left. */
static int64_t interrupt(void *arg)
{
	struct scene *scene = arg;
	int64_t now = rlk_now(rlk_clock_real());

	if (scene->killed) {
		scene->asked_again = true;
		return 0;
	}
	if (!waits(scene))
		return now + 1;
	test_sql(ground->sql, "KILL QUERY %lu",
		 mysql_thread_id(scene->application));
	scene->killed = true;
	return now + test_patience_ms();
}

/* At its deadline, and it can be used on. */
ROW("an interrupted wait leaves the connection as it was")
{
	struct scene scene = begin();
	const struct rlk_interrupter interrupter = { -1, interrupt, &scene };
	struct rlk_place place;
	const struct rlk_row_in in = {
		.on = { .mysql = scene.application,
			.clock = rlk_clock_real(),
			.interrupter = &interrupter },
		.place = &place,
		.name = scene.name,
		.tag = 1,
		.moment_ms = (uint64_t) test_patience_ms(),
	};

	assert_int_equal(rlk_borrowed_ready(&in.on, &err), 0);
	rlk_place_learn(ground->beside, &place);
	test_sql(ground->sql, "START TRANSACTION");
	test_sql(ground->sql,
		 "SELECT 1 FROM business_lock WHERE name = '%s' FOR UPDATE",
		 scene.name);
	assert_int_equal(rlk_row_in_acquire(&in, true, &err), RLK_KILLED);
	assert_true(scene.killed);
	assert_false(scene.asked_again);
	assert_int_equal(mysql_query(scene.application, "DO 1"), 0);
	assert_false(scene.application->server_status & SERVER_STATUS_IN_TRANS);
	end(&scene);
}

CASE_MAIN(test_main)
