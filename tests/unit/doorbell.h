/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_DOORBELL_H
#define ROWLOCK_TEST_DOORBELL_H

/*
 * For the tests of bells: one thread that uses one handle, and the other
 * client, which is the test itself: it adds and removes leases and has bells by
 * hand.
 */
#include "fake/fake.h"

#include <string.h>

#include "hold/handle.h"
#include "test.h"

/* As in wait/doorbell.c: the longest wait, and the longest time without a look.
 */
#define YEAR_MS (365 * UINT64_C(24) * 3600 * 1000)
#define LOOK_MOST_MS 20000
#define SOMEBODY UINT64_MAX

static inline struct rowlock_client *client_with(unsigned int waits,
						 unsigned int flags)
{
	struct rowlock_client_options options = fake_options();

	options.wait_connections = waits;
	if (waits)
		options.flags ^= ROWLOCK_POLL;
	options.flags |= ROWLOCK_NO_HANDOVER | flags;
	return fake_client_with(&options);
}

static inline struct rowlock_client *client_of(unsigned int waits)
{
	return client_with(waits, 0);
}

/* One thread that uses one handle. */
struct one {
	struct rowlock_client *client;
	struct rowlock *lock;
	struct fake_person *person;
};

static inline struct one one(struct rowlock_client *client, const char *name)
{
	return (struct one){
		.client = client,
		.lock = fake_lock(client, ROWLOCK_LEASE, 0, name),
		.person = fake_person(),
	};
}

static inline void acquire(const struct one *one, uint64_t wait_ms)
{
	fake_tell(one->person, FAKE_DO_ACQUIRE, one->lock, wait_ms);
}

static inline void is_granted(const struct one *one)
{
	assert_ok(fake_hear(one->person, &err));
}

/* Though nobody tells it. */
static inline void is_granted_in_time(const struct one *one)
{
	assert_ok(fake_pass_hear(one->person, &err));
}

static inline int release(const struct one *one)
{
	return fake_ask(one->person, FAKE_DO_RELEASE, one->lock, 0);
}

static inline void leave(const struct one *one)
{
	fake_person_end(one->person);
	fake_lock_end(one->lock);
}

static inline void end(const struct one *one)
{
	leave(one);
	assert_int_equal(fake_bells(), 0);
	fake_client_end(one->client);
}

/* The other client holds @name, and has its bell. */
static inline void other_holds(const char *name)
{
	if (!fake_session_there(77))
		fake_session_add(77);
	fake_lease_add(name, 7, 77);
	fake_bell_take(name);
}

static inline void other_rings(const char *name)
{
	fake_lease_remove(name);
	fake_bell_ring(name);
}

/* In line, behind the other client. */
static inline struct one waiting(uint64_t wait_ms)
{
	struct one bob;

	other_holds("job");
	bob = one(client_of(4), "job");
	acquire(&bob, wait_ms);
	fake_await_bell_line("job", 1);
	return bob;
}

static inline bool no_bells(void *arg)
{
	(void) arg;
	return fake_bells() == 0;
}

static inline bool none_lent(void *arg)
{
	return fake_lent(*(int *) arg) == 0;
}

static inline void await_given_back(int bay)
{
	fake_until(none_lent, &bay);
}

#endif
