/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_TRANSACTION_H
#define RLK_DB_TRANSACTION_H

/*
 * A transaction of several statements, on a connection that commits each by
 * itself. As for statements (stmt.h).
 */

#include "db/conn.h"
#include "db/stmt.h"

/** Begin. From here on a statement that is not within a transaction is
 *  RLK_UNKNOWN, and the connection dead: a proxy has sent it elsewhere, and the
 *  parts of the transaction would be committed one by one. */
enum rlk_fault rlk_transaction_begin(struct rlk_conn *conn,
				     struct rowlock_errinfo *reterr);

/** Commit. */
enum rlk_fault rlk_transaction_commit(struct rlk_conn *conn,
				      struct rowlock_errinfo *reterr);

/** Roll back what is not committed, at the latest by the end of @conn. */
void rlk_transaction_roll_back(struct rlk_conn *conn);

/** May the server still have a transaction of @conn open, which is not usable
 *  any more? It has rows locked until the server notices that. */
bool rlk_transaction_is_left(const struct rlk_conn *conn);

#endif
