/* SPDX-License-Identifier: MIT */
/* Deadlines, interrupts, and what becomes of a reply that is still to come. */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/thread.h"
#include "db/conn_fence.h"
#include "db/connect.h"
#include "db/stmt.h"
#include "db_test.h"

static const struct rlk_stmt_def lock_row = {
	"lock",
	"SELECT name FROM business_lock WHERE name = 'db-test wait' "
	"FOR UPDATE",
};

/* Somebody holds the row, somebody else wants it, a third looks on. */
struct scene {
	struct rlk_conn *holder;
	struct rlk_conn *waiter;
	struct rlk_conn *third;
};

static struct scene scene_open(void)
{
	struct scene scene = {
		db_open(NULL, &db_row),
		db_open(NULL, &db_row),
		db_open(NULL, &db_lease),
	};
	struct rlk_reply reply;

	db_exec(scene.third, "REPLACE INTO business_lock (name) VALUES "
			     "('db-test wait')");
	assert_done(rlk_stmt_run(scene.holder, &lock_row, NULL, &reply, &err));
	assert_true(reply.has_row);
	return scene;
}

static void scene_close(struct scene *scene)
{
	struct rowlock_errinfo error = { 0 };

	rlk_stmt_text(scene->holder, "ROLLBACK", &error);
	rlk_conn_close(scene->holder);
	rlk_conn_close(scene->waiter);
	db_exec(scene->third, "DELETE FROM business_lock WHERE name = "
			      "'db-test wait'");
	rlk_conn_close(scene->third);
}

static void wait_until(struct scene *scene, int64_t until_ms)
{
	struct rowlock_errinfo error = { 0 };
	struct rlk_reply reply;

	rlk_conn_set_until(scene->waiter, until_ms);
	assert_int_equal(
	    rlk_stmt_run(scene->waiter, &lock_row, NULL, &reply, &error),
	    RLK_PENDING);
	assert_false(rlk_conn_usable(scene->waiter));
}

CASE("a deadline leaves the reply pending, a resume gets it")
{
	struct scene scene = scene_open();
	struct rlk_reply reply;

	wait_until(&scene, db_in(30));
	rlk_conn_set_until(scene.waiter, db_in(30));
	assert_int_equal(rlk_stmt_resume(scene.waiter, &reply, &err),
			 RLK_PENDING);
	db_exec(scene.holder, "COMMIT");
	rlk_conn_set_until(scene.waiter, db_in(test_patience_ms()));
	assert_done(rlk_stmt_resume(scene.waiter, &reply, &err));
	assert_true(reply.has_row);
	assert_string_equal(reply.columns[0].text, "db-test wait");
	assert_true(rlk_conn_usable(scene.waiter));
	scene_close(&scene);
}

static void interrupt_it(void *arg)
{
	struct scene *scene = arg;

	db_await_lock_wait(scene->third);
	rlk_conn_interrupt(scene->waiter);
}

CASE("an interrupt ends the wait, a kill the statement")
{
	struct scene scene = scene_open();
	struct rlk_thread thread = { 0 };
	struct rlk_reply reply;
	struct rlk_mark mark;

	rlk_thread_start(&thread, "interrupter", interrupt_it, &scene);
	wait_until(&scene, RLK_NEVER);
	rlk_thread_join(&thread);

	rlk_conn_mark(scene.waiter, &mark);
	assert_done(rlk_conn_kill_query(scene.third, &mark, &err));
	rlk_conn_set_until(scene.waiter, db_in(test_patience_ms()));
	assert_int_equal(rlk_stmt_resume(scene.waiter, &reply, &err),
			 RLK_KILLED);
	assert_true(rlk_conn_usable(scene.waiter));
	db_exec(scene.waiter, "ROLLBACK");
	scene_close(&scene);
}

CASE("an interrupt before the call is not missed")
{
	struct scene scene = scene_open();
	struct rlk_reply reply;

	rlk_conn_set_until(scene.waiter, RLK_NEVER);
	rlk_conn_interrupt(scene.waiter);
	assert_int_equal(
	    rlk_stmt_run(scene.waiter, &lock_row, NULL, &reply, &err),
	    RLK_PENDING);
	/* It ended one call, not the next one too. */
	db_exec(scene.holder, "COMMIT");
	assert_done(rlk_stmt_resume(scene.waiter, &reply, &err));
	assert_true(reply.has_row);
	scene_close(&scene);
}

CASE("a new deadline clears the interrupt")
{
	DB_CONN(conn, db_open(NULL, &db_lease));

	rlk_conn_interrupt(conn);
	rlk_conn_set_until(conn, db_in(test_patience_ms()));
	assert_done(rlk_conn_ping(conn, &err));
}

CASE("an interrupted ping can be resumed")
{
	DB_RELAY(relay, relay_start(RELAY_STRAIGHT, NULL));
	DB_CONN(conn, db_open(relay_dsn(relay), &db_lease));
	struct rlk_reply reply;

	relay_set_mode(relay, RELAY_SILENT);
	rlk_conn_interrupt(conn);
	assert_int_equal(rlk_conn_ping(conn, &err), RLK_PENDING);
	relay_set_mode(relay, RELAY_STRAIGHT);
	rlk_conn_set_until(conn, db_in(test_patience_ms()));
	assert_done(rlk_stmt_resume(conn, &reply, &err));
	assert_done(rlk_conn_ping(conn, &err));
}

/* Whoever does not wait, but is told that something has come. */
CASE("an answer that is there is read past the deadline")
{
	DB_RELAY(relay, relay_start(RELAY_STRAIGHT, NULL));
	DB_CONN(conn, db_open(relay_dsn(relay), &db_lease));
	struct rlk_reply reply;
	struct pollfd fd = { .events = POLLIN };

	relay_set_mode(relay, RELAY_SILENT);
	rlk_conn_set_until(conn, 0);
	assert_int_equal(rlk_conn_ping(conn, &err), RLK_PENDING);
	assert_int_equal(rlk_stmt_resume(conn, &reply, &err), RLK_PENDING);
	relay_set_mode(relay, RELAY_STRAIGHT);
	fd.fd = rlk_conn_fd(conn);
	assert_int_equal(poll(&fd, 1, test_patience_ms()), 1);
	assert_done(rlk_stmt_resume(conn, &reply, &err));
	rlk_conn_set_until(conn, db_in(test_patience_ms()));
	assert_done(rlk_conn_ping(conn, &err));
}

/* The first use prepares: the parameters have to outlive the call. */
CASE("an interrupted first use can be resumed")
{
	static const struct rlk_stmt_def def = {
		"first",
		"SELECT CAST(? AS CHAR(20))",
	};
	DB_RELAY(relay, relay_start(RELAY_STRAIGHT, NULL));
	DB_CONN(conn, db_open(relay_dsn(relay), &db_lease));
	struct rlk_reply reply;
	char text[] = "kept";
	struct rlk_value params[] = { rlk_text(text) };

	relay_set_mode(relay, RELAY_SILENT);
	rlk_conn_interrupt(conn);
	assert_int_equal(rlk_stmt_run(conn, &def, params, &reply, &err),
			 RLK_PENDING);
	memset(text, 'x', sizeof(text));
	memset(params, 0, sizeof(params));
	relay_set_mode(relay, RELAY_STRAIGHT);
	rlk_conn_set_until(conn, db_in(test_patience_ms()));
	assert_done(rlk_stmt_resume(conn, &reply, &err));
	assert_string_equal(reply.columns[0].text, "kept");
}

CASE("a result of many rows that is pending is given up")
{
	static const struct rlk_stmt_def def = { "many", "SELECT SLEEP(20)" };
	DB_CONN(conn, db_open(NULL, &db_lease));

	rlk_conn_set_until(conn, db_in(30));
	assert_int_equal(rlk_stmt_each(conn, &def, NULL, NULL, NULL, &err),
			 RLK_UNKNOWN);
	assert_code(err.code, ROWLOCK_ECONNECT, NULL);
	assert_false(rlk_conn_usable(conn));
}

CASE("a peer that never greets is left at the deadline")
{
	DB_RELAY(relay, relay_start(RELAY_SILENT, NULL));
	struct rlk_conn_target target = db_target(relay_dsn(relay));
	struct rlk_conn *conn = NULL;

	assert_code(rlk_conn_open(&target, &db_lease, db_in(50), &conn, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_says(err.message, "no answer in time");
}

CASE("a peer that drips is left at the deadline")
{
	DB_RELAY(relay, relay_start(RELAY_DRIP, NULL));
	struct rlk_conn_target target = db_target(relay_dsn(relay));
	DB_CONN(conn, NULL);

	/* The greeting alone takes 5 s at this pace, and more on a busy
	 * machine. */
	assert_code(rlk_conn_open(&target, &db_lease, db_in(200), &conn, &err),
		    ROWLOCK_ECONNECT, &err);
	/* Less than any server's greeting. */
	assert_in_range(relay_said(relay), 0, 60);

	relay_set_mode(relay, RELAY_STRAIGHT);
	conn = db_open(relay_dsn(relay), &db_lease);
	relay_set_mode(relay, RELAY_DRIP);
	rlk_conn_set_until(conn, db_in(200));
	assert_int_equal(rlk_stmt_text(conn, "SELECT REPEAT('x', 100)", &err),
			 RLK_PENDING);
}

static volatile sig_atomic_t alarms;
static sig_atomic_t alarms_most;

/* One that puts the deadline off would do so for ever. */
static void count(int number)
{
	(void) number;
	if (++alarms >= alarms_most)
		alarm(0);
}

CASE("signals do not move the deadline")
{
	const struct sigaction on = { .sa_handler = count };
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
	const struct itimerval never = { 0 };
	struct scene scene = scene_open();
	int64_t start = db_in(0);

	/* There is 1 ms between two, at least. */
	alarms_most = test_patience_ms();
	sigaction(SIGALRM, &on, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	wait_until(&scene, db_in(200));
	setitimer(ITIMER_REAL, &never, NULL);
	assert_true(db_in(0) - start >= 200);
	if (alarms >= alarms_most)
		fail_msg("a deadline of 200 ms has not come during %d signals",
			 (int) alarms);
	scene_close(&scene);
}

CASE("a lost stream is an unknown outcome")
{
	struct relay *relay = relay_start(RELAY_STRAIGHT, NULL);
	DB_CONN(conn, db_open(relay_dsn(relay), &db_lease));

	relay_end(relay);
	assert_int_equal(rlk_stmt_text(conn, "DO 1", &err), RLK_UNKNOWN);
	assert_code(err.code, ROWLOCK_ECONNECT, NULL);
	assert_false(rlk_conn_usable(conn));
}

/* Looks like nothing, but for valgrind: each stage is left in the middle. */
CASE("closing in the middle of anything is clean")
{
	static const struct rlk_stmt_def slow = { "slow", "SELECT SLEEP(20)" };
	DB_RELAY(relay, relay_start(RELAY_STRAIGHT, NULL));
	struct rlk_reply reply;
	struct rlk_conn *conn;

	conn = db_open(relay_dsn(relay), &db_lease);
	rlk_conn_set_until(conn, db_in(30));
	assert_int_equal(rlk_stmt_run(conn, &slow, NULL, &reply, &err),
			 RLK_PENDING);
	rlk_conn_close(conn);

	conn = db_open(relay_dsn(relay), &db_lease);
	relay_set_mode(relay, RELAY_DRIP);
	rlk_conn_set_until(conn, db_in(120));
	assert_int_equal(rlk_stmt_run(conn, &lock_row, NULL, &reply, &err),
			 RLK_PENDING);
	rlk_conn_close(conn);
	relay_set_mode(relay, RELAY_STRAIGHT);

	conn = db_open(relay_dsn(relay), &db_lease);
	rlk_conn_set_until(conn, db_in(30));
	assert_int_equal(rlk_stmt_text(conn, "SELECT SLEEP(20)", &err),
			 RLK_PENDING);
	rlk_conn_close(conn);
}

CASE_MAIN(db_main)
