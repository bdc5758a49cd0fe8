/* SPDX-License-Identifier: MIT */
/*
 * Rows of permits: which slots they take, what two who ask at one moment do to
 * each other, and what a changed number means for them.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "some.h"
#include "strategy/bell.h"
#include "strategy/permits.h"

static uint64_t has_slots(const struct some *some)
{
	uint64_t found = 0;

	for (unsigned int i = 0; i < some->request.count; i++)
		found += test_sql_number(
		    ground->sql,
		    "SELECT COUNT(*) FROM business_lease WHERE name = '%s' AND "
		    "slot = %u AND attempt = %llu",
		    some->request.name, some->slots[i],
		    (unsigned long long) some->request.attempt);
	return found;
}

/* A row of the other client's, on a slot of our choice. */
static void have(const char *name, unsigned int slot)
{
	test_sql(ground->sql,
		 "INSERT INTO business_lease (name, slot, session, attempt, "
		 "acquired_at) VALUES ('%s', %u, %llu, %u, UTC_TIMESTAMP(6))",
		 name, slot, (unsigned long long) ground->sessions[1],
		 1000 + slot);
}

CASE_ON("slots are told, and within the number", GROUND_PERMITS)
{
	const char *name = test_name("slots");
	struct some a = some_of(0, name, 5, 3);
	struct some b = some_of(1, name, 5, 3);
	struct some c = some_of(1, name, 5, 2);
	unsigned int seen = 0;

	assert_int_equal(ask(0, &a, NULL), RLK_DONE);
	assert_int_equal(has_slots(&a), 3);
	assert_int_equal(ask(1, &b, NULL), RLK_HELD);
	assert_int_equal(rows_of(name), 3);
	assert_int_equal(ask(1, &c, NULL), RLK_DONE);
	for (unsigned int i = 0; i < 3; i++)
		seen |= 1u << a.slots[i];
	for (unsigned int i = 0; i < 2; i++)
		seen |= 1u << c.slots[i];
	assert_int_equal(seen, 0x3e);
	/* Asked again, as after a lost answer, it is the same. */
	memset(a.slots, 0, sizeof(a.slots));
	assert_int_equal(ask(1, &a, NULL), RLK_DONE);
	assert_int_equal(has_slots(&a), 3);
	release(&a);
	release(&c);
	assert_int_equal(rows_of(name), 0);
}

/* Clients that look at the same moment seldom want the same. */
CASE_ON("slots are chosen at random", GROUND_PERMITS)
{
	const char *name = test_name("random");
	unsigned int seen = 0;

	for (int i = 0; i < 1000 && seen != 0x1fe; i++) {
		struct some some = some_of(0, name, 8, 1);

		assert_int_equal(ask(0, &some, NULL), RLK_DONE);
		seen |= 1u << some.slots[0];
		release(&some);
	}
	assert_int_equal(seen, 0x1fe);
}

CASE_ON("what is there in part is given back", GROUND_PERMITS)
{
	const char *name = test_name("part");
	struct some a = some_of(0, name, 5, 3);

	assert_int_equal(ask(0, &a, NULL), RLK_DONE);
	remove_slot(&a, 1);
	assert_false(ground_confirm(1, &a.request));
	assert_true(rlk_fault_passes(ask(0, &a, NULL)));
	assert_int_equal(rows_of(name), 0);
	assert_int_equal(ask(0, &a, NULL), RLK_DONE);
	remove_slot(&a, 2);
	a.request.slots = a.slots;
	assert_false(ground_release(0, &a.request));
	assert_int_equal(rows_of(name), 0);
}

/* As when a look had no answer. */
CASE_ON("what was not asked for yet needs no release", GROUND_PERMITS)
{
	const char *name = test_name("early");
	struct some a = some_of(0, name, 5, 2);

	a.request.slots = a.slots;
	/* A lock of that name, whose row somebody has locked. */
	have(name, 0);
	test_sql(ground->sql, "BEGIN");
	test_sql(ground->sql,
		 "UPDATE business_lease SET info = 'x' WHERE name = '%s'",
		 name);
	assert_false(ground_release(0, &a.request));
	test_sql(ground->sql, "COMMIT");
	test_sql(ground->sql, "DELETE FROM business_lease WHERE name = '%s'",
		 name);
}

/* ----------------------------------------------- others at the same moment */

struct question {
	struct some *some;
	enum rlk_fault verdict;
};

static void *run_question(void *arg)
{
	struct question *question = arg;

	question->verdict = ask(0, question->some, NULL);
	return NULL;
}

/* Ask while a transaction has done @statement, which commits when the INSERT is
 * under way: then the look was before that. */
static enum rlk_fault ask_beside(struct some *some, const char *statement,
				 void (*meanwhile)(struct test_sql *other,
						   const char *name))
{
	struct question question = { .some = some };
	struct test_sql *other = test_sql_open();
	uint64_t id = rlk_conn_id(ground->conns[0]);
	uint64_t began = test_now_ns();
	pthread_t thread;

	test_sql(ground->sql, "BEGIN");
	test_sql(ground->sql, "%s", statement);
	assert_int_equal(pthread_create(&thread, NULL, run_question, &question),
			 0);
	while (test_sql_number(other,
			       "SELECT COUNT(*) FROM information_schema."
			       "processlist WHERE id = %llu AND info LIKE "
			       "'INSERT INTO business_lease%%'",
			       (unsigned long long) id) == 0)
		test_keep_waiting(began, "an INSERT that waits");
	if (meanwhile)
		meanwhile(other, some->request.name);
	test_sql(ground->sql, "COMMIT");
	pthread_join(thread, NULL);
	test_sql_end(other);
	return question.verdict;
}

/* A slot, which the INSERT takes last, is another's. */
static enum rlk_fault ask_beside_a_row(struct some *some,
				       void (*meanwhile)(struct test_sql *other,
							 const char *name))
{
	char statement[512];

	snprintf(statement, sizeof(statement),
		 "INSERT INTO business_lease (name, slot, session, attempt, "
		 "acquired_at) VALUES ('%s', %u, %llu, 77, UTC_TIMESTAMP(6))",
		 some->request.name, some->request.permits,
		 (unsigned long long) ground->sessions[1]);
	return ask_beside(some, statement, meanwhile);
}

static void make(struct some *some)
{
	assert_int_equal(ask(0, some, NULL), RLK_DONE);
	release(some);
}

static void remove_rows(const char *name)
{
	test_sql(ground->sql, "DELETE FROM business_lease WHERE name = '%s'",
		 name);
}

CASE_ON("of two who want one slot at one moment one makes nothing",
	GROUND_PERMITS)
{
	const char *name = test_name("race");
	struct some a = some_of(0, name, 3, 3);

	make(&a);
	assert_true(rlk_fault_passes(ask_beside_a_row(&a, NULL)));
	assert_int_equal(rows_of(name), 1);
	assert_int_equal(ask(0, &a, NULL), RLK_HELD);
	remove_rows(name);
}

CASE_ON("what was begun by another number makes nothing", GROUND_PERMITS)
{
	const char *name = test_name("changed");
	struct some a = some_of(0, name, 3, 2);
	struct rlk_holder holder;
	char statement[256];

	make(&a);
	snprintf(statement, sizeof(statement),
		 "UPDATE lock_permits SET permits = 2 WHERE name = '%s'", name);
	assert_true(rlk_fault_passes(ask_beside(&a, statement, NULL)));
	assert_int_equal(rows_of(name), 0);
	assert_int_equal(rlk_strategy_permits.acquire(ground->conns[0],
						      &a.request, RLK_ASK_FIRST,
						      &holder, &err),
			 RLK_REFUSED);
	assert_code(err.code, ROWLOCK_EINVAL, &err);
	assert_non_null(strstr(err.message, "has 2 permits"));
	assert_int_equal(rows_of(name), 0);
}

static void await_locked_number(struct test_sql *other, const char *name)
{
	uint64_t began = test_now_ns();
	unsigned int error;

	test_sql(other, "SET innodb_lock_wait_timeout = 1");
	while ((error = test_sql_try(other,
				     "UPDATE lock_permits SET permits = "
				     "permits WHERE name = '%s'",
				     name)) == 0)
		test_keep_waiting(began, "the number to be locked");
	assert_int_equal(error, 1205);
}

/* Wait for longer than anybody here has a row locked. */
static struct rlk_conn *be_patient(void)
{
	struct rlk_conn *hasty = ground->conns[0];

	ground->conns[0] = ground_open(true, 50);
	return hasty;
}

static void be_hasty(struct rlk_conn *hasty)
{
	rlk_conn_close(ground->conns[0]);
	ground->conns[0] = hasty;
}

/* Who changes it waits for what was begun before. */
CASE_ON("a number is not changed while a request makes its rows",
	GROUND_PERMITS)
{
	const char *name = test_name("under");
	struct some a = some_of(0, name, 2, 2);
	struct rlk_conn *hasty = be_patient();

	make(&a);
	assert_true(
	    rlk_fault_passes(ask_beside_a_row(&a, await_locked_number)));
	be_hasty(hasty);
	remove_rows(name);
}

/* It was raised meanwhile, another came, and it is as it was. */
static void come_above(struct test_sql *other, const char *name)
{
	test_sql(other,
		 "INSERT INTO business_lease (name, slot, session, attempt, "
		 "acquired_at) SELECT '%s', 4, MAX(id), 1004, UTC_TIMESTAMP(6) "
		 "FROM lease_session",
		 name);
}

CASE_ON("a number that comes back lets nobody in beside who came",
	GROUND_PERMITS)
{
	const char *name = test_name("back");
	struct some all = some_of(0, name, 3, 3);
	struct some few = some_of(0, name, 3, 2);
	struct rlk_conn *hasty = be_patient();
	char statement[128];

	snprintf(statement, sizeof(statement),
		 "UPDATE lock_permits SET permits = 3 WHERE name = '%s'", name);
	make(&all);
	assert_true(rlk_fault_passes(ask_beside(&all, statement, come_above)));
	assert_int_equal(rows_of(name), 1);
	assert_int_equal(ask(0, &all, NULL), RLK_HELD);
	/* With it there is room for two. */
	assert_int_equal(ask(0, &few, NULL), RLK_DONE);
	assert_int_equal(few.slots[0] + few.slots[1], 3);
	be_hasty(hasty);
	remove_rows(name);
}

/* ------------------------------------------------------------------- line */

/* The first of them. */
static void stand_in_line(const struct some *some)
{
	struct rlk_bell_turn turn = { .got = false };

	assert_done(
	    rlk_bell_wait(ground->conns[0], &some->request, 0, &turn, &err));
	assert_true(turn.got);
}

CASE_ON("who stands in line is not overtaken", GROUND_PERMITS)
{
	const char *name = test_name("line");
	struct some a = some_of(0, name, 3, 1);
	struct some b = some_of(1, name, 3, 1);

	assert_int_equal(ask(0, &a, NULL), RLK_DONE);
	stand_in_line(&a);
	assert_int_equal(ask(1, &b, NULL), RLK_HELD);
	b.request.passes_line = true;
	assert_int_equal(ask(1, &b, NULL), RLK_DONE);
	release(&b);
	release(&a);
	/* The one that has the bell is the first. */
	assert_int_equal(ask(0, &a, NULL), RLK_DONE);
	release(&a);
	assert_done(rlk_bell_ring(ground->conns[0], &a.request, &err));
	b.request.passes_line = false;
	assert_int_equal(ask(1, &b, NULL), RLK_DONE);
	release(&b);
}

/* ------------------------------------------------------------------ guess */

CASE_ON("a slot that is free is taken unseen", GROUND_PERMITS)
{
	const char *name = test_name("guess");
	struct some a = some_of(0, name, 5, 1);

	make(&a);
	for (unsigned int slot = 1; slot <= 5; slot++) {
		a.request.guess = slot;
		assert_int_equal(ask(0, &a, NULL), RLK_DONE);
		assert_int_equal(a.slots[0], slot);
		assert_int_equal(has_slots(&a), 1);
		release(&a);
	}
	assert_int_equal(ask(0, &a, NULL), RLK_DONE);
	/* Asked again, as after a lost answer, it is the same. */
	a.slots[0] = 0;
	assert_int_equal(ask(1, &a, NULL), RLK_DONE);
	assert_int_equal(a.slots[0], 5);
	assert_int_equal(rows_of(name), 1);
	release(&a);
}

/* Where it can be no slot of this request's, nothing is tried. */
CASE_ON("a wrong guess makes nothing", GROUND_PERMITS)
{
	const char *name = test_name("wrong");
	struct some a = some_of(0, name, 2, 1);
	struct some more = some_of(0, name, 3, 1);
	struct rlk_holder holder;

	make(&a);
	have(name, 2);
	a.request.guess = 2;
	assert_int_equal(ask(0, &a, NULL), RLK_DONE);
	assert_int_equal(a.slots[0], 1);
	assert_int_equal(rows_of(name), 2);
	release(&a);
	a.request.guess = 3;
	assert_int_equal(ask(0, &a, NULL), RLK_DONE);
	assert_int_equal(a.slots[0], 1);
	release(&a);
	more.request.slots = more.slots;
	more.request.guess = 3;
	assert_int_equal(
	    rlk_strategy_permits.acquire(ground->conns[0], &more.request,
					 RLK_ASK_FIRST, &holder, &err),
	    RLK_REFUSED);
	assert_code(err.code, ROWLOCK_EINVAL, &err);
	assert_int_equal(rows_of(name), 1);
	remove_rows(name);
}

CASE_ON("who guesses overtakes nobody", GROUND_PERMITS)
{
	const char *name = test_name("polite");
	struct some a = some_of(0, name, 3, 1);
	struct some b = some_of(1, name, 3, 1);

	make(&a);
	stand_in_line(&a);
	b.request.guess = 2;
	assert_int_equal(ask(1, &b, NULL), RLK_HELD);
	assert_int_equal(rows_of(name), 0);
	a.request.guess = 2;
	assert_int_equal(ask(0, &a, NULL), RLK_DONE);
	assert_int_equal(a.slots[0], 2);
	release(&a);
	assert_done(rlk_bell_ring(ground->conns[0], &a.request, &err));
}

static void one_more_comes(struct test_sql *other, const char *name)
{
	test_sql(other,
		 "INSERT INTO business_lease (name, slot, session, attempt, "
		 "acquired_at) VALUES ('%s', 7, 1, 1, UTC_TIMESTAMP(6))",
		 name);
}

/* The number is lowered while the INSERT waits for it, and not before one more
 * has come in. */
CASE_ON("a guess counts what is above the number", GROUND_PERMITS)
{
	const char *name = test_name("guessed");
	struct some a = some_of(0, name, 1, 1);
	struct rlk_conn *hasty = be_patient();
	char statement[256];

	make(&a);
	have(name, 7);
	a.request.guess = 1;
	assert_int_equal(ask(0, &a, NULL), RLK_HELD);
	assert_int_equal(rows_of(name), 1);
	remove_rows(name);
	assert_done(rlk_permits_set(ground->beside, name, 9, &err));
	snprintf(statement, sizeof(statement),
		 "UPDATE lock_permits SET permits = 1 WHERE name = '%s'", name);
	assert_int_equal(ask_beside(&a, statement, one_more_comes), RLK_HELD);
	assert_int_equal(rows_of(name), 1);
	remove_rows(name);
	be_hasty(hasty);
}

CASE_ON("the bell of permits is not that of locks", GROUND_PERMITS)
{
	struct some a = some_of(0, test_name("bells"), 1, 1);
	struct rlk_request lock = { .name = a.request.name };
	struct rlk_request side = { .name = a.request.name, .slot = 1u << 31 };
	struct rlk_bell bells[] = {
		rlk_bell_of(ground->conns[0], &a.request),
		rlk_bell_of(ground->conns[0], &lock),
		rlk_bell_of(ground->conns[0], &side),
	};

	assert_string_not_equal(bells[0].text, bells[1].text);
	assert_string_not_equal(bells[0].text, bells[2].text);
}

/* ------------------------------------------------------------------ whom */

/* Each of four slots is told of now and then. */
static void assert_all_told(struct some *some)
{
	struct rlk_holder holder = { 0 };
	unsigned int seen = 0;

	for (int i = 0; i < 1000 && seen != 0x1e; i++) {
		assert_int_equal(ask(0, some, &holder), RLK_HELD);
		assert_true(holder.known && holder.looked);
		seen |= 1u << holder.slot;
	}
	assert_int_equal(seen, 0x1e);
}

CASE_ON("of those who keep it out the dead is told", GROUND_PERMITS)
{
	const char *name = test_name("dead");
	struct some a = some_of(0, name, 4, 2);
	struct some b = some_of(1, name, 4, 2);
	struct some c = some_of(0, name, 4, 1);
	struct rlk_holder holder = { 0 };

	assert_int_equal(ask(0, &a, NULL), RLK_DONE);
	assert_int_equal(ask(1, &b, NULL), RLK_DONE);
	/* The one that ends first, before it is dead. */
	test_sql(ground->sql,
		 "UPDATE lease_session SET expires_at = UTC_TIMESTAMP(6) + "
		 "INTERVAL 1 HOUR WHERE id = %llu",
		 (unsigned long long) ground->sessions[0]);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(ask(0, &c, &holder), RLK_HELD);
		assert_true(holder.session == ground->sessions[1]);
	}
	test_sql(ground->sql,
		 "UPDATE lease_session SET expires_at = UTC_TIMESTAMP(6) - "
		 "INTERVAL 1 SECOND WHERE id = %llu",
		 (unsigned long long) ground->sessions[1]);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(ask(0, &c, &holder), RLK_HELD);
		assert_true(holder.session == ground->sessions[1]);
		assert_true(holder.slot == b.slots[0] ||
			    holder.slot == b.slots[1]);
		assert_true(holder.left_us <= 0);
	}
	/* Who observes beats has to see all of them. */
	c.request.observes = true;
	assert_all_told(&c);
	release(&a);
	release(&b);
}

/* ----------------------------------------------------------------- number */

CASE_ON("what is in use above the number counts, too", GROUND_PERMITS)
{
	static const struct {
		unsigned int used[4]; /* slots; 0: none */
		unsigned int free;    /* of three permits */
		unsigned int last;    /* slot that may be taken */
	} cases[] = {
		{ { 0 }, 3, 3 },          { { 1 }, 2, 3 },
		{ { 3 }, 2, 2 },          { { 9 }, 2, 2 },
		{ { 2, 9 }, 1, 2 },       { { 3, 9 }, 1, 1 },
		{ { 8, 9 }, 1, 1 },       { { 1, 8, 9 }, 0, 0 },
		{ { 3, 8, 2000 }, 0, 0 }, { { 1, 2, 8, 9 }, 0, 0 },
	};

	for (size_t i = 0; i < TEST_SIZE(cases); i++) {
		const char *name = test_name("above");
		unsigned int last = 0;

		for (unsigned int which = 0; which < 4; which++)
			if (cases[i].used[which])
				have(name, cases[i].used[which]);
		for (unsigned int count = 1; count <= 3; count++) {
			struct some some = some_of(0, name, 3, count);

			for (int round = 0; round < 20; round++) {
				bool enough = count <= cases[i].free;

				assert_int_equal(ask(0, &some, NULL),
						 enough ? RLK_DONE : RLK_HELD);
				if (!enough)
					continue;
				if (some.slots[count - 1] > last)
					last = some.slots[count - 1];
				release(&some);
			}
		}
		assert_true(last <= cases[i].last);
		test_sql(ground->sql,
			 "DELETE FROM business_lease WHERE name = '%s'", name);
	}
}

CASE_ON("a look counts what is in use", GROUND_PERMITS)
{
	const char *name = test_name("count");
	struct rlk_permits_seen seen = { 0 };

	assert_done(rlk_permits_look(ground->beside, name, &seen, &err));
	assert_false(seen.known);
	assert_done(rlk_permits_set(ground->beside, name, 4, &err));
	have(name, 2);
	have(name, 2000);
	/* That of a lock, and of a writer. */
	have(name, 0);
	test_sql(ground->sql,
		 "INSERT INTO business_lease (name, slot, session, attempt, "
		 "acquired_at) VALUES ('%s', 2147483648, 1, 1, "
		 "UTC_TIMESTAMP(6))",
		 name);
	assert_done(rlk_permits_look(ground->beside, name, &seen, &err));
	assert_true(seen.known);
	assert_int_equal(seen.permits, 4);
	assert_int_equal(seen.used, 2);
	assert_done(rlk_permits_set(ground->beside, name, 2, &err));
	assert_done(rlk_permits_look(ground->beside, name, &seen, &err));
	assert_int_equal(seen.permits, 2);
	test_sql(ground->sql, "DELETE FROM business_lease WHERE name = '%s'",
		 name);
}

CASE_MAIN(test_main)
