/* SPDX-License-Identifier: MIT */
/*
 * A stream that ends, stops or comes in pieces, at every place: from the
 * server's greeting to the last byte of the last result.
 */
#include "db/connect.h"
#include "db/stmt.h"
#include <stdio.h>
#include <string.h>

#include "db_test.h"

/* Places that are tried lie so many bytes apart. A prime, so that they wander
 * through the packets. */
#define CUT_STEP 13
#define STOP_STEP 61

static const struct rlk_stmt_def echo = {
	"echo",
	"SELECT CAST(? AS UNSIGNED), CAST(? AS CHAR(20))",
};

static const struct rlk_stmt_def three = {
	"three",
	"SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3",
};

static void add(const struct rlk_value *columns, void *arg)
{
	*(uint64_t *) arg += columns[0].u64;
}

/* A statement of each kind: may be left pending, and checks its result. */
typedef enum rlk_fault (*step_fn)(struct rlk_conn *conn, bool resume,
				  struct rowlock_errinfo *error);

static enum rlk_fault run_echo(struct rlk_conn *conn, bool resume,
			       struct rowlock_errinfo *error)
{
	const struct rlk_value params[] = { rlk_u64(77), rlk_text("seven") };
	struct rlk_reply reply;
	enum rlk_fault fault;

	fault = resume ? rlk_stmt_resume(conn, &reply, error)
		       : rlk_stmt_run(conn, &echo, params, &reply, error);
	if (fault)
		return fault;
	assert_true(reply.has_row);
	assert_int_equal(reply.columns[0].u64, 77);
	assert_string_equal(reply.columns[1].text, "seven");
	return fault;
}

static enum rlk_fault run_text(struct rlk_conn *conn, bool resume,
			       struct rowlock_errinfo *error)
{
	struct rlk_reply reply;

	return resume ? rlk_stmt_resume(conn, &reply, error)
		      : rlk_stmt_text(conn, "SELECT 'a text that is dropped'",
				      error);
}

static enum rlk_fault run_ping(struct rlk_conn *conn, bool resume,
			       struct rowlock_errinfo *error)
{
	struct rlk_reply reply;

	return resume ? rlk_stmt_resume(conn, &reply, error)
		      : rlk_conn_ping(conn, error);
}

/* Never pending: it cannot be resumed. */
static enum rlk_fault run_three(struct rlk_conn *conn, bool resume,
				struct rowlock_errinfo *error)
{
	uint64_t sum = 0;
	enum rlk_fault fault =
	    rlk_stmt_each(conn, &three, NULL, add, &sum, error);

	assert_false(resume);
	/* All rows or none: they are read before the first is told. */
	assert_int_equal(sum, fault ? 0 : 6);
	return fault;
}

/* The last two are prepared already. */
static const step_fn steps[] = { run_echo, run_three, run_text,
				 run_ping, run_echo,  run_three };
#define STEPS (sizeof(steps) / sizeof(steps[0]))

static struct rlk_conn *open_by(struct relay *relay, int64_t until_ms,
				struct rowlock_errinfo *ret_error)
{
	/* Kept by the connection. */
	static struct rlk_conn_target target;
	struct rlk_conn *conn = NULL;
	int code;

	target = db_target(relay_dsn(relay));
	*ret_error = (struct rowlock_errinfo){ 0 };
	code = rlk_conn_open(&target, &db_lease, until_ms, &conn, ret_error);
	assert_int_equal(code != 0, conn == NULL);
	if (!code)
		return conn;
	assert_int_equal(code, ret_error->code);
	if (code != ROWLOCK_ECONNECT)
		fail_msg("%d: %s", code, ret_error->message);
	assert_true(ret_error->message[0]);
	return NULL;
}

/* All of it on a stream that ends after @bytes; false: it did not end. */
static bool cut_after(struct relay *relay, size_t bytes)
{
	struct rowlock_errinfo error = { 0 };
	enum rlk_fault fault = RLK_DONE;
	struct rlk_conn *conn;
	bool cut;

	relay_stop_after(relay, bytes, true);
	conn = open_by(relay, db_in(test_patience_ms()), &error);
	for (size_t i = 0; conn && !fault && i < STEPS; i++) {
		error = (struct rowlock_errinfo){ 0 };
		rlk_conn_set_until(conn, db_in(test_patience_ms()));
		fault = steps[i](conn, false, &error);
		if (!fault)
			continue;
		/* Executed or not: nobody can know. */
		if (fault != RLK_UNKNOWN)
			fail_msg("step %zu after %zu bytes: fault %d, %s", i,
				 bytes, (int) fault, error.message);
		assert_code(error.code, ROWLOCK_ECONNECT, NULL);
		assert_false(rlk_conn_usable(conn));
		assert_int_equal(steps[i](conn, false, &error), RLK_FAILED);
		assert_says(error.message, "not usable any more");
	}
	cut = !conn || fault;
	/* What was not sent is sent to nobody, and nothing is leaked. */
	rlk_conn_close(conn);
	return cut;
}

CASE("a stream that ends anywhere is an unknown outcome")
{
	DB_RELAY(relay, relay_start(RELAY_STRAIGHT, NULL));
	size_t bytes = 0;

	while (cut_after(relay, bytes))
		bytes += CUT_STEP;
	print_message("# %zu places\n", bytes / CUT_STEP);
	assert_true(bytes > 500);
}

CASE("an opening that stops anywhere is left at the deadline")
{
	DB_RELAY(relay, relay_start(RELAY_STRAIGHT, NULL));
	DB_CONN(conn, NULL);
	size_t bytes = 0;

	for (; !conn && bytes < 20000; bytes += STOP_STEP) {
		relay_stop_after(relay, bytes, false);
		conn = open_by(relay, db_in(30), &err);
	}
	print_message("# %zu places\n", bytes / STOP_STEP);
	assert_true(bytes > 500);
}

/* The reply stops after @bytes, our deadline passes, then the rest comes and
 * is awaited; false: the reply is not longer than that. */
static bool stop_after(struct relay *relay, step_fn step, size_t bytes)
{
	struct rlk_conn *conn;
	enum rlk_fault fault;

	relay_stop_after(relay, SIZE_MAX, false);
	conn = open_by(relay, db_in(test_patience_ms()), &err);
	assert_non_null(conn);
	relay_stop_after(relay, bytes, false);
	rlk_conn_set_until(conn, db_in(10));
	fault = step(conn, false, &err);
	relay_stop_after(relay, SIZE_MAX, false);
	if (step == run_three && fault) {
		assert_int_equal(fault, RLK_UNKNOWN);
		assert_false(rlk_conn_usable(conn));
	} else if (fault) {
		assert_int_equal(fault, RLK_PENDING);
		rlk_conn_set_until(conn, db_in(test_patience_ms()));
		assert_done(step(conn, true, &err));
		assert_done(run_ping(conn, false, &err));
	}
	rlk_conn_close(conn);
	return fault;
}

CASE("a reply that stops anywhere may be awaited")
{
	DB_RELAY(relay, relay_start(RELAY_STRAIGHT, NULL));

	for (size_t i = 0; i < 4; i++) {
		size_t bytes = 0;

		while (bytes < 2000 && stop_after(relay, steps[i], bytes))
			bytes += 5;
		print_message("# %zu places\n", bytes / 5);
		assert_true(bytes > 5);
	}
}

CASE("a stream in single bytes is read whole")
{
	DB_RELAY(relay, relay_start(RELAY_BYTES, NULL));
	DB_CONN(conn, open_by(relay, db_in(test_patience_ms()), &err));

	assert_non_null(conn);
	for (size_t i = 0; i < STEPS; i++) {
		rlk_conn_set_until(conn, db_in(test_patience_ms()));
		assert_done(steps[i](conn, false, &err));
	}
}

CASE_MAIN(db_main)
