// SPDX-License-Identifier: MIT
/*
 * Which releases the server confirmed.
 *
 * A release while another thread of the same process waits for the name may
 * hand the hold over to it, and asks nobody: that it went well is no proof that
 * the hold still stood, and it may not have (row: others ended its connection a
 * moment ago; lease: it was broken). Nobody waited if as many acquires of that
 * name had returned before the release began as had begun before it returned.
 */
#include <stdlib.h>

#include "run.h"

struct moment {
	uint32_t process;
	uint32_t name;
	uint64_t time;
};

struct moments {
	struct moment *all;
	size_t n;
};

static int by_time(const void *left, const void *right)
{
	const struct moment *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return a->time < b->time ? -1 : a->time > b->time;
}

static struct moments sort(const struct run *run, bool returns)
{
	struct moments moments = { malloc((run->n + 1) * sizeof(*moments.all)),
				   0 };
	size_t i;

	if (!moments.all)
		abort();
	for (i = 0; i < run->n; i++) {
		const struct hold *hold = &run->holds[i];

		if (!returns || hold->acquired)
			moments.all[moments.n++] =
			    (struct moment){ hold->process, hold->name,
					     returns ? hold->acquired
						     : hold->acquire_call };
	}
	qsort(moments.all, moments.n, sizeof(*moments.all), by_time);
	return moments;
}

/* How many come before @end in the order of process, name and time. */
static size_t before(const struct moments *moments, struct moment end)
{
	size_t low = 0, high = moments->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_time(&moments->all[middle], &end) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* How many of this process and name by @time. */
static size_t count(const struct moments *moments, const struct hold *hold,
		    uint64_t time)
{
	const struct moment first = { hold->process, hold->name, 0 };
	const struct moment end = { hold->process, hold->name, time + 1 };

	return before(moments, end) - before(moments, first);
}

void run_confirm_releases(struct run *run)
{
	struct moments calls = sort(run, false);
	struct moments returns = sort(run, true);
	size_t i;

	for (i = 0; i < run->n; i++) {
		struct hold *hold = &run->holds[i];

		if (hold->released && !hold->release_code &&
		    count(&calls, hold, hold->released) ==
			count(&returns, hold, hold->release_call))
			hold->proved =
			    later_of(hold->proved, hold->release_call);
	}
	free(calls.all);
	free(returns.all);
}
