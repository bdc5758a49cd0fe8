// SPDX-License-Identifier: MIT
/*
 * The judge: reads what all workers saw, finds what must not be.
 *
 * A hold is proved from the return of its acquire to the last moment at which
 * the library vouched for it: rowlock_held() said yes, a token was drawn, or
 * the release found it in place. Each of those was true at some instant after
 * its call, so two proved intervals of one name that overlap are two holders
 * at once. Shorter than the truth, never longer: a violation that is reported
 * is one.
 *
 * Tokens are drawn in the server one after the other; so whoever has his
 * before another asks has the smaller one (real-time order), and a hold that
 * began later has the larger one. A draw proves the hold, so a token drawn by a
 * stale holder shows as a hold that overlaps the new one.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include <rowlock.h>

#define CR_DEADLOCK 1213u

struct run {
	struct history_record *records;
	size_t n;
	const struct check_rules *rules;
	struct check_result *result;
};

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The last instant at which this hold is known to have stood. */
static uint64_t proved_until(const struct history_record *r)
{
	uint64_t until = r->acquire_return;

	until = later(until, r->held_call);
	if (r->token && !r->token_code)
		until = later(until, r->token_call);
	if (r->kind == HISTORY_DONE && r->release_call && !r->release_code)
		until = later(until, r->release_call);
	return until;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* By thread and serial; of one hold what was written last comes first. */
static int by_thread(const void *left, const void *right)
{
	const struct history_record *a = left, *b = right;
	int order = compare(a->process, b->process);

	if (!order)
		order = compare(a->thread, b->thread);
	if (!order)
		order = compare(a->serial, b->serial);
	if (!order)
		order = compare(b->kind, a->kind);
	return order ? order : compare(b->held_call, a->held_call);
}

static int by_name_and_start(const void *left, const void *right)
{
	const struct history_record *a = *(struct history_record *const *) left;
	const struct history_record *b =
	    *(struct history_record *const *) right;
	int order = compare(a->name, b->name);

	return order ? order : compare(a->acquire_return, b->acquire_return);
}

static int by_name_and_token(const void *left, const void *right)
{
	const struct history_record *a = *(struct history_record *const *) left;
	const struct history_record *b =
	    *(struct history_record *const *) right;
	int order = compare(a->name, b->name);

	return order ? order : compare(a->token, b->token);
}

static void explain(struct run *run, const char *what,
		    const struct history_record *a,
		    const struct history_record *b)
{
	const struct history_record *both[2] = { a, b };
	FILE *out = run->rules->out;
	int i;

	if (!out)
		return;
	fprintf(out, "%s, name %u:\n", what, a->name);
	for (i = 0; i < 2 && both[i]; i++)
		fprintf(out,
			"  process %u thread %u acquire %llu: asked %llu, "
			"got it %llu, proved until %llu, token %llu\n",
			both[i]->process, both[i]->thread,
			(unsigned long long) both[i]->serial,
			(unsigned long long) both[i]->acquire_call,
			(unsigned long long) both[i]->acquire_return,
			(unsigned long long) proved_until(both[i]),
			(unsigned long long) both[i]->token);
}

static bool is_hold(const struct history_record *r)
{
	return r->kind == HISTORY_OPEN || r->kind == HISTORY_DONE;
}

static bool same_thread(const struct history_record *a,
			const struct history_record *b)
{
	return a->process == b->process && a->thread == b->thread;
}

/* Keep of each acquire what was written last. */
static void complete(struct run *run)
{
	size_t i, kept = 0;

	qsort(run->records, run->n, sizeof(*run->records), by_thread);
	for (i = 0; i < run->n; i++) {
		struct history_record *r = &run->records[i];

		if (kept && same_thread(r, &run->records[kept - 1]) &&
		    r->serial == run->records[kept - 1].serial)
			continue;
		run->records[kept++] = *r;
	}
	run->n = kept;
}

static void check_holds(struct run *run, struct history_record **holds,
			size_t n)
{
	struct history_record *reach = NULL;
	size_t i;

	qsort(holds, n, sizeof(*holds), by_name_and_start);
	for (i = 0; i < n; i++) {
		if (proved_until(holds[i]) < holds[i]->acquire_return ||
		    holds[i]->acquire_return < holds[i]->acquire_call) {
			run->result->broken++;
			explain(run, "a hold that ends before it begins",
				holds[i], NULL);
		}
		if (reach && reach->name == holds[i]->name &&
		    holds[i]->acquire_return < proved_until(reach)) {
			run->result->double_holds++;
			explain(run, "held twice at once", reach, holds[i]);
		}
		if (!reach || reach->name != holds[i]->name ||
		    proved_until(holds[i]) > proved_until(reach))
			reach = holds[i];
	}
}

/*
 * @drawn are the holds with a token, sorted by name and token. Walking from
 * the largest down, no token may have been asked for after the answer of a
 * larger one; equal tokens are as wrong.
 */
static void check_tokens(struct run *run, struct history_record **drawn,
			 size_t n)
{
	struct history_record *first = NULL; /* earliest answer so far */
	size_t i;

	qsort(drawn, n, sizeof(*drawn), by_name_and_token);
	for (i = n; i-- > 0;) {
		struct history_record *r = drawn[i];
		bool same = first && first->name == r->name;

		if (i + 1 < n && drawn[i + 1]->name == r->name &&
		    drawn[i + 1]->token == r->token) {
			run->result->token_disorder++;
			explain(run, "one token twice", r, drawn[i + 1]);
		} else if (same && first->token_return < r->token_call) {
			run->result->token_disorder++;
			explain(run, "a later token is not larger", first, r);
		}
		if (!same || r->token_return < first->token_return)
			first = r;
	}
}

static bool forbidden(const struct run *run, int code, unsigned int mysql)
{
	if (mysql == CR_DEADLOCK || code == ROWLOCK_EDEADLOCK)
		return true;
	if (!code || code == ROWLOCK_EBUSY || code == ROWLOCK_ETIMEDOUT)
		return false;
	if (!run->rules->faults)
		return true;
	return code != ROWLOCK_ELOST && code != ROWLOCK_ECONNECT &&
	       code != ROWLOCK_EDB;
}

static void count_error(struct run *run, const struct history_record *r,
			int code)
{
	if (!code)
		return;
	if (code > 0 || code <= -CHECK_CODES)
		run->result->broken++;
	else
		run->result->errors[-code]++;
	if (!forbidden(run, code, r->mysql))
		return;
	run->result->forbidden_errors++;
	if (run->rules->out)
		fprintf(run->rules->out,
			"process %u thread %u got %d (%s), server errno %u\n",
			r->process, r->thread, code, rowlock_strerror(code),
			r->mysql);
}

static void count_errors(struct run *run)
{
	size_t i;

	for (i = 0; i < run->n; i++) {
		struct history_record *r = &run->records[i];

		if (!is_hold(r) && r->kind != HISTORY_MISS)
			continue;
		count_error(run, r, r->acquire_code);
		count_error(run, r, r->token_code);
		count_error(run, r, r->release_code);
		run->result->lost += r->release_code == ROWLOCK_ELOST;
	}
}

static void end_thread(struct run *run, uint64_t holds)
{
	struct check_result *result = run->result;

	if (holds < result->fewest)
		result->fewest = holds;
	result->most = later(result->most, holds);
	if (run->rules->fair && (double) holds * 3 < result->mean)
		result->unfair++;
}

/* The records are sorted by thread, and each thread has one of its own. */
static void check_fairness(struct run *run)
{
	struct check_result *result = run->result;
	uint64_t holds = 0;
	size_t i;

	for (i = 0; i < run->n; i++)
		result->threads += run->records[i].kind == HISTORY_THREAD;
	if (!result->threads)
		return;
	result->mean = (double) result->holds / (double) result->threads;
	result->fewest = UINT64_MAX;
	for (i = 0; i < run->n; i++) {
		const struct history_record *r = &run->records[i];

		holds += is_hold(r);
		if (i + 1 < run->n && same_thread(r, r + 1))
			continue;
		end_thread(run, holds);
		holds = 0;
	}
}

static void measure(struct run *run, struct history_record **holds, size_t n)
{
	uint64_t first = UINT64_MAX, last = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (holds[i]->acquire_call < first)
			first = holds[i]->acquire_call;
		last = later(last, holds[i]->release_return);
		run->result->tokens += holds[i]->token != 0;
	}
	run->result->holds = n;
	if (last > first)
		run->result->seconds = (double) (last - first) / 1e9;
}

static size_t pick(struct run *run, struct history_record **into, bool drawn)
{
	size_t i, n = 0;

	for (i = 0; i < run->n; i++)
		if (is_hold(&run->records[i]) &&
		    (!drawn || run->records[i].token))
			into[n++] = &run->records[i];
	return n;
}

bool check_history(struct history_record *records, size_t n,
		   const struct check_rules *rules,
		   struct check_result *ret_result)
{
	struct check_result result = { 0 };
	struct run run = { records, n, rules, &result };
	struct history_record **some = calloc(n + 1, sizeof(*some));
	size_t count;

	if (!some)
		abort();
	complete(&run);
	count = pick(&run, some, false);
	measure(&run, some, count);
	check_holds(&run, some, count);
	check_tokens(&run, some, pick(&run, some, true));
	free(some);
	count_errors(&run);
	check_fairness(&run);
	*ret_result = result;
	return !result.double_holds && !result.token_disorder &&
	       !result.forbidden_errors && !result.unfair && !result.broken;
}
