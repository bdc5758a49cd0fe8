/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_KEEP_H
#define RLK_STRATEGY_KEEP_H

/*
 * A lease that stays taken for some time after its grant, whether its holder
 * lives or not, or after its holder's death. It belongs to a row of
 * lease_session of its own, its *keep*, which expires at the end of that time
 * at the earliest. So each program that judges leases, older ones too, sees it
 * as held until then.
 *
 * As for strategies: no mutex held, may block until @conn's deadline.
 */

#include "strategy/strategy.h"

struct rlk_keep {
	uint64_t id;       /* its row in lease_session; 0: none */
	uint64_t kept;     /* the attempt of the row that a release leaves */
	uint64_t keeps_ms; /* how long the name stays taken, from when the
			      keep's row was made */
	bool delays;       /* each beat prolongs it by all of its TTL */
};

/**
 * The lease of @request, of the session that it names, belongs to @keep from
 * now on. The keep's row is committed (rlk_session_open()), and has not been
 * given to another lease. *@ret_found: the lease was there, and its session
 * was. Idempotent.
 */
enum rlk_fault rlk_keep_take(struct rlk_conn *conn,
			     const struct rlk_request *request,
			     const struct rlk_keep *keep, bool *ret_found,
			     struct rowlock_errinfo *reterr);

/** Keeps of one session. */
struct rlk_keeps {
	const uint64_t *ids;
	size_t count;
	bool delays; /* as of each of them */
};

/** Beat @keeps, whose session was just beaten: none of them expires before a
 *  TTL of that session is over, or one of its own. *@ret_beaten: how many there
 *  were. */
enum rlk_fault rlk_keeps_beat_all(struct rlk_conn *conn,
				  const struct rlk_keeps *keeps,
				  uint64_t *ret_beaten,
				  struct rowlock_errinfo *reterr);

/**
 * Give the lease back: the row stays until the time is over, as nobody's hold.
 * *@ret_kept: it does, perhaps by an earlier call; else the time is over, or
 * the lease was not there, and nothing was changed. Idempotent.
 */
enum rlk_fault rlk_keep_release(struct rlk_conn *conn,
				const struct rlk_request *request,
				const struct rlk_keep *keep, bool *ret_kept,
				struct rowlock_errinfo *reterr);

#endif
