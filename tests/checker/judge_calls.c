// SPDX-License-Identifier: MIT
/*
 * L2: a call returns by its deadline; and what it may return, when.
 *
 * Time in which a fault hindered the caller itself (it was stopped, or had no
 * CPU) does not count: a return that is late by no more is no violation. Server
 * errors are allowed while a fault that causes them is about; a deadlock (1213)
 * or a misuse (not the owner, not held) never is.
 */
#include <inttypes.h>
#include <stdlib.h>

#include <rowlock.h>

#include "run.h"

#define CR_DEADLOCK 1213u
#define ANSWER_MS 1000  /* a server may take so long without a fault */
#define HEALING_MS 1500 /* errors of calls that began so soon after a fault */

/* How long this call may take; UINT64_MAX: as long as it likes. */
static uint64_t limit_of(const struct run *run, const struct hold *hold,
			 enum history_event call)
{
	uint64_t slack = run->rules->call_slack_ms * RUN_MS;

	if (call != HISTORY_ACQUIRE || !hold->wait_ms)
		return run_client(run, hold->process)->call + slack;
	if (hold->wait_ms < 0)
		return UINT64_MAX;
	return (uint64_t) hold->wait_ms * RUN_MS + slack;
}

static enum history_event call_of(enum history_event event)
{
	switch (event) {
	case HISTORY_ACQUIRED:
		return HISTORY_ACQUIRE;
	case HISTORY_DREW:
		return HISTORY_TOKEN;
	case HISTORY_VERIFIED:
		return HISTORY_VERIFY;
	default:
		return HISTORY_RELEASE;
	}
}

static const char *word_of(enum history_event call)
{
	switch (call) {
	case HISTORY_ACQUIRE:
		return "acquire";
	case HISTORY_TOKEN:
		return "token";
	case HISTORY_VERIFY:
		return "verify";
	default:
		return "release";
	}
}

static void judge_late(struct run *run, const struct note *note)
{
	const struct hold *hold = &run->holds[note->hold];
	enum history_event call = call_of(note->event);
	uint64_t limit = limit_of(run, hold, call);
	uint64_t took = note->returned - note->call;
	uint64_t hindered =
	    faults_time(&run->faults, FAULT_HINDERS, hold->process, note->call,
			note->returned);
	struct check_excerpt excerpt = { .n = 0 };
	double beyond;

	if (limit == UINT64_MAX)
		return;
	beyond = ((double) took - (double) limit) / RUN_MS +
		 (double) run->rules->call_slack_ms;
	if (hindered && took <= limit + hindered) {
		run->result->excused_calls += took > limit;
		return;
	}
	if (beyond > run->result->worst_call)
		run->result->worst_call = beyond;
	if (took <= limit)
		return;
	if (run_wants(run, CHECK_LATE_CALL)) {
		if (call != HISTORY_ACQUIRE || !hold->wait_ms)
			excerpt_add_line(&excerpt,
					 &run_client(run, hold->process)->line);
		excerpt_add(run, &excerpt, hold, HISTORY_ACQUIRE,
			    hold->acquire_call);
		excerpt_add_call(run, &excerpt, hold, note->event,
				 note->returned);
	}
	run_report(run, CHECK_LATE_CALL, &excerpt,
		   "%u.%u: %s returned %.1f ms after its deadline",
		   hold->process, hold->thread, word_of(call), beyond);
}

static void judge_unreturned(struct run *run, const struct hold *hold)
{
	uint64_t limit = limit_of(run, hold, hold->calling);
	uint64_t until = run->last.time;
	struct check_excerpt excerpt = { .n = 0 };

	if (limit == UINT64_MAX)
		return;
	if (run_client(run, hold->process)->killed < until)
		until = run_client(run, hold->process)->killed;
	limit += hold->call + faults_time(&run->faults, FAULT_HINDERS,
					  hold->process, hold->call, until);
	if (until <= limit)
		return;
	if (run_wants(run, CHECK_LATE_CALL)) {
		if (hold->calling != HISTORY_ACQUIRE || !hold->wait_ms)
			excerpt_add_line(&excerpt,
					 &run_client(run, hold->process)->line);
		excerpt_add(run, &excerpt, hold, HISTORY_ACQUIRE,
			    hold->acquire_call);
		excerpt_add(run, &excerpt, hold, hold->calling, hold->call);
		excerpt_add_line(&excerpt, &run->last);
	}
	run_report(run, CHECK_LATE_CALL, &excerpt, "%u.%u: %s never returned",
		   hold->process, hold->thread, word_of(hold->calling));
}

static bool is_server_error(int code)
{
	return code == ROWLOCK_ECONNECT || code == ROWLOCK_EDB ||
	       code == ROWLOCK_EREADONLY || code == ROWLOCK_EAUTH ||
	       code == ROWLOCK_EUNKNOWN;
}

/* BUSY is for a try only, TIMEDOUT for who waited, and not before his time. */
static bool is_untrue(const struct hold *hold, const struct note *note)
{
	uint64_t waited = note->returned - note->call;

	if (note->event != HISTORY_ACQUIRED)
		return note->code == ROWLOCK_ETIMEDOUT ||
		       note->code == ROWLOCK_EBUSY;
	if (note->code == ROWLOCK_EBUSY)
		return hold->wait_ms != 0;
	if (note->code != ROWLOCK_ETIMEDOUT)
		return false;
	return hold->wait_ms <= 0 ||
	       waited + RUN_MS < (uint64_t) hold->wait_ms * RUN_MS;
}

/* He gave a server that is alive too little time to answer: that nothing is
 * known is true then, on a busy machine. */
static bool is_impatient(const struct hold *hold, const struct note *note)
{
	return note->event == HISTORY_ACQUIRED &&
	       note->code == ROWLOCK_ECONNECT && hold->wait_ms > 0 &&
	       hold->wait_ms < ANSWER_MS &&
	       note->returned - note->call >= (uint64_t) hold->wait_ms * RUN_MS;
}

static bool is_forbidden(const struct run *run, const struct hold *hold,
			 const struct note *note)
{
	if (note->mysql == CR_DEADLOCK || is_untrue(hold, note))
		return true;
	if (note->code == ROWLOCK_EBUSY || note->code == ROWLOCK_ETIMEDOUT ||
	    note->code == ROWLOCK_ECANCELED)
		return false;
	if (!is_server_error(note->code))
		return true;
	if (is_impatient(hold, note))
		return false;
	return !faults_find(&run->faults, FAULT_ERRORS, hold->process,
			    note->call, note->returned,
			    (uint64_t) HEALING_MS * RUN_MS);
}

static void judge_error(struct run *run, const struct note *note)
{
	const struct hold *hold = &run->holds[note->hold];
	struct check_excerpt excerpt = { .n = 0 };

	if (!is_forbidden(run, hold, note))
		return;
	if (run_wants(run, CHECK_ERROR)) {
		excerpt_add(run, &excerpt, hold, HISTORY_ACQUIRE,
			    hold->acquire_call);
		excerpt_add_call(run, &excerpt, hold, note->event,
				 note->returned);
	}
	run_report(run, CHECK_ERROR, &excerpt,
		   "%u.%u: %s returned %d (%s), server errno %u", hold->process,
		   hold->thread, word_of(call_of(note->event)), note->code,
		   rowlock_strerror(note->code), note->mysql);
}

void judge_calls(struct run *run)
{
	size_t i;

	for (i = 0; i < run->late.n; i++)
		judge_late(run, &run->late.all[i]);
	for (i = 0; i < run->errors.n; i++)
		judge_error(run, &run->errors.all[i]);
	for (i = 0; i < run->n; i++)
		if (run->holds[i].call)
			judge_unreturned(run, &run->holds[i]);
}
