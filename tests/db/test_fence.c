/* SPDX-License-Identifier: MIT */
/* Ending another session, and knowing that it has ended. */
#include "db/conn_fence.h"
#include "db/stmt.h"
#include <stdio.h>
#include <string.h>

#include "db_test.h"

#define CLEAN "DELETE FROM business_lease WHERE name LIKE 'db-test fence%'"

static const struct rlk_stmt_def insert = {
	"insert",
	"INSERT INTO business_lease (name, slot, session, attempt, "
	"acquired_at) VALUES ('db-test fence', 0, 3, 42, UTC_TIMESTAMP(6)) "
	"ON DUPLICATE KEY UPDATE name = name",
};

static uint64_t count_rows(struct rlk_conn *conn)
{
	return db_number(conn, "SELECT COUNT(*) FROM business_lease WHERE "
			       "name = 'db-test fence' AND attempt = 42");
}

/* A holder's transaction has the row; a victim's INSERT waits behind it. */
struct scene {
	struct rlk_conn *holder;
	struct rlk_conn *victim;
	struct rlk_conn *fencer;
	struct rlk_mark mark;
};

static const struct rlk_conn_profile patient = { "lease", true, 50, 60 };

static struct scene scene_open(void)
{
	struct scene scene = {
		.holder = db_open(NULL, &db_row),
		.victim = db_open(NULL, &patient),
		.fencer = db_open(NULL, &db_lease),
	};
	struct rowlock_errinfo error = { 0 };
	struct rlk_reply reply;

	db_exec(scene.fencer, CLEAN);
	db_exec(scene.holder,
		"INSERT INTO business_lease (name, slot, session, attempt, "
		"acquired_at) VALUES ('db-test fence', 0, 3, 1, "
		"UTC_TIMESTAMP(6))");
	rlk_conn_mark(scene.victim, &scene.mark);
	rlk_conn_set_until(scene.victim, db_in(50));
	assert_int_equal(
	    rlk_stmt_run(scene.victim, &insert, NULL, &reply, &error),
	    RLK_PENDING);
	db_await_lock_wait(scene.fencer);
	return scene;
}

static void scene_close(struct scene *scene)
{
	rlk_conn_close(scene->holder);
	rlk_conn_close(scene->victim);
	db_exec(scene->fencer, CLEAN);
	rlk_conn_close(scene->fencer);
}

static void check_fence(bool with_mark)
{
	struct scene scene = scene_open();
	struct rlk_reply reply;

	if (!with_mark)
		scene.mark.lock[0] = '\0';
	assert_done(rlk_conn_fence(scene.fencer, &scene.mark, RLK_NEVER, &err));
	/* The way is free for it now, but it is not there any more. */
	db_exec(scene.holder, "ROLLBACK");
	assert_int_equal(count_rows(scene.fencer), 0);
	rlk_conn_set_until(scene.victim, db_in(test_patience_ms()));
	assert_int_equal(rlk_stmt_resume(scene.victim, &reply, &err),
			 RLK_UNKNOWN);
	assert_int_equal(count_rows(scene.fencer), 0);
	scene_close(&scene);
}

CASE("a blocked INSERT that was fenced does not land")
{
	check_fence(true);
}

CASE("the fence works without a mark")
{
	check_fence(false);
}

/* What it is good for: without the fence the dead client's row appears. */
CASE("a blocked INSERT that was not fenced lands")
{
	struct scene scene = scene_open();
	int64_t since;

	scene.victim = rlk_conn_close(scene.victim);
	assert_int_equal(count_rows(scene.fencer), 0);
	db_exec(scene.holder, "ROLLBACK");
	since = db_in(0);
	while (!count_rows(scene.fencer))
		db_keep_waiting(since, "the dead client's row");
	scene_close(&scene);
}

/* The KILL is on its way: whoever has no time to wait asks again. */
CASE("a session that is dying is not waited for")
{
	struct scene scene = scene_open();

	assert_int_equal(rlk_conn_fence(scene.fencer, &scene.mark, 0, &err),
			 RLK_PENDING);
	assert_true(rlk_conn_usable(scene.fencer));
	assert_done(rlk_conn_fence(scene.fencer, &scene.mark, RLK_NEVER, &err));
	scene_close(&scene);
}

/* Its mark cannot be seen from here: that it is not there proves nothing. */
CASE("a session on another node is out of reach")
{
	DB_CONN(innocent, db_open(NULL, &db_lease));
	DB_CONN(fencer, db_open(NULL, &db_lease));
	struct rlk_server *node =
	    (struct rlk_server *) (uintptr_t) rlk_conn_server(fencer);
	struct rlk_mark mark;

	rlk_conn_mark(innocent, &mark);
	strcpy(mark.identity, "another node@1");
	node->galera = true;
	assert_int_equal(rlk_conn_fence(fencer, &mark, RLK_NEVER, &err),
			 RLK_REFUSED);
	assert_code(err.code, ROWLOCK_ECONNECT, NULL);
	assert_done(rlk_conn_ping(innocent, &err));
}

CASE("a session that has ended is over at once")
{
	struct rlk_conn *victim = db_open(NULL, &db_lease);
	DB_CONN(fencer, db_open(NULL, &db_lease));
	struct rlk_mark mark;

	rlk_conn_mark(victim, &mark);
	rlk_conn_close(victim);
	assert_done(rlk_conn_fence(fencer, &mark, RLK_NEVER, &err));
}

CASE("a restart has ended it, and nobody else is killed")
{
	DB_CONN(innocent, db_open(NULL, &db_lease));
	DB_CONN(fencer, db_open(NULL, &db_lease));
	struct rlk_mark mark;

	/* The same number on a server that was started at another time. */
	rlk_conn_mark(innocent, &mark);
	mark.lock[0] = '\0';
	strcat(mark.identity, "0");
	assert_done(rlk_conn_fence(fencer, &mark, RLK_NEVER, &err));
	assert_done(rlk_conn_kill_query(fencer, &mark, &err));
	assert_done(rlk_conn_ping(innocent, &err));
}

/* The session is over, and its number was given to somebody else. */
CASE("a number that is another's by now is not killed")
{
	struct rlk_conn *ended = db_open(NULL, &db_lease);
	DB_CONN(innocent, db_open(NULL, &db_lease));
	DB_CONN(fencer, db_open(NULL, &db_lease));
	struct rlk_mark mark;

	rlk_conn_mark(ended, &mark);
	rlk_conn_close(ended);
	mark.id = rlk_conn_id(innocent);
	assert_done(rlk_conn_fence(fencer, &mark, RLK_NEVER, &err));
	assert_done(rlk_conn_kill_query(fencer, &mark, &err));
	assert_done(rlk_conn_ping(innocent, &err));
}

/* As through a proxy that greets with numbers of its own: it would take the
 * server's for one of these, and end a stranger's session. */
CASE("a number that is something between's is not killed")
{
	DB_RELAY(relay, relay_start(RELAY_STRAIGHT, NULL));
	DB_CONN(innocent, db_open(NULL, &db_lease));
	struct rlk_mark mark;

	relay_replace(relay, "CONNECTION_ID(), GET", "   4000000000+1, GET",
		      false);
	DB_CONN(fencer, db_open(relay_dsn(relay), &db_lease));
	assert_false(rlk_conn_may_kill(fencer));
	assert_true(rlk_conn_may_kill(innocent));
	rlk_conn_mark(innocent, &mark);
	assert_int_equal(rlk_conn_fence(fencer, &mark, RLK_NEVER, &err),
			 RLK_REFUSED);
	assert_says(err.message, "numbers for sessions");
	assert_int_equal(rlk_conn_kill_query(fencer, &mark, &err), RLK_REFUSED);
	assert_int_equal(rlk_conn_kill_tagged(fencer, "a-tag", &err),
			 RLK_REFUSED);
	assert_done(rlk_conn_ping(innocent, &err));
}

/* Once the mark is gone, so are the transaction's locks: a thousand rows that
 * must be rolled back take their time. */
CASE("a fenced transaction is rolled back when the fence is up")
{
	static const struct rlk_stmt_def look = {
		"look",
		"SELECT COUNT(*) FROM (SELECT name FROM business_lease WHERE "
		"name LIKE 'db-test fence %' FOR UPDATE NOWAIT) l",
	};
	DB_CONN(victim, db_open(NULL, &db_row));
	DB_CONN(fencer, db_open(NULL, &db_lease));
	struct rlk_reply reply;
	struct rlk_mark mark;

	db_exec(fencer, CLEAN);
	db_exec(victim,
		"INSERT INTO business_lease (name, slot, session, attempt, "
		"acquired_at) WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT "
		"i + 1 FROM n WHERE i < 1000) SELECT CONCAT('db-test fence ', "
		"a.i), b.i, 3, 42, UTC_TIMESTAMP(6) FROM n a, n b "
		"WHERE b.i <= 20");
	rlk_conn_mark(victim, &mark);
	assert_done(rlk_conn_fence(fencer, &mark, RLK_NEVER, &err));
	assert_done(rlk_stmt_run(fencer, &look, NULL, &reply, &err));
	assert_int_equal(reply.columns[0].i64, 0);
}

CASE("kill_query spares a session that is idle")
{
	DB_CONN(idle, db_open(NULL, &db_lease));
	DB_CONN(other, db_open(NULL, &db_lease));
	struct rlk_mark mark;

	rlk_conn_mark(idle, &mark);
	assert_done(rlk_conn_kill_query(other, &mark, &err));
	assert_int_equal(db_number(idle, "SELECT 7"), 7);
}

CASE_MAIN(db_main)
