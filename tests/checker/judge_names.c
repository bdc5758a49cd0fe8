// SPDX-License-Identifier: MIT
/*
 * L1: a name that nobody can have any more is soon had by who waits for it.
 *
 * For each name the time in which somebody may have it is put together: from
 * each grant to its release, or as long as a dead, cut off or unclear one may
 * block others (its TTL, or idle bound). What is left, and no fault slows, is
 * the time in which it was free for sure; whoever waited through more of it
 * than the slack was failed. And so were those who asked again and again in
 * vain for as long: a single try may meet another's, a row of them does not.
 */
#include <inttypes.h>
#include <stdlib.h>

#include <rowlock.h>

#include "run.h"
#include "vector.h"

#define HEALING_MS 2000 /* clients ask a server that was away once a second */

struct gap {
	uint32_t name;
	uint64_t from;
	uint64_t to;
	bool dead; /* who had it last did not give it back */
};

struct gaps {
	struct gap *all;
	size_t n;
	size_t room;
};

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* How long what a client left behind may block others: its session lives a
 * TTL, and who may not trust clocks looks for as long again. */
static uint64_t blocks(const struct client *client)
{
	uint64_t time = client->ttl + client->margin;

	return client->row || !client->observe ? time : time * 2;
}

/* Until when this acquire may keep the name busy. */
static uint64_t busy_until(const struct run *run, const struct hold *hold)
{
	const struct client *client = run_client(run, hold->process);
	uint64_t over = first_of(hold->denied, hold->lost);

	if (!hold->acquired || (hold->acquire_code && !hold->released))
		over = hold->acquired ? hold->acquired : client->killed;
	else if (hold->released && !hold->release_code)
		return hold->released;
	else if (!over)
		over = hold->released ? hold->released : client->killed;
	if (over == client->killed && client->row)
		return over;
	return plus(over, blocks(client));
}

/* Answers that say clearly: this acquire has left nothing. */
static bool is_clear_miss(const struct hold *hold)
{
	return hold->acquired && (hold->acquire_code == ROWLOCK_EBUSY ||
				  hold->acquire_code == ROWLOCK_ETIMEDOUT ||
				  hold->acquire_code == ROWLOCK_ECANCELED);
}

static uint64_t slack(const struct run *run)
{
	return run->rules->idle_slack_ms * RUN_MS;
}

static void add_gap(struct run *run, struct gaps *gaps, struct gap gap)
{
	if (gap.to <= gap.from || gap.to - gap.from < slack(run) / 4)
		return;
	gaps->all =
	    vector_grow(gaps->all, gaps->n, &gaps->room, sizeof(*gaps->all));
	gaps->all[gaps->n++] = gap;
}

/* Cut out what faults slow, and a while after each. Who was cut off or stopped
 * by himself may still be granted what he waits for, and keep it for one TTL
 * more without knowing. */
static void add_free_time(struct run *run, struct gaps *gaps, struct gap gap)
{
	uint64_t ttl = run->longest_ttl;
	uint64_t grace = (uint64_t) HEALING_MS * RUN_MS + ttl;
	uint64_t brief = (uint64_t) HEALING_MS * RUN_MS + 3 * ttl;
	const struct fault *fault;
	struct gap before;
	uint64_t end;

	while (gap.from < gap.to) {
		fault = faults_find_first(&run->faults, FAULT_SLOWS, gap.from,
					  gap.to, grace, brief, &end);
		if (!fault)
			break;
		before = gap;
		before.to = fault->begin;
		add_gap(run, gaps, before);
		gap.from = end;
	}
	add_gap(run, gaps, gap);
}

static int by_name_and_start(const void *left, const void *right, void *arg)
{
	const struct hold *holds = arg;
	const struct hold *a = &holds[*(const uint32_t *) left];
	const struct hold *b = &holds[*(const uint32_t *) right];
	uint64_t from = hold_granted(a) ? a->acquired : a->acquire_call;
	uint64_t other = hold_granted(b) ? b->acquired : b->acquire_call;

	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return from < other ? -1 : from > other;
}

static uint32_t *sort(const struct run *run)
{
	uint32_t *numbers = malloc((run->n + 1) * sizeof(*numbers));
	size_t i;

	if (!numbers)
		abort();
	for (i = 0; i < run->n; i++)
		numbers[i] = (uint32_t) i;
	qsort_r(numbers, run->n, sizeof(*numbers), by_name_and_start,
		run->holds);
	return numbers;
}

/* An acquire that has not returned may have been granted, or not: whether it
 * keeps the name busy, or waits in vain, cannot be told of a live client. */
static bool may_hold(const struct run *run, const struct hold *hold)
{
	if (hold->acquired)
		return !is_clear_miss(hold);
	return run_client(run, hold->process)->killed != UINT64_MAX;
}

/* The next gap begins when this one cannot have it any more. */
static void leave(const struct run *run, struct gap *gap,
		  const struct hold *hold)
{
	uint64_t until = busy_until(run, hold);

	if (until < gap->from)
		return;
	gap->from = until;
	gap->dead = until != hold->released;
}

static void find_gaps(struct run *run, struct gaps *gaps)
{
	struct gap gap = { UINT32_MAX, 0, 0, false };
	uint32_t *numbers = sort(run);
	size_t i;

	for (i = 0; i < run->n; i++) {
		const struct hold *hold = &run->holds[numbers[i]];

		if (hold->name != gap.name) {
			gap.to = run->last.time;
			if (gap.name != UINT32_MAX)
				add_free_time(run, gaps, gap);
			gap = (struct gap){ hold->name, run->first, 0, false };
		}
		if (!may_hold(run, hold))
			continue;
		gap.to =
		    hold_granted(hold) ? hold->acquired : hold->acquire_call;
		add_free_time(run, gaps, gap);
		leave(run, &gap, hold);
	}
	gap.to = run->last.time;
	if (gap.name != UINT32_MAX)
		add_free_time(run, gaps, gap);
	free(numbers);
}

/* The first gap of @name that ends after @time. */
static size_t first_gap(const struct gaps *gaps, uint32_t name, uint64_t time)
{
	size_t low = 0, high = gaps->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct gap *gap = &gaps->all[middle];

		if (gap->name < name || (gap->name == name && gap->to <= time))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void report(struct run *run, const struct hold *hold,
		   const struct gap *gap, double ms)
{
	struct check_excerpt excerpt = { .n = 0 };

	if (run_wants(run, CHECK_IDLE_NAME)) {
		excerpt_add(run, &excerpt, hold, HISTORY_ACQUIRE,
			    hold->acquire_call);
		if (hold->acquired)
			excerpt_add(run, &excerpt, hold, HISTORY_ACQUIRED,
				    hold->acquired);
		else
			excerpt_add_line(&excerpt, &run->last);
	}
	run_report(run, CHECK_IDLE_NAME, &excerpt,
		   "%.*s: free since %" PRIu64 ", and %u.%u waited %.0f ms "
		   "for it all the same",
		   (int) run_name(run, hold->name).length,
		   run_name(run, hold->name).at, gap->from, hold->process,
		   hold->thread, ms);
}

/* From when on the waiter can be expected to see that it is free: who may not
 * trust clocks watches a dead holder from his first look on. */
static uint64_t seen_by(const struct run *run, const struct hold *hold,
			const struct gap *gap)
{
	const struct client *client = run_client(run, hold->process);
	uint64_t look = 0;

	if (gap->dead && client->observe && !client->row)
		look = client->ttl + client->margin;
	return later_of(gap->from, hold->acquire_call + look);
}

static bool is_slowed(const struct run *run, const struct hold *hold,
		      uint64_t until)
{
	return faults_find_own(&run->faults, FAULT_SLOWS, hold->process,
			       hold->acquire_call, until,
			       (uint64_t) HEALING_MS * RUN_MS);
}

static void judge_waiter(struct run *run, const struct gaps *gaps,
			 const struct hold *hold)
{
	uint64_t until = hold->acquired;
	uint64_t killed = run_client(run, hold->process)->killed;
	size_t i;

	if (!until)
		until = killed < run->last.time ? killed : run->last.time;
	if (!hold->acquired && hold->wait_ms > 0 &&
	    until > hold->acquire_call + (uint64_t) hold->wait_ms * RUN_MS)
		until = hold->acquire_call + (uint64_t) hold->wait_ms * RUN_MS;
	/* A name of a set waits for the others to be free as well. */
	if (hold->among || !hold->wait_ms ||
	    until < hold->acquire_call + slack(run) / 4 ||
	    is_slowed(run, hold, until))
		return;
	for (i = first_gap(gaps, hold->name, hold->acquire_call);
	     i < gaps->n && gaps->all[i].name == hold->name &&
	     gaps->all[i].from < until;
	     i++) {
		const struct gap *gap = &gaps->all[i];
		uint64_t from = seen_by(run, hold, gap);
		uint64_t to = gap->to < until ? gap->to : until;
		double ms = ((double) to - (double) from) / RUN_MS;

		if (ms > run->result->worst_idle)
			run->result->worst_idle = ms;
		if (ms > (double) run->rules->idle_slack_ms)
			report(run, hold, gap, ms);
	}
}

/* Who asked in vain in one gap, each soon after the one before. */
struct row {
	const struct gap *gap;
	const struct hold *first;
	const struct hold *last;
	uint64_t until; /* the last answer */
	unsigned int n;
	bool told;
};

static void report_row(struct run *run, const struct row *row,
		       const struct hold *hold)
{
	const struct hold *const asked[] = { row->first, row->last, hold };
	struct check_excerpt excerpt = { .n = 0 };
	size_t i;

	for (i = 0; i < 3 && run_wants(run, CHECK_IDLE_NAME); i++) {
		excerpt_add(run, &excerpt, asked[i], HISTORY_ACQUIRE,
			    asked[i]->acquire_call);
		excerpt_add(run, &excerpt, asked[i], HISTORY_ACQUIRED,
			    asked[i]->acquired);
	}
	run_report(run, CHECK_IDLE_NAME, &excerpt,
		   "%.*s: free since %" PRIu64 ", and asked for in vain "
		   "%u times from %" PRIu64 " on",
		   (int) run_name(run, hold->name).length,
		   run_name(run, hold->name).at, row->gap->from, row->n,
		   row->first->acquire_call);
}

/* The gap in which this one asked and had its answer, too soon for a wait that
 * is judged by itself; NULL if there is none, or the answer may be true: who
 * watches a dead holder has to look for long. */
static const struct gap *asked_in(const struct run *run,
				  const struct gaps *gaps,
				  const struct hold *hold)
{
	const struct client *client = run_client(run, hold->process);
	size_t i;

	if (hold->among || !is_clear_miss(hold) ||
	    hold->acquire_code == ROWLOCK_ECANCELED ||
	    hold->acquired > hold->acquire_call + slack(run) ||
	    is_slowed(run, hold, hold->acquired))
		return NULL;
	i = first_gap(gaps, hold->name, hold->acquire_call);
	if (i == gaps->n || gaps->all[i].name != hold->name ||
	    gaps->all[i].from > hold->acquire_call ||
	    gaps->all[i].to < hold->acquired ||
	    (gaps->all[i].dead && client->observe && !client->row))
		return NULL;
	return &gaps->all[i];
}

/* Three at least, over more than the slack, none of them alone. */
static void judge_row(struct run *run, struct row *row, const struct gap *gap,
		      const struct hold *hold)
{
	if (row->gap != gap || hold->acquire_call > row->until + slack(run))
		*row = (struct row){ gap, hold, NULL,
				     0,   0,    row->gap == gap && row->told };
	row->n++;
	row->until = later_of(row->until, hold->acquired);
	if (!row->told && row->n > 2 &&
	    row->until > row->first->acquire_call + slack(run)) {
		report_row(run, row, hold);
		row->told = true;
	}
	row->last = hold;
}

static void judge_rows_of_asking(struct run *run, const struct gaps *gaps)
{
	struct row row = { NULL, NULL, NULL, 0, 0, false };
	const struct gap *gap;
	uint32_t *numbers;
	size_t i, n;

	numbers = run_by_name(run, false, &n);
	for (i = 0; i < n; i++) {
		gap = asked_in(run, gaps, &run->holds[numbers[i]]);
		if (gap)
			judge_row(run, &row, gap, &run->holds[numbers[i]]);
	}
	free(numbers);
}

void judge_names(struct run *run)
{
	struct gaps gaps = { NULL, 0, 0 };
	size_t i;

	find_gaps(run, &gaps);
	for (i = 0; i < run->n; i++)
		judge_waiter(run, &gaps, &run->holds[i]);
	judge_rows_of_asking(run, &gaps);
	free(gaps.all);
}
