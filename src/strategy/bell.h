/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_BELL_H
#define RLK_STRATEGY_BELL_H

/*
 * The doorbell of a lease: a user-level lock (GET_LOCK) of the server, in which
 * the waiters for a name queue, first come, first served. The holder of the
 * name has its bell, and lets it go with the name's row: so the server wakes
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

/** The bell of a request's name, as GET_LOCK() takes it: that of locks, of
 * readers and writers, or of permits. */
struct rlk_bell {
	char text[40];
};

struct rlk_bell rlk_bell_of(struct rlk_conn *conn,
			    const struct rlk_request *request);

/**
 * Stand in line for the bell of @request, @wait_ms at the most. RLK_DONE, and
 * *@ret_got; *@ret_owner is the connection that has it. RLK_PENDING: the
 * deadline or an interrupt came first; take it back by KILL QUERY and
 * rlk_bell_resume(), or give the connection up, which leaves nothing behind.
 * RLK_KILLED: perhaps got, so ring it. RLK_CONFLICT: not got.
 */
enum rlk_fault rlk_bell_wait(struct rlk_conn *conn,
			     const struct rlk_request *request,
			     uint64_t wait_ms, bool *ret_got,
			     uint64_t *ret_owner,
			     struct rowlock_errinfo *reterr);
enum rlk_fault rlk_bell_resume(struct rlk_conn *conn, bool *ret_got,
			       uint64_t *ret_owner,
			       struct rowlock_errinfo *reterr);

/** Let the bell go that was got on @conn. */
enum rlk_fault rlk_bell_ring(struct rlk_conn *conn,
			     const struct rlk_request *request,
			     struct rowlock_errinfo *reterr);

/** The same for one who stood in line, on a connection that has no other bell.
 *  RLK_REFUSED: it has it still, as something on the way has sent the wait
 *  twice; then it goes with the connection. */
enum rlk_fault rlk_bell_leave(struct rlk_conn *conn,
			      const struct rlk_request *request,
			      struct rowlock_errinfo *reterr);

/** Delete the row of @request, and let its bell go, which was got on @conn.
 *  As the strategy's release(); the bell is let go unless that fails. */
enum rlk_fault rlk_bell_release(struct rlk_conn *conn,
				const struct rlk_request *request,
				bool *ret_found,
				struct rowlock_errinfo *reterr);

#endif
