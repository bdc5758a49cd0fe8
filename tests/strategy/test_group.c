/* SPDX-License-Identifier: MIT */
/*
 * A member of a group may lack rows that are committed elsewhere, and have rows
 * that are gone: what is concluded from either is read behind the barrier. This
 * server is in no group, so that it does not know what the barrier is made of:
 * a read behind it fails.
 */
#include "some.h"
#include "strategy/job_run.h"
#include "strategy/keep.h"
#include "strategy/permits.h"
#include "strategy/sides.h"

#define ERROR_UNKNOWN_VARIABLE 1193

static struct rlk_server before;

/* As if the server of @conn were a member. */
static void join(struct rlk_conn *conn)
{
	struct rlk_server *server =
	    (struct rlk_server *) (uintptr_t) rlk_conn_server(conn);

	before = *server;
	server->flavour = RLK_MYSQL;
	server->multi_primary = true;
}

static void leave(struct rlk_conn *conn)
{
	*(struct rlk_server *) (uintptr_t) rlk_conn_server(conn) = before;
}

/* Evaluates @what on the member, which has to look behind the barrier. */
#define assert_waits(conn, what)                                               \
	do {                                                                   \
		join(conn);                                                    \
		assert_int_equal(what, RLK_REFUSED);                           \
		leave(conn);                                                   \
		assert_int_equal(err.mysql, ERROR_UNKNOWN_VARIABLE);           \
	} while (0)

static void see_nobody(const struct rlk_rwlock_seen *seen, void *arg)
{
	(void) seen;
	(void) arg;
}

/* The row is taken back. */
static void ask_in_vain(const struct rlk_request *request)
{
	struct rlk_holder holder;

	join(ground->conns[0]);
	assert_int_equal(rlk_strategy_reader.acquire(ground->conns[0], request,
						     RLK_ASK_FIRST, &holder,
						     &err),
			 RLK_REFUSED);
	leave(ground->conns[0]);
	assert_int_equal(err.mysql, ERROR_UNKNOWN_VARIABLE);
	assert_int_equal(test_sql_number(ground->sql,
					 "SELECT COUNT(*) FROM business_lease "
					 "WHERE name = '%s'",
					 request->name),
			 0);
}

CASE_ON("a reader is not let in by a writer's row that is missing",
	GROUND_READERS)
{
	const char *name = test_name("reader");
	struct rlk_request request = ground_request(0, name);
	struct rlk_conn_profile *profile =
	    (struct rlk_conn_profile *) (uintptr_t) rlk_conn_profile(
		ground->conns[0]);
	const bool packets = profile->packets;

	profile->packets = true;
	ask_in_vain(&request);
	profile->packets = false;
	ask_in_vain(&request);
	profile->packets = packets;
}

CASE_ON("a writer does not get in by readers' rows that are missing",
	GROUND_READERS)
{
	assert_waits(ground->beside,
		     rlk_rwlock_look(ground->beside, test_name("writer"),
				     see_nobody, NULL, &err));
}

LEASE("a hold is not confirmed by a row that may be gone")
{
	const char *name = test_name("confirmed");
	struct rlk_request request = ground_request(0, name);
	bool found;

	assert_int_equal(ground_ask(0, &request, RLK_ASK_FIRST, NULL),
			 RLK_DONE);
	assert_waits(ground->conns[0],
		     ground->strategy->confirm(ground->conns[0], &request,
					       &found, &err));
	assert_true(ground_confirm(0, &request));
	assert_true(ground_release(0, &request));
}

LEASE("a keep is not refused by a lease that is missing")
{
	struct rlk_request request = ground_request(0, test_name("keep"));
	const struct rlk_keep keep = { .id = 1, .kept = 2, .keeps_ms = 1000 };
	bool found = true;

	assert_waits(ground->beside, rlk_keep_take(ground->beside, &request,
						   &keep, &found, &err));
	assert_done(
	    rlk_keep_take(ground->beside, &request, &keep, &found, &err));
	assert_false(found);
}

LEASE("a run is not given up by its row that is missing")
{
	struct rlk_request request = ground_request(0, test_name("run"));
	const struct rlk_job_run run = { .request = &request, .id = 1 };
	enum rlk_job_end end = RLK_JOB_NOTED;

	assert_waits(ground->beside,
		     rlk_job_run_fail(ground->beside, &run, 1, &end, &err));
	assert_int_equal(ground_ask(0, &request, RLK_ASK_FIRST, NULL),
			 RLK_DONE);
	assert_waits(ground->beside,
		     rlk_job_run_succeed(ground->beside, &run, 0, &end, &err));
	assert_done(rlk_job_run_succeed(ground->beside, &run, 0, &end, &err));
	assert_int_equal(end, RLK_JOB_GONE);
	assert_true(ground_release(0, &request));
}

LEASE("a break does not say that nobody holds a name by a missing row")
{
	struct rlk_request request = ground_request(0, test_name("broken"));
	struct rlk_conn *conn = ground->beside;
	bool found = false;

	assert_waits(conn,
		     ground->strategy->end(conn, request.name, &found, &err));
	assert_done(ground->strategy->end(conn, request.name, &found, &err));
	assert_false(found);
	assert_int_equal(ground_ask(0, &request, RLK_ASK_FIRST, NULL),
			 RLK_DONE);
	assert_done(ground->strategy->end(conn, request.name, &found, &err));
	assert_true(found);
}

/* Its number may have been changed meanwhile. */
CASE_ON("a semaphore is not refused for a number that may be old",
	GROUND_PERMITS)
{
	const char *name = test_name("number");
	struct some some = some_of(0, name, 0, 2);
	struct rlk_conn *conn = ground->beside;
	struct rlk_permits_seen seen;
	struct rlk_holder holder;

	some.request.slots = some.slots;
	for (unsigned int stored = 0; stored < 2; stored++) {
		if (stored)
			assert_done(rlk_permits_set(conn, name, stored, &err));
		assert_waits(conn, ground->strategy->acquire(
				       conn, &some.request, RLK_ASK_FIRST,
				       &holder, &err));
		assert_waits(conn, rlk_permits_look(conn, name, &seen, &err));
		assert_int_equal(ground->strategy->acquire(conn, &some.request,
							   RLK_ASK_FIRST,
							   &holder, &err),
				 RLK_REFUSED);
		assert_code(err.code, ROWLOCK_EINVAL, &err);
	}
	test_sql(ground->sql, "DELETE FROM lock_permits WHERE name = '%s'",
		 name);
}

CASE_MAIN(test_main)
