/* SPDX-License-Identifier: MIT */
/*
 * Memory or descriptors run out at every point once, from the pool's making to
 * a statement's result: what needs them succeeds or says so, and all is given
 * back. Connector/C's own allocations are not counted.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "db/lend.h"
#include "db_test.h"
#include "unit/fake/memory.h"

/* Far more than is needed. */
#define MOST 300

static const struct rlk_stmt_def echo = {
	"echo",
	"SELECT CAST(? AS UNSIGNED), CAST(? AS CHAR(20))",
};

static void count(const struct rlk_value *columns, void *arg)
{
	(void) columns;
	(*(unsigned int *) arg)++;
}

/* Statements of each kind; the first fault. */
static enum rlk_fault talk(struct rlk_conn *conn, struct rowlock_errinfo *error)
{
	const struct rlk_value params[] = { rlk_u64(77), rlk_text("seven") };
	struct rlk_reply reply;
	unsigned int rows = 0;
	enum rlk_fault fault;

	fault = rlk_stmt_run(conn, &echo, params, &reply, error);
	if (!fault)
		assert_string_equal(reply.columns[1].text, "seven");
	if (!fault)
		fault = rlk_stmt_each(conn, &echo, params, count, &rows, error);
	if (!fault)
		assert_int_equal(rows, 1);
	if (!fault)
		fault = rlk_stmt_text(conn, "DO 0", error);
	return fault;
}

/* From the beginning to the end; the first code. */
static int use(struct rowlock_errinfo *error)
{
	const struct rlk_pool_bay bays[] = { { db_lease, 2, 2 } };
	struct rlk_conn_target target = db_target(NULL);
	struct rlk_pool *pool = NULL;
	struct rlk_conn *conn = NULL;
	enum rlk_fault fault;
	int code;

	code = rlk_pool_new(&target, bays, 1, &pool, error);
	assert_int_equal(code != 0, pool == NULL);
	if (code)
		return code;
	code = rlk_pool_get(pool, 0, db_in(test_patience_ms()), false, NULL,
			    &conn, error);
	if (!code) {
		fault = talk(conn, error);
		/* A result that could not be kept is lost, not refused. */
		if (fault) {
			assert_true(fault == RLK_FAILED ||
				    fault == RLK_UNKNOWN);
			code = error->code;
		}
		rlk_pool_put(pool, conn);
	}
	rlk_pool_free(pool, test_patience_ms());
	return code;
}

CASE("every allocation may fail")
{
	struct rowlock_errinfo error = { 0 };
	unsigned int number = 0;
	unsigned int refused = 0;
	bool failed = true;

	assert_int_equal(use(&error), 0);
	while (failed) {
		long live = fake_memory_live();
		int code;

		assert_true(++number < MOST);
		error = (struct rowlock_errinfo){ 0 };
		fake_memory_fail(number);
		code = use(&error);
		failed = fake_memory_failed();
		/* A thread or a place in a queue is the system's refusal. */
		if (code && code != ROWLOCK_ENOMEM && code != ROWLOCK_ESYSTEM)
			fail_msg("allocation %u: %d (%s)", number, code,
				 error.message);
		assert_int_equal(code, error.code);
		if (code)
			assert_true(error.message[0]);
		refused += code != 0;
		assert_int_equal(fake_memory_live(), live);
	}
	print_message("# %u allocations, %u refusals\n", number - 1, refused);
	assert_true(refused > 8);
}

static unsigned int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int files = 0;

	assert_non_null(dir);
	while (readdir(dir))
		files++;
	closedir(dir);
	/* ".", ".." and the directory itself. */
	return files - 3;
}

CASE("every descriptor may be refused")
{
	unsigned int files = open_files();
	struct rowlock_errinfo error = { 0 };
	struct rlimit before;
	unsigned int refused = 0;
	int code = -1;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (unsigned int more = 0; code && more < 20; more++) {
		struct rlimit few = before;

		few.rlim_cur = files + more;
		error = (struct rowlock_errinfo){ 0 };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		code = use(&error);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		print_message("# %u: %s\n", more, error.message);
		assert_int_equal(code, error.code);
		if (code)
			assert_true(error.message[0]);
		refused += code == ROWLOCK_ESYSTEM;
		assert_int_equal(open_files(), files);
	}
	assert_int_equal(code, 0);
	assert_true(refused > 2);
}

CASE_MAIN(db_main)
