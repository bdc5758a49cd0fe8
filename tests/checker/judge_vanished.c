// SPDX-License-Identifier: MIT
/*
 * L1 of a host that vanished: what its row holds kept is free an idle bound
 * later, and who waits has it soon after.
 *
 * judge_names.c excuses for a while who was cut off, since what he waits for
 * may still be granted to him. Of what he held already nothing is in doubt: no
 * word of his reaches the server after the silence began, so the server's own
 * clock ends his session an idle bound later at the latest.
 */
#include <inttypes.h>

#include "run.h"

/* One hold, and the silence that fell on it. */
struct vanished {
	const struct hold *hold;
	const struct fault *drop;
	const struct fault *silence;
	uint64_t from; /* its session is over */
	uint64_t to;   /* and by then another has the name */
};

/* The fault that lets nothing pass in either direction. */
static const struct fault *drop_of(const struct run *run,
				   const struct fault *silence)
{
	size_t i;

	for (i = 0; i < run->faults.n; i++) {
		const struct fault *fault = &run->faults.all[i];

		if (history_is(fault->kind, "drop") &&
		    fault->process == silence->process &&
		    fault->begin <= silence->begin &&
		    fault->end >= silence->begin)
			return fault;
	}
	return NULL;
}

/* Does another fault slow those who wait? */
static bool is_disturbed(const struct run *run, const struct vanished *v)
{
	size_t i;

	for (i = 0; i < run->faults.n; i++) {
		const struct fault *fault = &run->faults.all[i];

		if (fault != v->drop &&
		    fault->effects & (FAULT_SLOWS | FAULT_ENDS) &&
		    fault->begin <= v->to && fault->end >= v->silence->begin)
			return true;
	}
	return false;
}

static bool was_held(const struct hold *hold, const struct fault *silence)
{
	return hold_granted(hold) && hold->process == silence->process &&
	       hold->acquired < silence->begin &&
	       (!hold->released || hold->released > silence->begin);
}

/* The first of the others to be granted the name. */
static uint64_t next_grant(const struct run *run, const struct vanished *v)
{
	uint64_t first = 0;
	size_t i;

	for (i = 0; i < run->n; i++) {
		const struct hold *hold = &run->holds[i];

		if (hold->name == v->hold->name && hold_granted(hold) &&
		    hold->process != v->hold->process &&
		    hold->acquired > v->silence->begin &&
		    hold->acquire_call <= v->from)
			first = first_of(first, hold->acquired);
	}
	return first;
}

static bool waits_in_vain(const struct run *run, const struct vanished *v,
			  const struct hold *hold)
{
	uint64_t until = hold->acquired ? hold->acquired : run->last.time;

	return hold->name == v->hold->name &&
	       hold->process != v->hold->process && hold->wait_ms &&
	       hold->acquire_call <= v->from && until > v->to &&
	       run_client(run, hold->process)->killed > v->to;
}

static void report(struct run *run, const struct vanished *v,
		   const struct hold *waiter)
{
	const struct hold *hold = v->hold;
	struct check_excerpt excerpt = { .n = 0 };

	if (run_wants(run, CHECK_IDLE_NAME)) {
		excerpt_add_line(&excerpt,
				 &run_client(run, hold->process)->line);
		excerpt_add_line(&excerpt,
				 &run_client(run, waiter->process)->line);
		excerpt_add(run, &excerpt, hold, HISTORY_ACQUIRE,
			    hold->acquire_call);
		excerpt_add(run, &excerpt, hold, HISTORY_ACQUIRED,
			    hold->acquired);
		excerpt_add_line(&excerpt, &v->drop->line);
		excerpt_add_line(&excerpt, &v->silence->line);
		excerpt_add(run, &excerpt, waiter, HISTORY_ACQUIRE,
			    waiter->acquire_call);
		if (waiter->acquired)
			excerpt_add(run, &excerpt, waiter, HISTORY_ACQUIRED,
				    waiter->acquired);
		else
			excerpt_add_line(&excerpt, &run->last);
	}
	run_report(run, CHECK_IDLE_NAME, &excerpt,
		   "%u vanished at %" PRIu64 ", and %u.%u still waited for "
		   "its %.*s at %" PRIu64,
		   hold->process, v->silence->begin, waiter->process,
		   waiter->thread, (int) run_name(run, hold->name).length,
		   run_name(run, hold->name).at, v->to);
}

static void judge_one(struct run *run, const struct vanished *v)
{
	uint64_t first = next_grant(run, v);
	size_t i;

	if (first && first <= v->to) {
		double ms =
		    ((double) first - (double) v->silence->begin) / RUN_MS;

		if (!run->result->vanished++ ||
		    ms > run->result->worst_vanished)
			run->result->worst_vanished = ms;
		return;
	}
	if (v->silence->end < v->to || run->last.time < v->to)
		return;
	for (i = 0; i < run->n; i++)
		if (waits_in_vain(run, v, &run->holds[i])) {
			report(run, v, &run->holds[i]);
			return;
		}
}

static void judge_silence(struct run *run, const struct fault *silence)
{
	const struct client *client =
	    run_client(run, (uint32_t) silence->process);
	struct vanished v = { .silence = silence };
	size_t i;

	v.drop = drop_of(run, silence);
	v.from = silence->begin + client->ttl;
	v.to = v.from + run->rules->idle_slack_ms * RUN_MS;
	if (!client->row || !v.drop || is_disturbed(run, &v))
		return;
	for (i = 0; i < run->n; i++)
		if (was_held(&run->holds[i], silence)) {
			v.hold = &run->holds[i];
			judge_one(run, &v);
		}
}

void judge_vanished(struct run *run)
{
	size_t i;

	for (i = 0; i < run->faults.n; i++) {
		const struct fault *fault = &run->faults.all[i];

		if (fault->effects & FAULT_CUTS && fault->process >= 0 &&
		    (size_t) fault->process < run->n_clients)
			judge_silence(run, fault);
	}
}
