/* SPDX-License-Identifier: MIT */
/*
 * Bells in the fake world, in the place of strategy/bell.c: who has which, how
 * often, and who stands in line for it. A bell is let go when it was rung as
 * often as it was got, or when its connection ends.
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strategy/bell.h"
#include "strategy/sides.h"
#include "test.h"

static struct world_bell *find(const char *name)
{
	struct world_bell *bells = world.tables.bells;

	for (size_t i = 0; i < TEST_SIZE(world.tables.bells); i++)
		if (!strcmp(bells[i].name, name))
			return &bells[i];
	return NULL;
}

/* Found or made. */
static struct world_bell *bell_of(const char *name)
{
	struct world_bell *bell = find(name);

	if (bell)
		return bell;
	bell = find("");
	if (!bell)
		abort();
	snprintf(bell->name, sizeof(bell->name), "%s", name);
	rlk_list_init(&bell->line);
	return bell;
}

/* A row's is another than a lease's. */
static const char *name_of(const struct rlk_request *request, char *into,
			   size_t size)
{
	snprintf(into, size, "%s%s", request->row ? "row " : "", request->name);
	return into;
}

bool world_bell_take(const char *name, uint64_t conn)
{
	struct world_bell *bell = bell_of(name);

	if (bell->conn && bell->conn != conn)
		return false;
	bell->conn = conn;
	bell->depth++;
	return true;
}

void world_bell_ring(const char *name, uint64_t conn)
{
	struct world_bell *bell = bell_of(name);

	if (bell->conn != conn || --bell->depth)
		return;
	bell->conn = 0;
	world_changed();
}

void world_end_bells(uint64_t conn)
{
	struct world_bell *bells = world.tables.bells;

	for (size_t i = 0; i < TEST_SIZE(world.tables.bells); i++) {
		if (!*bells[i].name || bells[i].conn != conn)
			continue;
		bells[i].conn = 0;
		bells[i].depth = 0;
	}
	world_changed();
}

void world_leave_line(struct rlk_conn *conn)
{
	if (conn->stands)
		rlk_list_remove(&conn->place);
	conn->stands = false;
}

/* Until it is ours, the server's time is up, it was killed, or the caller has
 * enough: then it stands there still. Returns RLK_KILLED or RLK_DONE. */
static enum rlk_fault stand(struct world_op *op)
{
	struct rlk_conn *conn = op->conn;
	struct world_bell *bell = conn->bell;
	int64_t until = conn->stands_until_ms;
	enum rlk_fault fault = RLK_DONE;

	while (!conn->dead && fake_now() < until) {
		if (conn->killed) {
			fault = RLK_KILLED;
			break;
		}
		if (bell->line.next == &conn->place &&
		    world_bell_take(bell->name, conn->id))
			break;
		op->pending = conn->interrupted || fake_now() >= conn->until_ms;
		if (op->pending)
			return RLK_PENDING;
		if (!world_wait(until < conn->until_ms ? until
						       : conn->until_ms)) {
			fake_problem("the bell of '%s' was never let go",
				     bell->name);
			break;
		}
	}
	op->dead = conn->dead;
	world_leave_line(conn);
	world_changed();
	return fault;
}

bool rlk_bell_has_gate(const struct rlk_request *request)
{
	return request->slot >= RLK_SLOT_WRITER;
}

/* If the answer has .lane, the bell goes by, and it is in that lane. */
static struct rlk_bell_turn turn_of(const struct world_op *op)
{
	struct rlk_conn *conn = op->conn;
	struct rlk_bell_turn turn = {
		.got = conn->bell->conn == conn->id,
	};

	if (!turn.got || !op->answer.lane)
		return turn;
	world_bell_ring(conn->bell->name, conn->id);
	return (struct rlk_bell_turn){ .lane = op->answer.lane };
}

enum rlk_fault rlk_bell_wait(struct rlk_conn *conn,
			     const struct rlk_request *request,
			     uint64_t wait_ms, struct rlk_bell_turn *ret_turn,
			     struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_BELL_WAIT, .conn = conn };
	struct fake_call call = { .id = wait_ms };
	enum rlk_fault fault = RLK_DONE;

	name_of(request, call.name, sizeof(call.name));
	world_lock();
	conn->bell = bell_of(call.name);
	conn->killed = false;
	conn->stands_until_ms = rlk_after(fake_now(), wait_ms);
	world_unlock();
	if (world_begin(&op, &call)) {
		rlk_list_init(&conn->place);
		rlk_list_append(&conn->bell->line, &conn->place);
		conn->stands = true;
		world_changed();
		fault = stand(&op);
		*ret_turn = turn_of(&op);
	}
	return world_fault(&op, fault, reterr);
}

/* If the answer has .half, it got the bell a moment before it was killed. */
enum rlk_fault rlk_bell_resume(struct rlk_conn *conn,
			       struct rlk_bell_turn *ret_turn,
			       struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_BELL_RESUME, .conn = conn };
	enum rlk_fault fault = RLK_DONE;

	if (world_begin(&op, &(struct fake_call){ .bay = conn->bay })) {
		conn->outstanding = false;
		if (op.answer.half) {
			world_leave_line(conn);
			world_bell_take(conn->bell->name, conn->id);
		} else if (op.answer.given) {
			world_leave_line(conn);
		} else if (conn->stands) {
			fault = stand(&op);
		}
		*ret_turn = turn_of(&op);
	}
	return world_fault(&op, fault, reterr);
}

enum rlk_fault rlk_bell_owner(struct rlk_conn *conn,
			      const struct rlk_request *request,
			      uint64_t *ret_owner,
			      struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_BELL_OWNER, .conn = conn };
	struct fake_call call = { .bay = conn->bay };

	name_of(request, call.name, sizeof(call.name));
	if (world_begin(&op, &call))
		*ret_owner = bell_of(call.name)->conn;
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault rlk_bell_ring(struct rlk_conn *conn,
			     const struct rlk_request *request,
			     struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_RING, .conn = conn };
	struct fake_call call = { .bay = conn->bay };

	name_of(request, call.name, sizeof(call.name));
	if (world_begin(&op, &call))
		world_bell_ring(call.name, conn->id);
	return world_fault(&op, RLK_DONE, reterr);
}

/* Both statements are one call here, of the release. */
enum rlk_fault rlk_bell_leave(struct rlk_conn *conn,
			      const struct rlk_request *request,
			      struct rowlock_errinfo *reterr)
{
	return rlk_bell_ring(conn, request, reterr);
}

enum rlk_fault rlk_bell_leave_open(struct rlk_conn *conn,
				   const struct rlk_request *request,
				   struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_RING_OPEN, .conn = conn };
	struct fake_call call = { .bay = conn->bay };

	name_of(request, call.name, sizeof(call.name));
	if (world_begin(&op, &call))
		world_bell_ring(call.name, conn->id);
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault rlk_bell_leave_lane(struct rlk_conn *conn,
				   const struct rlk_request *request,
				   unsigned int lane,
				   struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_LEAVE_LANE, .conn = conn };
	struct fake_call call = { .bay = conn->bay, .id = lane };

	name_of(request, call.name, sizeof(call.name));
	world_begin(&op, &call);
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault rlk_bell_release(struct rlk_conn *conn,
				const struct rlk_request *request,
				bool *ret_found, struct rowlock_errinfo *reterr)
{
	struct rlk_request ringing = *request;

	ringing.bell_conn = conn->id;
	return rlk_strategy(ROWLOCK_LEASE)
	    ->release(conn, &ringing, ret_found, reterr);
}

/* ------------------------------------------------------- for the tests */

uint64_t fake_bell(const char *name)
{
	uint64_t conn;

	world_lock();
	conn = bell_of(name)->conn;
	world_unlock();
	return conn;
}

void fake_bell_take(const char *name)
{
	world_lock();
	if (!world_bell_take(name, WORLD_OTHER))
		fake_problem("the bell of '%s' is not free", name);
	world_unlock();
}

void fake_bell_ring(const char *name)
{
	world_lock();
	world_bell_ring(name, WORLD_OTHER);
	world_unlock();
}

unsigned int fake_bells(void)
{
	const struct world_bell *bells = world.tables.bells;
	unsigned int count = 0;

	world_lock();
	for (size_t i = 0; i < TEST_SIZE(world.tables.bells); i++)
		count += bells[i].conn && bells[i].conn != WORLD_OTHER;
	world_unlock();
	return count;
}

void fake_bell_hang_up(const char *name)
{
	world_lock();
	for (size_t i = 0; i < WORLD_CONNS; i++)
		if (world.conns[i].open &&
		    world.conns[i].id == bell_of(name)->conn)
			world.conns[i].dead = true;
	world_end_bells(bell_of(name)->conn);
	world_unlock();
}

unsigned int fake_bell_line(const char *name)
{
	const struct rlk_list *node;
	struct world_bell *bell;
	unsigned int count = 0;

	world_lock();
	bell = bell_of(name);
	for (node = bell->line.next; node != &bell->line; node = node->next)
		count++;
	world_unlock();
	return count;
}

struct line {
	const char *name;
	unsigned int count;
};

static bool stand_in_line(void *arg)
{
	const struct line *line = arg;

	return fake_bell_line(line->name) == line->count;
}

void fake_await_bell_line(const char *name, unsigned int count)
{
	fake_until(stand_in_line, &(struct line){ name, count });
}
