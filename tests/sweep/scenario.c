// SPDX-License-Identifier: MIT
/*
 * The calls, what is prepared for each, and what may come out of it.
 *
 * An unanswered request that is asked again leaves no trace in the result: so
 * after the end of a connection most calls must still succeed. Where a call
 * has no time left, or may not ask again, the table says so.
 */
#include "sweep.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

/* ------------------------------------------------------------- prepared */

static void nothing(struct stage *stage)
{
	(void) stage;
}

static void cold(struct stage *stage)
{
	stage_client(stage, 0);
}

/* Connections are open, statements prepared, a session is there. */
static void warm(struct stage *stage)
{
	stage_client(stage, 0);
	if (*stage->problem)
		return;
	stage_must(stage, stage_acquire(stage, 0, &stage->err), "acquire");
	stage_must(stage, stage_release(stage, NULL), "release");
	if (stage->tried == TRIED_KEPT)
		test_sql(stage->sql,
			 "DELETE FROM business_lease WHERE name = '%s'",
			 stage->name);
}

static void with_token(struct stage *stage)
{
	stage_client(stage, ROWLOCK_TOKEN_WITH_GRANT);
}

static void holding(struct stage *stage)
{
	stage_client(stage, 0);
	if (*stage->problem)
		return;
	stage_must(stage, stage_acquire(stage, 0, NULL), "acquire");
	stage->had = true;
}

static void rival_holding(struct stage *stage)
{
	stage_must(stage, rival_acquire(stage, 0, NULL), "the rival's acquire");
	stage->rival_holds = true;
}

static void busy(struct stage *stage)
{
	rival_holding(stage);
	cold(stage);
}

static void busy_patient(struct stage *stage)
{
	stage->patient = true;
	busy(stage);
}

/* It has asked once, so that all is prepared. */
static void busy_warm(struct stage *stage)
{
	warm(stage);
	rival_holding(stage);
}

/* A lease of a session that expired, and never was swept. */
static void dead_holder(struct stage *stage)
{
	warm(stage);
	/* A row of the acquire that failed may still be there. */
	if (*stage->problem)
		return;
	test_sql(stage->sql,
		 "INSERT INTO lease_session (id, ttl, expires_at, beat, "
		 "breaks, host, pid, program, started_at) SELECT CRC32('%s'), "
		 "1000, UTC_TIMESTAMP(6) - INTERVAL 1 SECOND, 0, 0, 'h', 1, "
		 "'%s', UTC_TIMESTAMP(6)",
		 stage->name, stage->program);
	test_sql(stage->sql,
		 "INSERT INTO business_lease (name, slot, session, attempt, "
		 "acquired_at) VALUES ('%s', %u, CRC32('%s'), 7, "
		 "UTC_TIMESTAMP(6))",
		 stage->name, rival_slot(stage), stage->name);
}

/* No clock of the server's tells who is dead. */
static void dead_holder_observed(struct stage *stage)
{
	stage->flags = ROWLOCK_OBSERVE_BEATS;
	dead_holder(stage);
}

static void holding_for_a_while(struct stage *stage)
{
	stage->max_hold_ms = MAX_HOLD_MS * stage->slow;
	holding(stage);
}

static void await_loss(struct stage *stage)
{
	uint64_t began = test_now_ns();

	while (!stage->lost &&
	       test_ms(began, test_now_ns()) < test_patience_ms())
		usleep(1000);
	if (!stage->lost)
		stage_slow(stage,
			   "preparation: the loss was not told in %.0f s",
			   test_ms(began, test_now_ns()) / 1000);
	stage_must(stage, stage_release(stage, NULL) == ROWLOCK_ELOST ? 0 : 1,
		   "release after the loss");
	stage->had = false;
}

/* The session was evicted, the row's connection killed: what was held is lost,
 * and known to be. */
static void lost_before(struct stage *stage)
{
	holding(stage);
	if (*stage->problem)
		return;
	if (stage->strategy == ROWLOCK_ROW)
		stage_tell(stage, "end rst");
	else
		test_sql(stage->sql,
			 "DELETE FROM lease_session WHERE program = '%s'",
			 stage->program);
	await_loss(stage);
}

/* It holds the job's lease, and knows its window. */
static void job_held(struct stage *stage)
{
	const int64_t day_us = INT64_C(86400000000);
	int64_t now = 0;

	holding(stage);
	if (*stage->problem)
		return;
	stage_must(stage, rowlock_server_time(stage->client, &now, NULL),
		   "rowlock_server_time");
	stage->job = (struct rowlock_run){
		.size = sizeof(stage->job),
		.from_us = now - now % day_us,
		.until_us = now - now % day_us + day_us,
	};
}

static void job_begun(struct stage *stage)
{
	job_held(stage);
	if (*stage->problem)
		return;
	stage_must(stage, rowlock_once_begin(stage->lock, &stage->job, NULL),
		   "rowlock_once_begin");
}

/* The rival has exported its hold. */
static void exported(struct stage *stage)
{
	warm(stage);
	if (*stage->problem)
		return;
	rival_holding(stage);
	stage_must(stage,
		   rowlock_export(stage->rival, stage->exported,
				  sizeof(stage->exported), NULL),
		   "rowlock_export");
	stage->rival_holds = false;
}

/* ---------------------------------------------------------------- calls */

static int open_client(struct stage *stage)
{
	struct rowlock_client_options options = stage_options(stage);

	return rowlock_client_new(&options, &stage->client, &stage->err);
}

static int try_it(struct stage *stage)
{
	return stage_acquire(stage, 0, &stage->err);
}

static int wait_for_it(struct stage *stage)
{
	return stage_acquire(stage, WAIT_MS * stage->slow, &stage->err);
}

static int wait_shortly(struct stage *stage)
{
	return stage_acquire(stage, SHORT_WAIT_MS * stage->slow, &stage->err);
}

static int observe(struct stage *stage)
{
	return stage_acquire(stage, OBSERVING_MS * stage->slow, &stage->err);
}

static void *let_go(void *arg)
{
	struct stage *stage = arg;

	/* A rule has seen that the client asks. */
	if (proxy_await_acts(stage->proxy, 1, test_patience_ms()))
		rival_release(stage, NULL);
	return NULL;
}

static int wait_for_release(struct stage *stage)
{
	pthread_t thread;
	int code;

	stage_tell(stage, "request sql=*business_l* always do pass");
	if (pthread_create(&thread, NULL, let_go, stage))
		abort();
	code = stage_acquire(stage, WAIT_MS * stage->slow, &stage->err);
	pthread_join(thread, NULL);
	stage->rival_holds = false;
	return code;
}

static int draw_token(struct stage *stage)
{
	return stage_token(stage, &stage->err);
}

static int verify_it(struct stage *stage)
{
	return rowlock_verify(stage->lock, &stage->err);
}

static int release_it(struct stage *stage)
{
	return stage_release(stage, &stage->err);
}

static int upgrade_it(struct stage *stage)
{
	return stage_changed(
	    stage, rowlock_rwlock_upgrade(stage->lock, WAIT_MS * stage->slow,
					  &stage->err));
}

static int downgrade_it(struct stage *stage)
{
	return stage_changed(
	    stage, rowlock_rwlock_downgrade(stage->lock, &stage->err));
}

static int free_client(struct stage *stage)
{
	int code;

	stage_free(stage, NULL);
	code = rowlock_client_try_free(stage->client, &stage->err);
	if (!code)
		stage->client = NULL;
	return code;
}

static int ignore_entry(const struct rowlock_entry *entry, void *arg)
{
	(void) entry;
	(void) arg;
	return 0;
}

static int list_it(struct stage *stage)
{
	struct rowlock_list_options options = ROWLOCK_LIST_OPTIONS_DEFAULT;

	options.name = stage->name;
	options.flags = ROWLOCK_LIST_PROBE;
	return rowlock_list(stage->client, &options, ignore_entry, NULL,
			    &stage->err);
}

static int break_it(struct stage *stage)
{
	return rowlock_break(stage->client, stage->strategy, stage->name,
			     &stage->err);
}

static int ask_for_it(struct stage *stage)
{
	struct rowlock_revocation told = { .size = sizeof(told) };

	return rowlock_revoke(stage->client, stage->name, "maintenance", &told,
			      &stage->err);
}

static int begin_job(struct stage *stage)
{
	return rowlock_once_begin(stage->lock, &stage->job, &stage->err);
}

/* An end without an answer is asked again, which tells what it has done. */
static int end_job(struct stage *stage)
{
	int code = ROWLOCK_EUNKNOWN;
	uint64_t noted;

	for (int i = 0; i < 2 && code == ROWLOCK_EUNKNOWN; i++)
		code = rowlock_once_end(stage->lock, &stage->job, 0,
					ROWLOCK_ONCE_SUCCEEDED, &stage->err);
	noted = test_sql_number(stage->sql,
				"SELECT COALESCE(SUM(succeeded), 0) FROM "
				"job_run WHERE name = '%s'",
				stage->name);
	if (!code && noted != 1)
		stage_wrong(stage, "a success is noted %llu times",
			    (unsigned long long) noted);
	return code;
}

/* The rival takes an export back that is not adopted. */
static int adopt_it(struct stage *stage)
{
	int code = rowlock_adopt(stage->lock, stage->exported, &stage->err);
	int back;

	if (!code)
		return 0;
	back = rowlock_release(stage->rival, &err);
	if (back && back != ROWLOCK_ELOST)
		stage_slow(stage, "the rival's release of its export: %s",
			   err.message);
	return code;
}

static int reap_it(struct stage *stage)
{
	return rowlock_reap(stage->client, NULL, NULL, &stage->err);
}

static void run_under_lock(struct rowlock *lock, void *arg)
{
	struct stage *stage = arg;

	/* As judge() does for the other calls. */
	if (rowlock_held(lock) && rival_acquire(stage, 0, NULL) == 0) {
		if (rowlock_held(lock))
			stage_wrong(stage,
				    "two have it: inside rowlock_execute()");
		rival_release(stage, NULL);
	}
}

static int execute_it(struct stage *stage)
{
	struct rowlock_options lock = ROWLOCK_OPTIONS_DEFAULT;

	lock.strategy = stage->strategy;
	return rowlock_execute(stage->client, stage->name, &lock,
			       WAIT_MS * stage->slow, run_under_lock, stage,
			       &stage->err);
}

/* Two heartbeats, or pings, pass; what does the client think then? */
static int hold_on(struct stage *stage, const char *rule)
{
	uint64_t began = test_now_ns();

	stage_tell(stage, "reply sql=\"%s\" command=%s always do pass", rule,
		   *rule ? "query" : "ping");
	/* The fault, if there is one, is the first act. */
	while (stage_held(stage) &&
	       test_ms(began, test_now_ns()) < TTL_MS * 2 * stage->slow &&
	       !proxy_await_acts(stage->proxy, 3, 10))
		;
	return stage_held(stage) ? 0 : ROWLOCK_ELOST;
}

static int keep_beating(struct stage *stage)
{
	return hold_on(stage, "UPDATE lease_session SET*");
}

static int keep_pinging(struct stage *stage)
{
	return hold_on(stage, "");
}

/* The maximum comes, and the client takes its row back. */
static int hold_to_the_end(struct stage *stage)
{
	uint64_t began = test_now_ns();

	stage_tell(stage, "request sql=\"DELETE*FROM business_lease*\" "
			  "command=query always do pass");
	while (!stage->lost &&
	       test_ms(began, test_now_ns()) < 2 * MAX_HOLD_MS * stage->slow)
		usleep(1000);
	if (stage_held(stage))
		return 0;
	/* A fault is an act, too. */
	proxy_await_acts(stage->proxy, 1, (int) (CALL_MS * stage->slow));
	return stage->lost ? ROWLOCK_ELOST : 0;
}

/* ---------------------------------------------------------------- table */

#define CODES(...) ((const int[]){ __VA_ARGS__, 0 })
#define AWAY ROWLOCK_ECONNECT
#define SAID_NO ROWLOCK_EDB, ROWLOCK_EREADONLY, ROWLOCK_ECONNECT
#define LOST ROWLOCK_ELOST

/* Codes that may come instead of the normal one, by effect. */
#define ALSO(ended, quiet, refused, busy)                                      \
	.codes = { [EFFECT_ENDED] = (ended),                                   \
		   [EFFECT_QUIET] = (quiet),                                   \
		   [EFFECT_REFUSED] = (refused),                               \
		   [EFFECT_BUSY] = (busy) }
#define NOTHING_ELSE .codes = { NULL }
/* A call that only reads does not ask again. */
#define ASKED_ONCE                                                             \
	ALSO(CODES(AWAY), CODES(AWAY), CODES(SAID_NO), CODES(SAID_NO))
#define TRIED_ONCE                                                             \
	ALSO(CODES(AWAY), CODES(AWAY), CODES(SAID_NO),                         \
	     CODES(SAID_NO, ROWLOCK_EBUSY))
#define WAITED_FOR                                                             \
	ALSO(NULL, CODES(AWAY, ROWLOCK_ETIMEDOUT), CODES(SAID_NO), NULL)
/* A row's connection is its hold. */
#define OR_LOST                                                                \
	ALSO(CODES(AWAY, LOST), CODES(AWAY, LOST), CODES(SAID_NO, LOST),       \
	     CODES(SAID_NO, LOST))

#define SCENARIO(title, tried, prepared, called, most_ms, ...)                 \
	{                                                                      \
		.name = (title), .with = (tried), .prepare = (prepared),       \
		.call = (called), .bound_ms = (most_ms), __VA_ARGS__           \
	}

const struct scenario scenarios[] = {
	SCENARIO("open", WITH_LEASE, nothing, open_client, CONNECT_MS + CALL_MS,
		 .deep = true, ASKED_ONCE),
	SCENARIO("try-cold", WITH_LEASE | WITH_ROW | WITH_KEPT, cold, try_it,
		 CALL_MS, .deep = true, .asks = true, TRIED_ONCE),
	SCENARIO("try", WITH_LEASES | WITH_ROW | WITH_KEPT, warm, try_it,
		 CALL_MS, .asks = true, TRIED_ONCE),
	SCENARIO("wait-cold", WITH_LEASE | WITH_ROW, cold, wait_for_it, WAIT_MS,
		 .deep = true, .asks = true, WAITED_FOR),
	SCENARIO("wait", WITH_LEASES | WITH_ROW | WITH_KEPT, warm, wait_for_it,
		 WAIT_MS, .asks = true, WAITED_FOR),
	SCENARIO("try-busy", WITH_LEASES | WITH_ROW, busy, try_it, CALL_MS,
		 .asks = true, .normal = ROWLOCK_EBUSY, ASKED_ONCE),
	/* A wait in line that is executed twice has no answer left for
	 * the last look. */
	SCENARIO("wait-busy", WITH_LEASES | WITH_ROW, busy_warm, wait_shortly,
		 SHORT_WAIT_MS, .asks = true, .normal = ROWLOCK_ETIMEDOUT,
		 .codes = { [EFFECT_TWICE] = CODES(AWAY),
			    [EFFECT_ENDED] = CODES(AWAY),
			    [EFFECT_QUIET] = CODES(AWAY),
			    [EFFECT_REFUSED] = CODES(SAID_NO) }),
	SCENARIO("wait-released", WITH_LEASES | WITH_ROW, busy_warm,
		 wait_for_release, WAIT_MS, .asks = true, WAITED_FOR),
	SCENARIO("try-dead-holder", WITH_LEASES, dead_holder, try_it, CALL_MS,
		 .asks = true,
		 ALSO(CODES(AWAY, ROWLOCK_EBUSY), CODES(AWAY, ROWLOCK_EBUSY),
		      CODES(SAID_NO, ROWLOCK_EBUSY),
		      CODES(SAID_NO, ROWLOCK_EBUSY))),
	SCENARIO("wait-observing", WITH_LEASE | WITH_PERMITS,
		 dead_holder_observed, observe, OBSERVING_MS, .asks = true,
		 .few = true, WAITED_FOR),
	SCENARIO("again-after-loss", WITH_LEASES | WITH_ROW, lost_before,
		 wait_for_it, WAIT_MS, .asks = true, WAITED_FOR),
	/* A row's connection that ended unseen by the server keeps the name
	 * from the second try, too. A grant that is lost before its token is
	 * drawn is asked for again; meanwhile the connection before may have
	 * the row locked. */
	SCENARIO("acquire-with-token", WITH_LEASE | WITH_ROW, with_token,
		 wait_for_it, WAIT_MS, .asks = true,
		 ALSO(CODES(AWAY, ROWLOCK_ETIMEDOUT),
		      CODES(AWAY, ROWLOCK_ETIMEDOUT), CODES(SAID_NO),
		      CODES(SAID_NO))),
	/* A lease outlives its connections, and whatever the server refuses:
	 * nothing of this loses it. What only reads is asked once. */
	SCENARIO("token", WITH_LEASE | WITH_SETS | WITH_SIDES, holding,
		 draw_token, CALL_MS,
		 ALSO(NULL, CODES(AWAY), CODES(SAID_NO), CODES(SAID_NO))),
	SCENARIO("token", WITH_ROW, holding, draw_token, CALL_MS, OR_LOST),
	SCENARIO("verify", WITH_LEASES, holding, verify_it, CALL_MS,
		 ASKED_ONCE),
	SCENARIO("verify", WITH_ROW, holding, verify_it, CALL_MS, OR_LOST),
	SCENARIO("release", WITH_LEASES | WITH_KEPT, holding, release_it,
		 CALL_MS,
		 ALSO(NULL, CODES(AWAY, ROWLOCK_EUNKNOWN), CODES(SAID_NO),
		      CODES(SAID_NO))),
	SCENARIO("release", WITH_ROW, holding, release_it, CALL_MS, OR_LOST),
	/* Of either it is held before and after, and never not; what is
	 * given up is cleaned up later, if it cannot be at once. An
	 * upgrade gives its other row back. */
	SCENARIO("upgrade", 0, holding, upgrade_it, WAIT_MS + CALL_MS,
		 .only = TRIED_READER,
		 ALSO(CODES(AWAY), CODES(AWAY, ROWLOCK_ETIMEDOUT),
		      CODES(SAID_NO), CODES(SAID_NO, ROWLOCK_EBUSY))),
	SCENARIO("downgrade", 0, holding, downgrade_it, 2 * CALL_MS,
		 .only = TRIED_WRITER, TRIED_ONCE),
	SCENARIO("free-client", WITH_LEASE, warm, free_client, CALL_MS,
		 NOTHING_ELSE),
	SCENARIO("list", WITH_LEASE | WITH_ROW, holding, list_it, CALL_MS,
		 ASKED_ONCE),
	SCENARIO("break",
		 WITH_LEASE | WITH_SIDES | WITH_PERMITS | WITH_ELECTION,
		 busy_warm, break_it, CALL_MS, ASKED_ONCE),
	/* It looks some times until the server shows the holder. */
	SCENARIO("break", WITH_ROW, busy_patient, break_it, PATIENT_CALL_MS,
		 .alone = true,
		 ALSO(CODES(AWAY), CODES(AWAY, ROWLOCK_EDB),
		      CODES(SAID_NO, ROWLOCK_EUNSUPPORTED), CODES(SAID_NO))),
	SCENARIO("revoke", WITH_LEASE, busy_warm, ask_for_it, 2 * CALL_MS,
		 ASKED_ONCE),
	SCENARIO("adopt", WITH_LEASE, exported, adopt_it, 2 * CALL_MS,
		 .asks = true, ASKED_ONCE),
	SCENARIO("once-begin", WITH_LEASE, job_held, begin_job, 2 * CALL_MS,
		 ASKED_ONCE),
	SCENARIO("once-end", WITH_LEASE, job_begun, end_job, 4 * CALL_MS,
		 ASKED_ONCE),
	/* A call for each of its statements. */
	SCENARIO("reap", WITH_LEASE | WITH_ROW, dead_holder, reap_it,
		 10 * CALL_MS, ASKED_ONCE),
	SCENARIO(
	    "execute", WITH_LEASE, warm, execute_it, WAIT_MS + CALL_MS,
	    ALSO(CODES(AWAY), CODES(AWAY, ROWLOCK_ETIMEDOUT, ROWLOCK_EUNKNOWN),
		 CODES(SAID_NO, ROWLOCK_EUNKNOWN), CODES(ROWLOCK_EUNKNOWN))),
	SCENARIO("execute", WITH_ROW, warm, execute_it, WAIT_MS + CALL_MS,
		 ALSO(CODES(AWAY, LOST), CODES(AWAY, LOST, ROWLOCK_ETIMEDOUT),
		      CODES(SAID_NO, LOST), CODES(LOST))),
	SCENARIO("beat", WITH_LEASE, holding, keep_beating, GUARD_MS,
		 NOTHING_ELSE),
	/* The maximum, and a call in which the loss is said. */
	SCENARIO("maximum", WITH_LEASE | WITH_SETS | WITH_PERMITS,
		 holding_for_a_while, hold_to_the_end, MAX_HOLD_MS + CALL_MS,
		 .few = true, .normal = ROWLOCK_ELOST, NOTHING_ELSE),
	SCENARIO("ping", WITH_ROW, holding, keep_pinging, GUARD_MS,
		 ALSO(CODES(LOST), CODES(LOST), CODES(LOST), CODES(LOST))),
};

const size_t scenario_count = sizeof(scenarios) / sizeof(scenarios[0]);
