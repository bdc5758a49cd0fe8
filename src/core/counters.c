/* SPDX-License-Identifier: MIT */
/*
 * See counters.h.
 */
#include "core/counters.h"

#include "core/client.h"

static const uint64_t bounds_ms[ROWLOCK_BUCKETS] = {
	1,    2,     5,     10,    50,     100,     500,      1000,
	5000, 10000, 30000, 60000, 600000, 3600000, 86400000, UINT64_MAX,
};

static uint64_t read_one(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void rlk_durations_add(struct rlk_durations *durations, int64_t ms)
{
	uint64_t took = ms > 0 ? (uint64_t) ms : 0;
	size_t i = 0;

	while (took > bounds_ms[i])
		i++;
	rlk_stats_add(&durations->counts[i], 1);
	if (took)
		rlk_stats_add(&durations->sum_ms, took);
}

void rlk_stats_acquire(struct rowlock_client *client, int64_t called_ms,
		       int code)
{
	struct rlk_stats *stats = &client->stats;
	_Atomic uint64_t *counter =
	    code == 0                   ? &stats->acquired
	    : code == ROWLOCK_EBUSY     ? &stats->busy
	    : code == ROWLOCK_ETIMEDOUT ? &stats->timed_out
	    : code == ROWLOCK_ECANCELED ? &stats->canceled
					: &stats->failed;

	rlk_stats_add(counter, 1);
	if (counter != &stats->busy && counter != &stats->failed)
		rlk_durations_add(&stats->waiting,
				  rlk_now(client->clock) - called_ms);
}

static void read_durations(const struct rlk_durations *durations,
			   struct rowlock_durations *ret_durations)
{
	uint64_t count = 0;

	ret_durations->sum_ms = read_one(&durations->sum_ms);
	for (size_t i = 0; i < ROWLOCK_BUCKETS; i++) {
		count += read_one(&durations->counts[i]);
		ret_durations->buckets[i] =
		    (struct rowlock_bucket){ bounds_ms[i], count };
	}
}

void rlk_stats_read(const struct rlk_stats *stats,
		    struct rowlock_client_stats *ret_stats)
{
	/* Ends before begins: what is held is never less than none. */
	read_durations(&stats->holding, &ret_stats->holding);
	read_durations(&stats->waiting, &ret_stats->waiting);
	ret_stats->acquired = read_one(&stats->acquired);
	ret_stats->busy = read_one(&stats->busy);
	ret_stats->timed_out = read_one(&stats->timed_out);
	ret_stats->canceled = read_one(&stats->canceled);
	ret_stats->failed = read_one(&stats->failed);
	ret_stats->levels = read_one(&stats->levels);
	ret_stats->waits = read_one(&stats->waits);
	ret_stats->holds = read_one(&stats->holds);
	ret_stats->handed_over = read_one(&stats->handed_over);
	ret_stats->evicted = read_one(&stats->evicted);
	for (size_t i = 0; i < ROWLOCK_LOSSES; i++)
		ret_stats->losses[i] = read_one(&stats->losses[i]);
}
