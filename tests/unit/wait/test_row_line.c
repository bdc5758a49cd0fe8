/* SPDX-License-Identifier: MIT */
/*
 * Rows: a waiter stays in the queue of the row for a slice, then it stands in
 * the server's line, on the connection that the hold will keep.
 */
#include "doorbell.h"

#include <string.h>

/* The end of a slice. */
static const struct fake_answer waited = { .given = true,
					   .skip = true,
					   .result = RLK_WAITED };
static const struct fake_answer killed = { .given = true,
					   .skip = true,
					   .result = RLK_KILLED };

static struct one row_of(struct rowlock_client *client)
{
	return (struct one){
		.client = client,
		.lock = fake_lock(client, ROWLOCK_ROW, 0, "job"),
		.person = fake_person(),
	};
}

/* In line, behind the other client, which has locked the row. */
static struct one in_line(uint64_t wait_ms)
{
	struct one bob = row_of(client_of(4));

	fake_row_lock("job");
	fake_bell_take("row job");
	acquire(&bob, wait_ms);
	fake_await_bell_line("row job", 1);
	return bob;
}

FAKE("row with a line is waited for in line")
{
	_cleanup_(end) struct one bob = in_line(ROWLOCK_FOREVER);
	uint64_t conn = fake_call(FAKE_ACQUIRE, 0).conn;

	/* A question that waits would overtake the line. */
	assert_int_equal(fake_call(FAKE_ACQUIRE, 0).ask, RLK_ASK_FIRST);
	assert_true(fake_call(FAKE_BELL_WAIT, 0).conn == conn);
	/* An open transaction would be in the way of an ALTER TABLE. */
	assert_true(fake_call(FAKE_RELEASE, 0).conn == conn);
	fake_bell_ring("row job");
	fake_await(FAKE_ACQUIRE, 2);
	assert_int_equal(fake_call(FAKE_ACQUIRE, 1).ask, RLK_ASK_WAIT);
	assert_true(fake_bell("row job") == conn);
	fake_row_unlock("job");
	is_granted(&bob);
	/* The next one in line is to wait for the row. */
	assert_int_equal(fake_bell("row job"), 0);
	assert_true(fake_row("job") == conn);
	assert_int_equal(release(&bob), 0);
}

/* The name may be free. */
FAKE("wait behind a locked table knows of no holder")
{
	static const struct fake_answer table = { .given = true,
						  .skip = true,
						  .result = RLK_REFUSED };
	_cleanup_(end) struct one bob = row_of(client_of(4));

	fake_row_lock("job");
	fake_next(FAKE_ACQUIRE, table);
	acquire(&bob, 500);
	fake_await(FAKE_ACQUIRE, 2);
	fake_advance(500);
	assert_code(fake_hear(bob.person, &err), ROWLOCK_ETIMEDOUT, &err);
	assert_non_null(strstr(err.message, "is not known, as its table"));
	fake_row_unlock("job");
}

FAKE("row without a line is waited for in its own queue first")
{
	_cleanup_(end) struct one bob = row_of(client_of(4));

	fake_row_lock("job");
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .given = false });
	fake_next(FAKE_ACQUIRE, waited);
	acquire(&bob, ROWLOCK_FOREVER);
	/* As a try, then for a slice, then as the first in line. */
	fake_await(FAKE_ACQUIRE, 3);
	assert_int_equal(fake_call(FAKE_ACQUIRE, 1).ask, RLK_ASK_WAIT);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 1);
	assert_true(fake_call(FAKE_BELL_WAIT, 0).order >
		    fake_call(FAKE_ACQUIRE, 1).order);
	fake_row_unlock("job");
	is_granted(&bob);
	assert_int_equal(fake_bell("row job"), 0);
	assert_int_equal(release(&bob), 0);
}

/* The answer is remembered for a second. */
FAKE("no line is looked for twice")
{
	_cleanup_(end) struct one bob = row_of(client_of(4));

	for (int i = 0; i < 3; i++) {
		fake_row_lock("job");
		acquire(&bob, ROWLOCK_FOREVER);
		fake_await(FAKE_ACQUIRE, (unsigned int) i + 2);
		fake_row_unlock("job");
		is_granted(&bob);
		assert_int_equal(release(&bob), 0);
	}
	assert_int_equal(fake_count(FAKE_BELL_OWNER), 1);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 0);
}

/* It keeps the place of the first in line from slice to slice. */
FAKE("first in line keeps the bell")
{
	struct one bob;

	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .given = false });
	fake_next(FAKE_ACQUIRE, waited);
	fake_next(FAKE_ACQUIRE, waited);
	bob = in_line(ROWLOCK_FOREVER);
	fake_bell_ring("row job");
	fake_await(FAKE_ACQUIRE, 4);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 1);
	assert_int_equal(fake_bell("row job"),
			 fake_call(FAKE_BELL_WAIT, 0).conn);
	fake_row_unlock("job");
	is_granted(&bob);
	assert_int_equal(release(&bob), 0);
	end(&bob);
}

FAKE("cancel ends the wait in line")
{
	_cleanup_(end) struct one bob = in_line(ROWLOCK_FOREVER);

	rowlock_cancel(bob.lock);
	assert_code(fake_hear(bob.person, &err), ROWLOCK_ECANCELED, &err);
	fake_await_bell_line("row job", 0);
	fake_bell_ring("row job");
	fake_row_unlock("job");
}

/* A KILL QUERY that was meant for the wait ends the letting go of the bell. */
FAKE("grant outlives a late kill")
{
	_cleanup_(end) struct one bob = in_line(ROWLOCK_FOREVER);

	fake_next(FAKE_RING, killed);
	fake_bell_ring("row job");
	fake_row_unlock("job");
	is_granted(&bob);
	assert_int_equal(fake_count(FAKE_RING), 2);
	assert_int_equal(fake_bell("row job"), 0);
	assert_int_equal(release(&bob), 0);
}

/* The row is locked on a connection that is given up: it is asked for again. */
FAKE("grant whose bell stays is not believed")
{
	static const struct fake_answer no_answer = { .given = true,
						      .skip = true,
						      .result = RLK_UNKNOWN };
	_cleanup_(end) struct one bob = in_line(ROWLOCK_FOREVER);
	uint64_t conn = fake_call(FAKE_BELL_WAIT, 0).conn;

	fake_next(FAKE_RING, no_answer);
	fake_bell_ring("row job");
	fake_row_unlock("job");
	is_granted_in_time(&bob);
	assert_true(fake_row("job") != conn);
	assert_int_equal(fake_bell("row job"), 0);
	assert_int_equal(release(&bob), 0);
}

CASE_MAIN(case_main)
