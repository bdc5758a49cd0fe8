/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_DRAW_H
#define RLK_STRATEGY_DRAW_H

#include "strategy/strategy.h"

/**
 * A draw has failed by @fault. If that is because of what somebody has written
 * into the tables, say so in *@reterr, and what a DBA can type; core names the
 * name.
 */
void rlk_draw_explain(const struct rlk_conn *conn, enum rlk_fault fault,
		      struct rowlock_errinfo *reterr);

#endif
