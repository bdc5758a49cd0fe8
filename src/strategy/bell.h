/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_BELL_H
#define RLK_STRATEGY_BELL_H

/*
 * The doorbell of a name: a user-level lock (GET_LOCK) of the server, in which
 * the waiters for the name queue, first come, first served. The holder of a
 * lease has its bell, and lets it go with the name's row: so the server wakes
 * the next in line.
 *
 * A bell is a hint and never the truth. It ends with its connection, while the
 * lease lives on; a client without the row may have it; and other programs may
 * take a lock of the same name. A bell grants nothing.
 *
 * A connection that has a bell must not wait for another one (MariaDB and MySQL
 * look for deadlocks among user-level locks, and would find false ones).
 */

#include "strategy/strategy.h"

/** The bell of a request's name, as GET_LOCK() takes it: that of leases, of
 * rows, of readers and writers, or of permits. */
struct rlk_bell {
	char text[40];
};

struct rlk_bell rlk_bell_of(struct rlk_conn *conn,
			    const struct rlk_request *request);

/** The bell of @name by its @kind: 'l' locks, 's' readers and writers, 'p'
 *  permits, 'x' rows. */
struct rlk_bell rlk_bell_named(const struct rlk_key *key, char kind,
			       const char *schema, const char *name);

/** The end of a wait for a bell. */
struct rlk_bell_turn {
	bool got;          /* it is ours */
	unsigned int lane; /* of a reader that has let it go by; else 0 */
};

/** Is it the bell of readers and writers? Only they have a gate and lanes. */
bool rlk_bell_has_gate(const struct rlk_request *request);

/**
 * Stand in line for the bell of @request, @wait_ms at the most. RLK_DONE, and
 * *@ret_got. RLK_PENDING: the deadline or an interrupt came first, and the
 * connection still stands in line; go on with rlk_bell_resume(), after a KILL
 * QUERY if the wait is to end, or give the connection up, which leaves nothing
 * behind. RLK_KILLED: perhaps got, so ring it. RLK_CONFLICT: not got.
 *
 * The server ends the wait of a client that has closed its connection within a
 * second (both servers: MDL_context::acquire_lock() in sql/mdl.cc).
 *
 * A reader that gets the bell while the gate is open lets it go by at once, in
 * the server, and has a lane instead until rlk_bell_leave_lane(). A writer that
 * gets it waits until each lane was left.
 */
enum rlk_fault rlk_bell_wait(struct rlk_conn *conn,
			     const struct rlk_request *request,
			     uint64_t wait_ms, struct rlk_bell_turn *ret_turn,
			     struct rowlock_errinfo *reterr);
enum rlk_fault rlk_bell_resume(struct rlk_conn *conn,
			       struct rlk_bell_turn *ret_turn,
			       struct rowlock_errinfo *reterr);

/** No connection has this number. */
#define RLK_BELL_PASSES (UINT64_MAX >> 1)

/** The number of the connection that has the bell of @request; 0: none.
 *  RLK_BELL_PASSES: readers have yet to come in, and it may wait for them. */
enum rlk_fault rlk_bell_owner(struct rlk_conn *conn,
			      const struct rlk_request *request,
			      uint64_t *ret_owner,
			      struct rowlock_errinfo *reterr);

/** Let the bell go that was got on @conn. */
enum rlk_fault rlk_bell_ring(struct rlk_conn *conn,
			     const struct rlk_request *request,
			     struct rowlock_errinfo *reterr);

/** The same for one that stood in line, on a connection that has no other bell.
 *  A bell with a gate is let go with all that the connection has of it, bell or
 *  lane. RLK_REFUSED: it has the bell still, as something on the way has sent
 *  the wait twice; then it goes with the connection. */
enum rlk_fault rlk_bell_leave(struct rlk_conn *conn,
			      const struct rlk_request *request,
			      struct rowlock_errinfo *reterr);

/** As rlk_bell_leave(), by a reader that was let in: for a round trip the gate
 *  is open, and the readers behind it let the bell go by. */
enum rlk_fault rlk_bell_leave_open(struct rlk_conn *conn,
				   const struct rlk_request *request,
				   struct rowlock_errinfo *reterr);

/** Leave @lane: the reader's row is there, or will not be. */
enum rlk_fault rlk_bell_leave_lane(struct rlk_conn *conn,
				   const struct rlk_request *request,
				   unsigned int lane,
				   struct rowlock_errinfo *reterr);

/** Delete the row of @request, and let its bell go, which was got on @conn.
 *  As the strategy's release(); the bell is let go unless that fails. */
enum rlk_fault rlk_bell_release(struct rlk_conn *conn,
				const struct rlk_request *request,
				bool *ret_found,
				struct rowlock_errinfo *reterr);

#endif
