/* SPDX-License-Identifier: MIT */
/*
 * After a break: the holder does not know of it before its next beat, and until
 * then its connection keeps the bell, behind which the others wait.
 *
 * That connection cannot be told from the one of the first in line, but by what
 * it does: the first in line asks for the name every 150 ms at least. So if the
 * name is still free after twice that time, and the bell where it was, its
 * owner does not ask, and its connection is ended. The next in line has the
 * bell at once. It may be the commit connection of the holder's client: what is
 * under way there is settled as after every lost connection.
 *
 * Failure modes: without the right to end another account's connection the
 * waiters take the name when they look for the holder themselves (doorbell.c).
 * The first in line whose client is as slow as that loses its place.
 */
#include "wait/unblock.h"

#include "db/conn_fence.h"
#include "strategy/bell.h"
#include "strategy/plea.h"
#include "strategy/sides.h"

#define PATIENCE_MS 300

/* A line that a break may leave behind a bell: that of a lease, and that of
 * readers and writers. Permits have no holder with a bell: there the first in
 * line pleads. */
struct line {
	unsigned int slot;
	uint64_t owner; /* the connection that has the bell; 0: none */
};

static struct rlk_request request_of(const struct rowlock_client *client,
				     const struct line *line, const char *name)
{
	return (struct rlk_request){ .name = name,
				     .slot = line->slot,
				     .key = client->bell_key };
}

static bool is_free(struct rlk_conn *conn, const struct rlk_request *request)
{
	struct rlk_holder holder = { 0 };
	struct rowlock_errinfo error;

	return !rlk_strategy(ROWLOCK_LEASE)
		    ->look(conn, request, &holder, &error) &&
	       !holder.known;
}

/* Returns 0 if nobody has it, it is not known, or it waits for readers. */
static uint64_t owner_of(struct rlk_conn *conn,
			 const struct rlk_request *request)
{
	struct rowlock_errinfo error;
	uint64_t owner = 0;

	if (rlk_bell_owner(conn, request, &owner, &error) ||
	    owner == RLK_BELL_PASSES)
		return 0;
	return owner;
}

void rlk_unblock(struct rowlock_client *client, struct rlk_conn *conn,
		 const char *name)
{
	struct line lines[] = {
		{ .slot = 0 },
		{ .slot = RLK_SLOT_WRITER },
	};
	bool had = false;

	if (client->many_writers || client->bells_refused)
		return;
	rlk_plea_hear(conn, name);
	for (size_t i = 0; i < RLK_ARRAY_SIZE(lines); i++) {
		struct rlk_request request =
		    request_of(client, &lines[i], name);

		lines[i].owner = owner_of(conn, &request);
		had = had || lines[i].owner;
	}
	if (!had || !rlk_conn_rest(conn, PATIENCE_MS))
		return;
	for (size_t i = 0; i < RLK_ARRAY_SIZE(lines); i++) {
		struct rlk_request request =
		    request_of(client, &lines[i], name);
		struct rowlock_errinfo error;

		if (lines[i].owner && is_free(conn, &request) &&
		    owner_of(conn, &request) == lines[i].owner)
			rlk_conn_end(conn, lines[i].owner, &error);
	}
}
