/* SPDX-License-Identifier: MIT */
/*
 * See transaction.h. Failure modes: those of a statement.
 */
#include "db/transaction.h"

#include "db/conn_private.h"

enum rlk_fault rlk_transaction_begin(struct rlk_conn *conn,
				     struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = rlk_stmt_text(conn, "BEGIN", reterr);

	conn->transacts = !fault;
	return fault;
}

enum rlk_fault rlk_transaction_commit(struct rlk_conn *conn,
				      struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = rlk_stmt_text(conn, "COMMIT", reterr);

	if (!fault)
		conn->transacts = false;
	if (fault != RLK_KILLED)
		return fault;
	/* An interrupt may come when all is done. */
	rlk_conn_spoil(conn);
	return RLK_UNKNOWN;
}

/* No other transaction may begin on a connection that has one. */
void rlk_transaction_roll_back(struct rlk_conn *conn)
{
	struct rowlock_errinfo error;

	if (conn->transacts && rlk_conn_usable(conn)) {
		if (rlk_stmt_text(conn, "ROLLBACK", &error))
			rlk_conn_spoil(conn);
		else
			conn->transacts = false;
	}
}

bool rlk_transaction_is_left(const struct rlk_conn *conn)
{
	return conn->transacts && !rlk_conn_usable(conn);
}
