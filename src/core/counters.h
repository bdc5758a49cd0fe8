/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_COUNTERS_H
#define RLK_CORE_COUNTERS_H

/*
 * The counters of a client; <rowlock/admin.h> says what each of them means. Any
 * thread adds to them, with client->mutex or without, and rowlock_stats() reads
 * them without a lock: each by itself is right, and none has to fit another.
 */

#include <rowlock/admin.h>
#include <stdatomic.h>

struct rowlock_client;

struct rlk_durations {
	_Atomic uint64_t sum_ms;
	_Atomic uint64_t counts[ROWLOCK_BUCKETS]; /* of each bucket alone */
};

struct rlk_stats {
	_Atomic uint64_t acquired;
	_Atomic uint64_t busy;
	_Atomic uint64_t timed_out;
	_Atomic uint64_t canceled;
	_Atomic uint64_t failed;
	_Atomic uint64_t levels;
	_Atomic uint64_t waits;
	_Atomic uint64_t holds;
	_Atomic uint64_t handed_over;
	_Atomic uint64_t evicted;
	_Atomic uint64_t losses[ROWLOCK_LOSSES];
	struct rlk_durations waiting;
	struct rlk_durations holding;
};

static inline void rlk_stats_add(_Atomic uint64_t *counter, uint64_t more)
{
	atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/** One more that took @ms. */
void rlk_durations_add(struct rlk_durations *durations, int64_t ms);

/** An acquire of @client that was called at @called_ms ends with @code. */
void rlk_stats_acquire(struct rowlock_client *client, int64_t called_ms,
		       int code);

/** The counters for the caller; the size is left alone. */
void rlk_stats_read(const struct rlk_stats *stats,
		    struct rowlock_client_stats *ret_stats);

#endif
