/* SPDX-License-Identifier: MIT */
/*
 * Reports the leader to any client: a watch of the name, and the order of
 * terms.
 *
 * Answers may come from servers of which one is late. The answers about a name
 * are ordered by the last term that was drawn, and whether it is over; an
 * answer that is before an earlier one is ignored.
 */
#include <rowlock/election.h>

#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "core/call.h"

struct rowlock_observer {
	const struct rowlock_client *client;
	struct rowlock_watch *watch;
	rowlock_leader_fn fn;
	void *arg;

	/* For the watch's thread alone. */
	uint64_t term; /* the largest seen */
	bool over;     /* and it is over for good */
	bool told;
	uint64_t told_term;
	enum rowlock_leader_state told_state;
};

static void tell(struct rowlock_observer *observer,
		 const struct rowlock_leader *leader)
{
	if (observer->told && observer->told_state == leader->state &&
	    observer->told_term == leader->term)
		return;
	observer->told = true;
	observer->told_state = leader->state;
	observer->told_term = leader->term;
	observer->fn(leader, observer->arg);
}

/* Is the answer at least as late as the last one? */
static bool hear(struct rowlock_observer *observer, uint64_t term, bool over)
{
	if (term < observer->term ||
	    (term == observer->term && observer->over && !over))
		return false;
	observer->term = term;
	observer->over = over;
	return true;
}

/* The last term in the answer. If the answer has none because the reaper
 * collected it (which happens to old terms only), the term seen before. A
 * server that is late cannot have collected a term as late. */
static uint64_t term_of(const struct rowlock_observer *observer,
			const struct rowlock_entry *entry)
{
	return !entry->last_token && entry->collected >= observer->term
		   ? observer->term
		   : entry->last_token;
}

/* An expired leader is no leader, though it may come back unless it was
 * evicted. */
static void on_entry(const struct rowlock_entry *entry, void *arg)
{
	struct rowlock_observer *observer = arg;
	struct rowlock_leader leader = {
		.size = sizeof(leader),
		.state = ROWLOCK_LEADER_UNKNOWN,
		.name = entry->name,
		.term = observer->term,
		.since = "",
		.info = "",
		.host = "",
		.program = "",
	};

	if (entry->state == ROWLOCK_STATE_UNKNOWN) {
		tell(observer, &leader);
		return;
	}
	leader.term = term_of(observer, entry);
	if (!hear(observer, leader.term, entry->token == 0))
		return;
	leader.state = ROWLOCK_LEADER_NONE;
	if (entry->token && entry->state == ROWLOCK_STATE_HELD) {
		leader.state = ROWLOCK_LEADER_PRESENT;
		leader.since = entry->drawn_at;
		leader.info = entry->info;
		leader.host = entry->host;
		leader.pid = entry->pid;
		leader.program = entry->program;
	}
	tell(observer, &leader);
}

int rowlock_observer_new(struct rowlock_client *client, const char *name,
			 const struct rowlock_watch_options *options,
			 rowlock_leader_fn fn, void *arg,
			 struct rowlock_observer **ret_observer,
			 struct rowlock_errinfo *reterr)
{
	struct rowlock_observer *observer;
	int code;

	if (!ret_observer)
		return rlk_fail_null("ret_observer", reterr);
	if (!fn)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"observer of '%.150s': give a function",
				name ? name : "");
	observer = calloc(1, sizeof(*observer));
	if (!observer)
		return rlk_fail(reterr, ROWLOCK_ENOMEM,
				"observer of '%.150s': out of memory",
				name ? name : "");
	observer->client = client;
	observer->fn = fn;
	observer->arg = arg;
	code = rowlock_watch_new(client, name, options, on_entry, observer,
				 &observer->watch, reterr);
	if (code) {
		free(observer);
		return code;
	}
	*ret_observer = observer;
	return 0;
}

void rowlock_observer_free(struct rowlock_observer *observer)
{
	if (!observer || rlk_client_forked(observer->client))
		return;
	rowlock_watch_free(observer->watch);
	free(observer);
}
