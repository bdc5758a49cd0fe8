/* SPDX-License-Identifier: MIT */
/*
 * How long a session has shown the same beat.
 */
#include "core/beats.h"

#include "base/macro.h"
#include "test.h"

CASE("silence counts from the first sight of a beat")
{
	_cleanup_(rlk_observer_fini) struct rlk_observer observer = { 0 };

	assert_int_equal(rlk_observer_see(&observer, 1, 7, 1000), 0);
	assert_int_equal(rlk_observer_see(&observer, 1, 7, 1500), 500);
	assert_int_equal(rlk_observer_see(&observer, 1, 7, 9000), 8000);
}

CASE("another beat starts anew, even a smaller one")
{
	_cleanup_(rlk_observer_fini) struct rlk_observer observer = { 0 };

	rlk_observer_see(&observer, 1, 7, 1000);
	assert_int_equal(rlk_observer_see(&observer, 1, 8, 2000), 0);
	assert_int_equal(rlk_observer_see(&observer, 1, 8, 2300), 300);
	/* A failover may have lost some. */
	assert_int_equal(rlk_observer_see(&observer, 1, 6, 3000), 0);
}

CASE("sessions are watched apart")
{
	_cleanup_(rlk_observer_fini) struct rlk_observer observer = { 0 };

	for (uint64_t id = 1; id <= 1000; id++)
		assert_int_equal(
		    rlk_observer_see(&observer, id, 1, (int64_t) id), 0);
	for (uint64_t id = 1; id <= 1000; id++)
		assert_int_equal(rlk_observer_see(&observer, id, 1, 5000),
				 5000 - (int64_t) id);
}

CASE("pruning forgets only what was not seen lately")
{
	_cleanup_(rlk_observer_fini) struct rlk_observer observer = { 0 };

	rlk_observer_see(&observer, 1, 1, 1000);
	rlk_observer_see(&observer, 2, 1, 1000);
	rlk_observer_see(&observer, 2, 1, 2000);
	rlk_observer_prune(&observer, 1500);
	assert_int_equal(rlk_observer_see(&observer, 1, 1, 3000), 0);
	assert_int_equal(rlk_observer_see(&observer, 2, 1, 3000), 2000);
}

/* In one cluster of places, also around the end of the table. */
CASE("what is forgotten hides nobody")
{
	_cleanup_(rlk_observer_fini) struct rlk_observer observer = { 0 };

	for (uint64_t gone = 0; gone < 7; gone++) {
		for (uint64_t i = 0; i < 7; i++)
			rlk_observer_see(&observer, 14 + 16 * i, 1, 1000);
		for (uint64_t i = 0; i < 7; i++)
			if (i != gone)
				rlk_observer_see(&observer, 14 + 16 * i, 1,
						 1200);
		rlk_observer_prune(&observer, 1100);
		/* The forgotten one would fill its gap again. */
		for (uint64_t i = 0; i < 7; i++)
			if (i != gone)
				assert_int_equal(rlk_observer_see(&observer,
								  14 + 16 * i,
								  1, 1500),
						 500);
		assert_int_equal(
		    rlk_observer_see(&observer, 14 + 16 * gone, 1, 1500), 0);
		rlk_observer_prune(&observer, 2000);
		assert_int_equal(observer.count, 0);
	}
}

/* 16 MiB at the most, whatever a server tells of; what was forgotten is seen
 * anew. */
CASE("what is remembered is bounded")
{
	_cleanup_(rlk_observer_fini) struct rlk_observer observer = { 0 };

	for (uint64_t id = 1; id <= 1000 * 1000; id++)
		rlk_observer_see(&observer, id, 1, 1000);
	assert_in_range(observer.size * sizeof(struct rlk_sight), 1,
			16 * 1024 * 1024);
	assert_int_equal(rlk_observer_see(&observer, 1000 * 1000, 1, 1500),
			 500);
	assert_int_equal(rlk_observer_see(&observer, 1, 1, 1500), 0);
}

CASE_MAIN(case_main)
