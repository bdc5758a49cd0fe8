/* SPDX-License-Identifier: MIT */
/*
 * Many of the dead by one statement, with the words of each server: what is
 * alive stays, whatever it looked like before.
 */
#include <pthread.h>
#include <string.h>

#include "base/macro.h"
#include "base/random.h"
#include "parts.h"
#include "strategy/sweep.h"

#define LEASES 30

static uint64_t leases_like(const char *word)
{
	return test_sql_number(ground->sql,
			       "SELECT COUNT(*) FROM business_lease "
			       "WHERE name LIKE '%s-%%'",
			       word);
}

static void end_session(int who)
{
	test_sql(ground->sql, "DELETE FROM lease_session WHERE id = %llu",
		 (unsigned long long) ground->sessions[who]);
}

static void expire(int who)
{
	test_sql(ground->sql,
		 "UPDATE lease_session SET expires_at = UTC_TIMESTAMP(6) - "
		 "INTERVAL 1 SECOND WHERE id = %llu",
		 (unsigned long long) ground->sessions[who]);
}

static bool is_there(int who)
{
	return test_sql_number(ground->sql,
			       "SELECT COUNT(*) FROM lease_session "
			       "WHERE id = %llu",
			       (unsigned long long) ground->sessions[who]) == 1;
}

/* Names that client @who has taken, the first of which is number @from. */
static void take(int who, const char *word, struct rlk_dead_lease *leases,
		 size_t from)
{
	for (size_t i = 0; i < LEASES; i++) {
		struct rlk_request request =
		    ground_request(who, parts_name(word, from + i));

		assert_int_equal(ground_ask(who, &request, RLK_ASK_FIRST, NULL),
				 RLK_DONE);
		leases[i] =
		    (struct rlk_dead_lease){ request.name, request.attempt };
	}
}

static uint64_t sweep(const struct rlk_dead_lease *leases, size_t count)
{
	const struct rlk_removal removal = { RLK_SWEEP_DEAD, leases, count };
	uint64_t swept = 0;

	assert_done(rlk_remove_many(ground->conns[0], &removal, &swept, &err));
	return swept;
}

EACH("dead leases go by one statement, and no others")
{
	const char *word = test_name("many");
	struct rlk_dead_lease leases[2 * LEASES];

	take(0, word, leases, 0);
	take(1, word, leases + LEASES, LEASES);
	assert_int_equal(sweep(leases, 2 * LEASES), 0);
	/* Over, but not evicted: it may still beat. */
	expire(1);
	assert_int_equal(sweep(leases, 2 * LEASES), 0);
	end_session(1);
	assert_int_equal(sweep(leases, 2 * LEASES), LEASES);
	assert_int_equal(leases_like(word), LEASES);
	for (size_t i = 0; i < LEASES; i++)
		assert_int_equal(parts_rows(leases[i].name), 1);
	end_session(0);
	assert_int_equal(sweep(leases, 2 * LEASES), LEASES);
}

/* The name went to another, who is dead by now as well, but was not looked
 * at. */
EACH("another attempt is not meant")
{
	const char *word = test_name("other");
	struct rlk_dead_lease leases[LEASES];

	take(1, word, leases, 0);
	end_session(1);
	leases[0].attempt++;
	assert_int_equal(sweep(leases, LEASES), LEASES - 1);
	assert_int_equal(parts_rows(leases[0].name), 1);
	leases[0].attempt--;
	assert_int_equal(sweep(leases, 1), 1);
}

/* In a table of few rows the server would rather read all of them. */
EACH("a locked row of another name is nothing to a sweep")
{
	const char *word = test_name("apart");
	struct rlk_dead_lease leases[LEASES];
	struct rlk_request alive = ground_request(0, "aside");
	struct rlk_conn *guard;

	alive.name = test_name("alive");
	ground_ask(0, &alive, RLK_ASK_FIRST, NULL);
	take(1, word, leases, 0);
	end_session(1);
	guard = parts_guard(alive.name);
	assert_int_equal(sweep(leases, LEASES), LEASES);
	parts_unguard(guard);
	assert_true(ground_release(0, &alive));
}

static uint64_t evict(bool silent, uint64_t beat)
{
	const struct rlk_last_beat beats[] = {
		{ ground->sessions[0], beat },
		{ ground->sessions[1], 0 },
		{ rlk_random(), 0 },
	};
	const struct rlk_removal removal = {
		silent ? RLK_EVICT_SILENT : RLK_EVICT_EXPIRED,
		beats,
		RLK_ARRAY_SIZE(beats),
	};
	uint64_t evicted = 0;

	assert_done(
	    rlk_remove_many(ground->conns[0], &removal, &evicted, &err));
	return evicted;
}

EACH("only expired sessions are evicted")
{
	assert_int_equal(evict(false, 0), 0);
	expire(1);
	assert_int_equal(evict(false, 0), 1);
	assert_true(is_there(0));
	assert_false(is_there(1));
}

/* The beat that one of them shows is another's: pairs, not lists. */
EACH("only sessions that show their beat are evicted")
{
	test_sql(ground->sql,
		 "UPDATE lease_session SET beat = IF(id = %llu, 0, 7) "
		 "WHERE id IN (%llu, %llu)",
		 (unsigned long long) ground->sessions[0],
		 (unsigned long long) ground->sessions[0],
		 (unsigned long long) ground->sessions[1]);
	assert_int_equal(evict(true, 7), 0);
	assert_true(is_there(0) && is_there(1));
	assert_int_equal(evict(true, 0), 1);
	assert_false(is_there(0));
	assert_true(is_there(1));
}

/* ---------------------------------------------------------------- parts */

static struct rlk_part dead_part(int who, const char *name)
{
	struct rlk_request request = ground_request(who, name);
	struct rlk_part part = parts_of(RLK_ACT_SWEEP, &request);

	ground_ask(who, &request, RLK_ASK_FIRST, NULL);
	part.request.attempt = rlk_random(); /* of who asks */
	assert_done(ground->strategy->look(ground->conns[0], &request,
					   &part.holder, &err));
	return part;
}

static void run_sweeps(struct rlk_part *parts, size_t count)
{
	assert_done(parts_run(0, parts, count, &err));
	for (size_t i = 0; i < count; i++)
		assert_true(parts[i].answered && parts[i].found);
}

/* What other programs' clients left behind when they were killed would be swept
 * along, and tell another count. It goes, as by a reaper; the server may be one
 * that others use. */
static void sweep_all(void)
{
	test_sql(ground->sql,
		 "DELETE l FROM business_lease l LEFT JOIN lease_session s "
		 "ON s.id = l.session "
		 "WHERE s.id IS NULL OR s.expires_at <= UTC_TIMESTAMP(6)");
}

EACH("a packet evicts and sweeps")
{
	const char *word = test_name("packet");
	struct rlk_part parts[4];

	sweep_all();
	expire(1);
	for (size_t i = 0; i < 2; i++)
		parts[i] = dead_part(1, parts_name(word, i));
	/* Of a session that is gone, and past its maximum. */
	parts[2] = dead_part(0, parts_name(word, 2));
	test_sql(ground->sql,
		 "UPDATE business_lease SET session = 1 WHERE name = '%s'",
		 parts[2].request.name);
	parts[2].holder.absent = true;
	parts[3] = dead_part(0, parts_name(word, 3));
	test_sql(ground->sql,
		 "UPDATE business_lease SET expires_at = acquired_at "
		 "WHERE name = '%s'",
		 parts[3].request.name);
	parts[3].holder.has_max = true;
	run_sweeps(parts, 4);
	for (size_t i = 0; i < 4; i++)
		assert_true(parts[i].swept);
	assert_int_equal(parts[0].evicted + parts[1].evicted, 1);
	assert_int_equal(leases_like(word), 0);
	assert_false(is_there(1));
	assert_true(is_there(0));
}

EACH("dead neighbours go along")
{
	const char *word = test_name("near");
	struct rlk_dead_lease leases[LEASES];
	struct rlk_part part;

	sweep_all();
	take(1, word, leases, 0);
	take(0, word, leases, LEASES);
	expire(1);
	/* The first by the order of bytes, and of each page. */
	part = dead_part(1, parts_name(word, 2 * LEASES));
	test_sql(ground->sql,
		 "UPDATE business_lease SET name = '%s' WHERE name = '%s'",
		 word, part.request.name);
	part.request.name = word;
	run_sweeps(&part, 1);
	assert_true(part.swept && part.evicted);
	assert_int_equal(leases_like(word), LEASES);
	for (size_t i = 0; i < LEASES; i++)
		assert_int_equal(parts_rows(leases[i].name), 1);
}

EACH("a packet leaves who has beaten since")
{
	const char *word = test_name("beaten");
	struct rlk_part parts[2];

	expire(1);
	for (size_t i = 0; i < 2; i++)
		parts[i] = dead_part(1, parts_name(word, i));
	test_sql(ground->sql,
		 "UPDATE lease_session SET expires_at = UTC_TIMESTAMP(6) + "
		 "INTERVAL 60 SECOND WHERE id = %llu",
		 (unsigned long long) ground->sessions[1]);
	run_sweeps(parts, 2);
	assert_false(parts[0].swept || parts[1].swept);
	assert_false(parts[0].evicted || parts[1].evicted);
	assert_true(is_there(1));
	assert_int_equal(leases_like(word), 2);
	end_session(1);
	run_sweeps(parts, 2);
	assert_int_equal(leases_like(word), 0);
}

/* Rows with slots from @slot on, of client @who. */
static void insert(int who, const char *name, unsigned int slot,
		   unsigned int count)
{
	test_sql(ground->sql,
		 "INSERT INTO business_lease (name, slot, session, attempt, "
		 "acquired_at) WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL "
		 "SELECT i + 1 FROM n WHERE i + 1 < %u) SELECT '%s', %u + i, "
		 "%llu, 1000 + i, UTC_TIMESTAMP(6) FROM n",
		 count, name, slot, (unsigned long long) ground->sessions[who]);
}

static uint64_t sweep_name(const char *name)
{
	uint64_t swept = 0;

	assert_done(rlk_sweep_name(ground->conns[0], name, &swept, &err));
	return swept;
}

EACH("the dead of a name go together")
{
	const char *name = test_name("shared");
	const char *other = test_name("shared-not");

	insert(1, name, 1, 300);
	insert(0, name, 301, 2);
	insert(1, other, 1, 1);
	assert_int_equal(sweep_name(name), 0);
	end_session(1);
	assert_int_equal(sweep_name(name), RLK_SWEEP_MOST);
	assert_int_equal(sweep_name(name), 300 - RLK_SWEEP_MOST);
	assert_int_equal(sweep_name(name), 0);
	assert_int_equal(parts_rows(name), 2);
	assert_int_equal(parts_rows(other), 1);
}

/* Somebody who kills whatever a connection is doing. */
struct killer {
	struct test_sql *sql;
	uint64_t id;
	_Atomic bool over;
};

static void *kill_all(void *arg)
{
	struct killer *killer = arg;

	while (!killer->over)
		test_sql_try(killer->sql, "KILL QUERY %llu",
			     (unsigned long long) killer->id);
	return NULL;
}

/* MariaDB deletes by NOT EXISTS what it has not looked for to the end. */
LEASE("what lives outlives a storm of KILLs")
{
	struct rlk_conn *conn = ground->conns[0];
	struct rlk_request request = ground_request(1, test_name("storm"));
	struct rlk_dead_lease lease = { request.name, request.attempt };
	const struct rlk_removal removal = { RLK_SWEEP_DEAD, &lease, 1 };
	struct killer killer = { .sql = test_sql_open(),
				 .id = rlk_conn_id(conn) };
	pthread_t thread;

	assert_int_equal(ground_ask(1, &request, RLK_ASK_FIRST, NULL),
			 RLK_DONE);
	assert_int_equal(pthread_create(&thread, NULL, kill_all, &killer), 0);
	for (int i = 0; i < 5000; i++) {
		uint64_t swept;
		bool one;

		rlk_remove_many(conn, &removal, &swept, &err);
		rlk_lease_sweep_dead(conn, &request, &one, &err);
	}
	killer.over = true;
	pthread_join(thread, NULL);
	test_sql_end(killer.sql);
	assert_true(ground_confirm(1, &request));
	assert_true(ground_release(1, &request));
}

CASE_MAIN(test_main)
