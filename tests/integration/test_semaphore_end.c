/* SPDX-License-Identifier: MIT */
/*
 * How permits end: with their client, by a break, at a maximum; and what a
 * number means that others say, or that is changed.
 */
#include <string.h>

#include "holder.h"
#include "semaphores.h"

/* Of a client that is to die. */
#define SHORT_TTL_MS 1000

/* ------------------------------------------------------------------- ends */

/* What a holder has. */
struct some {
	const char *name;
	unsigned int permits;
	unsigned int count;
};

static bool have_some(struct rowlock_client *client, void *arg)
{
	const struct some *some = arg;
	struct rowlock *semaphore = NULL;

	return rowlock_semaphore_new(client, some->name, some->permits, NULL,
				     &semaphore, NULL) == 0 &&
	       rowlock_semaphore_acquire(semaphore, some->count, 0, NULL) == 0;
}

static pid_t start_holder(const char *name, unsigned int permits,
			  unsigned int count)
{
	struct some some = { name, permits, count };

	return holder_start(test_ttl_ms(SHORT_TTL_MS), have_some, &some);
}

static void outlive(unsigned int flags)
{
	struct rowlock_client_options options =
	    test_client_options(test_ttl_ms(TTL_MS));
	const char *name = test_name("dead");
	pid_t holders[2] = { start_holder(name, 5, 3),
			     start_holder(name, 5, 1) };
	struct rowlock *semaphore;

	options.flags |= flags;
	TEST_CLIENT(client, test_client_with(&options));
	semaphore = make(client, name, 5);
	expect(semaphore, 2, ROWLOCK_EBUSY);
	for (int i = 0; i < 2; i++)
		holder_kill(holders[i]);
	assert_ok(rowlock_semaphore_acquire(
	    semaphore, 5, (uint64_t) test_patience_ms(), &err));
	release(semaphore);
	expect_count(client, name, 5, 0);
	end(semaphore);
}

CASE("permits of dead clients come back")
{
	outlive(0);
}

CASE("permits of clients that were seen dead come back")
{
	outlive(ROWLOCK_OBSERVE_BEATS);
}

/* Those that live are many, and end much later. */
CASE("permits of a dead client come back beside those of others")
{
	TEST_CLIENT(client, test_client(test_ttl_ms(60000)));
	const char *name = test_name("beside");
	pid_t holder = start_holder(name, 9, 1);
	struct rowlock *others = make(client, name, 9);
	struct rowlock *semaphore = make(client, name, 9);
	uint64_t most_ms = test_ttl_ms(SHORT_TTL_MS) + 8000;

	expect(others, 8, 0);
	holder_kill(holder);
	/* It pleads by then. */
	assert_ok(rowlock_semaphore_acquire(semaphore, 1, most_ms, &err));
	release(semaphore);
	release(others);
	end(semaphore);
	end(others);
}

/* Until it acquires again, which starts afresh. */
static void expect_lost(struct rowlock *semaphore)
{
	assert_code(rowlock_verify(semaphore, &err), ROWLOCK_ELOST, &err);
	expect(semaphore, 1, 0);
	release(semaphore);
	assert_code(rowlock_release(semaphore, &err), ROWLOCK_ENOTHELD, &err);
}

CASE("who loses one of his permits is told, and has none")
{
	struct pair pair = pair_new("lost", 3);
	struct rowlock_client *client = test_client(test_ttl_ms(SHORT_TTL_MS));
	struct rowlock *semaphore = make(client, pair.name, 3);
	struct test_loss told = { .event = test_event_new() };

	rowlock_on_lost(semaphore, test_loss_note, &told);
	expect(semaphore, 2, 0);
	expect(pair.one, 1, 0);
	/* One of its permits is enough. */
	test_sql(pair.sql,
		 "UPDATE business_lease l JOIN lease_session s ON s.id = "
		 "l.session JOIN (SELECT MIN(slot) slot FROM business_lease "
		 "WHERE name = '%s' GROUP BY attempt HAVING COUNT(*) = 2) m "
		 "ON m.slot = l.slot SET l.attempt = 0, l.session = 0, "
		 "s.breaks = s.breaks + 1 WHERE l.name = '%s'",
		 pair.name, pair.name);
	assert_loss(&told, "the loss of two permits");
	expect_lost(semaphore);
	assert_int_equal(rowlock_semaphore_held(pair.one), 1);
	/* What is left of it is in nobody's way. */
	expect(pair.two, 2, 0);
	release(pair.two);
	release(pair.one);
	end(semaphore);
	test_event_end(&told.event);
	test_client_end(client);
	pair_end(&pair);
}

CASE("a break ends whoever has permits")
{
	struct pair pair = pair_new("broken", 3);

	expect(pair.one, 2, 0);
	expect(pair.two, 1, 0);
	assert_ok(
	    rowlock_break(pair.clients[0], ROWLOCK_LEASE, pair.name, &err));
	expect_count(pair.clients[0], pair.name, 3, 0);
	assert_code(rowlock_verify(pair.one, &err), ROWLOCK_ELOST, &err);
	assert_code(rowlock_release(pair.one, &err), ROWLOCK_ELOST, &err);
	assert_code(rowlock_release(pair.two, &err), ROWLOCK_ELOST, &err);
	pair_end(&pair);
}

CASE("a maximum ends all permits of an acquire")
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct pair pair = pair_new("maximum", 2);
	struct rowlock *semaphore = NULL;
	struct test_loss told = { .event = test_event_new() };

	options.max_hold_ms = 1000;
	assert_ok(rowlock_semaphore_new(pair.clients[0], pair.name, 2, &options,
					&semaphore, &err));
	rowlock_on_lost(semaphore, test_loss_note, &told);
	expect(semaphore, 2, 0);
	assert_loss(&told, "the end of the maximum");
	assert_ok(rowlock_semaphore_acquire(
	    pair.two, 2, (uint64_t) test_patience_ms(), &err));
	release(pair.two);
	assert_code(rowlock_release(semaphore, &err), ROWLOCK_ELOST, &err);
	end(semaphore);
	test_event_end(&told.event);
	pair_end(&pair);
}

/* ---------------------------------------------------------------- numbers */

CASE("who says another number of permits is refused")
{
	struct pair pair = pair_new("number", 3);
	struct rowlock *other =
	    make(pair.clients[0], pair.name, ROWLOCK_PERMITS_STORED);
	struct rowlock *five = make(pair.clients[0], pair.name, 5);

	assert_code(rowlock_semaphore_acquire(other, 1, 0, &err),
		    ROWLOCK_EINVAL, &err);
	assert_non_null(strstr(err.message, "not there"));
	expect(pair.one, 1, 0);
	assert_code(rowlock_semaphore_acquire(five, 1, ROWLOCK_FOREVER, &err),
		    ROWLOCK_EINVAL, &err);
	assert_non_null(strstr(err.message, "has 3 permits"));
	assert_code(rowlock_semaphore_acquire(other, 4, ROWLOCK_FOREVER, &err),
		    ROWLOCK_EINVAL, &err);
	expect_count(pair.clients[0], pair.name, 3, 1);
	assert_ok(
	    rowlock_semaphore_resize(pair.clients[1], pair.name, 5, &err));
	expect(pair.two, 1, ROWLOCK_EINVAL);
	expect(five, 4, 0);
	expect(other, 1, ROWLOCK_EBUSY);
	release(five);
	expect(other, 4, 0);
	release(other);
	release(pair.one);
	end(other);
	end(five);
	pair_end(&pair);
}

/* Of each two that are given back one is too many. */
CASE("no more come in than a lowered number allows")
{
	struct pair pair = pair_new("lowered", ROWLOCK_PERMITS_STORED);
	struct rowlock *had[6];
	unsigned int used = 6;

	assert_ok(
	    rowlock_semaphore_resize(pair.clients[0], pair.name, 6, &err));
	for (unsigned int i = 0; i < 6; i++) {
		had[i] = make(pair.clients[0], pair.name, 6);
		expect(had[i], 1, 0);
	}
	assert_ok(
	    rowlock_semaphore_resize(pair.clients[0], pair.name, 3, &err));
	for (unsigned int i = 0; i < 6; i++) {
		expect_count(pair.clients[0], pair.name, 3, used);
		assert_int_equal(rowlock_semaphore_held(had[i]), 1);
		expect(pair.two, 1, used < 3 ? 0 : ROWLOCK_EBUSY);
		if (used < 3) {
			expect(pair.one, 3 - used, ROWLOCK_EBUSY);
			release(pair.two);
		}
		release(had[i]);
		used--;
		end(had[i]);
	}
	expect(pair.one, 3, 0);
	release(pair.one);
	pair_end(&pair);
}

CASE_MAIN(test_main)
