/* SPDX-License-Identifier: MIT */
/* When the rounds of polls are. */
#include "wait/rounds.h"

#include "test.h"

CASE("each round is later than now, and the same for all")
{
	int64_t now = 1234567;

	for (int i = 0; i < 1000; i++) {
		int64_t next = rlk_rounds_next(7, now);

		assert_true(next > now && next < now + 2 * RLK_ROUND_MS);
		/* Whoever asks on the way there is told the same. */
		for (int64_t at = now; at < next; at++)
			assert_true(rlk_rounds_next(7, at) == next);
		now = next;
	}
	assert_in_range(now, 1234567 + 999 * RLK_ROUND_MS,
			1234567 + 1001 * RLK_ROUND_MS);
}

CASE("clients are not in step")
{
	unsigned int same = 0;

	for (int64_t now = 0; now < 1000 * RLK_ROUND_MS; now += RLK_ROUND_MS)
		same += rlk_rounds_next(1, now) == rlk_rounds_next(2, now);
	assert_in_range(same, 0, 100);
}

CASE_MAIN(case_main)
