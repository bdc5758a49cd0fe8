/* SPDX-License-Identifier: MIT */
/*
 * Many leases in one round trip: one DELETE for all releases, one INSERT for
 * all acquires, one for all draws.
 *
 * On MariaDB DELETE and INSERT are one transaction, which costs one write to
 * disk instead of two. The DELETE may wait, in the order of the primary key,
 * and has locked nothing but leases of our own by then; the INSERT does not
 * wait. If it would have to (another transaction has a name's row locked), all
 * is undone and sent again with an INSERT that looks before it touches: a row
 * that is held, or tied up, delays nobody. That one waits only for a row that
 * is being made at this moment. Should two wait for each other so, error 1213
 * sends each request alone.
 *
 * The draws after it are one statement, which locks the lease and then the
 * token of each name, in the order of the names. A single acquire and its draw
 * are one transaction; if the name is held, the draw passes over its row, which
 * may be locked.
 *
 * On MySQL the INSERT that looks is the first, and each draw is a statement.
 * There and on Galera each statement commits by itself, so that an error in the
 * middle leaves nothing open: a transaction that is sent to a node of Galera as
 * one text may be answered OK and not be there (tests/galera).
 *
 * After that comes an INSERT for each *wave* of sets, that is of several names
 * by one attempt (lease_batch_rows.c). It commits by itself. A wave that lost a
 * race has made nothing, and those behind it were not sent: they are sent
 * again.
 *
 * If an INSERT made fewer rows than it asked for, one more statement reads the
 * holder of each name, unless all were polls and none was free.
 */
#include "strategy/lease_batch.h"

#include "db/server.h"
#include "strategy/lease_batch_answer.h"
#include "strategy/lease_batch_ask.h"
#include "strategy/lease_batch_rows.h"
#include "strategy/lease_sweep.h"

#include <stdlib.h>

/* ---------------------------------------------------------- transaction */

static bool failed_at(const struct rlk_batch *batch, int statement)
{
	return rlk_packet_answered(batch->packet) == (size_t) statement;
}

/* A name's row is locked: look before touching any. But a lease that was given
 * back by then, and committed, would seem to have been lost. */
static enum rlk_fault send_all(struct rlk_batch *batch)
{
	enum rlk_fault fault = rlk_batch_send(batch, false);

	if (fault != RLK_BUSY || batch->acquire == &rlk_batch_looking ||
	    batch->sees_line ||
	    (batch->of[RLK_BATCH_RELEASES].count && !batch->together) ||
	    !failed_at(batch, batch->of[RLK_BATCH_LEASES].statement))
		return fault;
	batch->acquire = &rlk_batch_looking;
	batch->takes_bell = false;
	return rlk_batch_send(batch, true);
}

/* Nothing of it has been done, unless it failed in its COMMIT: then who knows?
 * It must not stay open. */
static enum rlk_fault end_transaction(struct rlk_batch *batch,
				      enum rlk_fault fault)
{
	struct rlk_conn *conn = batch->conn;
	struct rowlock_errinfo error;

	if (failed_at(batch, batch->commit_statement) &&
	    fault != RLK_CONFLICT && fault != RLK_PENDING) {
		rlk_conn_spoil(conn);
		return RLK_UNKNOWN;
	}
	if (rlk_conn_usable(conn) && rlk_stmt_text(conn, "ROLLBACK", &error))
		rlk_conn_spoil(conn);
	if (batch->takes_bell)
		rlk_lease_drop_bell(
		    conn, &batch->of[RLK_BATCH_LEASES].rows[0].part->request);
	return fault;
}

/* ------------------------------------------------------------ all of it */

/* The INSERT of a single acquire may draw, and take or see the bell. */
static void choose_for_one(struct rlk_batch *batch,
			   const struct rlk_dialect *dialect)
{
	const struct rlk_request *request =
	    &batch->of[RLK_BATCH_LEASES].rows[0].part->request;
	const struct rlk_many_def *ringing = dialect->lease_acquire_one_ringing;
	const struct rlk_many_def *seeing =
	    dialect->lease_acquire_one_seeing_line;

	batch->first_draw = request->draw;
	if (!request->draw || !request->bell)
		return;
	batch->takes_bell = ringing;
	batch->sees_line = !ringing && seeing;
	if (ringing || seeing)
		batch->acquire = ringing ? ringing : seeing;
	batch->bell = rlk_bell_of(batch->conn, request);
}

/* How are leases asked for? A name that was held before is not touched. */
static void choose(struct rlk_batch *batch, size_t count)
{
	const struct rlk_dialect *dialect = rlk_conn_dialect(batch->conn);
	const struct rlk_many_def *locking = dialect->lease_acquire_many;
	const struct rlk_batch_rows *leases = &batch->of[RLK_BATCH_LEASES];
	bool firsts = true;

	for (size_t i = 0; i < leases->count; i++)
		if (leases->rows[i].part->ask == RLK_ASK_AGAIN)
			firsts = false;
	batch->acquire = locking && firsts ? locking : &rlk_batch_looking;
	if (count == 1 && leases->count == 1 && firsts)
		choose_for_one(batch, dialect);
	batch->together =
	    locking && !rlk_conn_server(batch->conn)->galera && leases->count &&
	    (batch->of[RLK_BATCH_RELEASES].count || batch->first_draw);
}

static enum rlk_fault run(struct rlk_batch *batch)
{
	enum rlk_fault fault = send_all(batch);
	bool unclear;

	if (!batch->packet)
		return fault;
	if (batch->together &&
	    !rlk_batch_answered(batch, batch->commit_statement))
		fault = end_transaction(batch, fault);
	fault = rlk_batch_read(batch, fault, &unclear);
	if (fault || !unclear)
		return fault;
	/* Some were held, or are ours from an earlier sending. */
	fault = rlk_batch_ask_who(batch);
	rlk_batch_read_who(batch);
	return fault;
}

enum rlk_fault rlk_lease_batch(struct rlk_conn *conn, struct rlk_part **parts,
			       size_t count,
			       const struct rlk_patience *patience,
			       struct rowlock_errinfo *reterr)
{
	struct rlk_batch batch = {
		.conn = conn,
		.patience = patience,
		.reterr = reterr,
	};
	enum rlk_fault fault;

	if (parts[0]->act == RLK_ACT_SWEEP)
		return rlk_lease_sweep_batch(conn, parts, count, patience,
					     reterr);
	if (!rlk_batch_sort(&batch, parts, count))
		return rlk_fail_memory(reterr);
	choose(&batch, count);
	fault = run(&batch);
	free(batch.rows);
	return fault;
}
