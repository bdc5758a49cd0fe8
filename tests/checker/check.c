// SPDX-License-Identifier: MIT
/*
 * The judgement of a run: gather, let each judge look, count.
 */
#include "check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "run.h"

const char *check_kind_name(enum check_kind kind)
{
	static const char *const names[CHECK_KINDS] = {
		"two holds at once",       "too many permits at once",
		"tokens out of order",     "holds held after their end",
		"losses told late",        "holds lost for no reason",
		"names left free",         "late returns",
		"errors that must not be", "starved threads",
		"rows left behind",        "lines that contradict",
	};

	return names[kind];
}

/* ------------------------------------------------------------- fairness */

static int by_thread(const void *left, const void *right, void *arg)
{
	const struct hold *holds = arg;
	const struct hold *a = &holds[*(const uint32_t *) left];
	const struct hold *b = &holds[*(const uint32_t *) right];

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static bool same_thread(const struct hold *a, const struct hold *b)
{
	return a->process == b->process && a->thread == b->thread;
}

static void end_thread(struct run *run, const struct hold *hold, uint64_t holds)
{
	struct check_result *result = run->result;
	struct check_excerpt excerpt = { .n = 0 };

	if (holds < result->fewest)
		result->fewest = holds;
	result->most = later_of(result->most, holds);
	if (run->rules->fair && (double) holds * 3 < result->mean)
		run_report(run, CHECK_UNFAIR, &excerpt,
			   "%u.%u got %" PRIu64 " holds, the mean is %.1f",
			   hold->process, hold->thread, holds, result->mean);
}

static void judge_fairness(struct run *run)
{
	uint32_t *numbers = malloc((run->n + 1) * sizeof(*numbers));
	struct check_result *result = run->result;
	uint64_t holds = 0;
	size_t i;

	if (!numbers)
		abort();
	for (i = 0; i < run->n; i++)
		numbers[i] = (uint32_t) i;
	qsort_r(numbers, run->n, sizeof(*numbers), by_thread, run->holds);
	for (i = 0; i < run->n; i++)
		result->threads +=
		    !i || !same_thread(&run->holds[numbers[i]],
				       &run->holds[numbers[i - 1]]);
	if (result->threads)
		result->mean =
		    (double) result->holds / (double) result->threads;
	result->fewest = run->n ? UINT64_MAX : 0;
	for (i = 0; i < run->n; i++) {
		const struct hold *hold = &run->holds[numbers[i]];

		holds += hold_granted(hold);
		if (i + 1 < run->n &&
		    same_thread(hold, &run->holds[numbers[i + 1]]))
			continue;
		end_thread(run, hold, holds);
		holds = 0;
	}
	free(numbers);
}

/* ----------------------------------------------------------------- rows */

/* What must be empty when all clients have ended; what lock_token and
 * business_lock keep is theirs to keep. */
static bool is_left(const struct history_line *rows)
{
	return rows->count && !history_is(rows->table, "lock_token") &&
	       !history_is(rows->table, "business_lock");
}

static void judge_rows(struct run *run)
{
	size_t i;

	for (i = 0; i < run->rows.n; i++) {
		const struct history_line *rows = &run->rows.all[i];
		struct check_excerpt excerpt = { .n = 0 };

		if (!is_left(rows))
			continue;
		excerpt_add_line(&excerpt, rows);
		run_report(run, CHECK_LEAK, &excerpt,
			   "%" PRIu64 " rows were left in %.*s", rows->count,
			   (int) rows->table.length, rows->table.at);
	}
}

/* ------------------------------------------------------------------ all */

static void measure(struct run *run)
{
	uint64_t first = 0, last = 0;
	size_t i;

	for (i = 0; i < run->n; i++) {
		const struct hold *hold = &run->holds[i];

		if (!hold_granted(hold))
			continue;
		run->result->holds++;
		first = first_of(first, hold->acquire_call);
		last = later_of(last, later_of(hold->acquired, hold->released));
	}
	run->result->acquires = run->n;
	if (last > first)
		run->result->seconds = (double) (last - first) / 1e9;
}

static void judge(struct run *run)
{
	run_complete(run);
	measure(run);
	judge_holds(run);
	judge_permits(run);
	judge_tokens(run);
	judge_losses(run);
	judge_names(run);
	judge_vanished(run);
	judge_calls(run);
	judge_fairness(run);
	judge_rows(run);
}

static bool is_good(const struct check_result *result)
{
	int kind;

	for (kind = 0; kind < CHECK_KINDS; kind++)
		if (result->violations[kind])
			return false;
	return true;
}

bool check_files(const struct history_files *files,
		 const struct check_rules *rules,
		 struct check_result *ret_result)
{
	struct check_result result = { .lines = 0 };
	struct run run = { .rules = rules,
			   .result = &result,
			   .names = names_new() };

	run.n_ends = history_files_ends(files, &run.ends);
	history_files_each(files, run_take, &run);
	judge(&run);
	run_fini(&run);
	free((void *) run.ends);
	*ret_result = result;
	return is_good(&result);
}

bool check_text(const char *text, const struct check_rules *rules,
		struct check_result *ret_result)
{
	struct check_result result = { .lines = 0 };
	const char *const end = text + strlen(text);
	struct run run = { .rules = rules,
			   .result = &result,
			   .ends = &end,
			   .n_ends = 1,
			   .names = names_new() };

	history_each(text, strlen(text), run_take, &run);
	judge(&run);
	run_fini(&run);
	*ret_result = result;
	return is_good(&result);
}
