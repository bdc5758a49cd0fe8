// SPDX-License-Identifier: MIT
/*
 * What has to hold after a run, whatever the fault was:
 *
 *   - the call came back in its time (late by what the machine was late is
 *     not late: pulse.h), with a code that the table allows
 *   - two never have the lock: if the rival gets it, the client does not
 *     believe in its hold any more; nobody took it from the rival
 *   - the lock can be had: once it is not held, the rival gets it, before and
 *     after the client's end
 *   - nothing is left: no connection, thread, descriptor, live session
 *
 * A reply that was changed on the way may make the client believe anything,
 * as there is no checksum in the protocol (TLS has one): then only the last
 * two are asked for, and that nothing crashes or hangs.
 */
#include "sweep.h"

#include <string.h>
#include <unistd.h>

#include "pulse.h"
#include "test.h"

enum {
	ALLOWED_MS = 100, /* behind a deadline, by the promise */
	RIVAL_WAIT_MS = 6000,
	PATIENCE_MS = 5000,
};

static bool is_in(const int *codes, int code)
{
	for (; codes && *codes; codes++)
		if (*codes == code)
			return true;
	return false;
}

/* Later than promised, and later than the machine explains? */
static bool is_late(double late_ms, uint64_t began)
{
	double allowed = ALLOWED_MS * (double) test_slowness();

	return late_ms > allowed && late_ms > allowed + pulse_excuse_ms(began);
}

static void judge_time(struct stage *stage, const struct scenario *scenario,
		       struct measure *measure)
{
	double late =
	    stage->took_ms - (double) (scenario->bound_ms * stage->slow);

	if (late > measure->late_ms)
		measure->late_ms = late;
	if (is_late(late, stage->called))
		stage_slow(stage, "it came back %.0f ms behind its deadline",
			   late);
}

static void judge_code(struct stage *stage, const struct scenario *scenario,
		       enum effect effect)
{
	int code = stage->code;

	if (code == scenario->normal || is_in(scenario->codes[effect], code))
		return;
	stage_slow(stage, "it returned %d (%s): %s", code,
		   rowlock_strerror(code), code ? stage->err.message : "");
}

/* What the client believes must fit what the call said. */
static void judge_belief(struct stage *stage, const struct scenario *scenario)
{
	int held = stage_held(stage);

	if (scenario->asks && stage->code && held)
		stage_wrong(stage, "held after a failure (%d)", stage->code);
	if (stage->had && stage->code == ROWLOCK_ELOST && held)
		stage_wrong(stage, "held after ROWLOCK_ELOST");
}

/* A lease depends on no connection: what happens to one call loses none. */
static void judge_life(struct stage *stage)
{
	if (stage->strategy != ROWLOCK_LEASE || !stage->had ||
	    stage->max_hold_ms || !stage_held(stage))
		return;
	if (stage->lost || !stage_held(stage))
		stage_slow(stage, "the lease was lost, though nobody took it");
}

/* Does anybody else get it while the client has it? */
static void judge_exclusion(struct stage *stage)
{
	int code;

	if (!stage_held(stage))
		return;
	if (stage->rival_holds) {
		/* Unless it was broken, the rival has it. */
		if (rival_verify(stage, &err) == 0 && stage_held(stage))
			stage_wrong(stage, "two have it: the rival had it "
					   "before, and still has");
		return;
	}
	code = rival_acquire(stage, 0, &err);
	if (code == 0 && stage_held(stage))
		stage_wrong(stage, "two have it: the rival got it");
	if (code == 0)
		rival_release(stage, NULL);
	else if (code != ROWLOCK_EBUSY)
		stage_slow(stage, "the rival's try: %s", err.message);
}

/* Nobody but a break ends the rival's hold. */
static void end_rival(struct stage *stage, const struct scenario *scenario,
		      bool honest)
{
	bool broken = strcmp(scenario->name, "break") == 0;
	int code;

	if (!stage->rival_holds)
		return;
	stage->rival_holds = false;
	code = rival_release(stage, NULL);
	if (code && !broken)
		stage_wrong(stage, "the rival's hold was taken from it (%d)",
			    code);
	/* The connection that it is given back on may be ended by the break in
	 * that very moment. */
	if (broken && honest && stage->code == 0 && code != ROWLOCK_ELOST &&
	    code != ROWLOCK_EUNKNOWN)
		stage_wrong(stage, "the break broke nothing (%d)", code);
}

/* The second name is free whenever the first is. */
static void rival_gets_other(struct stage *stage, const char *when)
{
	int code = rowlock_acquire(stage->other_rival,
				   RIVAL_WAIT_MS * stage->slow, &err);

	if (code) {
		stage_slow(stage,
			   "the rival does not get the second name %s: "
			   "%s",
			   when, err.message);
		return;
	}
	if (stage_held(stage))
		stage_wrong(stage, "two have the second name %s", when);
	code = rowlock_release(stage->other_rival, &err);
	if (code)
		stage_slow(stage, "the rival's release %s: %s", when,
			   err.message);
}

/* S2: who has it later has a larger token than the leader's term. */
static void judge_term(struct stage *stage, const char *when)
{
	uint64_t token;

	if (stage->term && rowlock_token(stage->rival, &token, NULL) == 0 &&
	    token <= stage->term)
		stage_wrong(stage,
			    "the rival has token %llu %s, and the term was "
			    "%llu",
			    (unsigned long long) token, when,
			    (unsigned long long) stage->term);
}

static void rival_gets_it(struct stage *stage, const char *when,
			  struct measure *measure)
{
	uint64_t began = test_now_ns();
	int code = rival_acquire(stage, RIVAL_WAIT_MS * stage->slow, &err);
	double ms = test_ms(began, test_now_ns());

	if (ms > measure->rival_ms)
		measure->rival_ms = ms;
	if (code) {
		stage_slow(stage, "the rival does not get it %s: %s", when,
			   err.message);
		return;
	}
	if (stage_held(stage))
		stage_wrong(stage, "two have it %s", when);
	judge_term(stage, when);
	code = rival_release(stage, &err);
	if (code)
		stage_slow(stage, "the rival's release %s: %s", when,
			   err.message);
	if (stage->tried == TRIED_SET)
		rival_gets_other(stage, when);
}

static void let_go(struct stage *stage, enum effect effect)
{
	bool held = stage_held(stage);
	/* A row hold whose connection does not answer is lost at its release:
	 * nobody knows since when. */
	bool cut_off = stage->strategy == ROWLOCK_ROW &&
		       (effect == EFFECT_ENDED || effect == EFFECT_QUIET);
	int code;

	if (!stage_held(stage))
		return;
	if (stage->tried == TRIED_ELECTION &&
	    rowlock_token(stage->lock, &stage->term, NULL))
		stage->term = 0;
	code = stage_release(stage, &err);
	if (code &&
	    !(code == ROWLOCK_ELOST && (!held || cut_off || stage->lost)))
		stage_slow(stage, "the release afterwards: %s", err.message);
}

/* ---------------------------------------------------------------- leaks */

static bool within(uint64_t began, const struct stage *stage)
{
	return test_ms(began, test_now_ns()) <
	       (double) PATIENCE_MS * stage->slow;
}

static void judge_sockets(struct stage *stage, const struct kind *kind,
			  struct measure *measure)
{
	uint64_t began = test_now_ns();

	/* The server keeps a half-open one as long as it likes. */
	if (kind->half_open)
		stage_tell(stage, "end rst");
	while (proxy_counts(stage->proxy).links && within(began, stage))
		usleep(500);
	if (!kind->half_open &&
	    test_ms(began, test_now_ns()) > measure->links_ms)
		measure->links_ms = test_ms(began, test_now_ns());
	if (proxy_counts(stage->proxy).links)
		stage_slow(stage, "%lu connections are left",
			   proxy_counts(stage->proxy).links);
	while (stage_descriptors(stage) != stage->descriptors &&
	       within(began, stage))
		usleep(500);
	if (stage_descriptors(stage) != stage->descriptors)
		stage_slow(stage, "%u descriptors are left, there were %u",
			   stage_descriptors(stage), stage->descriptors);
}

static void judge_threads(struct stage *stage)
{
	uint64_t began = test_now_ns();

	while (stage_threads() > stage->threads && within(began, stage))
		usleep(500);
	if (stage_threads() > stage->threads)
		stage_slow(stage, "%u threads are left, there were %u",
			   stage_threads(), stage->threads);
}

/* A session that could not be deleted ends with its TTL; nobody beats it. The
 * fixture's host is 'h'. A keep outlives its client. */
static void judge_session(struct stage *stage, const struct kind *kind)
{
	bool none = kind->effect <= EFFECT_TWICE;
	uint64_t left = test_sql_number(
	    stage->sql,
	    "SELECT COUNT(*) FROM lease_session WHERE program = '%s' AND "
	    "host <> 'h' AND (%d OR expires_at > UTC_TIMESTAMP(6) + INTERVAL "
	    "ttl * 1000 MICROSECOND) AND breaks <= 4294967295",
	    stage->program, none);

	if (left)
		stage_slow(stage, "a session is left");
}

static void end_client(struct stage *stage)
{
	uint64_t began = test_now_ns();
	double late;

	stage_client_end(stage);
	late = test_ms(began, test_now_ns()) - (double) (CALL_MS * stage->slow);
	if (is_late(late, began))
		stage_slow(stage, "the client's end took %.0f ms too long",
			   late);
}

void judge(struct stage *stage, const struct scenario *scenario,
	   const struct target *target, const struct kind *kind,
	   struct measure *measure)
{
	enum effect effect = kind->effect;
	bool honest = kind->effect != EFFECT_LIED;

	/* The set-up of a connection is said again, its login is not. */
	if (effect == EFFECT_BUSY && target->sets_up &&
	    strcmp(target->command, "query") != 0)
		effect = EFFECT_ENDED;
	judge_time(stage, scenario, measure);
	if (kind->delivery == DELIVER_AFTER_CALL)
		stage_tell(stage, "deliver");
	if (honest) {
		judge_code(stage, scenario, effect);
		judge_belief(stage, scenario);
		judge_life(stage);
		judge_exclusion(stage);
		let_go(stage, kind->effect);
	}
	end_rival(stage, scenario, honest);
	if (honest)
		rival_gets_it(stage, "while the client lives", measure);
	if (kind->delivery == DELIVER_AFTER_RIVAL) {
		stage_tell(stage, "deliver");
		rival_gets_it(stage, "after the zombie", measure);
	}
	end_client(stage);
	rival_gets_it(stage, "after the client's end", measure);
	judge_sockets(stage, kind, measure);
	judge_threads(stage);
	judge_session(stage, kind);
}
