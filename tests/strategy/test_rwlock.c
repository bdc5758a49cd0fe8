/* SPDX-License-Identifier: MIT */
/*
 * Rows of readers and writers: who makes one, who steps back, who sees whom.
 */
#include <string.h>

#include "ground.h"
#include "strategy/sides.h"

/* Of this ground's readers, and of the writers beside them. */
static enum rlk_fault read_by(int who, const struct rlk_request *request,
			      struct rlk_holder *ret_holder)
{
	return ground_ask(who, request, RLK_ASK_FIRST, ret_holder);
}

static struct rlk_request write_by(int who, const char *name)
{
	struct rlk_request request = ground_request(who, name);
	struct rlk_holder holder;

	request.slot = rlk_strategy_slot(&rlk_strategy_writer, 0);
	assert_int_equal(rlk_strategy_writer.acquire(ground->beside, &request,
						     RLK_ASK_FIRST, &holder,
						     &err),
			 RLK_DONE);
	return request;
}

static uint64_t rows_of(const char *name)
{
	return test_sql_number(
	    ground->sql,
	    "SELECT COUNT(*) FROM business_lease WHERE name = '%s'", name);
}

/* On a connection that takes no packets the look is a round trip of its own. */
static void speak_singly(int who)
{
	struct rlk_conn_profile *profile =
	    (struct rlk_conn_profile *) (uintptr_t) rlk_conn_profile(
		ground->conns[who]);

	profile->packets = false;
}

static void speak_in_packets(int who)
{
	struct rlk_conn_profile *profile =
	    (struct rlk_conn_profile *) (uintptr_t) rlk_conn_profile(
		ground->conns[who]);

	profile->packets = true;
}

#define OF(sentence) CASE_ON(sentence, GROUND_READERS)

OF("readers let readers in")
{
	GROUND_TWO("readers");

	assert_int_equal(read_by(0, &a, NULL), RLK_DONE);
	assert_int_equal(read_by(1, &b, NULL), RLK_DONE);
	assert_int_equal(rows_of(name), 2);
	assert_true(ground_confirm(1, &a));
	assert_true(ground_release(0, &a));
	assert_false(ground_confirm(1, &a));
	assert_true(ground_confirm(0, &b));
	assert_true(ground_release(0, &b));
}

static void keep_out(void)
{
	const char *name = test_name("writer");
	struct rlk_request reader = ground_request(0, name);
	struct rlk_request writer = write_by(1, name);
	struct rlk_holder holder = { 0 };

	assert_int_equal(read_by(0, &reader, &holder), RLK_HELD);
	assert_true(holder.known && holder.looked);
	assert_true(holder.attempt == writer.attempt);
	assert_true(holder.session == writer.session);
	assert_int_equal(ground_ask(0, &reader, RLK_ASK_AGAIN, &holder),
			 RLK_HELD);
	assert_int_equal(rows_of(name), 1);
	assert_true(ground_release(1, &writer));
	assert_int_equal(ground_ask(0, &reader, RLK_ASK_AGAIN, &holder),
			 RLK_DONE);
	assert_true(ground_release(0, &reader));
}

OF("a writer keeps readers out")
{
	keep_out();
	speak_singly(0);
	keep_out();
	speak_in_packets(0);
}

/* As if it had come between the INSERT and the look, or before the answer. */
static void step_back(void)
{
	const char *name = test_name("between");
	struct rlk_request reader = ground_request(0, name);
	struct rlk_request writer;

	assert_int_equal(read_by(0, &reader, NULL), RLK_DONE);
	writer = write_by(1, name);
	assert_int_equal(rows_of(name), 2);
	assert_int_equal(read_by(0, &reader, NULL), RLK_HELD);
	assert_int_equal(rows_of(name), 1);
	assert_true(ground_release(1, &writer));
}

OF("who sees a writer steps back")
{
	step_back();
	speak_singly(0);
	step_back();
	speak_in_packets(0);
}

OF("a writer may let its own reader in")
{
	const char *name = test_name("under");
	struct rlk_request writer = write_by(0, name);
	struct rlk_request own = ground_request(0, name);
	struct rlk_request other = ground_request(1, name);

	own.under = writer.attempt;
	other.under = writer.attempt + 1;
	assert_int_equal(read_by(1, &other, NULL), RLK_HELD);
	assert_int_equal(read_by(0, &own, NULL), RLK_DONE);
	assert_true(ground_release(0, &writer));
	assert_true(ground_confirm(0, &own));
	/* Who lets itself in by none does not by one that was broken. */
	writer = write_by(0, name);
	test_sql(ground->sql,
		 "UPDATE business_lease SET attempt = 0, session = 0 WHERE "
		 "name = '%s' AND slot = 2147483648",
		 name);
	other.under = 0;
	assert_int_equal(read_by(1, &other, NULL), RLK_HELD);
	assert_int_equal(rows_of(name), 2);
	assert_true(ground_release(0, &own));
	writer.attempt = 0;
	assert_true(ground_release(0, &writer));
}

/* Two attempts may have one slot. */
OF("a slot of another reader is nobody's grant")
{
	const char *name = test_name("slot");
	struct rlk_request one = ground_request(0, name);
	struct rlk_request two = ground_request(1, name);

	two.slot = one.slot;
	assert_int_equal(read_by(0, &one, NULL), RLK_DONE);
	assert_true(rlk_fault_passes(read_by(1, &two, NULL)));
	assert_false(ground_release(1, &two));
	assert_true(ground_confirm(0, &one));
	assert_true(ground_release(0, &one));
}

OF("slots of readers lie behind the writer's")
{
	static const uint64_t attempts[] = { 0, 1, 2147483646, 2147483647,
					     UINT64_MAX };

	for (size_t i = 0; i < TEST_SIZE(attempts); i++) {
		assert_true(rlk_strategy_slot(&rlk_strategy_reader,
					      attempts[i]) > RLK_SLOT_WRITER);
		assert_true(rlk_strategy_slot(&rlk_strategy_writer,
					      attempts[i]) == RLK_SLOT_WRITER);
	}
}

struct seen {
	size_t count;
	unsigned int slots[4];
	uint64_t attempts[4];
	bool absent[4];
};

static void see(const struct rlk_rwlock_seen *row, void *arg)
{
	struct seen *seen = arg;

	assert_true(seen->count < TEST_SIZE(seen->attempts));
	assert_true(row->holder.known && row->holder.looked);
	seen->slots[seen->count] = row->slot;
	seen->attempts[seen->count] = row->holder.attempt;
	seen->absent[seen->count++] = row->holder.absent;
}

static void look(const char *name, struct seen *ret_seen)
{
	*ret_seen = (struct seen){ 0 };
	assert_done(rlk_rwlock_look(ground->beside, name, see, ret_seen, &err));
}

OF("a look tells of the writer and of all readers")
{
	const char *name = test_name("look");
	struct rlk_request live = ground_request(0, name);
	struct rlk_request dead = ground_request(1, name);
	struct rlk_request writer;
	struct seen seen;

	assert_int_equal(read_by(0, &live, NULL), RLK_DONE);
	assert_int_equal(read_by(1, &dead, NULL), RLK_DONE);
	test_sql(ground->sql,
		 "UPDATE business_lease SET session = session + 1 WHERE name = "
		 "'%s' AND slot = %u",
		 name, dead.slot);
	writer = write_by(1, name);
	/* Not of a lock of that name. */
	test_sql(ground->sql,
		 "INSERT INTO business_lease (name, slot, session, attempt, "
		 "acquired_at) VALUES ('%s', 0, 1, 1, UTC_TIMESTAMP(6))",
		 name);
	look(name, &seen);
	assert_int_equal(seen.count, 3);
	/* The writer's comes first. */
	assert_int_equal(seen.slots[0], RLK_SLOT_WRITER);
	assert_true(seen.attempts[0] == writer.attempt);
	assert_false(seen.absent[0]);
	for (size_t i = 1; i < 3; i++) {
		bool is_live = seen.attempts[i] == live.attempt;

		assert_true(is_live || seen.attempts[i] == dead.attempt);
		assert_true(seen.absent[i] == !is_live);
	}
	test_sql(ground->sql, "DELETE FROM business_lease WHERE name = '%s'",
		 name);
}

/* Its row is dead, and swept by whoever meets it. */
OF("a reader without a session is not in")
{
	const char *name = test_name("orphan");
	struct rlk_request reader = ground_request(0, name);

	reader.session++;
	assert_true(rlk_fault_passes(read_by(0, &reader, NULL)));
	assert_int_equal(rows_of(name), 0);
	speak_singly(0);
	assert_true(rlk_fault_passes(read_by(0, &reader, NULL)));
	assert_int_equal(rows_of(name), 0);
	speak_in_packets(0);
}

/* Others may have written since, or write by the time of the look. */
OF("no reader is let in by a writer that is gone")
{
	const char *name = test_name("under-none");
	struct rlk_request writer = write_by(0, name);
	struct rlk_request own = ground_request(0, name);

	own.under = writer.attempt;
	assert_true(ground_release(0, &writer));
	assert_int_equal(read_by(0, &own, NULL), RLK_HELD);
	assert_int_equal(rows_of(name), 0);
}

#define MANY 300

/* More than one look tells of. */
OF("a break ends all readers, however many")
{
	const struct rlk_strategy *lease = rlk_strategy(ROWLOCK_LEASE);
	const char *name = test_name("crowd");
	bool found = false;

	test_sql(ground->sql,
		 "INSERT INTO business_lease (name, slot, session, attempt, "
		 "acquired_at) WITH RECURSIVE few AS (SELECT 0 AS i UNION ALL "
		 "SELECT i + 1 FROM few WHERE i < 49) "
		 "SELECT '%s', 2147483649 + a.i * 50 + b.i, %llu, 1, "
		 "UTC_TIMESTAMP(6) FROM few a CROSS JOIN few b LIMIT %d",
		 name, (unsigned long long) ground->sessions[1], MANY);
	assert_int_equal(rows_of(name), MANY);
	assert_done(lease->end(ground->beside, name, &found, &err));
	assert_true(found);
	assert_int_equal(rows_of(name), 0);
	assert_int_equal(
	    test_sql_number(ground->sql,
			    "SELECT breaks FROM lease_session WHERE id = %llu",
			    (unsigned long long) ground->sessions[1]),
	    MANY);
	assert_done(lease->end(ground->beside, name, &found, &err));
	assert_false(found);
}

CASE_MAIN(test_main)
