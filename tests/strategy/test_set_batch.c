/* SPDX-License-Identifier: MIT */
/*
 * Packets of sets: each is made or not, whatever becomes of the others.
 */
#include <stdio.h>
#include <string.h>

#include "parts.h"
#include "sets.h"

static struct rlk_part release_of(const struct rlk_part *acquire)
{
	return parts_of(RLK_ACT_RELEASE, &acquire->request);
}

static void release_all(const struct rlk_part *acquires, size_t count)
{
	struct rlk_part parts[16];

	for (size_t i = 0; i < count; i++)
		parts[i] = release_of(&acquires[i]);
	parts_run_all(0, parts, count);
}

CASE_ON("sets without a common name are all granted", GROUND_SETS)
{
	struct rlk_part parts[4];
	struct sets_trio trios[4];

	for (int i = 0; i < 4; i++) {
		char word[16];

		snprintf(word, sizeof(word), "apart%d", i);
		trios[i] = sets_trio(word);
		parts[i] = parts_ask(i % 2, trios[i].all);
	}
	parts_run_all(0, parts, 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(parts[i].verdict, RLK_DONE);
		assert_int_equal(sets_rows(&trios[i], parts[i].request.attempt),
				 3);
	}
	release_all(parts, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(sets_rows(&trios[i], 0), 0);
}

CASE_ON("of two that share a name one is granted", GROUND_SETS)
{
	struct sets_trio trio = sets_trio("share");
	struct rlk_part parts[] = {
		parts_ask(0, trio.first_two),
		parts_ask(1, trio.last_two),
		parts_ask(1, trio.last),
	};
	const struct rlk_part *granted = NULL;
	const struct rlk_part *held = NULL;

	parts_run_all(0, parts, 3);
	for (int i = 0; i < 3; i++) {
		if (parts[i].request.name == trio.last_two)
			held = &parts[i];
		if (parts[i].request.name == trio.first_two)
			granted = &parts[i];
	}
	/* All can be had but both pairs; and the last name, before it. */
	assert_int_equal(granted->verdict, RLK_DONE);
	assert_int_equal(held->verdict, RLK_HELD);
	assert_true(held->holder.known);
	assert_int_equal(sets_rows(&trio, held->request.attempt), 0);
	assert_int_equal(sets_rows(&trio, granted->request.attempt), 2);
	assert_int_equal(sets_rows(&trio, 0), 3);
	for (int i = 0; i < 3; i++)
		if (parts[i].verdict == RLK_DONE)
			release_all(&parts[i], 1);
}

/* One after the other is one of them at a time. */
CASE_ON("many that share a name exclude each other", GROUND_SETS)
{
	struct sets_trio trio = sets_trio("crowd");
	struct rlk_part parts[12];
	struct rlk_part *pointers[12];
	const struct rlk_patience none = { .go_on = NULL };
	unsigned int granted = 0;

	for (int i = 0; i < 12; i++) {
		parts[i] = parts_ask(i % 2, trio.all);
		pointers[i] = &parts[i];
	}
	assert_done(ground->strategy->batch(ground->conns[0], pointers, 12,
					    &none, &err));
	for (int i = 0; i < 12; i++) {
		/* What does not fit was not sent. */
		if (!parts[i].answered) {
			assert_true(parts[i].not_made);
			continue;
		}
		if (parts[i].verdict != RLK_DONE) {
			assert_int_equal(parts[i].verdict, RLK_HELD);
			continue;
		}
		granted++;
		assert_int_equal(sets_rows(&trio, parts[i].request.attempt), 3);
	}
	assert_int_equal(granted, 1);
	for (int i = 0; i < 12; i++)
		if (parts[i].answered && parts[i].verdict == RLK_DONE)
			release_all(&parts[i], 1);
}

CASE_ON("what is given back can be had at once", GROUND_SETS)
{
	struct sets_trio trio = sets_trio("back");
	struct rlk_part mine = parts_ask(0, trio.first_two);
	struct rlk_part parts[2];

	parts_run_all(0, &mine, 1);
	parts[0] = parts_ask(1, trio.all);
	parts[1] = release_of(&mine);
	parts_run_all(0, parts, 2);
	for (int i = 0; i < 2; i++)
		if (parts[i].act == RLK_ACT_ACQUIRE) {
			assert_int_equal(parts[i].verdict, RLK_DONE);
			assert_int_equal(
			    sets_rows(&trio, parts[i].request.attempt), 3);
			release_all(&parts[i], 1);
			return;
		}
}

CASE_ON("whose names are held is told by whom", GROUND_SETS)
{
	struct sets_trio held = sets_trio("held");
	struct sets_trio free = sets_trio("free");
	struct rlk_request one = sets_take_one(1, held.names[1]);
	struct rlk_part parts[] = {
		parts_ask(0, held.all),
		parts_ask(0, free.all),
	};

	parts_run_all(0, parts, 2);
	assert_int_equal(parts[0].verdict, RLK_HELD);
	assert_true(parts[0].holder.attempt == one.attempt);
	assert_int_equal(parts[0].holder.which, 1);
	assert_int_equal(sets_rows(&held, 0), 1);
	assert_int_equal(parts[1].verdict, RLK_DONE);
	release_all(&parts[1], 1);
	/* And who asks again is not told. */
	parts[0].answered = false;
	parts[0].ask = RLK_ASK_AGAIN;
	parts_run_all(0, parts, 1);
	assert_int_equal(parts[0].verdict, RLK_HELD);
	assert_false(parts[0].holder.known);
	sets_release_one(1, &one);
}

/* An answer was lost: the same attempt is granted again. Of a set in part it
 * has to be asked for alone. */
CASE_ON("what was made before is granted", GROUND_SETS)
{
	struct sets_trio whole = sets_trio("whole");
	struct sets_trio part = sets_trio("part");
	struct rlk_part parts[] = {
		parts_ask(0, whole.all),
		parts_ask(0, part.all),
	};

	parts_run_all(0, parts, 2);
	test_sql(ground->sql, "DELETE FROM business_lease WHERE name = '%s'",
		 part.names[0]);
	parts[0].answered = parts[1].answered = false;
	assert_done(parts_run(0, parts, 2, &err));
	assert_true(parts[0].answered);
	assert_int_equal(parts[0].verdict, RLK_DONE);
	assert_false(parts[1].answered);
	assert_false(parts[1].not_made);
	/* Nor is it given back as if it were whole. */
	parts[0] = release_of(&parts[0]);
	parts[1] = release_of(&parts[1]);
	assert_done(parts_run(0, parts, 2, &err));
	assert_true(parts[0].answered && parts[0].found);
	assert_false(parts[1].answered);
	assert_int_equal(sets_rows(&whole, 0), 0);
	assert_int_equal(sets_rows(&part, 0), 0);
}

/* A name twice in one statement is what a row is that came in between. */
CASE_ON("a race that is lost is asked for again", GROUND_SETS)
{
	struct sets_trio trio = sets_trio("race");
	struct rlk_part parts[2];
	char twice[200];

	snprintf(twice, sizeof(twice), "%s\n%s", trio.names[0], trio.names[0]);
	parts[0] = parts_ask(0, trio.last_two);
	parts[1] = parts_ask(1, twice);
	parts_run_all(0, parts, 2);
	for (int i = 0; i < 2; i++)
		assert_true(rlk_fault_passes(parts[i].verdict));
	assert_int_equal(sets_rows(&trio, 0), 0);
}

/* A lease comes before a set that wants its name; what is drawn for a name of a
 * set is that name's. */
CASE_ON("leases and sets go in one packet", GROUND_SETS)
{
	struct sets_trio one = sets_trio("one");
	struct sets_trio two = sets_trio("two");
	struct rlk_part given = parts_ask(0, one.all);
	struct rlk_part drawn = parts_ask(0, two.first_two);
	struct rlk_part parts[5];

	parts_run_all(0, &given, 1);
	parts_run_all(0, &drawn, 1);
	parts[0] = parts_ask(0, one.first_two);
	parts[1] = parts_ask(1, one.last_two);
	parts[2] = parts_ask(1, one.last);
	parts[3] = release_of(&given);
	parts[4] = parts_of(RLK_ACT_DRAW, &drawn.request);
	parts[4].request.which = 1;
	parts_run_all(0, parts, 5);
	assert_int_equal(parts[0].verdict, RLK_DONE);
	assert_int_equal(parts[1].verdict, RLK_HELD);
	assert_true(parts[1].holder.known);
	assert_int_equal(parts[2].verdict, RLK_DONE);
	assert_int_equal(sets_rows(&one, parts[0].request.attempt), 2);
	assert_int_equal(sets_rows(&one, parts[1].request.attempt), 0);
	assert_int_equal(sets_rows(&one, parts[2].request.attempt), 1);
	assert_true(parts[4].token ==
		    test_sql_number(ground->sql,
				    "SELECT token FROM lock_token WHERE "
				    "strategy = 'lease' AND name = '%s'",
				    two.names[1]));
	release_all(&drawn, 1);
	release_all(&parts[0], 1);
	release_all(&parts[2], 1);
}

/* A set of one name has the text of a lease. */
CASE_ON("a lease and a set of its name exclude each other", GROUND_SETS)
{
	struct sets_trio trio = sets_trio("twins");
	struct rlk_part parts[] = {
		parts_ask(0, trio.names[0]),
		parts_ask(1, trio.names[0]),
		parts_ask(1, trio.names[0]),
	};
	unsigned int granted = 0;

	parts_run_all(0, parts, 3);
	for (int i = 0; i < 3; i++) {
		if (parts[i].verdict == RLK_DONE) {
			granted++;
			release_all(&parts[i], 1);
			continue;
		}
		assert_int_equal(parts[i].verdict, RLK_HELD);
		assert_true(parts[i].holder.known);
	}
	assert_int_equal(granted, 1);
}

CASE_MAIN(test_main)
