/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_ROW_BREAK_H
#define RLK_STRATEGY_ROW_BREAK_H

#include "strategy/strategy.h"

/**
 * End the transaction that has locked the row of @name, by a KILL of its
 * connection. Only the server knows which one that is, and it shows only those
 * that others wait for. So @bait, another connection, waits for the row for a
 * moment, while @conn reads the server's lock tables (MariaDB: the PROCESS
 * privilege; MySQL: SELECT on performance_schema) and kills (another account's
 * connection: CONNECTION ADMIN).
 *
 * Both commit by themselves. @bait may be dead afterwards. *@ret_found: there
 * was a hold. ROWLOCK_EUNSUPPORTED in @reterr: the account may not; the message
 * has what a DBA can type, and the caller puts its subject before it.
 */
enum rlk_fault rlk_row_break(struct rlk_conn *conn, struct rlk_conn *bait,
			     const char *name, bool *ret_found,
			     struct rowlock_errinfo *reterr);

#endif
