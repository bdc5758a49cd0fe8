/* SPDX-License-Identifier: MIT */
/*
 * list, break and reap: what they do with a server that refuses, does not
 * answer, or has more than a page of everything.
 */
#include "fake/fake.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "core/client.h"
#include "test.h"

static const struct fake_answer refused = { .given = true,
					    .result = RLK_REFUSED };
static const struct fake_answer no_answer = { .given = true,
					      .result = RLK_UNKNOWN };
static const struct fake_answer pending = { .given = true,
					    .skip = true,
					    .result = RLK_PENDING };
static const struct fake_answer no_conn = { .given = true,
					    .result = ROWLOCK_ECONNECT };

static void assert_says(const struct rowlock_errinfo *error, const char *part)
{
	if (!strstr(error->message, part))
		fail_msg("'%s' does not say '%s'", error->message, part);
}

/* A client whose keeper has its connections: the next that asks the pool for
 * one is who a test means. */
static struct rowlock_client *settled_client(void)
{
	struct rowlock_client *client = fake_client();

	fake_await(FAKE_TIME, 1);
	return client;
}

/* ----------------------------------------------------------------- list */

struct told {
	unsigned int count;
	enum rowlock_state state;
	char last[64];
};

static int note(const struct rowlock_entry *entry, void *arg)
{
	struct told *told = arg;

	told->count++;
	told->state = entry->state;
	snprintf(told->last, sizeof(told->last), "%s", entry->name);
	return 0;
}

FAKE("a list tells of a server that refuses")
{
	static const enum fake_op ops[] = { FAKE_LIST, FAKE_LIST_ROWS,
					    FAKE_PROBE };
	struct rowlock_list_options options = ROWLOCK_LIST_OPTIONS_DEFAULT;
	FAKE_CLIENT_AS(client, settled_client());
	struct told told = { 0 };

	options.flags = ROWLOCK_LIST_PROBE;
	for (size_t i = 0; i < TEST_SIZE(ops); i++) {
		fake_next(ops[i], refused);
		assert_code(rowlock_list(client, &options, note, &told, &err),
			    ROWLOCK_EDB, &err);
		assert_says(&err, "list: ");
		fake_next(ops[i], no_answer);
		assert_code(rowlock_list(client, &options, note, &told, NULL),
			    ROWLOCK_ECONNECT, NULL);
	}
	/* A row that could not be probed is told neither held nor free: of
	 * each probe that failed, the lease only. */
	assert_int_equal(told.count, 4);
	fake_next(FAKE_GET, no_conn);
	assert_code(rowlock_list(client, &options, note, &told, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_int_equal(told.count, 4);
}

FAKE("a list tells of one strategy if asked so")
{
	struct rowlock_list_options options = ROWLOCK_LIST_OPTIONS_DEFAULT;
	FAKE_CLIENT_AS(client, settled_client());
	struct told told = { 0 };

	options.flags = ROWLOCK_LIST_LEASES;
	fake_leases_listed = 200;
	assert_ok(rowlock_list(client, &options, note, &told, &err));
	assert_int_equal(told.count, 200);
	assert_string_equal(told.last, "name 199");
	assert_int_equal(fake_count(FAKE_LIST_ROWS), 0);
	options.flags = ROWLOCK_LIST_ROWS;
	options.name = "100%_!";
	assert_ok(rowlock_list(client, &options, note, &told, &err));
	assert_int_equal(told.count, 201);
	assert_string_equal(fake_call(FAKE_LIST_ROWS, 0).name, "100!%!_!!");
}

FAKE("a probe tells of more rows than fit at first")
{
	struct rowlock_list_options options = ROWLOCK_LIST_OPTIONS_DEFAULT;
	FAKE_CLIENT_AS(client, settled_client());
	struct told told = { 0 };

	options.flags = ROWLOCK_LIST_ROWS | ROWLOCK_LIST_PROBE;
	fake_rows_listed = 200;
	assert_ok(rowlock_list(client, &options, note, &told, &err));
	assert_int_equal(told.count, 200);
	assert_string_equal(told.last, "name 199");
	/* The fake has locked none but what is not in the list. */
	assert_int_equal(told.state, ROWLOCK_STATE_HELD);
}

static int note_first(const struct rowlock_entry *entry, void *arg)
{
	note(entry, arg);
	return 1;
}

FAKE("a list ends where its function says so")
{
	struct rowlock_list_options options = ROWLOCK_LIST_OPTIONS_DEFAULT;
	FAKE_CLIENT_AS(client, settled_client());
	struct told told = { 0 };

	fake_leases_listed = fake_rows_listed = 200;
	assert_ok(rowlock_list(client, &options, note_first, &told, &err));
	assert_int_equal(told.count, 1);
	assert_int_equal(fake_count(FAKE_LIST), 1);
	assert_int_equal(fake_count(FAKE_LIST_ROWS), 0);
	options.flags = ROWLOCK_LIST_ROWS;
	assert_ok(rowlock_list(client, &options, note_first, &told, &err));
	options.flags |= ROWLOCK_LIST_PROBE;
	assert_ok(rowlock_list(client, &options, note_first, &told, &err));
	assert_int_equal(told.count, 3);
}

FAKE("wrong options are refused")
{
	static const char *const no_texts[] = { "job\xff*", "\xc3" };
	struct rowlock_list_options list = ROWLOCK_LIST_OPTIONS_DEFAULT;
	struct rowlock_reap_options reap = ROWLOCK_REAP_OPTIONS_DEFAULT;
	struct rowlock_reap_result result = { .size = 1 };
	FAKE_CLIENT_AS(client, settled_client());

	assert_code(rowlock_list(client, NULL, NULL, NULL, NULL),
		    ROWLOCK_EINVAL, NULL);
	list.name = list.pattern = "job";
	assert_code(rowlock_list(client, &list, note, NULL, NULL),
		    ROWLOCK_EINVAL, NULL);
	list.name = NULL;
	for (size_t i = 0; i < TEST_SIZE(no_texts); i++) {
		list.pattern = no_texts[i];
		list.name = NULL;
		assert_code(rowlock_list(client, &list, note, NULL, NULL),
			    ROWLOCK_EINVAL, NULL);
		list.name = TAKE_PTR(list.pattern);
		assert_code(rowlock_list(client, &list, note, NULL, NULL),
			    ROWLOCK_EINVAL, NULL);
	}
	list.pattern = "job";
	list.name = NULL;
	list.flags = 8;
	assert_code(rowlock_list(client, &list, note, NULL, NULL),
		    ROWLOCK_EINVAL, NULL);
	list.flags = 0;
	list.size = 1;
	assert_code(rowlock_list(client, &list, note, NULL, NULL),
		    ROWLOCK_EINVAL, NULL);
	assert_code(rowlock_reap(client, NULL, &result, NULL), ROWLOCK_EINVAL,
		    NULL);
	reap.batch = 501;
	assert_code(rowlock_reap(client, &reap, NULL, NULL), ROWLOCK_EINVAL,
		    NULL);
	reap.batch = 0;
	reap.size = 1;
	assert_code(rowlock_reap(client, &reap, NULL, NULL), ROWLOCK_EINVAL,
		    NULL);
	assert_int_equal(fake_count(FAKE_LIST) + fake_count(FAKE_SESSIONS), 0);
}

/* The holder does not know that it was broken, and nobody asks for the name. */
FAKE("a break ends the connection that keeps the bell")
{
	struct rowlock_client_options options = fake_options();

	options.flags ^= ROWLOCK_POLL;
	FAKE_CLIENT_AS(client, fake_client_with(&options));
	fake_session_add(77);
	fake_lease_add("job", 7, 77);
	/* Nobody has the bell. */
	assert_ok(rowlock_break(client, ROWLOCK_LEASE, "job", &err));
	assert_int_equal(fake_count(FAKE_KILL), 0);
	/* It is not known whether the name is free. */
	fake_bell_take("job");
	fake_lease_add("job", 8, 77);
	fake_always(FAKE_LOOK, refused);
	assert_ok(rowlock_break(client, ROWLOCK_LEASE, "job", &err));
	assert_int_equal(fake_count(FAKE_KILL), 0);
	fake_always(FAKE_LOOK, (struct fake_answer){ .given = false });
	fake_lease_add("job", 9, 77);
	assert_ok(rowlock_break(client, ROWLOCK_LEASE, "job", &err));
	assert_int_equal(fake_count(FAKE_KILL), 1);
	assert_true(fake_call(FAKE_KILL, 0).id == UINT64_MAX);
	assert_int_equal(fake_bell("job"), 0);
}

/* ---------------------------------------------------------------- break */

/* What was being done, once, and to which name. */
static void assert_begins(const struct rowlock_errinfo *error,
			  const char *words)
{
	assert_says(error, words);
	assert_ptr_equal(strstr(error->message, words), error->message);
	assert_null(strstr(error->message + 1, "break"));
}

FAKE("a break tells of a server that refuses")
{
	static const struct {
		enum rowlock_strategy strategy;
		enum fake_op op;
		const char *begins;
	} ways[] = {
		{ ROWLOCK_LEASE, FAKE_END, "break 'job' (lease): " },
		{ ROWLOCK_ROW, FAKE_BREAK_ROW, "break 'job' (row): " },
	};
	FAKE_CLIENT_AS(client, settled_client());

	fake_lease_add("job", 7, 77);
	fake_row_lock("job");
	for (size_t i = 0; i < TEST_SIZE(ways); i++) {
		fake_next(ways[i].op,
			  (struct fake_answer){ .given = true,
						.skip = true,
						.result = RLK_REFUSED });
		assert_code(
		    rowlock_break(client, ways[i].strategy, "job", &err),
		    ROWLOCK_EDB, &err);
		assert_begins(&err, ways[i].begins);
		fake_next(ways[i].op, pending);
		assert_code(
		    rowlock_break(client, ways[i].strategy, "job", &err),
		    ROWLOCK_ECONNECT, &err);
		assert_begins(&err, ways[i].begins);
		assert_says(&err, "no answer from fake:3306 within");
		fake_next(FAKE_GET, no_conn);
		assert_code(
		    rowlock_break(client, ways[i].strategy, "job", &err),
		    ROWLOCK_ECONNECT, &err);
		assert_begins(&err, ways[i].begins);
		fake_next(FAKE_GET, no_conn);
		assert_code(
		    rowlock_break(client, ways[i].strategy, "job", NULL),
		    ROWLOCK_ECONNECT, NULL);
	}
	/* The second connection, the bait. */
	fake_next(FAKE_GET, (struct fake_answer){ .given = false });
	fake_next(FAKE_GET, no_conn);
	assert_code(rowlock_break(client, ROWLOCK_ROW, "job", &err),
		    ROWLOCK_ECONNECT, &err);
	assert_begins(&err, "break 'job' (row): ");
	assert_int_equal(fake_lease("job"), 7);
	assert_true(fake_row("job") == UINT64_MAX);
	assert_ok(rowlock_break(client, ROWLOCK_ROW, "job", &err));
	assert_int_equal(fake_row("job"), 0);
	assert_code(rowlock_break(client, ROWLOCK_ROW, "job", &err),
		    ROWLOCK_ENOTHELD, &err);
}

/* ----------------------------------------------------------------- reap */

FAKE("reap drops old tokens once an hour")
{
	struct rowlock_reap_options options = ROWLOCK_REAP_OPTIONS_DEFAULT;
	struct rowlock_reap_result result = { .size = sizeof(result) };
	FAKE_CLIENT_AS(client, settled_client());

	fake_tokens_old(7);
	options.batch = 3;
	assert_ok(rowlock_reap(client, &options, &result, &err));
	assert_int_equal(result.tokens, 7);
	assert_int_equal(fake_tokens_left(), 0);
	assert_int_equal(fake_count(FAKE_TOKENS), 3);
	fake_tokens_old(1);
	fake_advance(60 * 60 * 1000 - 1);
	assert_ok(rowlock_reap(client, &options, &result, &err));
	assert_int_equal(result.tokens, 0);
	fake_advance(1);
	assert_ok(rowlock_reap(client, &options, &result, &err));
	assert_int_equal(result.tokens, 1);
}

/* There a draw's lock on the floor excludes on its own node only. */
FAKE("nothing is collected where many write")
{
	struct rowlock_reap_result result = { .size = sizeof(result) };

	for (int i = 0; i < 2; i++) {

		fake_server.galera = i == 0;
		fake_server.multi_primary = i == 1;
		FAKE_CLIENT_AS(client, settled_client());
		fake_tokens_old(2);
		assert_ok(rowlock_reap(client, NULL, &result, &err));
		assert_int_equal(result.tokens, 0);
		assert_int_equal(fake_tokens_left(), 2);
	}
	fake_server.multi_primary = false;
}

FAKE("a token that cannot be dropped ends the pass")
{
	struct rowlock_reap_options options = ROWLOCK_REAP_OPTIONS_DEFAULT;
	struct rowlock_reap_result result = { .size = sizeof(result) };
	FAKE_CLIENT_AS(client, settled_client());

	fake_tokens_old(2);
	options.batch = 1;
	fake_always(FAKE_DROP_TOKEN,
		    (struct fake_answer){
			.given = true, .skip = true, .result = RLK_BUSY });
	assert_ok(rowlock_reap(client, &options, &result, &err));
	assert_int_equal(result.tokens, 0);
	assert_int_equal(fake_count(FAKE_DROP_TOKEN), 1);
}

FAKE("reap tells of a server that refuses")
{
	static const enum fake_op ops[] = { FAKE_SESSIONS, FAKE_DEAD,
					    FAKE_TOKENS };
	struct rowlock_reap_result result = { .size = sizeof(result) };
	FAKE_CLIENT_AS(client, settled_client());

	fake_session_add(77);
	fake_session_expire(77);
	for (size_t i = 0; i < TEST_SIZE(ops); i++) {
		fake_next(ops[i], refused);
		assert_code(rowlock_reap(client, NULL, &result, &err),
			    ROWLOCK_EDB, &err);
		/* What was done before is told of nevertheless. */
		assert_int_equal(result.evicted, i == 1);
	}
	fake_next(FAKE_SESSIONS, no_answer);
	assert_code(rowlock_reap(client, NULL, NULL, NULL), ROWLOCK_ECONNECT,
		    NULL);
	fake_next(FAKE_GET, no_conn);
	assert_code(rowlock_reap(client, NULL, NULL, &err), ROWLOCK_ECONNECT,
		    &err);
}

/* Time goes by in steps, however long the thread takes to notice. */
static void advance_until(enum fake_op op, unsigned int count)
{
	for (unsigned int i = 0; fake_count(op) < count; i++) {
		assert_true(i < 1000000);
		fake_advance(50);
		sched_yield();
	}
}

static _Atomic unsigned int warnings;

static void count_warnings(enum rowlock_log_level level, const char *message,
			   void *arg)
{
	(void) arg;
	if (level == ROWLOCK_LOG_WARNING && !strncmp(message, "reaper: ", 8))
		warnings++;
}

FAKE("a reaper that fails says so once")
{
	struct rowlock_client_options options = fake_options();
	struct rowlock_client *client;

	warnings = 0;
	options.reap_interval_ms = 1000;
	options.flags ^= ROWLOCK_NO_REAPER;
	options.log = count_warnings;
	fake_always(FAKE_SESSIONS, refused);
	client = fake_client_with(&options);
	advance_until(FAKE_SESSIONS, 3);
	fake_always(FAKE_SESSIONS, (struct fake_answer){ .given = false });
	advance_until(FAKE_TOKENS, 1);
	fake_always(FAKE_SESSIONS, refused);
	advance_until(FAKE_SESSIONS, fake_count(FAKE_SESSIONS) + 3);
	fake_client_end(client);
	assert_int_equal(warnings, 2);
}

FAKE("a reaper among many reaps rarely")
{
	struct rowlock_client_options options = fake_options();
	int64_t began;

	options.reap_interval_ms = 1000;
	options.flags ^= ROWLOCK_NO_REAPER;
	/* Its account may not write whose turn it is. */
	fake_always(FAKE_DUTY_TAKE, (struct fake_answer){ .given = true,
							  .skip = true,
							  .result = RLK_REFUSED,
							  .mysql = 1142 });
	for (uint64_t id = 1; id <= 40; id++)
		fake_session_add(id);
	FAKE_CLIENT_AS(client, fake_client_with(&options));
	advance_until(FAKE_SESSIONS, 1);
	began = fake_now();
	advance_until(FAKE_SESSIONS, 2);
	/* 40 intervals, less a quarter at most. */
	assert_true(fake_now() - began >= 25000);
}

CASE_MAIN(case_main)
