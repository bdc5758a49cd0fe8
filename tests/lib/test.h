/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_H
#define ROWLOCK_TEST_H

/*
 * A few words over cmocka for the tests that look at the library from outside.
 * They need a server: its connection string is in ROWLOCK_TEST_DSN (or
 * ROWLOCK_DSN); without one a test program ends with 77, "skipped".
 *
 * A test waits for events, never for time to pass; test_patience_ms() is how
 * long an event may stay away before the test is called hung.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rowlock/admin.h>

#include <sched.h>

#include "case.h"
#include "code.h"
#include "patience.h"

#define TEST_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/** Play all cases; 77 if there is no server. For CASE_MAIN(). */
int test_main(void);

/** Say that all tests are skipped, and why; returns main()'s result. */
int test_skip_all(const char *reason);

/** May this process have @count descriptors open? Raises the soft limit if the
 *  hard one allows it; else the test is to be skipped. */
bool test_descriptors(unsigned int count);

/** The server's connection string, NULL if there is none. */
const char *test_dsn(void);

/** Let test_dsn() be @dsn from now on: a test with a server of its own. */
void test_use_dsn(const char *dsn);

/** @word made unique, so that tests share a server: "word.a1b2c3". The text
 *  is valid until the program ends. */
const char *test_name(const char *word);

/** @ttl_ms, and more with the load: the TTL of a hold that has to live, of a
 *  client that gets its turn late on a busy machine. */
uint64_t test_ttl_ms(uint64_t ttl_ms);

/** A client on test_dsn() with this TTL, no reaper of its own. */
struct rowlock_client *test_client(uint64_t ttl_ms);
/** The options that test_client() uses, to be changed. */
struct rowlock_client_options test_client_options(uint64_t ttl_ms);
struct rowlock_client *test_client_with(
    const struct rowlock_client_options *options);
void test_client_end(struct rowlock_client *client);

struct rowlock *test_lock(struct rowlock_client *client,
			  enum rowlock_strategy strategy, unsigned int flags,
			  const char *name);
/** rowlock_free() that must succeed. */
void test_lock_end(struct rowlock *lock);
void test_end(struct rowlock *lock, struct rowlock_client *client);

static inline void test_client_endp(struct rowlock_client **at)
{
	test_client_end(*at);
}

static inline void test_lock_endp(struct rowlock **at)
{
	test_lock_end(*at);
}

/** Declarations of what ends with its block, the last one first. */
#define TEST_CLIENT(client, made)                                              \
	CASE_ENDS(test_client_endp) struct rowlock_client *client = made
#define TEST_LOCK(lock, made)                                                  \
	CASE_ENDS(test_lock_endp) struct rowlock *lock = made

/** The term in which a candidate leads; 0 if it does not. */
uint64_t test_term(struct rowlock *lock);

/** CLOCK_BOOTTIME in nanoseconds: one clock for all processes of a host. */
uint64_t test_now_ns(void);

/** Milliseconds from @since to @until, both of test_now_ns(). */
double test_ms(uint64_t since, uint64_t until);

/** Write down a measured figure: to the file that ROWLOCK_TEST_REPORT names,
 *  if it does. Figures are reported, not judged. */
void test_figure(double value, const char *unit, const char *what, ...)
    __attribute__((format(printf, 3, 4)));

/**
 * Something that a callback or another thread tells, and a test waits for.
 */
struct test_event {
	int fd;
};

struct test_event test_event_new(void);
void test_event_end(struct test_event *event);
/** One that ends with its block. */
#define TEST_EVENT(name)                                                       \
	CASE_ENDS(test_event_end) struct test_event name = test_event_new()
void test_event_set(struct test_event *event);

/** For rowlock_on_lost(), with a struct test_event as @arg. */
static inline void test_event_note(struct rowlock *lost, void *arg)
{
	(void) lost;
	test_event_set(arg);
}

/** Wait for at least one test_event_set(), and clear it. Fail the test after
 *  test_patience_ms(): what follows says, as printf() would, which event it
 *  is, and what is seen instead by then. */
#define assert_event(event, ...)                                               \
	do {                                                                   \
		uint64_t since_ = test_now_ns();                               \
		if (!test_event_wait(event))                                   \
			test_no_event(since_, __FILE__, __LINE__,              \
				      __VA_ARGS__);                            \
	} while (0)
void test_no_event(uint64_t since_ns, const char *file, int line,
		   const char *what, ...) __attribute__((format(printf, 4, 5)));

/** The same for another thread, which cannot fail a test: false. */
bool test_event_wait(struct test_event *event);

/** A loss that is told, on another thread, where nothing may be asserted. */
struct test_loss {
	struct test_event event;
	int held; /* what rowlock_held() was in the callback */
};

/** For rowlock_on_lost(), with a struct test_loss as @arg. */
static inline void test_loss_note(struct rowlock *lost, void *arg)
{
	struct test_loss *loss = arg;

	loss->held = rowlock_held(lost);
	test_event_set(&loss->event);
}

/** As assert_event(); and the lock was not held any more. */
#define assert_loss(loss, ...)                                                 \
	do {                                                                   \
		assert_event(&(loss)->event, __VA_ARGS__);                     \
		assert_int_equal((loss)->held, 0);                             \
	} while (0)

/** Wait until there is something to read, or the other end has gone; false
 *  after test_patience_ms(). */
bool test_readable(int fd);

/** In a loop that looks whether something has come that nothing tells of: fail
 *  the test once it has looked for test_patience_ms() since @since_ns (of
 *  test_now_ns()). @what says what it waits for, and what it sees. */
void test_keep_waiting(uint64_t since_ns, const char *what, ...)
    __attribute__((format(printf, 2, 3)));

/** Cancel the acquire that another thread has begun, or is about to begin. */
static inline void test_cancel(struct rowlock *waiting)
{
	while (!rowlock_cancel(waiting))
		sched_yield();
}

#endif
