/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_ROW_IN_H
#define RLK_STRATEGY_ROW_IN_H

/*
 * The row strategy inside a transaction of the application's: the statements on
 * its connection.
 */

#include "db/borrowed.h"
#include "strategy/place_sql.h"

struct rlk_row_in {
	struct rlk_borrowed on;
	const struct rlk_place *place;
	const char *name;
	uint64_t tag; /* random: by it the statement that waits is found */
	uint64_t moment_ms; /* for what nobody waits for: begin, rollback */
};

/**
 * Begin a transaction on in->on, which has none, and lock the row in it. Blocks
 * for in->moment_ms to begin; until in->on.until_ms for the lock, and is
 * interrupted then if there is an interrupter; and for in->moment_ms, if what
 * it has begun has to be rolled back. Unless it returns RLK_DONE no transaction
 * is open. RLK_ABSENT: there is no such row; make it. RLK_BUSY: another has it,
 * and it was not waited for, or for longer than the server lets anybody.
 * RLK_UNKNOWN: the connection is closed.
 */
enum rlk_fault rlk_row_in_acquire(const struct rlk_row_in *in, bool wait,
				  struct rowlock_errinfo *reterr);

/** In that transaction, draw the next token of the name. RLK_ABSENT, RLK_BUSY:
 *  that transaction has not the row. Unless it returns RLK_UNKNOWN the
 *  transaction stays open. */
enum rlk_fault rlk_row_in_draw(const struct rlk_row_in *in, uint64_t *ret_token,
			       struct rowlock_errinfo *reterr);

/** By a connection of the client's, interrupt the statement that waits. */
enum rlk_fault rlk_row_in_interrupt(struct rlk_conn *conn,
				    const struct rlk_row_in *in,
				    struct rowlock_errinfo *reterr);

#endif
