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
#include "test.h"

/* Of one who waits. */
struct place {
	struct rlk_list node;
};

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

/* Until it is ours, the server's time is up, or the caller has enough: then it
 * is out of line, as after a KILL QUERY. */
static void stand(struct world_op *op, struct world_bell *bell, int64_t until)
{
	struct place place;

	rlk_list_init(&place.node);
	rlk_list_append(&bell->line, &place.node);
	world_changed();
	while (fake_now() < until && !op->conn->dead) {
		if (bell->line.next == &place.node &&
		    world_bell_take(bell->name, op->conn->id))
			break;
		op->pending =
		    op->conn->interrupted || fake_now() >= op->conn->until_ms;
		if (op->pending)
			break;
		if (!world_wait(until < op->conn->until_ms
				    ? until
				    : op->conn->until_ms)) {
			fake_problem("the bell of '%s' was never let go",
				     bell->name);
			break;
		}
	}
	op->dead = op->conn->dead;
	rlk_list_remove(&place.node);
	world_changed();
}

enum rlk_fault rlk_bell_wait(struct rlk_conn *conn,
			     const struct rlk_request *request,
			     uint64_t wait_ms, bool *ret_got,
			     uint64_t *ret_owner,
			     struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_BELL_WAIT, .conn = conn };
	struct fake_call call = { .id = wait_ms };
	int64_t until = rlk_after(fake_now(), wait_ms);

	snprintf(call.name, sizeof(call.name), "%s", request->name);
	world_lock();
	conn->bell = bell_of(request->name);
	world_unlock();
	if (world_begin(&op, &call)) {
		if (!wait_ms)
			world_bell_take(request->name, conn->id);
		else
			stand(&op, conn->bell, until);
		*ret_got = conn->bell->conn == conn->id;
		*ret_owner = conn->bell->conn;
	}
	return world_fault(&op, RLK_DONE, reterr);
}

/* It was taken out of line; or, if the answer has .half, a moment too late for
 * that. */
enum rlk_fault rlk_bell_resume(struct rlk_conn *conn, bool *ret_got,
			       uint64_t *ret_owner,
			       struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_BELL_RESUME, .conn = conn };

	if (world_begin(&op, &(struct fake_call){ .bay = conn->bay })) {
		conn->outstanding = false;
		if (op.answer.half)
			world_bell_take(conn->bell->name, conn->id);
		if (op.answer.given && op.answer.result == RLK_DONE) {
			*ret_got = conn->bell->conn == conn->id;
			*ret_owner = conn->bell->conn;
		}
	}
	return world_fault(&op, RLK_KILLED, reterr);
}

enum rlk_fault rlk_bell_ring(struct rlk_conn *conn,
			     const struct rlk_request *request,
			     struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_RING, .conn = conn };
	struct fake_call call = { .bay = conn->bay };

	snprintf(call.name, sizeof(call.name), "%s", request->name);
	if (world_begin(&op, &call))
		world_bell_ring(request->name, conn->id);
	return world_fault(&op, RLK_DONE, reterr);
}

/* Both statements are one call here, of the release. */
enum rlk_fault rlk_bell_leave(struct rlk_conn *conn,
			      const struct rlk_request *request,
			      struct rowlock_errinfo *reterr)
{
	return rlk_bell_ring(conn, request, reterr);
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
