/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_ROW_BREAK_H
#define RLK_STRATEGY_ROW_BREAK_H

#include "strategy/strategy.h"

/**
 * End the transaction that has locked the row of @name, by a KILL of its
 * connection. Which one that is only the server knows, and it tells only who
 * is in somebody's way: so @bait, another connection, waits for the row for a
 * moment, while @conn reads the server's lock tables (MariaDB: the PROCESS
 * privilege; MySQL: SELECT on performance_schema) and kills (another account's
 * connection: CONNECTION ADMIN).
 *
 * Both commit by themselves. @bait may be dead afterwards. *@ret_found: there
 * was a hold. ROWLOCK_EUNSUPPORTED in @reterr: the account may not; the message
 * has what a DBA can type. What it is about, its caller puts before it.
 */
enum rlk_fault rlk_row_break(struct rlk_conn *conn, struct rlk_conn *bait,
			     const char *name, bool *ret_found,
			     struct rowlock_errinfo *reterr);

#endif
