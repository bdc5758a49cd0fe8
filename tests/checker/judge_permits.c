// SPDX-License-Identifier: MIT
/*
 * S1 and S3 of a semaphore: at no instant are more of its permits held than it
 * has. Of an instant at which a hold is proved to begin, all others are counted
 * whose proved time has it in it; of a hold that is known to have stood at some
 * instant of its acquire only, those whose proved time has that acquire in it.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "proof.h"
#include "run.h"
#include "vector.h"

/* A hold whose end is not reached yet. */
struct span {
	const struct hold *hold;
	struct proof proof;
};

struct spans {
	struct span *all;
	size_t n;
	size_t room;
};

static bool has_extent(struct proof proof)
{
	return proof.until > proof.from;
}

static bool has_whole(struct proof span, struct proof next)
{
	return next.asked >= span.from && next.from <= span.until;
}

static bool covers(struct proof span, struct proof next)
{
	return has_extent(next) ? next.from < span.until
				: has_whole(span, next);
}

static void add(struct spans *spans, const struct hold *hold,
		struct proof proof)
{
	spans->all = vector_grow(spans->all, spans->n, &spans->room,
				 sizeof(*spans->all));
	spans->all[spans->n++] = (struct span){ hold, proof };
}

/* Nothing that comes later is in them. */
static void drop_ended(struct spans *spans, struct proof next)
{
	size_t n = 0;

	for (size_t i = 0; i < spans->n; i++)
		if (spans->all[i].proof.until >= next.from)
			spans->all[n++] = spans->all[i];
	spans->n = n;
}

static int by_count(const void *left, const void *right)
{
	const struct span *a = left;
	const struct span *b = right;

	return (int) b->hold->takes - (int) a->hold->takes;
}

/* The largest first, as many as show it: so no fewer do. Tells whether it can
 * be shown without a proof of @next. */
static bool choose(struct spans *held, const struct span *next)
{
	unsigned int sum = next->hold->takes;
	bool whole = true;
	size_t n = 0;

	qsort(held->all, held->n, sizeof(*held->all), by_count);
	while (sum <= next->hold->permits) {
		whole &= has_whole(held->all[n].proof, next->proof);
		sum += held->all[n++].hold->takes;
	}
	held->n = n;
	return whole;
}

static void report(struct run *run, struct spans *held, const struct span *next)
{
	struct check_excerpt excerpt = { .n = 0 };
	const struct hold *hold = next->hold;
	bool extent = !choose(held, next);
	unsigned int sum = hold->takes;

	excerpt_add(run, &excerpt, hold, HISTORY_ACQUIRE, hold->acquire_call);
	excerpt_add(run, &excerpt, hold, HISTORY_ACQUIRED, hold->acquired);
	if (extent)
		excerpt_add_proof(run, &excerpt, hold, next->proof.from + 1,
				  next->proof.slack);
	for (size_t i = 0; i < held->n; i++) {
		const struct hold *other = held->all[i].hold;

		sum += other->takes;
		excerpt_add(run, &excerpt, other, HISTORY_ACQUIRE,
			    other->acquire_call);
		excerpt_add(run, &excerpt, other, HISTORY_ACQUIRED,
			    other->acquired);
		excerpt_add_proof(run, &excerpt, other,
				  next->proof.from + extent,
				  held->all[i].proof.slack);
	}
	run_report(run, CHECK_TOO_MANY, &excerpt,
		   "%.*s: %u permits are held at once, and it has %u",
		   (int) run_name(run, hold->name).length,
		   run_name(run, hold->name).at, sum, hold->permits);
}

static void judge(struct run *run, const struct spans *spans,
		  const struct span *next)
{
	struct spans held = { NULL, 0, 0 };
	unsigned int sum = next->hold->takes;

	for (size_t i = 0; i < spans->n; i++) {
		const struct span *span = &spans->all[i];

		if (!covers(span->proof, next->proof))
			continue;
		sum += span->hold->takes;
		add(&held, span->hold, span->proof);
	}
	if (sum > next->hold->permits)
		report(run, &held, next);
	free(held.all);
}

void judge_permits(struct run *run)
{
	struct spans spans = { NULL, 0, 0 };
	uint32_t name = UINT32_MAX;
	uint32_t *numbers;
	size_t i, n;

	numbers = run_by_name(run, true, &n);
	for (i = 0; i < n; i++) {
		struct span next = { .hold = &run->holds[numbers[i]] };

		if (!next.hold->permits)
			continue;
		if (next.hold->name != name)
			spans.n = 0;
		name = next.hold->name;
		next.proof = proof_of(run, next.hold);
		drop_ended(&spans, next.proof);
		judge(run, &spans, &next);
		if (has_extent(next.proof))
			add(&spans, next.hold, next.proof);
	}
	free(numbers);
	free(spans.all);
}
