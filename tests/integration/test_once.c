// SPDX-License-Identifier: MIT
/*
 * Jobs that succeed once per window, by many processes that are killed at
 * random, and with answers that are lost.
 */
#include <rowlock/mysql.h>
#include <rowlock/once.h>

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proxy_case.h"
#include "sql.h"
#include "test.h"

#define TTL_MS 10000
#define HOUR_US 3600000000ll
#define PROCESSES 5
#define ROUNDS 30
#define LIFE_US 60000
#define ROB_US 4000

/* The hour around now. */
static struct rowlock_run window_of(struct rowlock_client *client)
{
	struct rowlock_run run = { .size = sizeof(run) };
	int64_t now = 0;

	assert_ok(rowlock_server_time(client, &now, &err));
	run.from_us = now - HOUR_US;
	run.until_us = now + HOUR_US;
	return run;
}

static struct rowlock *acquire(struct rowlock_client *client, const char *name)
{
	struct rowlock *lock = test_lock(client, ROWLOCK_LEASE, 0, name);

	assert_ok(rowlock_acquire(lock, (uint64_t) test_patience_ms(), &err));
	return lock;
}

static uint64_t runs_of(struct test_sql *sql, const char *name,
			const char *where)
{
	return test_sql_number(sql,
			       "SELECT COUNT(*) FROM job_run WHERE name = '%s'"
			       " AND %s",
			       name, where);
}

/* A client whose calls end soon. */
static struct rowlock_client *hasty_client(uint64_t call_ms)
{
	struct rowlock_client_options options = test_client_options(TTL_MS);

	options.call_timeout_ms = call_ms;
	return test_client_with(&options);
}

/* A case begins with a lock that is held, and its window. They end with it. */
#define JOB_OF(made, word)                                                     \
	const char *name = test_name(word);                                    \
	TEST_CLIENT(client, made);                                             \
	TEST_LOCK(lock, acquire(client, name));                                \
	struct rowlock_run run = window_of(client);                            \
	TEST_SQL(sql)
#define JOB(word) JOB_OF(test_client(TTL_MS), word)

CASE("a window has one success")
{
	JOB("once");
	struct rowlock_run next;

	assert_ok(rowlock_once_begin(lock, &run, &err));
	assert_int_equal(runs_of(sql, name, "ended_at IS NULL"), 1);
	assert_ok(rowlock_once_end(lock, &run, 9, 0, &err));
	assert_int_equal(runs_of(sql, name, "code = 9 AND succeeded = 0"), 1);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_once_begin(lock, &run, &err));
	assert_ok(rowlock_once_end(lock, &run, 0, 1, &err));
	assert_int_equal(runs_of(sql, name, "nth = 2 AND succeeded = 1"), 1);
	assert_int_equal(test_sql_number(sql,
					 "SELECT COUNT(*) FROM business_lease"
					 " WHERE name = '%s'",
					 name),
			 0);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_code(rowlock_once_begin(lock, &run, &err), ROWLOCK_EDONE, &err);
	/* Another window has its own; one that is not now has none. */
	next = run;
	next.from_us = run.until_us;
	next.until_us = run.until_us + HOUR_US;
	assert_code(rowlock_once_begin(lock, &next, &err), ROWLOCK_EOVER, &err);
	next.from_us = run.from_us - HOUR_US;
	next.until_us = run.from_us;
	assert_code(rowlock_once_begin(lock, &next, &err), ROWLOCK_EOVER, &err);
	test_sql(sql,
		 "UPDATE job_run SET began_at = began_at - INTERVAL 2 HOUR"
		 " WHERE name = '%s'",
		 name);
	run.most = 1;
	assert_ok(rowlock_once_begin(lock, &run, &err));
	assert_ok(rowlock_once_end(lock, &run, 1, 0, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_code(rowlock_once_begin(lock, &run, &err), ROWLOCK_EOVER, &err);
	assert_ok(rowlock_release(lock, &err));
}

CASE("runs of windows of two lengths count in both")
{
	JOB("lengths");
	struct rowlock_run day = run, late = run;

	day.until_us = run.until_us + HOUR_US;
	assert_ok(rowlock_once_begin(lock, &run, &err));
	assert_ok(rowlock_once_end(lock, &run, 1, 0, &err));
	/* It begins after the first run, and before the second. */
	assert_ok(rowlock_server_time(client, &late.from_us, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_once_begin(lock, &day, &err));
	assert_int_equal(runs_of(sql, name, "nth = 2 AND ended_at IS NULL"), 1);
	assert_ok(rowlock_once_end(lock, &day, 1, 0, &err));
	late.most = 2;
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_once_begin(lock, &late, &err));
	assert_int_equal(runs_of(sql, name, "nth = 2 AND ended_at IS NULL"), 1);
	assert_ok(rowlock_once_end(lock, &late, 1, 0, &err));
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_code(rowlock_once_begin(lock, &late, &err), ROWLOCK_EOVER, &err);
	day.most = 3;
	assert_code(rowlock_once_begin(lock, &day, &err), ROWLOCK_EOVER, &err);
	/* A run that somebody took back does not count. */
	test_sql(sql, "UPDATE job_run SET nth = 0 WHERE name = '%s'", name);
	assert_ok(rowlock_once_begin(lock, &day, &err));
	assert_int_equal(runs_of(sql, name, "nth = 1"), 1);
	assert_ok(rowlock_release(lock, &err));
}

CASE("runs that are forgotten count")
{
	JOB("forgotten");

	run.keep = 1;
	run.most = 4;
	for (int i = 0; i < 4; i++) {
		assert_ok(rowlock_once_begin(lock, &run, &err));
		assert_ok(rowlock_once_end(lock, &run, 1, 0, &err));
		assert_ok(rowlock_acquire(lock, 0, &err));
	}
	assert_int_equal(runs_of(sql, name, "1"), 2);
	assert_code(rowlock_once_begin(lock, &run, &err), ROWLOCK_EOVER, &err);
	assert_ok(rowlock_release(lock, &err));
}

CASE("a lost lease notes nothing")
{
	JOB("lost");
	TEST_CLIENT(other, test_client(TTL_MS));
	struct rowlock_run its;

	assert_ok(rowlock_once_begin(lock, &run, &err));
	assert_ok(rowlock_break(other, ROWLOCK_LEASE, name, &err));
	TEST_LOCK(rival, acquire(other, name));
	its = run;
	assert_ok(rowlock_once_begin(rival, &its, &err));
	assert_code(rowlock_once_end(lock, &run, 0, 1, &err), ROWLOCK_ELOST,
		    &err);
	assert_int_equal(runs_of(sql, name, "succeeded = 1"), 0);
	assert_ok(rowlock_once_end(rival, &its, 0, 1, &err));
	assert_int_equal(runs_of(sql, name, "succeeded = 1"), 1);
}

/* The sweep is not committed yet. */
CASE("a lease that is being swept begins nothing")
{
	JOB_OF(hasty_client(500), "swept");

	test_sql(sql, "START TRANSACTION");
	test_sql(sql, "DELETE FROM business_lease WHERE name = '%s'", name);
	assert_int_not_equal(rowlock_once_begin(lock, &run, &err), 0);
	test_sql(sql, "COMMIT");
	assert_code(rowlock_once_begin(lock, &run, &err), ROWLOCK_ELOST, &err);
	assert_int_equal(runs_of(sql, name, "nth > 0"), 0);
}

/* Statement by statement, as another language does. Returns the first error. */
static unsigned int end_by(struct test_sql *sql, char *text, const char *end)
{
	char *rest = text, *statement;
	unsigned int error = 0;

	test_sql(sql, "START TRANSACTION");
	while (!error && (statement = strsep(&rest, ";")))
		error = test_sql_try(sql, "%s", statement);
	test_sql(sql, "%s", error ? "ROLLBACK" : end);
	return error;
}

static unsigned int end_by_text(struct test_sql *sql, struct rowlock *lock,
				const struct rowlock_run *run, const char *end)
{
	char text[ROWLOCK_GUARD_SQL_SIZE];

	assert_ok(rowlock_once_sql(lock, run, text, sizeof(text), &err));
	return end_by(sql, text, end);
}

CASE("the job's own transaction notes its success")
{
	JOB("own");
	TEST_CLIENT(other, test_client(TTL_MS));
	struct rowlock_run next = run;

	assert_ok(rowlock_once_begin(lock, &run, &err));
	assert_int_equal(end_by_text(sql, lock, &run, "ROLLBACK"), 0);
	assert_int_equal(runs_of(sql, name, "succeeded = 1"), 0);
	assert_int_equal(end_by_text(sql, lock, &run, "COMMIT"), 0);
	assert_int_equal(runs_of(sql, name, "succeeded = 1 AND code = 0"), 1);
	/* It dies before its end. */
	assert_ok(rowlock_break(other, ROWLOCK_LEASE, name, &err));
	TEST_LOCK(rival, acquire(other, name));
	assert_code(rowlock_once_begin(rival, &next, &err), ROWLOCK_EDONE,
		    &err);
	assert_ok(rowlock_release(rival, &err));
	assert_code(rowlock_once_end(lock, &run, 9, 0, &err), ROWLOCK_EDONE,
		    &err);
	assert_int_equal(runs_of(sql, name, "succeeded = 1 AND code = 0"), 1);
	/* It ends after it has noted its success. */
	test_sql(sql, "DELETE FROM job_run WHERE name = '%s'", name);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_once_begin(lock, &run, &err));
	assert_int_equal(end_by_text(sql, lock, &run, "COMMIT"), 0);
	assert_ok(rowlock_once_end(lock, &run, 0, 1, &err));
	assert_false(rowlock_held(lock));
}

CASE("a stale transaction notes no success")
{
	JOB("stale");
	TEST_CLIENT(other, test_client(TTL_MS));
	char text[ROWLOCK_GUARD_SQL_SIZE];
	struct rowlock_run unbegun;

	assert_code(rowlock_once_sql(lock, &run, text, sizeof(text), &err),
		    ROWLOCK_EINVAL, &err);
	assert_ok(rowlock_once_begin(lock, &run, &err));
	unbegun = run;
	unbegun.id = 0;
	assert_code(rowlock_once_sql(lock, &unbegun, text, sizeof(text), &err),
		    ROWLOCK_EINVAL, &err);
	assert_ok(rowlock_once_sql(lock, &run, text, sizeof(text), &err));
	assert_ok(rowlock_break(other, ROWLOCK_LEASE, name, &err));
	assert_int_equal(end_by(sql, text, "COMMIT"), 1242);
	assert_int_equal(runs_of(sql, name, "succeeded = 1"), 0);
	assert_code(rowlock_once_end(lock, &run, 0, 1, &err), ROWLOCK_ELOST,
		    &err);
	assert_ok(rowlock_acquire(lock, 0, &err));
	assert_ok(rowlock_once_begin(lock, &run, &err));
	test_sql(sql, "DELETE FROM job_run WHERE name = '%s'", name);
	assert_int_equal(end_by_text(sql, lock, &run, "COMMIT"), 1242);
	assert_code(rowlock_once_end(lock, &run, 0, 1, &err), ROWLOCK_EDB,
		    &err);
	assert_ok(rowlock_release(lock, &err));
}

/* Its success would be noted in the copy, and the next run would begin. */
CASE("a copy of the runs takes no success")
{
	JOB("copy");

	assert_ok(rowlock_once_begin(lock, &run, &err));
	test_sql(sql,
		 "CREATE TEMPORARY TABLE job_run AS SELECT * FROM job_run"
		 " WHERE name = '%s'",
		 name);
	assert_int_equal(end_by_text(sql, lock, &run, "COMMIT"), 1176);
	test_sql(sql, "DROP TEMPORARY TABLE job_run");
	assert_int_equal(runs_of(sql, name, "succeeded = 1"), 0);
	assert_ok(rowlock_once_end(lock, &run, 0, 1, &err));
}

CASE("the last runs are kept")
{
	JOB("kept");

	for (int i = 0; i < 30; i++) {
		assert_ok(rowlock_once_begin(lock, &run, &err));
		assert_ok(rowlock_once_end(lock, &run, i, 0, &err));
		assert_ok(rowlock_acquire(lock, 0, &err));
	}
	/* The last one, and 20 before it. */
	assert_int_equal(runs_of(sql, name, "1"), 21);
	assert_int_equal(runs_of(sql, name, "nth <= 9"), 0);
	/* The clock was a day ahead, and is set back. */
	test_sql(sql,
		 "UPDATE job_run SET began_at = began_at + INTERVAL 1 DAY"
		 " WHERE name = '%s'",
		 name);
	run.keep = 3;
	assert_ok(rowlock_once_begin(lock, &run, &err));
	assert_int_equal(runs_of(sql, name, "1"), 4);
	assert_ok(rowlock_once_end(lock, &run, 0, 1, &err));
	assert_int_equal(runs_of(sql, name, "succeeded = 1"), 1);
}

CASE("a run forgets others, and never itself")
{
	JOB("clock");

	/* Runs that began before the server's clock was set back. */
	for (int i = 0; i < 3; i++)
		test_sql(sql,
			 "INSERT INTO job_run (name, run, number, from_at,"
			 " until_at, nth, began_at) SELECT '%s', %d, %d, t, t,"
			 " 1, t FROM (SELECT UTC_TIMESTAMP(6) + INTERVAL %d DAY"
			 " AS t) f",
			 name, i, i, i + 1);
	run.keep = 1;
	assert_ok(rowlock_once_begin(lock, &run, &err));
	assert_int_equal(runs_of(sql, name, "run <= 1"), 0);
	assert_ok(rowlock_once_end(lock, &run, 0, 1, &err));
	assert_int_equal(runs_of(sql, name, "succeeded = 1"), 1);
	assert_int_equal(runs_of(sql, name, "1"), 2);
}

#define SUCCEEDED                                                              \
	"UPDATE job_run SET succeeded = 1, began_at = UTC_TIMESTAMP(6)"        \
	" - INTERVAL 2 HOUR, until_at = UTC_TIMESTAMP(6) - INTERVAL %d HOUR"   \
	" WHERE name = '%s'"

/* A clock that is set back by hours comes to their windows. */
CASE("the successes of a day are kept")
{
	JOB("day");

	for (int i = 0; i < 25; i++) {
		assert_ok(rowlock_once_begin(lock, &run, &err));
		assert_ok(rowlock_once_end(lock, &run, i, 0, &err));
		test_sql(sql, SUCCEEDED, 1, name);
		assert_ok(rowlock_acquire(lock, 0, &err));
	}
	assert_int_equal(runs_of(sql, name, "1"), 25);
	test_sql(sql, SUCCEEDED, 25, name);
	assert_ok(rowlock_once_begin(lock, &run, &err));
	assert_int_equal(runs_of(sql, name, "succeeded = 1"), 20);
	assert_int_equal(runs_of(sql, name, "succeeded = 1 AND code < 5"), 0);
	assert_ok(
	    rowlock_once_end(lock, &run, 0, ROWLOCK_ONCE_NOT_STARTED, &err));
	assert_int_equal(runs_of(sql, name, "succeeded = 0"), 0);
}

/* ---------------------------------------------------------- lost answers */

/* A client by way of a proxy. @call_ms: of its calls; 0: as always. */
static struct rowlock_client *client_behind(struct proxy *proxy,
					    uint64_t call_ms)
{
	struct rowlock_client_options like =
	    test_client_options(test_ttl_ms(TTL_MS));
	char dsn[512];

	proxy_dsn(proxy, test_dsn(), dsn, sizeof(dsn));
	like.dsn = dsn;
	like.call_timeout_ms = call_ms;
	return test_client_with(&like);
}

static void lose(const char *rule, const char *then, bool at_begin)
{
	TEST_PROXY(proxy, proxy_to(test_dsn()));
	JOB_OF(client_behind(proxy, 0), "answer");

	if (!at_begin)
		assert_ok(rowlock_once_begin(lock, &run, &err));
	tell(proxy, "%s do drop then=%s", rule, then);
	if (at_begin)
		assert_ok(rowlock_once_begin(lock, &run, &err));
	assert_ok(rowlock_once_end(lock, &run, 0, 1, &err));
	assert_int_equal(proxy_counts(proxy).harms, 1);
	assert_int_equal(runs_of(sql, name, "succeeded = 1"), 1);
	assert_int_equal(runs_of(sql, name, "1"), 1);
}

CASE("a lost answer is settled by reading")
{
	static const char *const ends[] = {
		"reply sql=\"COMMIT*\"",
		"request sql=\"COMMIT*\"",
		"reply sql=\"DELETE FROM business_lease*\"",
		"reply sql=\"UPDATE job_run*\"",
	};
	static const char *const begins[] = {
		"reply sql=\"COMMIT*\"",
		"request sql=\"COMMIT*\"",
		"reply sql=\"INSERT INTO job_run*\"",
	};

	for (size_t i = 0; i < TEST_SIZE(ends); i++)
		lose(ends[i], "rst", false);
	for (size_t i = 0; i < TEST_SIZE(begins); i++)
		lose(begins[i], "rst", true);
}

/* The COMMIT is done, its answer lost, and no later end reaches the server. */
#define NO_ANSWER                                                              \
	"reply sql=\"COMMIT*\" do drop then=rst\n"                             \
	"request sql=\"DELETE FROM business_lease*\" match=2 always"           \
	" do drop then=rst"
#define CALL_MS 1000
#define PAUSE_MS 20 /* src/core/call.c */

CASE("a lock that an unknown end has given back is not held")
{
	TEST_PROXY(proxy, proxy_to(test_dsn()));
	JOB_OF(client_behind(proxy, CALL_MS), "gone");
	TEST_CLIENT(other, test_client(TTL_MS));

	assert_ok(rowlock_once_begin(lock, &run, &err));
	tell(proxy, "%s", NO_ANSWER);
	assert_code(rowlock_once_end(lock, &run, 0, 1, &err), ROWLOCK_EUNKNOWN,
		    &err);
	/* It does not ask in a hot loop. */
	assert_in_range(proxy_counts(proxy).harms, 2, 5 + CALL_MS / PAUSE_MS);
	TEST_LOCK(rival, acquire(other, name));
	assert_true(rowlock_held(rival));
	assert_false(rowlock_held(lock));
	assert_code(rowlock_verify(lock, &err), ROWLOCK_ELOST, &err);
	tell(proxy, "clear");
	assert_ok(rowlock_once_end(lock, &run, 0, 1, &err));
	assert_code(rowlock_once_begin(rival, &run, &err), ROWLOCK_EDONE, &err);
	assert_ok(rowlock_release(rival, &err));
}

CASE("a failure after an unknown end is told of its success")
{
	TEST_PROXY(proxy, proxy_to(test_dsn()));
	JOB_OF(client_behind(proxy, CALL_MS), "failed");

	assert_ok(rowlock_once_begin(lock, &run, &err));
	tell(proxy, "%s", NO_ANSWER);
	assert_code(rowlock_once_end(lock, &run, 0, 1, &err), ROWLOCK_EUNKNOWN,
		    &err);
	tell(proxy, "clear");
	assert_code(rowlock_once_end(lock, &run, 7, 0, &err), ROWLOCK_EDONE,
		    &err);
	assert_non_null(strstr(err.message, "an end without an answer"));
}

CASE("a row that is locked by the run's own transaction is told")
{
	/* Twice the server's wait for a row, and less than that again. */
	JOB_OF(hasty_client(2500), "locked");

	assert_ok(rowlock_once_begin(lock, &run, &err));
	test_sql(sql, "START TRANSACTION");
	test_sql(sql,
		 "SELECT * FROM business_lease WHERE name = '%s' FOR UPDATE",
		 name);
	assert_code(rowlock_once_end(lock, &run, 0, 1, &err), ROWLOCK_EDB,
		    &err);
	assert_non_null(strstr(err.message, "has its row locked, perhaps one "
					    "of your own"));
	assert_true(rowlock_held(lock));
	test_sql(sql, "ROLLBACK");
	assert_ok(rowlock_once_end(lock, &run, 0, 1, &err));
}

/* ------------------------------------------------------------- processes */

/* Seen by all processes. */
struct shared {
	atomic_uint starts;
	atomic_uint successes; /* of which a process knows */
	atomic_uint late;      /* starts after one of these */
	atomic_bool settled;   /* no more kills */
};

struct round {
	const char *name;
	struct shared *shared;
	struct rowlock_run window;
	unsigned int seed;
	bool robbed; /* a process breaks it */
	bool well;   /* its work has succeeded */
};

enum { RAN_WELL = 10, RAN_BADLY, NOTHING_TO_DO, TROUBLE };

static int work(struct rowlock *lock, void *arg)
{
	struct round *round = arg;

	(void) lock;
	if (atomic_load(&round->shared->successes))
		atomic_fetch_add(&round->shared->late, 1);
	atomic_fetch_add(&round->shared->starts, 1);
	round->well = rand_r(&round->seed) % 3 > 0;
	return round->well ? 0 : 1;
}

static int run_process(struct round *round)
{
	struct rowlock_client_options options = test_client_options(TTL_MS);
	struct rowlock_client *client = NULL;
	int code;

	if (rowlock_client_new(&options, &client, NULL))
		return TROUBLE;
	/* From here on SIGALRM kills it at any moment. */
	if (!atomic_load(&round->shared->settled))
		setitimer(ITIMER_REAL,
			  &(struct itimerval){
			      .it_value.tv_usec =
				  rand_r(&round->seed) % LIFE_US + 1 },
			  NULL);
	code = rowlock_execute_once(client, round->name, NULL, &round->window,
				    (uint64_t) test_patience_ms(), work, round,
				    NULL);
	if (code == 0 && round->well)
		atomic_fetch_add(&round->shared->successes, 1);
	if (code == ROWLOCK_EDONE)
		return NOTHING_TO_DO;
	if (code == ROWLOCK_ELOST && round->robbed)
		return RAN_BADLY;
	if (code)
		return TROUBLE;
	return round->well ? RAN_WELL : RAN_BADLY;
}

/* Takes the lock away, at any moment, until it is killed. */
static int rob(const struct round *round)
{
	struct rowlock_client_options options = test_client_options(TTL_MS);
	struct rowlock_client *client = NULL;
	unsigned int seed = round->seed;

	if (rowlock_client_new(&options, &client, NULL))
		return TROUBLE;
	for (;;) {
		usleep((unsigned int) rand_r(&seed) % ROB_US);
		if (rowlock_break(client, ROWLOCK_LEASE, round->name, NULL) ==
		    ROWLOCK_EINVAL)
			return TROUBLE;
	}
}

static pid_t start_process(struct round *round)
{
	pid_t pid;

	round->seed = round->seed * 1103515245 + 12345;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(run_process(round));
	}
	return pid;
}

/* Restart those that were killed, or have failed, until all have found that
 * there is nothing to do. An operator's hand evicts the dead. */
static unsigned int play(struct round *round, struct test_sql *sql)
{
	unsigned int running = 0, kills = 0;
	pid_t robber = 0;

	if (round->robbed && (robber = fork()) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(rob(round));
	}
	for (; running < PROCESSES; running++)
		start_process(round);
	while (running) {
		int status;
		pid_t pid = wait(&status);
		int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;

		assert_true(pid > 0);
		assert_true(pid != robber);
		assert_int_not_equal(code, TROUBLE);
		running--;
		if (WIFSIGNALED(status)) {
			kills++;
			test_sql(sql,
				 "DELETE FROM lease_session WHERE pid = %d",
				 (int) pid);
		}
		if (kills > 4 * PROCESSES)
			atomic_store(&round->shared->settled, true);
		if (code == NOTHING_TO_DO)
			continue;
		start_process(round);
		running++;
	}
	if (robber) {
		kill(robber, SIGKILL);
		waitpid(robber, NULL, 0);
	}
	return kills;
}

CASE("one of many processes succeeds though they are killed")
{
	TEST_SQL(sql);
	struct shared *shared =
	    mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int kills = 0, starts = 0;

	assert_true(shared != MAP_FAILED);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct round round = { .shared = shared,
				       .seed = i + 1,
				       .robbed = i % 2 };
		struct rowlock_client *client = test_client(TTL_MS);

		round.name = test_name("round");
		round.window = window_of(client);
		test_client_end(client);
		memset((void *) shared, 0, sizeof(*shared));
		kills += play(&round, sql);
		starts += atomic_load(&shared->starts);
		assert_int_equal(atomic_load(&shared->late), 0);
		assert_true(atomic_load(&shared->starts) >= 1);
		assert_true(atomic_load(&shared->successes) <= 1);
		assert_int_equal(runs_of(sql, round.name, "succeeded = 1"), 1);
		assert_int_equal(
		    runs_of(
			sql, round.name,
			"began_at > (SELECT MIN(s.ended_at) FROM job_run s"
			" WHERE s.name = job_run.name AND s.succeeded = 1)"),
		    0);
	}
	test_figure(kills, "kills", "once: of %u runs", starts);
	assert_true(kills > ROUNDS);
	munmap(shared, sizeof(*shared));
}

CASE_MAIN(test_main)
