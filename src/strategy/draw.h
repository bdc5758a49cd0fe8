/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_DRAW_H
#define RLK_STRATEGY_DRAW_H

#include "strategy/strategy.h"

/**
 * rlk_stmt_run() of a statement on lock_token. If it failed because of values
 * that were written by hand, *@reterr says so, and what a DBA can type; core
 * adds the name.
 */
enum rlk_fault rlk_draw_run(struct rlk_conn *conn,
			    const struct rlk_stmt_def *def,
			    const struct rlk_value *params,
			    struct rlk_reply *ret_reply,
			    struct rowlock_errinfo *reterr);

#endif
