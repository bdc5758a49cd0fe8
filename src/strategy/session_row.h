/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_SESSION_ROW_H
#define RLK_STRATEGY_SESSION_ROW_H

/*
 * A client's row in lease_session. While it beats, all the client's leases
 * live. The invariant that everything rests on: the row is committed before
 * the first lease that names it, it is deleted once, and its id never comes
 * back. So a lease whose session row is absent is dead, for ever, and no clock
 * is needed to see it.
 *
 * As for strategies: no mutex held, may block until @conn's deadline.
 */

#include <stdbool.h>
#include <stdint.h>

#include "db/conn.h"
#include "db/stmt.h"
#include "strategy/strategy.h"

struct rlk_session_row {
	uint64_t id;
	uint64_t ttl_ms;
	const char *host;
	unsigned int pid;
	const char *program;
};

/** Commit the row. An id whose INSERT got no answer must be thrown away. */
enum rlk_fault rlk_session_open(struct rlk_conn *conn,
				const struct rlk_session_row *row,
				struct rowlock_errinfo *reterr);

/** The answer to a heartbeat. */
struct rlk_beat {
	bool alive;        /* false: evicted, every lease of it is lost */
	uint64_t breaks;   /* leases that were taken from it by hand, counted
			      modulo 4,096 */
	int64_t server_us; /* the server's clock, since 1970 */
};

/** One heartbeat, and the server's time with it. */
enum rlk_fault rlk_session_beat(struct rlk_conn *conn,
				const struct rlk_session_row *row,
				struct rlk_beat *ret_beat,
				struct rowlock_errinfo *reterr);

/** How many beats the row counts. *@ret_found: it is there. */
enum rlk_fault rlk_session_look(struct rlk_conn *conn, uint64_t id,
				bool *ret_found, uint64_t *ret_beat,
				struct rowlock_errinfo *reterr);

/** How many leases were taken from the session by hand, counted as in a beat.
 *  *@ret_found: the row is there, and so it was all the time. */
enum rlk_fault rlk_session_breaks(struct rlk_conn *conn, uint64_t id,
				  bool *ret_found, uint64_t *ret_breaks,
				  struct rowlock_errinfo *reterr);

/** Delete the row, whatever it says: our own, or one we abandoned. */
enum rlk_fault rlk_session_close(struct rlk_conn *conn, uint64_t id,
				 struct rowlock_errinfo *reterr);

/** Delete the row if it has expired by the server's clock. */
enum rlk_fault rlk_session_evict_expired(struct rlk_conn *conn, uint64_t id,
					 bool *ret_evicted,
					 struct rowlock_errinfo *reterr);

/** Delete the row if it still shows @beat: for an observer that has seen no
 *  beat for its TTL and a margin by its own clock. */
enum rlk_fault rlk_session_evict_silent(struct rlk_conn *conn, uint64_t id,
					uint64_t beat, bool *ret_evicted,
					struct rowlock_errinfo *reterr);

/** Delete a lease whose session is absent; checked again in the statement. */
enum rlk_fault rlk_lease_sweep_dead(struct rlk_conn *conn,
				    const struct rlk_request *request,
				    bool *ret_swept,
				    struct rowlock_errinfo *reterr);

/** Delete a lease that is past its maximum by the server's clock; checked
 *  again in the statement. */
enum rlk_fault rlk_lease_sweep_expired(struct rlk_conn *conn,
				       const struct rlk_request *request,
				       bool *ret_swept,
				       struct rowlock_errinfo *reterr);

#endif
