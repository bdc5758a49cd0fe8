/* SPDX-License-Identifier: MIT */
/* Whether what a server refuses may pass; no server needed. */
#include "db_test.h"

#include <stdio.h>
#include <string.h>

#include "db/refusal.h"

#define MOST_MS 300000

/* Time stands still, but for what a test adds. */
static int64_t stands_at_ms;

static int64_t now_ms(const struct rlk_clock *clock)
{
	(void) clock;
	return stands_at_ms;
}

static const struct rlk_clock_ops still = { now_ms, NULL, NULL };
static const struct rlk_clock clock_of_test = { &still };

static int logged;
static char last_line[1024];

static void on_log(enum rowlock_log_level level, const char *message, void *arg)
{
	(void) arg;
	assert_int_equal(level, ROWLOCK_LOG_ERROR);
	snprintf(last_line, sizeof(last_line), "%s", message);
	logged++;
}

static int judge_error(struct rlk_refusal *of, const char *label,
		       struct rowlock_errinfo error)
{
	const struct rlk_log log = { on_log, NULL, ROWLOCK_LOG_ERROR };
	unsigned int number = error.mysql;

	rlk_refusal_judge(of, label, &error);
	if (of)
		rlk_refusal_report(of, &log);
	assert_int_equal(error.mysql, number);
	return error.code;
}

static int judge(struct rlk_refusal *of, const char *label, int code,
		 unsigned int number)
{
	return judge_error(of, label,
			   (struct rowlock_errinfo){ .code = code,
						     .mysql = number,
						     .message = "no, on db1" });
}

static struct rlk_refusal refusal;

static int setup(void **state)
{
	(void) state;
	stands_at_ms = 7;
	logged = 0;
	rlk_refusal_init(&refusal, &clock_of_test, MOST_MS);
	return 0;
}

static int teardown(void **state)
{
	(void) state;
	rlk_refusal_fini(&refusal);
	return 0;
}

#define REFUSAL(sentence) CASE_WITH(sentence, setup, teardown)

REFUSAL("a refusal of what never worked is final")
{
	assert_code(judge(&refusal, NULL, ROWLOCK_EAUTH, 1045), ROWLOCK_EAUTH,
		    NULL);
	assert_code(judge(&refusal, "schema", ROWLOCK_ESCHEMA, 1146),
		    ROWLOCK_ESCHEMA, NULL);
	assert_code(judge(NULL, NULL, ROWLOCK_EAUTH, 1045), ROWLOCK_EAUTH,
		    NULL);
	assert_int_equal(logged, 0);
}

REFUSAL("a refusal of what worked is out of reach, and logged once")
{
	rlk_refusal_begin(&refusal);
	for (int i = 0; i < 10; i++) {
		stands_at_ms += 1000;
		assert_code(judge(&refusal, NULL, ROWLOCK_EAUTH, 1045),
			    ROWLOCK_ECONNECT, NULL);
		assert_code(judge(&refusal, "acquire", ROWLOCK_ESCHEMA, 1146),
			    ROWLOCK_ECONNECT, NULL);
	}
	assert_int_equal(logged, 1);
	assert_says(last_line, "no, on db1; this worked before, so it is tried "
			       "again for 300 s");
	assert_code(judge(&refusal, "acquire", ROWLOCK_EDB, 1062), ROWLOCK_EDB,
		    NULL);
}

REFUSAL("a refusal that stays is what it says")
{
	int64_t end = stands_at_ms + MOST_MS;

	rlk_refusal_begin(&refusal);
	for (; stands_at_ms < end; stands_at_ms += 30000)
		assert_code(judge(&refusal, NULL, ROWLOCK_EAUTH, 1045),
			    ROWLOCK_ECONNECT, NULL);
	assert_code(judge(&refusal, NULL, ROWLOCK_EAUTH, 1045), ROWLOCK_EAUTH,
		    NULL);
	assert_int_equal(logged, 1);
}

REFUSAL("the next refusal has its own time")
{
	rlk_refusal_begin(&refusal);
	judge(&refusal, NULL, ROWLOCK_EAUTH, 1045);
	stands_at_ms += 2 * (int64_t) MOST_MS;
	assert_code(judge(&refusal, NULL, ROWLOCK_EAUTH, 1045),
		    ROWLOCK_ECONNECT, NULL);
	assert_int_equal(logged, 2);
}

/* As the right to see who waits, which few accounts have. */
REFUSAL("a right that a statement never had is final")
{
	rlk_refusal_begin(&refusal);
	rlk_refusal_worked(&refusal, "acquire");
	assert_code(judge(&refusal, "waiters", ROWLOCK_EAUTH, 1142),
		    ROWLOCK_EAUTH, NULL);
	assert_code(judge(&refusal, "kill", ROWLOCK_EAUTH, 1227), ROWLOCK_EAUTH,
		    NULL);
	assert_int_equal(logged, 0);
	assert_code(judge(&refusal, "acquire", ROWLOCK_EAUTH, 1142),
		    ROWLOCK_ECONNECT, NULL);
	assert_code(judge(&refusal, "waiters", ROWLOCK_EAUTH, 1820),
		    ROWLOCK_ECONNECT, NULL);
}

/* Tables of the version before have no job_run. */
REFUSAL("a table that may be missing, and was not used before, is final")
{
	const struct rowlock_errinfo missing = {
		.code = ROWLOCK_ESCHEMA,
		.mysql = 1146,
		.message = "begin the run: Table 'd.job_run' doesn't exist",
	};

	rlk_refusal_begin(&refusal);
	assert_code(judge_error(&refusal, "begin the run", missing),
		    ROWLOCK_ESCHEMA, NULL);
	assert_int_equal(logged, 0);
	rlk_refusal_worked(&refusal, "begin the run");
	assert_code(judge_error(&refusal, "begin the run", missing),
		    ROWLOCK_ECONNECT, NULL);
}

CASE_MAIN(case_main)
