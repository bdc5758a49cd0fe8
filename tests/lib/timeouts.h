/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_TIMEOUTS_H
#define ROWLOCK_TEST_TIMEOUTS_H

#include <rowlock.h>

#include "patience.h"

/** The most that the library takes. */
#define TEST_TIMEOUT_MOST_MS 60000

static inline uint64_t test_timeout_ms(uint64_t ms)
{
	double more = (double) ms * test_slowness() * test_load();

	return more < TEST_TIMEOUT_MOST_MS ? (uint64_t) more
					   : TEST_TIMEOUT_MOST_MS;
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
