/* SPDX-License-Identifier: MIT */
/*
 * The plea of the first in line for permits, which each release hears while it
 * pleads.
 */
#include "some.h"
#include "strategy/permits.h"
#include "strategy/plea.h"

static bool is_heard(const struct some *some)
{
	bool heard = false;

	assert_done(
	    rlk_plea_look(ground->conns[1], &some->request, &heard, &err));
	return heard;
}

static bool has_room(const struct some *some)
{
	bool room = false;

	assert_done(
	    rlk_plea_count(ground->conns[1], &some->request, &room, &err));
	return room;
}

static void plead(const struct some *some)
{
	assert_done(rlk_plea_make(ground->conns[1], &some->request, &err));
	assert_false(is_heard(some));
}

static void stop_pleading(const struct some *some)
{
	assert_done(rlk_plea_end(ground->conns[1], &some->request, &err));
}

static void is_heard_by_releases_of(unsigned int count)
{
	const char *name = test_name("plea");
	struct some had = some_of(0, name, 4, count);
	struct some some = some_of(1, name, 4, 4);

	for (int round = 0; round < 2; round++) {
		assert_int_equal(ask(0, &had, NULL), RLK_DONE);
		plead(&some);
		assert_false(has_room(&some));
		release(&had);
		assert_true(is_heard(&some));
		assert_true(has_room(&some));
		assert_int_equal(rows_of(name), 0);
		stop_pleading(&some);
	}
}

CASE_ON("release hears the plea of the first in line", GROUND_PERMITS)
{
	is_heard_by_releases_of(1);
}

CASE_ON("release of several permits hears it, too", GROUND_PERMITS)
{
	is_heard_by_releases_of(3);
}

/* It is left behind: no release looks for it. */
CASE_ON("release that nobody pleads with is one statement", GROUND_PERMITS)
{
	const char *name = test_name("nobody");
	struct some had = some_of(0, name, 4, 1);
	struct some some = some_of(1, name, 4, 1);

	plead(&some);
	stop_pleading(&some);
	assert_int_equal(ask(0, &had, NULL), RLK_DONE);
	release(&had);
	assert_int_equal(rows_of(name), 0);
	assert_false(is_heard(&some));
	rlk_plea_hear(ground->beside, name);
	assert_true(is_heard(&some));
}

CASE_ON("release of permits that are gone in part tells it", GROUND_PERMITS)
{
	const char *name = test_name("part");
	struct some had = some_of(0, name, 4, 3);

	assert_int_equal(ask(0, &had, NULL), RLK_DONE);
	remove_slot(&had, 1);
	assert_false(ground_release(0, &had.request));
	assert_int_equal(rows_of(name), 0);
}

CASE_ON("another number is heard like a release", GROUND_PERMITS)
{
	const char *name = test_name("number");
	struct some some = some_of(1, name, 2, 1);

	plead(&some);
	assert_done(rlk_permits_set(ground->beside, name, 3, &err));
	assert_true(is_heard(&some));
	stop_pleading(&some);
}

CASE_ON("nobody waits for more than there are", GROUND_PERMITS)
{
	const char *name = test_name("fewer");
	struct some had = some_of(0, name, 4, 2);
	struct some some = some_of(1, name, 4, 3);

	assert_int_equal(ask(0, &had, NULL), RLK_DONE);
	assert_false(has_room(&some));
	assert_done(rlk_permits_set(ground->beside, name, 2, &err));
	assert_true(has_room(&some));
	release(&had);
}

CASE_MAIN(test_main)
