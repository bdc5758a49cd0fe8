/* SPDX-License-Identifier: MIT */
/*
 * Ghosts: bells that nobody will let go, though the name is free or has gone to
 * another; and how none is left behind.
 */
#include "doorbell.h"

/* ------------------------------------------------------------- of others */

FAKE("what is free at the deadline is taken from a ghost")
{
	_cleanup_(end) struct one bob = waiting(500);

	fake_lease_remove("job");
	is_granted_in_time(&bob);
	assert_int_equal(fake_bell("job"), SOMEBODY);
	assert_int_equal(release(&bob), 0);
	fake_bell_ring("job");
}

/* As permits are asked for: who asks is refused as long as others stand in
 * line. */
static enum rlk_fault ask_behind_the_line(struct rlk_conn *conn,
					  const struct rlk_request *request,
					  enum rlk_ask ask,
					  struct rlk_holder *ret_holder,
					  struct rowlock_errinfo *reterr)
{
	uint64_t bell = fake_bell(request->name);

	if (!bell || bell == rlk_conn_id(conn) || request->passes_line)
		return rlk_strategy(ROWLOCK_LEASE)
		    ->acquire(conn, request, ask, ret_holder, reterr);
	*ret_holder = (struct rlk_holder){ 0 };
	return RLK_HELD;
}

static struct rlk_strategy permits(void)
{
	struct rlk_strategy counted = *rlk_strategy(ROWLOCK_LEASE);

	counted.many = true;
	counted.counted = true;
	counted.look = NULL;
	counted.batch = NULL;
	counted.acquire = ask_behind_the_line;
	return counted;
}

/* In line behind a connection that has the bell, whoever got it there, and asks
 * for nothing. */
static struct one behind_a_ghost(const struct rlk_strategy *strategy)
{
	const struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct one bob = { .client = client_of(4), .person = fake_person() };

	fake_bell_take("job");
	assert_ok(rlk_lock_make(bob.client, "job", strategy, &options,
				&bob.lock, &err));
	acquire(&bob, ROWLOCK_FOREVER);
	fake_await_bell_line("job", 1);
	return bob;
}

/* It may want more than are free. The server ends the connection of one that
 * does not ask. */
FAKE("permits are left to the first in line")
{
	struct rlk_strategy counted = permits();
	_cleanup_(end) struct one bob = behind_a_ghost(&counted);

	fake_pass_await(FAKE_BELL_RESUME, 3);
	assert_int_equal(fake_count(FAKE_LOOK), 0);
	assert_int_equal(fake_bell_line("job"), 1);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 1);
	assert_int_equal(fake_count(FAKE_KILL_QUERY), 0);
	fake_bell_ring("job");
	is_granted(&bob);
	assert_int_equal(release(&bob), 0);
}

/* Its host vanished: its connection, and so its bell, outlive its session. */
FAKE("dead holder's name is taken at once, though its bell lives")
{
	_cleanup_(end) struct one bob = waiting(ROWLOCK_FOREVER);

	fake_session_expire(77);
	fake_advance(LOOK_MOST_MS);
	is_granted_in_time(&bob);
	assert_int_equal(fake_count(FAKE_BELL_WAIT), 1);
	assert_int_equal(fake_bell("job"), SOMEBODY);
	assert_int_equal(release(&bob), 0);
	fake_bell_ring("job");
}

/* --------------------------------------------------------------- our own */

static bool bell_is_gone(void *arg)
{
	return fake_bell(arg) == 0;
}

/* It was taken with the commit connection, which is in use for long when the
 * name is given back: so the connection is ended when it comes free. */
FAKE("bell on a connection in use is no ghost for long")
{
	char name[] = "job";
	_cleanup_(end) struct one bob = one(client_of(4), name);
	_cleanup_(leave) struct one eve = one(bob.client, "other");
	uint64_t commit;

	acquire(&bob, ROWLOCK_FOREVER);
	is_granted(&bob);
	commit = fake_call(FAKE_ACQUIRE, 0).conn;
	assert_int_equal(fake_bell("job"), commit);
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .wait = true });
	acquire(&eve, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 2);
	fake_tell(bob.person, FAKE_DO_RELEASE, bob.lock, 0);
	is_granted_in_time(&bob);
	assert_int_equal(fake_lease("job"), 0);
	/* It was not waited for. */
	assert_true(fake_busy(eve.person));
	assert_int_equal(fake_bell("job"), commit);
	fake_let(FAKE_ACQUIRE);
	is_granted(&eve);
	fake_pass_until(bell_is_gone, name);
	assert_int_equal(release(&eve), 0);
}

/* The commit connection before had a bell, too, of a name that is given back
 * last, while the present one is in use. */
FAKE("bell is no ghost though an older one is missed as well")
{
	const struct fake_answer lost = { .given = true,
					  .result = RLK_UNKNOWN };
	char name[] = "job";
	_cleanup_(end) struct one carl = one(client_of(4), "third");
	_cleanup_(leave) struct one bob = one(carl.client, name);
	_cleanup_(leave) struct one eve = one(carl.client, "other");
	unsigned int asked;

	acquire(&carl, ROWLOCK_FOREVER);
	is_granted(&carl);
	fake_next(FAKE_ACQUIRE, lost);
	acquire(&eve, ROWLOCK_FOREVER);
	is_granted_in_time(&eve);
	assert_int_equal(release(&eve), 0);
	acquire(&bob, ROWLOCK_FOREVER);
	is_granted(&bob);
	assert_int_not_equal(fake_bell(name), 0);
	asked = fake_count(FAKE_ACQUIRE);
	fake_next(FAKE_ACQUIRE, (struct fake_answer){ .wait = true });
	acquire(&eve, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, asked + 1);
	fake_tell(bob.person, FAKE_DO_RELEASE, bob.lock, 0);
	is_granted_in_time(&bob);
	fake_tell(carl.person, FAKE_DO_RELEASE, carl.lock, 0);
	is_granted_in_time(&carl);
	assert_int_not_equal(fake_bell(name), 0);
	fake_let(FAKE_ACQUIRE);
	is_granted(&eve);
	fake_pass_until(bell_is_gone, name);
	assert_int_equal(release(&eve), 0);
}

/* The connection ended before anybody could close it. */
FAKE("ghost of a lost connection does not end the next one")
{
	const struct fake_answer lost = {
		.wait = true, .given = true, .skip = true, .result = RLK_UNKNOWN
	};
	_cleanup_(end) struct one bob = one(client_of(4), "job");
	_cleanup_(leave) struct one eve = one(bob.client, "other");
	_cleanup_(leave) struct one carl = one(bob.client, "third");
	uint64_t commit;

	acquire(&bob, ROWLOCK_FOREVER);
	is_granted(&bob);
	commit = fake_bell("job");
	fake_next(FAKE_ACQUIRE, lost);
	acquire(&eve, ROWLOCK_FOREVER);
	fake_await(FAKE_ACQUIRE, 2);
	fake_tell(bob.person, FAKE_DO_RELEASE, bob.lock, 0);
	is_granted_in_time(&bob);
	fake_let(FAKE_ACQUIRE);
	is_granted_in_time(&eve);
	assert_int_not_equal(fake_bell("other"), 0);
	assert_int_not_equal(fake_bell("other"), commit);
	acquire(&carl, ROWLOCK_FOREVER);
	is_granted(&carl);
	assert_int_equal(fake_bell("third"), fake_bell("other"));
	assert_int_equal(release(&carl), 0);
	assert_int_equal(release(&eve), 0);
}

CASE_MAIN(case_main)
