/* SPDX-License-Identifier: MIT */
/*
 * Connections, sessions and requests for the tests of the strategies.
 */
#include "ground.h"

#include <stdlib.h>

#include "base/random.h"
#include "db/connect.h"
#include "strategy/candidate.h"
#include "strategy/permits.h"
#include "strategy/set.h"
#include "strategy/sides.h"

struct ground *ground;

void ground_done(enum rlk_fault fault, const struct rowlock_errinfo *error,
		 const char *file, int line)
{
	if (fault == RLK_DONE)
		return;
	print_error("fault %d: %s\n", (int) fault,
		    fault == RLK_PENDING ? "no answer" : error->message);
	_fail(file, line);
}

static void set_until(struct rlk_conn *conn)
{
	rlk_conn_set_until(conn, rlk_conn_now(conn) + GROUND_UNTIL_MS);
}

struct rlk_conn *ground_open(bool autocommit, unsigned int lock_wait_s)
{
	const struct rlk_conn_profile profile = { "test", autocommit,
						  lock_wait_s, 60, autocommit };
	static struct rlk_conn_target target;
	static struct rlk_conn_profile kept[2][64];
	struct rlk_conn_profile *place = &kept[autocommit][lock_wait_s % 64];
	struct rlk_conn *conn = NULL;
	int64_t until;

	/* A connection keeps both by reference. */
	*place = profile;
	target = (struct rlk_conn_target){
		.sources = { .dsn = test_dsn(),
			     .no_files = true,
			     .group = "rowlock" },
		.flags = ROWLOCK_TLS_UNVERIFIED,
		.program = "test",
		.clock = rlk_clock_real(),
	};
	until = rlk_now(target.clock) + GROUND_UNTIL_MS;
	assert_ok(rlk_conn_open(&target, place, until, &conn, &err));
	set_until(conn);
	return conn;
}

static void open_session(int who)
{
	const struct rlk_session_row row = {
		.id = rlk_random(),
		.ttl_ms = 60000,
		.host = "test",
		.pid = 1,
		.program = "test",
	};

	assert_done(rlk_session_open(ground->beside, &row, &err));
	ground->sessions[who] = row.id;
}

/* Its dialect is asked for anew with each statement. */
static void speak_mysql(struct rlk_conn *conn)
{
	struct rlk_server *server =
	    (struct rlk_server *) (uintptr_t) rlk_conn_server(conn);

	server->flavour = RLK_MYSQL;
}

static const struct rlk_strategy *strategy_of(intptr_t which)
{
	switch (which) {
	case GROUND_LEASE_LOOKS:
		return rlk_strategy(ROWLOCK_LEASE);
	case GROUND_SETS:
		return &rlk_strategy_set;
	case GROUND_WRITERS:
		return &rlk_strategy_writer;
	case GROUND_READERS:
		return &rlk_strategy_reader;
	case GROUND_PERMITS:
		return &rlk_strategy_permits;
	case GROUND_CANDIDATES:
		return &rlk_strategy_candidate;
	default:
		return rlk_strategy((enum rowlock_strategy) which);
	}
}

int ground_setup(void **state)
{
	bool looks = (intptr_t) *state == GROUND_LEASE_LOOKS;
	bool leases = (intptr_t) *state != ROWLOCK_ROW;

	ground = calloc(1, sizeof(*ground));
	assert_non_null(ground);
	ground->strategy = strategy_of((intptr_t) *state);
	ground->beside = ground_open(true, 1);
	ground->sql = test_sql_open();
	/* No locks on gaps, in which other programs' names would lie. */
	test_sql(ground->sql,
		 "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
	for (int who = 0; who < 2; who++) {
		ground->conns[who] = ground_open(leases, 1);
		if (looks)
			speak_mysql(ground->conns[who]);
		if (leases)
			open_session(who);
	}
	return 0;
}

int ground_teardown(void **state)
{
	(void) state;
	for (int who = 0; who < 2; who++) {
		if (ground->sessions[who])
			test_sql(ground->sql,
				 "DELETE FROM lease_session WHERE id = %llu",
				 (unsigned long long) ground->sessions[who]);
		rlk_conn_close(ground->conns[who]);
	}
	rlk_conn_close(ground->beside);
	test_sql_end(ground->sql);
	free(ground);
	return 0;
}

/* Of a test no more are in use at a time. */
#define SLOTS 64

static unsigned int *next_slots(void)
{
	static unsigned int slots[SLOTS][GROUND_PERMITS_COUNT];
	static size_t next;

	return slots[next++ % SLOTS];
}

struct rlk_request ground_request(int who, const char *name)
{
	bool counted = ground->strategy->counted;
	uint64_t attempt = rlk_random();

	return (struct rlk_request){
		.name = name,
		.slot = rlk_strategy_slot(ground->strategy, attempt),
		.attempt = attempt,
		.session = ground->sessions[who],
		.count = counted ? 1 : 0,
		.permits = counted ? GROUND_PERMITS_COUNT : 0,
		.slots = counted ? next_slots() : NULL,
	};
}

enum rlk_fault ground_ask(int who, const struct rlk_request *request,
			  enum rlk_ask ask, struct rlk_holder *ret_holder)
{
	struct rlk_holder holder = { 0 };
	enum rlk_fault verdict;

	for (;;) {
		set_until(ground->conns[who]);
		verdict = ground->strategy->acquire(ground->conns[who], request,
						    ask, &holder, &err);
		if (verdict == RLK_REFUSED || verdict == RLK_UNKNOWN)
			fail_msg("verdict %d: %s", (int) verdict, err.message);
		if (ret_holder)
			*ret_holder = holder;
		if (verdict != RLK_ABSENT)
			return verdict;
		set_until(ground->beside);
		assert_done(
		    ground->strategy->make(ground->beside, request, &err));
	}
}

bool ground_release(int who, const struct rlk_request *request)
{
	bool found = false;

	set_until(ground->conns[who]);
	assert_done(ground->strategy->release(ground->conns[who], request,
					      &found, &err));
	return found;
}

bool ground_confirm(int who, const struct rlk_request *request)
{
	bool found = false;

	set_until(ground->conns[who]);
	assert_done(ground->strategy->confirm(ground->conns[who], request,
					      &found, &err));
	return found;
}

uint64_t ground_draw(const struct rlk_request *request)
{
	uint64_t token = 0;

	set_until(ground->beside);
	assert_done(
	    ground->strategy->draw(ground->beside, request, &token, &err));
	return token;
}
