/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_GUARD_OUTCOME_H
#define RLK_STRATEGY_GUARD_OUTCOME_H

/* The outcome of a COMMIT without an answer. */

#include "strategy/guard.h"

/** Read the row's `guards`; RLK_GUARD_NO_ROW if there is no row. */
enum rlk_fault rlk_guard_look(struct rlk_conn *conn,
			      const struct rlk_request *request,
			      uint64_t *ret_guards,
			      struct rowlock_errinfo *reterr);

/** No commit that was not answered, nor asked after, can take place from here
 *  on. Waits while one is under way, as rlk_guard_find_out(); RLK_BUSY: ask
 *  again. */
enum rlk_fault rlk_guard_outrun(struct rlk_conn *conn,
				const struct rlk_request *request,
				struct rowlock_errinfo *reterr);

/**
 * Did a commit that was not answered take place? One that did not can not do so
 * later: the row is changed, so that it does not find it as it was, and
 * guard->guards is what it is now. Waits while the commit is under way, as long
 * as the connection's deadline allows. RLK_BUSY: the row does not say it yet;
 * ask again.
 */
enum rlk_fault rlk_guard_find_out(struct rlk_conn *conn,
				  struct rlk_guard *guard,
				  const struct rlk_request *request,
				  enum rlk_guard_outcome *ret_outcome,
				  struct rowlock_errinfo *reterr);

#endif
