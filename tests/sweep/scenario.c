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

const struct scenario scenarios[] = {
	{ .name = "open",
	  .with = WITH_LEASE,
	  .deep = true,
	  .prepare = nothing,
	  .call = open_client,
	  .bound_ms = CONNECT_MS + CALL_MS,
	  .codes = { [EFFECT_ENDED] = CODES(AWAY),
		     [EFFECT_QUIET] = CODES(AWAY),
		     [EFFECT_REFUSED] = CODES(SAID_NO),
		     [EFFECT_BUSY] = CODES(SAID_NO) } },
	{ .name = "try-cold",
	  .with = WITH_LEASE | WITH_ROW | WITH_KEPT,
	  .deep = true,
	  .asks = true,
	  .prepare = cold,
	  .call = try_it,
	  .bound_ms = CALL_MS,
	  .codes = { [EFFECT_ENDED] = CODES(AWAY),
		     [EFFECT_QUIET] = CODES(AWAY, ROWLOCK_EDB),
		     [EFFECT_REFUSED] = CODES(SAID_NO),
		     [EFFECT_BUSY] = CODES(SAID_NO, ROWLOCK_EBUSY) } },
	{ .name = "try",
	  .with = WITH_LEASES | WITH_ROW | WITH_KEPT,
	  .asks = true,
	  .prepare = warm,
	  .call = try_it,
	  .bound_ms = CALL_MS,
	  .codes = { [EFFECT_ENDED] = CODES(AWAY),
		     [EFFECT_QUIET] = CODES(AWAY, ROWLOCK_EDB),
		     [EFFECT_REFUSED] = CODES(SAID_NO),
		     [EFFECT_BUSY] = CODES(SAID_NO, ROWLOCK_EBUSY) } },
	{ .name = "wait-cold",
	  .with = WITH_LEASE | WITH_ROW,
	  .asks = true,
	  .deep = true,
	  .prepare = cold,
	  .call = wait_for_it,
	  .bound_ms = WAIT_MS,
	  .codes = { [EFFECT_REFUSED] = CODES(SAID_NO),
		     [EFFECT_QUIET] = CODES(AWAY, ROWLOCK_ETIMEDOUT) } },
	{ .name = "wait",
	  .with = WITH_LEASES | WITH_ROW | WITH_KEPT,
	  .asks = true,
	  .prepare = warm,
	  .call = wait_for_it,
	  .bound_ms = WAIT_MS,
	  .codes = { [EFFECT_REFUSED] = CODES(SAID_NO),
		     [EFFECT_QUIET] = CODES(AWAY, ROWLOCK_ETIMEDOUT) } },
	{ .name = "try-busy",
	  .with = WITH_LEASES | WITH_ROW,
	  .asks = true,
	  .prepare = busy,
	  .call = try_it,
	  .bound_ms = CALL_MS,
	  .normal = ROWLOCK_EBUSY,
	  .codes = { [EFFECT_ENDED] = CODES(AWAY),
		     [EFFECT_QUIET] = CODES(AWAY, ROWLOCK_EDB),
		     [EFFECT_REFUSED] = CODES(SAID_NO),
		     [EFFECT_BUSY] = CODES(SAID_NO) } },
	{ .name = "wait-busy",
	  .with = WITH_LEASES | WITH_ROW,
	  .asks = true,
	  .prepare = busy_warm,
	  .call = wait_shortly,
	  .bound_ms = SHORT_WAIT_MS,
	  .normal = ROWLOCK_ETIMEDOUT,
	  /* A wait in line that is executed twice has no answer left for
	   * the last look. */
	  .codes = { [EFFECT_TWICE] = CODES(AWAY),
		     [EFFECT_ENDED] = CODES(AWAY),
		     [EFFECT_QUIET] = CODES(AWAY),
		     [EFFECT_REFUSED] = CODES(SAID_NO) } },
	{ .name = "wait-released",
	  .with = WITH_LEASES | WITH_ROW,
	  .asks = true,
	  .prepare = busy_warm,
	  .call = wait_for_release,
	  .bound_ms = WAIT_MS,
	  .codes = { [EFFECT_REFUSED] = CODES(SAID_NO),
		     [EFFECT_QUIET] = CODES(AWAY, ROWLOCK_ETIMEDOUT) } },
	{ .name = "try-dead-holder",
	  .with = WITH_LEASES,
	  .asks = true,
	  .prepare = dead_holder,
	  .call = try_it,
	  .bound_ms = CALL_MS,
	  .codes = { [EFFECT_ENDED] = CODES(AWAY, ROWLOCK_EBUSY),
		     [EFFECT_QUIET] = CODES(AWAY, ROWLOCK_EBUSY, ROWLOCK_EDB),
		     [EFFECT_REFUSED] = CODES(SAID_NO, ROWLOCK_EBUSY),
		     [EFFECT_BUSY] = CODES(SAID_NO, ROWLOCK_EBUSY) } },
	{ .name = "wait-observing",
	  .with = WITH_LEASE | WITH_PERMITS,
	  .asks = true,
	  .few = true,
	  .prepare = dead_holder_observed,
	  .call = observe,
	  .bound_ms = OBSERVING_MS,
	  .codes = { [EFFECT_QUIET] = CODES(AWAY, ROWLOCK_ETIMEDOUT),
		     [EFFECT_REFUSED] = CODES(SAID_NO) } },
	{ .name = "again-after-loss",
	  .with = WITH_LEASES | WITH_ROW,
	  .asks = true,
	  .prepare = lost_before,
	  .call = wait_for_it,
	  .bound_ms = WAIT_MS,
	  .codes = { [EFFECT_REFUSED] = CODES(SAID_NO),
		     [EFFECT_QUIET] = CODES(AWAY, ROWLOCK_ETIMEDOUT) } },
	/* A row's connection that ended unseen by the server keeps the name
	 * from the second try, too. */
	{ .name = "acquire-with-token",
	  .with = WITH_LEASE | WITH_ROW,
	  .asks = true,
	  .prepare = with_token,
	  .call = wait_for_it,
	  .bound_ms = WAIT_MS,
	  /* A grant that is lost before its token is drawn is asked for again;
	   * for so long a row may be locked by the connection before. */
	  .codes = { [EFFECT_ENDED] = CODES(AWAY, ROWLOCK_ETIMEDOUT),
		     [EFFECT_QUIET] = CODES(AWAY, ROWLOCK_ETIMEDOUT),
		     [EFFECT_REFUSED] = CODES(SAID_NO),
		     [EFFECT_BUSY] = CODES(SAID_NO) } },
	/* A lease outlives its connections, and whatever the server refuses:
	 * nothing of this loses it. What only reads is asked once. */
	{ .name = "token",
	  .with = WITH_LEASE | WITH_SETS | WITH_SIDES,
	  .prepare = holding,
	  .call = draw_token,
	  .bound_ms = CALL_MS,
	  .codes = { [EFFECT_QUIET] = CODES(AWAY),
		     [EFFECT_REFUSED] = CODES(SAID_NO),
		     [EFFECT_BUSY] = CODES(SAID_NO) } },
	{ .name = "token",
	  .with = WITH_ROW,
	  .prepare = holding,
	  .call = draw_token,
	  .bound_ms = CALL_MS,
	  .codes = { [EFFECT_ENDED] = CODES(AWAY, LOST),
		     [EFFECT_QUIET] = CODES(AWAY, LOST),
		     [EFFECT_REFUSED] = CODES(SAID_NO, LOST),
		     [EFFECT_BUSY] = CODES(SAID_NO, LOST) } },
	{ .name = "verify",
	  .with = WITH_LEASES,
	  .prepare = holding,
	  .call = verify_it,
	  .bound_ms = CALL_MS,
	  .codes = { [EFFECT_ENDED] = CODES(AWAY),
		     [EFFECT_QUIET] = CODES(AWAY),
		     [EFFECT_REFUSED] = CODES(SAID_NO),
		     [EFFECT_BUSY] = CODES(SAID_NO) } },
	{ .name = "verify",
	  .with = WITH_ROW,
	  .prepare = holding,
	  .call = verify_it,
	  .bound_ms = CALL_MS,
	  .codes = { [EFFECT_ENDED] = CODES(AWAY, LOST),
		     [EFFECT_QUIET] = CODES(AWAY, LOST),
		     [EFFECT_REFUSED] = CODES(SAID_NO, LOST),
		     [EFFECT_BUSY] = CODES(SAID_NO, LOST) } },
	{ .name = "release",
	  .with = WITH_LEASES | WITH_KEPT,
	  .prepare = holding,
	  .call = release_it,
	  .bound_ms = CALL_MS,
	  .codes = { [EFFECT_QUIET] = CODES(AWAY, ROWLOCK_EUNKNOWN),
		     [EFFECT_REFUSED] = CODES(SAID_NO),
		     [EFFECT_BUSY] = CODES(SAID_NO) } },
	{ .name = "release",
	  .with = WITH_ROW,
	  .prepare = holding,
	  .call = release_it,
	  .bound_ms = CALL_MS,
	  .codes = { [EFFECT_ENDED] = CODES(AWAY, LOST),
		     [EFFECT_QUIET] = CODES(AWAY, LOST),
		     [EFFECT_REFUSED] = CODES(SAID_NO, LOST),
		     [EFFECT_BUSY] = CODES(SAID_NO, LOST) } },
	/* Of either it is held before and after, and never not; what is
	 * given up is cleaned up later, if it cannot be at once. */
	{ .name = "upgrade",
	  .only = TRIED_READER,
	  .prepare = holding,
	  .call = upgrade_it,
	  .bound_ms = WAIT_MS + CALL_MS, /* it gives its other row back */
	  .codes = { [EFFECT_ENDED] = CODES(AWAY),
		     [EFFECT_QUIET] =
			 CODES(AWAY, ROWLOCK_ETIMEDOUT, ROWLOCK_EDB),
		     [EFFECT_REFUSED] = CODES(SAID_NO),
		     [EFFECT_BUSY] = CODES(SAID_NO, ROWLOCK_EBUSY) } },
	{ .name = "downgrade",
	  .only = TRIED_WRITER,
	  .prepare = holding,
	  .call = downgrade_it,
	  .bound_ms = 2 * CALL_MS,
	  .codes = { [EFFECT_ENDED] = CODES(AWAY),
		     [EFFECT_QUIET] = CODES(AWAY, ROWLOCK_EDB),
		     [EFFECT_REFUSED] = CODES(SAID_NO),
		     [EFFECT_BUSY] = CODES(SAID_NO, ROWLOCK_EBUSY) } },
	{ .name = "free-client",
	  .with = WITH_LEASE,
	  .prepare = warm,
	  .call = free_client,
	  .bound_ms = CALL_MS },
	{ .name = "list",
	  .with = WITH_LEASE | WITH_ROW,
	  .prepare = holding,
	  .call = list_it,
	  .bound_ms = CALL_MS,
	  .codes = { [EFFECT_ENDED] = CODES(AWAY),
		     [EFFECT_QUIET] = CODES(AWAY),
		     [EFFECT_REFUSED] = CODES(SAID_NO),
		     [EFFECT_BUSY] = CODES(SAID_NO) } },
	{ .name = "break",
	  .with = WITH_LEASE | WITH_SIDES | WITH_PERMITS | WITH_ELECTION,
	  .prepare = busy_warm,
	  .call = break_it,
	  .bound_ms = CALL_MS,
	  .codes = { [EFFECT_ENDED] = CODES(AWAY),
		     [EFFECT_QUIET] = CODES(AWAY),
		     [EFFECT_REFUSED] = CODES(SAID_NO),
		     [EFFECT_BUSY] = CODES(SAID_NO) } },
	/* It looks some times until the server shows the holder. */
	{ .name = "break",
	  .with = WITH_ROW,
	  .alone = true,
	  .prepare = busy_patient,
	  .call = break_it,
	  .bound_ms = PATIENT_CALL_MS,
	  .codes = { [EFFECT_ENDED] = CODES(AWAY),
		     [EFFECT_QUIET] = CODES(AWAY, ROWLOCK_EDB),
		     [EFFECT_REFUSED] = CODES(SAID_NO, ROWLOCK_EUNSUPPORTED),
		     [EFFECT_BUSY] = CODES(SAID_NO) } },
	{ .name = "reap",
	  .with = WITH_LEASE | WITH_ROW,
	  .prepare = dead_holder,
	  .call = reap_it,
	  .bound_ms = 10 * CALL_MS, /* for each of its statements */
	  .codes = { [EFFECT_ENDED] = CODES(AWAY),
		     [EFFECT_QUIET] = CODES(AWAY),
		     [EFFECT_REFUSED] = CODES(SAID_NO),
		     [EFFECT_BUSY] = CODES(SAID_NO) } },
	{ .name = "execute",
	  .with = WITH_LEASE,
	  .prepare = warm,
	  .call = execute_it,
	  .bound_ms = WAIT_MS + CALL_MS,
	  .codes = { [EFFECT_ENDED] = CODES(AWAY),
		     [EFFECT_QUIET] =
			 CODES(AWAY, ROWLOCK_ETIMEDOUT, ROWLOCK_EUNKNOWN),
		     [EFFECT_REFUSED] = CODES(SAID_NO, ROWLOCK_EUNKNOWN),
		     [EFFECT_BUSY] = CODES(ROWLOCK_EUNKNOWN) } },
	{ .name = "execute",
	  .with = WITH_ROW,
	  .prepare = warm,
	  .call = execute_it,
	  .bound_ms = WAIT_MS + CALL_MS,
	  .codes = { [EFFECT_ENDED] = CODES(AWAY, LOST),
		     [EFFECT_QUIET] = CODES(AWAY, LOST, ROWLOCK_ETIMEDOUT),
		     [EFFECT_REFUSED] = CODES(SAID_NO, LOST),
		     [EFFECT_BUSY] = CODES(LOST) } },
	{ .name = "beat",
	  .with = WITH_LEASE,
	  .prepare = holding,
	  .call = keep_beating,
	  .bound_ms = GUARD_MS },
	{ .name = "maximum",
	  .with = WITH_LEASE | WITH_SETS | WITH_PERMITS,
	  .few = true,
	  .prepare = holding_for_a_while,
	  .call = hold_to_the_end,
	  .bound_ms = MAX_HOLD_MS + CALL_MS, /* and what is said then */
	  .normal = ROWLOCK_ELOST },
	{ .name = "ping",
	  .with = WITH_ROW,
	  .prepare = holding,
	  .call = keep_pinging,
	  .bound_ms = GUARD_MS,
	  .codes = { [EFFECT_ENDED] = CODES(LOST),
		     [EFFECT_QUIET] = CODES(LOST),
		     [EFFECT_REFUSED] = CODES(LOST),
		     [EFFECT_BUSY] = CODES(LOST) } },
};

const size_t scenario_count = sizeof(scenarios) / sizeof(scenarios[0]);
