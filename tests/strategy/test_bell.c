/* SPDX-License-Identifier: MIT */
/*
 * Bells in SQL: had by a connection and not by a transaction, as often as they
 * were got, and let go with the row.
 */
#include "db/connect.h"
#include "db/server.h"
#include "parts.h"
#include "strategy/bell.h"
#include "strategy/sides.h"

static const char *text_of(const char *name)
{
	const struct rlk_request request = { .name = name };
	static struct rlk_bell bell;

	bell = rlk_bell_of(ground->conns[0], &request);
	return bell.text;
}

static uint64_t owner_of(const char *name)
{
	return test_sql_number(ground->sql,
			       "SELECT COALESCE(IS_USED_LOCK('%s'), 0)",
			       text_of(name));
}

static uint64_t id_of(int who)
{
	return rlk_conn_id(ground->conns[who]);
}

static bool wait_for(int who, const char *name, uint64_t *ret_owner)
{
	const struct rlk_request request = { .name = name };
	struct rlk_bell_turn turn = { .got = false };

	assert_done(
	    rlk_bell_wait(ground->conns[who], &request, 0, &turn, &err));
	assert_done(
	    rlk_bell_owner(ground->conns[who], &request, ret_owner, &err));
	return turn.got;
}

static void ring_request(int who, const struct rlk_request *request)
{
	assert_done(rlk_bell_ring(ground->conns[who], request, &err));
}

static void ring(int who, const char *name)
{
	const struct rlk_request request = { .name = name };

	ring_request(who, &request);
}

/* A lock, and a read/write lock of its name, are not each other's line. */
LEASE("readers and writers have a bell of their own")
{
	const struct rlk_request requests[] = {
		{ .name = "job" },
		{ .name = "job", .slot = 2147483648u },
		{ .name = "job", .slot = 2147483650u },
	};
	struct rlk_bell bells[3];

	for (int i = 0; i < 3; i++)
		bells[i] = rlk_bell_of(ground->conns[0], &requests[i]);
	assert_string_not_equal(bells[0].text, bells[1].text);
	assert_string_equal(bells[1].text, bells[2].text);
}

/* Nobody else can name it. */
LEASE("a bell is named by the secret")
{
	const struct rlk_request requests[] = {
		{ .name = "job", .key = rlk_key_of("1") },
		{ .name = "job", .key = rlk_key_of("2") },
		{ .name = "job", .key = rlk_key_of("1") },
	};
	struct rlk_bell bells[3];

	for (int i = 0; i < 3; i++)
		bells[i] = rlk_bell_of(ground->conns[0], &requests[i]);
	assert_string_not_equal(bells[0].text, bells[1].text);
	assert_string_equal(bells[0].text, bells[2].text);
}

static uint64_t number_of(const char *name, const char *secret)
{
	const struct rlk_request request = {
		.name = name,
		.key = rlk_key_of(secret),
	};
	struct rlk_bell bell = rlk_bell_of(ground->conns[0], &request);

	return strtoull(strchr(bell.text, ':') + 1, NULL, 16);
}

/* What differs between two names differs otherwise under another secret. */
LEASE("a bell tells nothing of another")
{
	assert_true((number_of("one", "1") ^ number_of("two", "1")) !=
		    (number_of("one", "2") ^ number_of("two", "2")));
}

LEASE("a wait tells who has it")
{
	const char *name = test_name("bell");
	uint64_t owner = 0;

	assert_true(wait_for(0, name, &owner));
	assert_true(owner == id_of(0));
	assert_false(wait_for(1, name, &owner));
	assert_true(owner == id_of(0));
	/* What one has not got one does not let go. */
	ring(1, name);
	assert_true(owner_of(name) == id_of(0));
	ring(0, name);
	assert_true(wait_for(1, name, &owner));
	ring(1, name);
	assert_true(owner_of(name) == 0);
}

/* As when something on the way has sent the wait twice. */
LEASE("who leaves the line knows what it has left")
{
	const char *name = test_name("twice");
	const struct rlk_request request = { .name = name };
	uint64_t owner = 0;

	assert_true(wait_for(0, name, &owner));
	assert_done(rlk_bell_leave(ground->conns[0], &request, &err));
	assert_true(owner_of(name) == 0);
	assert_true(wait_for(0, name, &owner));
	assert_true(wait_for(0, name, &owner));
	/* Which it has not got is no trouble, either. */
	assert_done(rlk_bell_leave(ground->conns[1], &request, &err));
	assert_int_equal(rlk_bell_leave(ground->conns[0], &request, &err),
			 RLK_REFUSED);
	assert_code(err.code, ROWLOCK_EDB, &err);
	assert_true(owner_of(name) == id_of(0));
	assert_done(rlk_bell_leave(ground->conns[0], &request, &err));
}

LEASE("bells of names differ")
{
	uint64_t owner;

	assert_true(wait_for(0, "bell-a", &owner));
	assert_true(wait_for(1, "bell-A", &owner));
	ring(0, "bell-a");
	ring(1, "bell-A");
}

/* As the commit connection asks that has room for a bell; MySQL takes none. */
static struct rlk_request ringing(const char *name)
{
	struct rlk_request request = ground_request(0, name);

	request.bell = true;
	return request;
}

static bool has_ringing(void)
{
	return rlk_server_dialect(rlk_conn_server(ground->conns[0]))
		   ->lease_acquire_ringing != NULL;
}

/* In the statement of the row, and on a server whose INSERT cannot. */
#define RINGING(sentence)                                                      \
	CASES(ON(ROWLOCK_LEASE, sentence, CASE_HERE),                          \
	      ON(GROUND_LEASE_LOOKS, "where it cannot: " sentence, CASE_HERE))

RINGING("a first try takes the bell with the row")
{
	const char *name = test_name("first");
	struct rlk_request request = ringing(name);
	struct rlk_holder holder = { 0 };

	assert_int_equal(ground_ask(0, &request, RLK_ASK_FIRST, &holder),
			 RLK_DONE);
	assert_int_equal(holder.bell, has_ringing());
	assert_false(holder.line);
	assert_true(owner_of(name) == (holder.bell ? id_of(0) : 0));
	request.bell_conn = holder.bell ? id_of(0) : 0;
	assert_true(ground_release(0, &request));
	assert_true(owner_of(name) == 0);
}

RINGING("a held name leaves no bell")
{
	const char *name = test_name("held");
	struct rlk_request other = ground_request(1, name);
	struct rlk_request request = ringing(name);
	struct rlk_holder holder;

	assert_int_equal(ground_ask(1, &other, RLK_ASK_FIRST, NULL), RLK_DONE);
	assert_int_equal(ground_ask(0, &request, RLK_ASK_FIRST, &holder),
			 RLK_HELD);
	assert_true(holder.known && holder.attempt == other.attempt);
	assert_true(owner_of(name) == 0);
	assert_true(ground_release(1, &other));
}

RINGING("a bell of another does not keep the row away")
{
	const char *name = test_name("ghost");
	struct rlk_request request = ringing(name);
	struct rlk_holder holder = { 0 };
	uint64_t owner;

	assert_true(wait_for(1, name, &owner));
	assert_int_equal(ground_ask(0, &request, RLK_ASK_FIRST, &holder),
			 RLK_DONE);
	assert_false(holder.bell);
	assert_true(holder.line);
	assert_true(ground_release(0, &request));
	assert_true(owner_of(name) == id_of(1));
	ring(1, name);
}

/* The row is locked by somebody's transaction: the INSERT ends with 1205. */
RINGING("a failed INSERT leaves no bell")
{
	const char *name = test_name("failed");
	struct rlk_request other = ground_request(1, name);
	struct rlk_request request = ringing(name);
	struct rlk_conn *guard;
	struct rlk_holder holder;

	assert_int_equal(ground_ask(1, &other, RLK_ASK_FIRST, NULL), RLK_DONE);
	guard = parts_guard(name);
	assert_int_equal(ground_ask(0, &request, RLK_ASK_FIRST, &holder),
			 has_ringing() ? RLK_BUSY : RLK_HELD);
	assert_true(owner_of(name) == 0);
	parts_unguard(guard);
	assert_true(ground_release(1, &other));
}

static bool release_ringing(struct rlk_request *request)
{
	bool found = false;

	assert_done(rlk_bell_release(ground->conns[0], request, &found, &err));
	return found;
}

LEASE("a release rings, found or not")
{
	const char *name = test_name("release");
	struct rlk_request request = ground_request(0, name);
	uint64_t owner;

	for (int there = 1; there >= 0; there--) {
		assert_true(wait_for(0, name, &owner));
		if (there)
			assert_int_equal(
			    ground_ask(0, &request, RLK_ASK_FIRST, NULL),
			    RLK_DONE);
		assert_int_equal(release_ringing(&request), there);
		assert_true(owner_of(name) == 0);
	}
}

static struct rlk_conn *open_commit(void)
{
	static const struct rlk_conn_profile profile = { "lease", true, 1, 60,
							 true };
	static struct rlk_conn_target target;
	struct rlk_conn *conn = NULL;
	int64_t until;

	target = (struct rlk_conn_target){
		.sources = { .dsn = test_dsn(),
			     .no_files = true,
			     .group = "rowlock" },
		.flags = ROWLOCK_TLS_UNVERIFIED,
		.program = "test",
		.clock = rlk_clock_real(),
	};
	until = rlk_now(target.clock) + GROUND_UNTIL_MS;
	assert_ok(rlk_conn_open(&target, &profile, until, &conn, &err));
	rlk_conn_set_until(conn, until);
	return conn;
}

LEASE("a batch rings what its connection has")
{
	const char *name = test_name("batch");
	const char *other = test_name("other");
	struct rlk_part parts[2] = { 0 };
	struct rlk_part *both[] = { &parts[0], &parts[1] };
	const struct rlk_patience patience = { NULL, NULL };
	struct rlk_conn *commit = open_commit();
	struct rlk_bell_turn turn;

	for (int i = 0; i < 2; i++) {
		parts[i].act = RLK_ACT_RELEASE;
		parts[i].request = ground_request(0, i ? other : name);
		assert_int_equal(
		    ground_ask(0, &parts[i].request, RLK_ASK_FIRST, NULL),
		    RLK_DONE);
		assert_done(
		    rlk_bell_wait(commit, &parts[i].request, 0, &turn, &err));
	}
	/* The other's bell is on a connection that is not there any more. */
	parts[0].request.bell_conn = rlk_conn_id(commit);
	parts[1].request.bell_conn = rlk_conn_id(commit) + 1000000;
	assert_done(ground->strategy->batch(commit, both, 2, &patience, &err));
	assert_true(parts[0].found && parts[1].found);
	assert_true(owner_of(name) == 0);
	assert_true(owner_of(other) == rlk_conn_id(commit));
	rlk_conn_close(commit);
}

/* ---------------------------------------------------- gate and lanes */

static struct rlk_request side(const char *name, bool writes)
{
	return (struct rlk_request){
		.name = name,
		.slot = RLK_SLOT_WRITER + !writes,
	};
}

static struct rlk_bell_turn stand(int who, const struct rlk_request *request)
{
	struct rlk_bell_turn turn = { .got = false };

	assert_done(rlk_bell_wait(ground->conns[who], request, 0, &turn, &err));
	return turn;
}

static void leave_lane(int who, const struct rlk_request *request,
		       unsigned int lane)
{
	assert_done(
	    rlk_bell_leave_lane(ground->conns[who], request, lane, &err));
}

/* A lock of the bell of @request, by another connection. */
static void take_beside(const struct rlk_request *request, const char *what)
{
	struct rlk_bell bell = rlk_bell_of(ground->conns[0], request);

	assert_int_equal(test_sql_number(ground->sql,
					 "SELECT GET_LOCK('%s/%s', 0)",
					 bell.text, what),
			 1);
}

static void leave_beside(void)
{
	test_sql_number(ground->sql, "SELECT RELEASE_ALL_LOCKS()");
}

static uint64_t owner_beside(const struct rlk_request *request,
			     const char *what)
{
	struct rlk_bell bell = rlk_bell_of(ground->conns[0], request);

	return test_sql_number(ground->sql,
			       "SELECT COALESCE(IS_USED_LOCK('%s%s'), 0)",
			       bell.text, what);
}

LEASE("a reader lets the bell go by while the gate is open")
{
	const struct rlk_request reader = side(test_name("gate"), false);

	assert_true(stand(0, &reader).got);
	ring_request(0, &reader);
	take_beside(&reader, "gate");
	assert_int_equal(stand(0, &reader).lane, 1);
	assert_int_equal(stand(1, &reader).lane, 2);
	assert_true(owner_beside(&reader, "") == 0);
	leave_lane(0, &reader, 1);
	assert_int_equal(stand(0, &reader).lane, 1);
	leave_beside();
	leave_lane(0, &reader, 1);
	assert_true(stand(0, &reader).got);
	ring_request(0, &reader);
	leave_lane(1, &reader, 2);
}

LEASE("a reader without a free lane keeps the bell")
{
	const struct rlk_request reader = side(test_name("lanes"), false);
	char lane[8];

	take_beside(&reader, "gate");
	for (int i = 1; i <= 16; i++) {
		snprintf(lane, sizeof(lane), "%d", i);
		take_beside(&reader, lane);
	}
	assert_true(stand(0, &reader).got);
	assert_true(owner_beside(&reader, "") == id_of(0));
	ring_request(0, &reader);
	leave_beside();
}

LEASE("a writer does not let the bell go by")
{
	const struct rlk_request writer = side(test_name("writer"), true);

	take_beside(&writer, "gate");
	assert_true(stand(0, &writer).got);
	assert_true(owner_beside(&writer, "") == id_of(0));
	ring_request(0, &writer);
	leave_beside();
}

/* It is not answered while the reader has yet to ask. */
LEASE("a writer waits for the readers before it")
{
	const char *name = test_name("drain");
	const struct rlk_request reader = side(name, false);
	const struct rlk_request writer = side(name, true);
	struct rlk_conn *conn = ground->conns[1];
	struct rlk_bell_turn turn = { .got = false };

	take_beside(&reader, "gate");
	assert_int_equal(stand(0, &reader).lane, 1);
	leave_beside();
	rlk_conn_set_until(conn, rlk_conn_now(conn) + 50);
	assert_int_equal(rlk_bell_wait(conn, &writer, 0, &turn, &err),
			 RLK_PENDING);
	assert_true(owner_beside(&writer, "") == id_of(1));
	leave_lane(0, &reader, 1);
	rlk_conn_set_until(conn, rlk_conn_now(conn) + GROUND_UNTIL_MS);
	assert_done(rlk_bell_resume(conn, &turn, &err));
	assert_true(turn.got);
	assert_true(owner_beside(&writer, "/1") == 0);
	ring_request(1, &writer);
}

static uint64_t bell_owner(const struct rlk_request *request)
{
	uint64_t owner = 0;

	assert_done(rlk_bell_owner(ground->conns[0], request, &owner, &err));
	return owner;
}

/* Its owner may be a writer that waits for them. */
LEASE("the bell of readers that pass is nobody's")
{
	const struct rlk_request reader = side(test_name("passes"), false);

	assert_true(bell_owner(&reader) == 0);
	assert_true(stand(0, &reader).got);
	assert_true(bell_owner(&reader) == id_of(0));
	ring_request(0, &reader);
	take_beside(&reader, "gate");
	assert_int_equal(stand(1, &reader).lane, 1);
	leave_beside();
	assert_true(bell_owner(&reader) == RLK_BELL_PASSES);
	leave_lane(1, &reader, 1);
	assert_true(bell_owner(&reader) == 0);
}

LEASE("who does not know what it has leaves it all")
{
	const struct rlk_request reader = side(test_name("all"), false);

	take_beside(&reader, "gate");
	take_beside(&reader, "1");
	assert_int_equal(stand(1, &reader).lane, 2);
	assert_done(rlk_bell_leave(ground->conns[1], &reader, &err));
	leave_beside();
	assert_true(bell_owner(&reader) == 0);
	assert_true(stand(1, &reader).got);
	assert_done(rlk_bell_leave(ground->conns[1], &reader, &err));
	assert_true(bell_owner(&reader) == 0);
	assert_done(rlk_bell_leave(ground->conns[1], &reader, &err));
}

/* The gate may be closed before the other sees it: again, then. */
LEASE("a reader that was let in lets others pass")
{
	const struct rlk_request reader = side(test_name("open"), false);
	struct rlk_conn *conn = ground->conns[1];
	struct rlk_bell_turn turn = { .got = false };
	int64_t until = rlk_conn_now(conn) + GROUND_UNTIL_MS;

	while (!turn.lane) {
		assert_true(rlk_conn_now(conn) < until);
		assert_true(stand(0, &reader).got);
		rlk_conn_set_until(conn, rlk_conn_now(conn) + 5);
		assert_int_equal(
		    rlk_bell_wait(conn, &reader, 3600000, &turn, &err),
		    RLK_PENDING);
		assert_done(
		    rlk_bell_leave_open(ground->conns[0], &reader, &err));
		rlk_conn_set_until(conn, until);
		assert_done(rlk_bell_resume(conn, &turn, &err));
		assert_true(owner_beside(&reader, "/gate") == 0);
		if (turn.got)
			ring_request(1, &reader);
	}
	assert_true(owner_beside(&reader, "") == 0);
	leave_lane(1, &reader, turn.lane);
}

CASE_MAIN(test_main)
