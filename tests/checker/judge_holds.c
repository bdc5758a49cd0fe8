// SPDX-License-Identifier: MIT
/*
 * S1 and S3: one hold of a name at a time, or many that read; and a hold that
 * is over stays so, whether it was lost, released, broken or past its maximum.
 *
 * Two holds are shown to overlap if two proved times do (proof.h), or if one
 * proved time has in it the whole acquire of another.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proof.h"
#include "run.h"

static bool overlap(struct proof a, struct proof b)
{
	if (b.until > b.from && b.from < a.until)
		return true;
	return b.asked >= a.from && b.from <= a.until && a.until > a.from;
}

static void report_double(struct run *run, const struct hold *a,
			  const struct hold *b, struct proof proof)
{
	struct check_excerpt excerpt = { .n = 0 };
	struct proof later = proof_of(run, b);
	bool whole = later.asked >= proof.from && later.from <= proof.until;

	if (run_wants(run, CHECK_DOUBLE)) {
		excerpt_add(run, &excerpt, a, HISTORY_ACQUIRE, a->acquire_call);
		excerpt_add(run, &excerpt, a, HISTORY_ACQUIRED, a->acquired);
		excerpt_add_proof(run, &excerpt, a, later.from + !whole,
				  proof.slack);
		excerpt_add(run, &excerpt, b, HISTORY_ACQUIRE, b->acquire_call);
		excerpt_add(run, &excerpt, b, HISTORY_ACQUIRED, b->acquired);
		if (!whole)
			excerpt_add_proof(run, &excerpt, b, later.from + 1,
					  later.slack);
	}
	run_report(run, CHECK_DOUBLE, &excerpt,
		   "%.*s (%s): %u.%u and %u.%u hold it at once",
		   (int) run_name(run, a->name).length,
		   run_name(run, a->name).at,
		   run_is_row(run, a) ? "row" : "lease", a->process, a->thread,
		   b->process, b->thread);
}

/* row: for how long held() spoke for a hold that another had already. */
static void measure_notice(struct run *run, const struct hold *before,
			   const struct hold *hold)
{
	double ms;

	if (!run_is_row(run, hold) || before->vouched <= hold->acquired)
		return;
	ms = (double) (before->vouched - hold->acquired) / RUN_MS;
	if (ms > run->result->worst_notice)
		run->result->worst_notice = ms;
}

/* The hold of a name that is proved the longest, of those so far. */
struct reach {
	const struct hold *hold;
	struct proof proof;
};

static void compare(struct run *run, struct reach *reach,
		    const struct hold *hold)
{
	if (reach->hold && reach->hold->name != hold->name)
		reach->hold = NULL;
	if (!reach->hold)
		return;
	if (overlap(reach->proof, proof_of(run, hold)))
		report_double(run, reach->hold, hold, reach->proof);
	measure_notice(run, reach->hold, hold);
}

static void judge_overlaps(struct run *run)
{
	struct reach reaches[2] = { { NULL, { 0, 0, 0, 0 } },
				    { NULL, { 0, 0, 0, 0 } } };
	uint32_t *numbers;
	size_t i, n;

	numbers = run_by_name(run, true, &n);
	for (i = 0; i < n; i++) {
		const struct hold *hold = &run->holds[numbers[i]];
		struct reach *own = &reaches[hold->reads];
		struct proof next = proof_of(run, hold);

		/* Permits are counted. */
		if (hold->permits)
			continue;
		compare(run, &reaches[0], hold);
		if (!hold->reads)
			compare(run, &reaches[1], hold);
		if (!own->hold || own->hold->name != hold->name ||
		    next.until > own->proof.until)
			*own = (struct reach){ hold, next };
	}
	free(numbers);
}

/* Why a hold is over, and from when on nothing may speak for it. */
struct ending {
	uint64_t time; /* 0: it is not */
	const char *why;
	const struct history_line *line; /* that says so; NULL: of the hold */
};

static uint64_t spoken_for(const struct hold *hold)
{
	return later_of(hold->vouched, hold->proved);
}

/* The holder of a lease is told of a break at the next beat; who gets none
 * through has lost it a TTL later. */
static struct ending broken_end(const struct run *run, const struct hold *hold)
{
	const struct client *client = run_client(run, hold->process);
	struct history_word name = run_name(run, hold->name);
	uint64_t late = client->call + client->ttl;
	size_t i;

	for (i = 0; i < run->broke.n && !client->row; i++) {
		const struct history_line *broke = &run->broke.all[i];

		if (broke->name.length == name.length &&
		    !memcmp(broke->name.at, name.at, name.length) &&
		    broke->time > hold->acquired &&
		    broke->time + late < spoken_for(hold))
			return (struct ending){ broke->time + late,
						"was broken", broke };
	}
	return (struct ending){ 0, NULL, NULL };
}

static struct ending ending_of(const struct run *run, const struct hold *hold)
{
	const struct client *client = run_client(run, hold->process);
	uint64_t over = first_of(hold->denied, hold->lost);

	if (over && spoken_for(hold) > over)
		return (struct ending){ over, "was lost", NULL };
	over = hold->release_call;
	if (over && spoken_for(hold) > over)
		return (struct ending){ over, "was released", NULL };
	if (!hold_granted(hold))
		return (struct ending){ 0, NULL, NULL };
	over = hold->acquired + client->max + PROOF_NOTICE;
	if (client->max && spoken_for(hold) > over)
		return (struct ending){ over, "was past its maximum",
					&client->line };
	return broken_end(run, hold);
}

static void report_revived(struct run *run, const struct hold *hold,
			   const struct ending *ending)
{
	struct check_excerpt excerpt = { .n = 0 };

	if (run_wants(run, CHECK_REVIVED)) {
		excerpt_add(run, &excerpt, hold, HISTORY_ACQUIRE,
			    hold->acquire_call);
		if (ending->line) {
			excerpt_add_line(&excerpt, ending->line);
			excerpt_add_line(&excerpt,
					 &run_client(run, hold->process)->line);
			excerpt_add(run, &excerpt, hold, HISTORY_ACQUIRED,
				    hold->acquired);
		} else if (ending->time == hold->release_call) {
			excerpt_add(run, &excerpt, hold, HISTORY_RELEASE,
				    ending->time);
		} else {
			excerpt_add_denial(run, &excerpt, hold, ending->time);
		}
		excerpt_add_proof(run, &excerpt, hold, ending->time + 1, 0);
	}
	run_report(run, CHECK_REVIVED, &excerpt,
		   "%u.%u: its hold %" PRIu64 " %s, and is still held",
		   hold->process, hold->thread, hold->serial, ending->why);
}

static void judge_revivals(struct run *run)
{
	size_t i;

	for (i = 0; i < run->n; i++) {
		const struct hold *hold = &run->holds[i];
		struct ending ending = ending_of(run, hold);

		if (ending.time)
			report_revived(run, hold, &ending);
	}
}

void judge_holds(struct run *run)
{
	judge_overlaps(run);
	judge_revivals(run);
}
