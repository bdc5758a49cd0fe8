/* SPDX-License-Identifier: MIT */
/*
 * Connections of the application that the chores end in the server.
 */
#include "core/cut_off.h"

#include "fake/fake.h"

#include "test.h"

static void note(struct rowlock_client *client, uint64_t id)
{
	rlk_cut_off_note(client, &(struct rlk_mark){ .id = id });
}

/* A server that does not answer, and a session that does not go at once. */
FAKE("a connection that cannot be ended yet is ended later")
{
	static const int obstacles[] = { RLK_UNKNOWN, RLK_PENDING, RLK_FAILED };

	for (size_t i = 0; i < TEST_SIZE(obstacles); i++) {
		FAKE_CLIENT();
		unsigned int before = fake_count(FAKE_FENCE);

		fake_next(FAKE_FENCE,
			  (struct fake_answer){ .given = true,
						.skip = true,
						.result = obstacles[i] });
		note(client, 7);
		fake_await(FAKE_FENCE, before + 1);
		fake_pass_await(FAKE_FENCE, before + 2);
		assert_int_equal(fake_call(FAKE_FENCE, before + 1).id, 7);
		/* That one is over. */
		note(client, 8);
		fake_pass_await(FAKE_FENCE, before + 3);
		assert_int_equal(fake_call(FAKE_FENCE, before + 2).id, 8);
	}
}

FAKE("a connection that may not be ended is forgotten")
{
	FAKE_CLIENT();

	fake_next(FAKE_FENCE, (struct fake_answer){ .given = true,
						    .skip = true,
						    .result = RLK_REFUSED });
	note(client, 7);
	fake_await(FAKE_FENCE, 1);
	note(client, 8);
	fake_await(FAKE_FENCE, 2);
	assert_int_equal(fake_call(FAKE_FENCE, 1).id, 8);
}

FAKE("several are ended in a row, but for one in the way of all")
{
	FAKE_CLIENT();

	fake_next(FAKE_FENCE, (struct fake_answer){ .wait = true });
	note(client, 7);
	fake_await(FAKE_FENCE, 1);
	note(client, 8);
	note(client, 9);
	fake_let(FAKE_FENCE);
	fake_await(FAKE_FENCE, 3);
	assert_int_equal(fake_call(FAKE_FENCE, 1).id, 8);
	assert_int_equal(fake_call(FAKE_FENCE, 2).id, 9);
}

CASE_MAIN(case_main)
