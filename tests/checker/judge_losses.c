// SPDX-License-Identifier: MIT
/*
 * S4 and S5: who loses a hold is told in time; nobody loses one for nothing.
 *
 * S4. When a beat was sent cannot be seen from outside; but after a fault that
 * lets no answer through there was none, so a hold that stands then must be
 * told to be lost a TTL after the fault began at the latest, before anybody
 * else can have the name. The deadline itself is the margin earlier: how much
 * later than that the callback ran is a figure. Time in which the process was
 * stopped or starved is not counted. And each loss that a call or held() told
 * has a callback soon after, and no hold has two.
 *
 * S5. Only a fault that takes holds, a maximum or a break ends a hold against
 * the holder's will. What ends connections takes rows; what keeps beats away
 * takes a hold only if it outlasts what the last beat gave.
 */
#include <inttypes.h>
#include <string.h>

#include <rowlock.h>

#include "run.h"

/* How long after a call said "lost" the callback may stay away. */
#define CALLBACK_MS 1000

/* Who was refused asks again that much later at the latest. */
#define AGAIN_MS 500

static void report_late(struct run *run, const struct hold *hold,
			const struct fault *fault, uint64_t limit)
{
	const struct client *client = run_client(run, hold->process);
	struct check_excerpt excerpt = { .n = 0 };

	if (run_wants(run, CHECK_LATE_LOSS)) {
		excerpt_add_line(&excerpt, &client->line);
		excerpt_add_line(&excerpt, &fault->line);
		excerpt_add(run, &excerpt, hold, HISTORY_ACQUIRE,
			    hold->acquire_call);
		excerpt_add(run, &excerpt, hold, HISTORY_ACQUIRED,
			    hold->acquired);
		if (hold->lost)
			excerpt_add(run, &excerpt, hold, HISTORY_LOST,
				    hold->lost);
		else
			excerpt_add_line(&excerpt, &run->last);
	}
	run_report(run, CHECK_LATE_LOSS, &excerpt,
		   "%u.%u was cut off, and not told by %" PRIu64
		   " that it had lost its hold %" PRIu64,
		   hold->process, hold->thread, limit, hold->serial);
}

/* The first fault that cuts the holder off while it holds. */
static const struct fault *cut_of(const struct run *run,
				  const struct hold *hold, uint64_t until)
{
	const struct faults *faults = &run->faults;
	size_t i;

	for (i = 0; i < faults->n && faults->all[i].begin <= until; i++) {
		const struct fault *fault = &faults->all[i];

		if (fault->effects & FAULT_CUTS &&
		    fault->begin >= hold->acquired &&
		    (fault->process < 0 || fault->process == hold->process))
			return fault;
	}
	return NULL;
}

static void judge_cut(struct run *run, const struct hold *hold)
{
	const struct client *client = run_client(run, hold->process);
	uint64_t over = hold->release_call ? hold->release_call : UINT64_MAX;
	const struct fault *fault;
	uint64_t limit, hindered;
	double late;

	if (client->killed < over)
		over = client->killed;
	fault = cut_of(run, hold, over);
	if (!fault)
		return;
	limit = fault->begin + client->ttl;
	/* Who was told is judged; who was not must have held that long. */
	if (hold->lost && hold->lost < over)
		over = UINT64_MAX;
	if (fault->end < first_of(hold->lost, limit) || over <= limit)
		return;
	if (run->last.time < over)
		over = run->last.time;
	hindered = faults_time(&run->faults, FAULT_HINDERS, hold->process,
			       fault->begin, hold->lost ? hold->lost : over);
	if ((hold->lost ? hold->lost : over) <= limit + hindered &&
	    (hindered || !hold->lost))
		return;
	if (hold->lost ? hold->lost > limit : !hold->silent && !client->silent)
		report_late(run, hold, fault, limit);
	if (!hold->lost)
		return;
	late =
	    ((double) hold->lost - (double) (limit - client->margin)) / RUN_MS;
	if (!run->result->losses++ || late > run->result->worst_loss)
		run->result->worst_loss = late;
}

static void report_callback(struct run *run, const struct hold *hold)
{
	struct check_excerpt excerpt = { .n = 0 };

	if (run_wants(run, CHECK_LATE_LOSS)) {
		excerpt_add(run, &excerpt, hold, HISTORY_ACQUIRE,
			    hold->acquire_call);
		excerpt_add(run, &excerpt, hold, HISTORY_ACQUIRED,
			    hold->acquired);
		excerpt_add_denial(run, &excerpt, hold, hold->denied);
		if (hold->lost)
			excerpt_add(run, &excerpt, hold, HISTORY_LOST,
				    hold->lost);
		else
			excerpt_add_line(&excerpt, &run->last);
	}
	run_report(run, CHECK_LATE_LOSS, &excerpt,
		   "%u.%u lost its hold %" PRIu64 ", and %s", hold->process,
		   hold->thread, hold->serial,
		   hold->lost ? "its callback was run late"
			      : "no callback was run");
}

/* A call, or held(), said so: was the callback run, and soon? Who is told by
 * his release needs none: the hold may have been lost during it. */
static void judge_callback(struct run *run, const struct hold *hold)
{
	const struct client *client = run_client(run, hold->process);
	uint64_t limit = hold->denied + (uint64_t) CALLBACK_MS * RUN_MS;
	uint64_t until = hold->lost ? hold->lost : run->last.time;

	if (hold->silent || client->silent || hold->denied == hold->released)
		return;
	if (client->killed < until)
		until = client->killed;
	limit += faults_time(&run->faults, FAULT_HINDERS, hold->process,
			     hold->denied, until);
	if (until > limit)
		report_callback(run, hold);
}

static void report_twice(struct run *run, const struct hold *hold)
{
	struct check_excerpt excerpt = { .n = 0 };

	if (run_wants(run, CHECK_LATE_LOSS)) {
		excerpt_add(run, &excerpt, hold, HISTORY_ACQUIRE,
			    hold->acquire_call);
		excerpt_add(run, &excerpt, hold, HISTORY_LOST, hold->lost);
		excerpt_add(run, &excerpt, hold, HISTORY_LOST, hold->relost);
	}
	run_report(run, CHECK_LATE_LOSS, &excerpt,
		   "%u.%u: two callbacks for the loss of its hold %" PRIu64,
		   hold->process, hold->thread, hold->serial);
}

static bool was_broken(const struct run *run, const struct hold *hold,
		       uint64_t over)
{
	struct history_word name = run_name(run, hold->name);
	uint64_t call = run_client(run, hold->process)->call;
	size_t i;

	for (i = 0; i < run->broke.n; i++) {
		const struct history_line *broke = &run->broke.all[i];

		if (broke->name.length == name.length &&
		    !memcmp(broke->name.at, name.at, name.length) &&
		    broke->time + call >= hold->acquire_call &&
		    broke->time <= over)
			return true;
	}
	return false;
}

/* A beat goes every third of the TTL, so when a fault begins the hold has two
 * thirds to go, less the margin. After the fault it takes as long again at most
 * until a packet that it swallowed is sent once more. Whose loss is told at
 * once has had the faults shortly before it. */
static bool is_outlasted(const struct run *run, const struct hold *hold,
			 uint64_t over)
{
	const struct client *client = run_client(run, hold->process);
	const uint64_t again = (uint64_t) AGAIN_MS * RUN_MS;
	uint64_t recent = 2 * client->ttl + (uint64_t) CALLBACK_MS * RUN_MS;
	uint64_t from = hold->acquire_call;
	uint64_t time;

	from = from > client->ttl ? from - client->ttl : 0;
	if (!hold->silent && !client->silent && over > recent)
		from = later_of(from, over - recent);
	time = faults_time(&run->faults,
			   client->row ? FAULT_LOSES_ROW : FAULT_LOSES_LEASE,
			   hold->process, from, over);
	return time && 2 * time + again + client->margin >= client->ttl / 3 * 2;
}

/* What may lose a hold of this client at once. A clock that jumps loses those
 * that the others judge by it; a loss of packets, those with a short TTL. */
static bool is_excused(const struct run *run, const struct hold *hold,
		       uint64_t over)
{
	const struct client *client = run_client(run, hold->process);
	unsigned int effects = FAULT_TAKES | (client->row ? FAULT_ENDS : 0);

	if (client->max && over >= hold->acquire_call + client->max)
		return true;
	if (!client->row && !client->observe)
		effects |= FAULT_CLOCK;
	if (client->ttl < 10000ull * RUN_MS)
		effects |= FAULT_SPARSE;
	return faults_find(&run->faults, effects, hold->process,
			   hold->acquire_call, over, client->ttl) ||
	       is_outlasted(run, hold, over) || was_broken(run, hold, over);
}

static void judge_cause(struct run *run, const struct hold *hold, uint64_t over)
{
	struct check_excerpt excerpt = { .n = 0 };

	if (is_excused(run, hold, over))
		return;
	if (run_wants(run, CHECK_TAKEN)) {
		excerpt_add(run, &excerpt, hold, HISTORY_ACQUIRE,
			    hold->acquire_call);
		excerpt_add(run, &excerpt, hold, HISTORY_ACQUIRED,
			    hold->acquired);
		excerpt_add_denial(run, &excerpt, hold, over);
	}
	run_report(run, CHECK_TAKEN, &excerpt,
		   "%u.%u lost its hold %" PRIu64 " of %.*s for no reason",
		   hold->process, hold->thread, hold->serial,
		   (int) run_name(run, hold->name).length,
		   run_name(run, hold->name).at);
}

void judge_losses(struct run *run)
{
	size_t i;

	for (i = 0; i < run->n; i++) {
		const struct hold *hold = &run->holds[i];
		uint64_t over = first_of(hold->denied, hold->lost);

		if (hold->relost)
			report_twice(run, hold);
		if (!hold_granted(hold))
			continue;
		if (run->faults.n)
			judge_cut(run, hold);
		if (hold->denied)
			judge_callback(run, hold);
		if (!over)
			continue;
		run->result->lost++;
		judge_cause(run, hold, over);
	}
}
