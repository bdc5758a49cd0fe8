/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_TIMEOUTS_H
#define ROWLOCK_TEST_TIMEOUTS_H

#include <rowlock.h>

#include "patience.h"

/** The most that the library takes: of connect_timeout_ms and call_timeout_ms,
 *  and of row_idle_ms. */
#define TEST_TIMEOUT_MOST_MS 60000
#define TEST_IDLE_MOST_MS 3600000

static inline uint64_t test_at_most(uint64_t ms, uint64_t most)
{
	return ms < most ? ms : most;
}

static inline uint64_t test_timeout_ms(uint64_t ms)
{
	double more = (double) ms * test_slowness() * test_load();

	return test_at_most((uint64_t) more, TEST_TIMEOUT_MOST_MS);
}

/** Let a client wait for its server as long as a slow build and a busy machine
 *  need. */
static inline void test_timeouts(struct rowlock_client_options *options)
{
	options->connect_timeout_ms =
	    test_timeout_ms(options->connect_timeout_ms);
	options->call_timeout_ms = test_timeout_ms(options->call_timeout_ms);
}

#endif
