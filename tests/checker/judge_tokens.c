// SPDX-License-Identifier: MIT
/*
 * S2: tokens grow in the order of holds.
 *
 * They are drawn in the server one after the other; so whoever has his before
 * another asks has the smaller one, and a hold that began later the larger
 * one: of two holds the one that was granted before the other was asked for,
 * whenever the answers came. A holder that is stopped in its draw and is told
 * a token larger than that of who came after him would pass every fence. Within
 * a hold the token stays the same. Those that read have no order among
 * themselves, and may have the same one.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "run.h"

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_token(const void *left, const void *right, void *arg)
{
	const struct hold *holds = arg;
	const struct hold *a = &holds[*(const uint32_t *) left];
	const struct hold *b = &holds[*(const uint32_t *) right];
	int order = compare(a->name, b->name);

	return order ? order : compare(a->token, b->token);
}

/* The draw: with the grant it is the acquire. */
static void add_draw(const struct run *run, struct check_excerpt *excerpt,
		     const struct hold *hold)
{
	excerpt_add(run, excerpt, hold, HISTORY_ACQUIRE, hold->acquire_call);
	if (hold->drew == hold->acquired) {
		excerpt_add(run, excerpt, hold, HISTORY_ACQUIRED, hold->drew);
		return;
	}
	excerpt_add(run, excerpt, hold, HISTORY_TOKEN, hold->token_call);
	excerpt_add(run, excerpt, hold, HISTORY_DREW, hold->drew);
}

/* @b is the later one, by its grant or by its draw. */
static void report(struct run *run, const struct hold *a, const struct hold *b,
		   bool by_grant)
{
	struct check_excerpt excerpt = { .n = 0 };

	if (run_wants(run, CHECK_TOKENS)) {
		add_draw(run, &excerpt, a);
		add_draw(run, &excerpt, b);
		if (by_grant)
			excerpt_add(run, &excerpt, a, HISTORY_ACQUIRED,
				    a->acquired);
	}
	run_report(run, CHECK_TOKENS, &excerpt,
		   "%.*s: %u.%u drew %" PRIu64 ", then %u.%u drew %" PRIu64,
		   (int) run_name(run, a->name).length,
		   run_name(run, a->name).at, a->process, a->thread, a->token,
		   b->process, b->thread, b->token);
}

/* What the holds with larger tokens are known by. */
struct larger {
	const struct hold *drawn;   /* the first that had its token */
	const struct hold *granted; /* the first that was granted */
	const struct hold *next;    /* the one with the least token */
};

static void note_larger(struct larger *larger, const struct hold *hold)
{
	if (!larger->drawn || hold->drew < larger->drawn->drew)
		larger->drawn = hold;
	if (hold->acquired &&
	    (!larger->granted || hold->acquired < larger->granted->acquired))
		larger->granted = hold;
	larger->next = hold;
}

static void judge_one(struct run *run, const struct hold *hold,
		      const struct larger *larger)
{
	if (larger->next && larger->next->token == hold->token)
		report(run, hold, larger->next, false);
	else if (larger->drawn && larger->drawn->drew < hold->token_call)
		report(run, larger->drawn, hold, false);
	else if (larger->granted &&
		 larger->granted->acquired < hold->acquire_call)
		report(run, larger->granted, hold, true);
}

/*
 * Sorted by name and token. Walking from the largest down, no token may have
 * been asked for after the answer of a larger one, and no hold after the grant
 * of one that has a larger one; equal tokens are as wrong.
 */
static void judge_order(struct run *run, const uint32_t *numbers, size_t n)
{
	struct larger all = { NULL, NULL, NULL };
	struct larger writers = { NULL, NULL, NULL };
	size_t i;

	for (i = n; i-- > 0;) {
		const struct hold *hold = &run->holds[numbers[i]];

		if (all.next && all.next->name != hold->name)
			all = writers = (struct larger){ NULL, NULL, NULL };
		judge_one(run, hold, hold->reads ? &writers : &all);
		note_larger(&all, hold);
		if (!hold->reads)
			note_larger(&writers, hold);
	}
}

static void report_change(struct run *run, const struct hold *hold)
{
	struct check_excerpt excerpt = { .n = 0 };

	if (run_wants(run, CHECK_TOKENS)) {
		add_draw(run, &excerpt, hold);
		excerpt_add_call(run, &excerpt, hold, HISTORY_DREW,
				 hold->redrew);
	}
	run_report(run, CHECK_TOKENS, &excerpt,
		   "%u.%u: its hold %" PRIu64 " has two tokens", hold->process,
		   hold->thread, hold->serial);
}

void judge_tokens(struct run *run)
{
	uint32_t *numbers = malloc((run->n + 1) * sizeof(*numbers));
	size_t i, n = 0;

	if (!numbers)
		abort();
	for (i = 0; i < run->n; i++) {
		if (hold_drew(&run->holds[i]))
			numbers[n++] = (uint32_t) i;
		if (run->holds[i].redrew)
			report_change(run, &run->holds[i]);
	}
	qsort_r(numbers, n, sizeof(*numbers), by_token, run->holds);
	judge_order(run, numbers, n);
	free(numbers);
	run->result->tokens = n;
}
