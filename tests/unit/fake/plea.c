/* SPDX-License-Identifier: MIT */
/*
 * A plea in the fake world, in the place of strategy/plea.c. A release is a
 * test's, and hears each by fake_plea_hear(). There is room where there is no
 * lease.
 */
#include "world.h"

#include "strategy/plea.h"
#include "test.h"

enum rlk_fault rlk_plea_make(struct rlk_conn *conn,
			     const struct rlk_request *request,
			     struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_PLEA_MAKE, .conn = conn };

	(void) request;
	if (world_begin(&op, &(struct fake_call){ .bay = conn->bay })) {
		conn->pleads = true;
		conn->heard = false;
	}
	return world_fault(&op, RLK_DONE, reterr);
}

enum rlk_fault rlk_plea_look(struct rlk_conn *conn,
			     const struct rlk_request *request, bool *ret_heard,
			     struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_PLEA_LOOK, .conn = conn };
	enum rlk_fault fault;
	bool heard = false;

	(void) request;
	if (world_begin(&op, &(struct fake_call){ .bay = conn->bay }))
		heard = conn->heard;
	fault = world_fault(&op, RLK_DONE, reterr);
	if (!fault)
		*ret_heard = heard;
	return fault;
}

enum rlk_fault rlk_plea_count(struct rlk_conn *conn,
			      const struct rlk_request *request, bool *ret_room,
			      struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_PLEA_COUNT, .conn = conn };
	enum rlk_fault fault;
	bool room = false;

	if (world_begin(&op, &(struct fake_call){ .bay = conn->bay }))
		room = !world_lease(request->name);
	fault = world_fault(&op, RLK_DONE, reterr);
	if (!fault)
		*ret_room = room;
	return fault;
}

enum rlk_fault rlk_plea_end(struct rlk_conn *conn,
			    const struct rlk_request *request,
			    struct rowlock_errinfo *reterr)
{
	struct world_op op = { .op = FAKE_PLEA_END, .conn = conn };

	(void) request;
	if (world_begin(&op, &(struct fake_call){ .bay = conn->bay }))
		conn->pleads = false;
	return world_fault(&op, RLK_DONE, reterr);
}

void rlk_plea_hear(struct rlk_conn *conn, const char *name)
{
	(void) conn;
	(void) name;
	fake_plea_hear();
}

void fake_plea_hear(void)
{
	world_lock();
	for (size_t i = 0; i < WORLD_CONNS; i++)
		world.conns[i].heard = true;
	world_changed();
	world_unlock();
}

unsigned int fake_pleading(void)
{
	unsigned int pleading = 0;

	world_lock();
	for (size_t i = 0; i < WORLD_CONNS; i++)
		pleading += world.conns[i].open && world.conns[i].pleads;
	world_unlock();
	return pleading;
}
