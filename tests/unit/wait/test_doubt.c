/* SPDX-License-Identifier: MIT */
/*
 * Attempts without an answer whose session cannot be ended: it is on another
 * node, or KILL is refused. What lands late is deleted again and again, until
 * the server has ended that session by itself; and nothing waits for that.
 */
#include "fake/fake.h"

#include <string.h>

#include "core/client.h"
#include "hold/handle.h"
#include "test.h"

static const struct fake_answer lost_after = { .given = true,
					       .result = RLK_UNKNOWN };
static const struct fake_answer lost_before = { .given = true,
						.skip = true,
						.result = RLK_UNKNOWN };
static const struct fake_answer out_of_reach = { .given = true,
						 .skip = true,
						 .result = RLK_REFUSED };
static const struct fake_answer late_and_out_of_reach = {
	.wait = true, .given = true, .skip = true, .result = RLK_REFUSED
};
static const struct fake_answer no_answer = { .given = true,
					      .skip = true,
					      .result = RLK_UNKNOWN };
static const struct fake_answer normal = { .given = false };

/* The commit connection is idle for a TTL at the most, 30 s here; a margin, a
 * round and a lock's wait come to it. */
#define DOUBT_MS (30000 + 3000 + 1500 + 1000)

static char job[] = "job";
static char task[] = "task";

static bool is_free(void *name)
{
	return fake_lease(name) == 0;
}

static void get_it(uint64_t wait_ms, struct fake_answer answer)
{
	FAKE_JOB(ROWLOCK_LEASE, 0);
	FAKE_PERSON(bob);
	struct fake_call call;

	fake_always(FAKE_FENCE, out_of_reach);
	/* The chores have not got to it yet. */
	fake_next(FAKE_FENCE, out_of_reach);
	fake_next(FAKE_FENCE, late_and_out_of_reach);
	fake_next(FAKE_ACQUIRE, answer);
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, wait_ms);
	assert_ok(fake_pass_hear(bob, &err));
	fake_let(FAKE_FENCE);
	call = fake_call(FAKE_ACQUIRE, 0);
	/* Its row was deleted before it was asked for as another attempt. */
	assert_true(fake_call(FAKE_RELEASE, 0).attempt == call.attempt);
	assert_true(fake_call(FAKE_RELEASE, 0).order <
		    fake_call(FAKE_ACQUIRE, 1).order);
	assert_true(fake_lease("job") == fake_call(FAKE_ACQUIRE, 1).attempt);
	assert_true(fake_lease("job") != call.attempt);
	/* The chores take theirs only, again and again. */
	fake_pass_await(FAKE_RELEASE, 4);
	assert_int_equal(rowlock_held(lock), 1);
	assert_true(fake_lease("job") == fake_call(FAKE_ACQUIRE, 1).attempt);
	assert_ok(fake_ask(bob, FAKE_DO_RELEASE, lock, 0));
	/* It lands. */
	fake_lease_add("job", call.attempt, call.id);
	fake_pass_until(is_free, job);
}

FAKE("who cannot be told asks on as another attempt")
{
	get_it(0, lost_after);
	fake_setup(state);
	get_it(0, lost_before);
	fake_setup(state);
	get_it(ROWLOCK_FOREVER, lost_after);
}

/* Nor is there any other word of it. */
FAKE("a fence without an answer is not waited for")
{
	struct rowlock_client_options options = fake_options();
	struct fake_person *bob = fake_person();

	options.call_timeout_ms = 300;
	FAKE_CLIENT_AS(client, fake_client_with(&options));
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, "job");
	fake_always(FAKE_FENCE, no_answer);
	fake_next(FAKE_ACQUIRE, lost_after);
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, ROWLOCK_FOREVER);
	assert_ok(fake_pass_hear(bob, &err));
	assert_ok(fake_ask(bob, FAKE_DO_RELEASE, lock, 0));
	fake_person_end(bob);
}

/* Attempts that are in doubt, of names that nobody holds. */
static void doubt(struct rowlock_client *client, const char *name)
{
	FAKE_LOCK(lock, client, ROWLOCK_LEASE, 0, name);
	FAKE_PERSON(bob);

	fake_next(FAKE_ACQUIRE, lost_before);
	fake_tell(bob, FAKE_DO_ACQUIRE, lock, 0);
	assert_ok(fake_pass_hear(bob, &err));
	assert_ok(fake_ask(bob, FAKE_DO_RELEASE, lock, 0));
}

FAKE("one in doubt keeps nothing else waiting")
{
	FAKE_CLIENT();
	struct fake_call first;
	struct fake_call second;

	fake_always(FAKE_FENCE, out_of_reach);
	doubt(client, "job");
	first = fake_call(FAKE_ACQUIRE, 0);
	doubt(client, "task");
	second = fake_call(FAKE_ACQUIRE, 2);
	fake_lease_add("job", first.attempt, first.id);
	fake_lease_add("task", second.attempt, second.id);
	fake_pass_until(is_free, job);
	fake_pass_until(is_free, task);
	/* It is dying, and does not end. */
	fake_always(FAKE_FENCE, (struct fake_answer){ .given = true,
						      .skip = true,
						      .result = RLK_PENDING });
	fake_lease_add("task", second.attempt, second.id);
	fake_lease_add("job", first.attempt, first.id);
	fake_pass_until(is_free, task);
	fake_pass_until(is_free, job);
}

/* Looked at while the chores sleep. */
static bool is_in_doubt(struct rowlock_client *client)
{
	bool in_doubt;

	rlk_mutex_lock(&client->mutex);
	in_doubt = !rlk_list_empty(&client->abandoned);
	rlk_mutex_unlock(&client->mutex);
	return in_doubt;
}

static bool has_no_doubt(void *client)
{
	return !is_in_doubt(client);
}

static unsigned int fences_of(uint64_t conn)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < fake_count(FAKE_FENCE); i++)
		count += fake_call(FAKE_FENCE, i).id == conn;
	return count;
}

static bool is_fenced_often(void *conn)
{
	return fences_of(*(uint64_t *) conn) >= 5;
}

static bool is_beaten(void *beats)
{
	return fake_count(FAKE_BEAT) >= *(unsigned int *) beats;
}

/* Rounds of the chores, half a second apart. The keeper beats every ten: where
 * it gets its turn late the session would be lost, and with it the doubt. */
static void let_rounds_go_on(unsigned int ms)
{
	unsigned int before = fake_count(FAKE_BEAT);

	fake_pass_await(FAKE_RELEASE, fake_count(FAKE_RELEASE) + 1);
	fake_await_sleep_within(500);
	for (unsigned int i = 1; i <= ms / 500; i++) {
		unsigned int beats = before + i * 500 / 10000;

		fake_advance(500);
		fake_await_sleep(500);
		fake_until(is_beaten, &beats);
	}
}

FAKE("a doubt ends with the server's patience")
{
	FAKE_CLIENT();
	struct fake_call call;
	unsigned int fences;
	uint64_t other;
	int64_t ends;

	fake_always(FAKE_FENCE, out_of_reach);
	doubt(client, "job");
	call = fake_call(FAKE_ACQUIRE, 0);
	let_rounds_go_on(DOUBT_MS - 1500);
	assert_true(is_in_doubt(client));
	fake_lease_add("job", call.attempt, call.id);
	fake_advance(500);
	fake_pass_until(is_free, job);
	ends = fake_now() + 1500;
	fake_pass_until(has_no_doubt, client);
	assert_true(fake_now() <= ends);
	fences = fences_of(call.conn);
	/* There are rounds again, but of another one. */
	doubt(client, "task");
	other = fake_call(FAKE_ACQUIRE, 2).conn;
	fake_pass_until(is_fenced_often, &other);
	assert_int_equal(fences_of(call.conn), fences);
}

/* What stood still counts no time, and executes what had arrived. */
FAKE("a server that stood still is in doubt anew")
{
	FAKE_CLIENT();
	struct fake_call call;

	fake_always(FAKE_FENCE, out_of_reach);
	doubt(client, "job");
	call = fake_call(FAKE_ACQUIRE, 0);
	let_rounds_go_on(1000);
	fake_always(FAKE_RELEASE, no_answer);
	let_rounds_go_on(DOUBT_MS);
	fake_always(FAKE_RELEASE, normal);
	let_rounds_go_on(DOUBT_MS - 1500);
	assert_true(is_in_doubt(client));
	fake_lease_add("job", call.attempt, call.id);
	fake_advance(500);
	fake_pass_until(is_free, job);
}

CASE_MAIN(case_main)
