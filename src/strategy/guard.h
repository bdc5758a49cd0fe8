/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_GUARD_H
#define RLK_STRATEGY_GUARD_H

/*
 * The application's own transaction, tied to a lease: statements on its
 * connection, from the begin to the end, and the outcome of a COMMIT that was
 * not answered.
 *
 * Together with its COMMIT the transaction changes the lease's row (the column
 * `guards`) if that is there with the attempt of the hold. So it can commit
 * only as long as nobody else can have had the name, and a look at the row
 * shows afterwards whether it did.
 */

#include "db/borrowed.h"
#include "strategy/place_sql.h"
#include "strategy/strategy.h"

/*
 * How the 32 bits of `guards` are counted. The lower 28 are the library's own:
 * one up for a commit, two for one that can not come any more. The upper four
 * are counted by whoever has the guard as text, so that nobody's commit passes
 * for another's. Behind the largest number of each comes 0 again: a commit that
 * comes late must find another number than the one that it expects for as long
 * as it may be under way.
 */
#define RLK_GUARD_OWN 268435455

/** Read in place of the guards where there is no row. */
#define RLK_GUARD_NO_ROW UINT64_MAX

/** @guards, @steps commits of ours later. */
static inline uint64_t rlk_guard_count(uint64_t guards, uint64_t steps)
{
	return (guards & ~(uint64_t) RLK_GUARD_OWN) |
	       ((guards + steps) & RLK_GUARD_OWN);
}

/** A transaction. */
struct rlk_guard {
	const struct rlk_place *place;
	const char *server; /* that has the lease: the only right one, but on a
			       cluster */
	struct rlk_borrowed on;
	uint64_t attempt;     /* of the hold; names its savepoint, too */
	uint64_t on_id;       /* the connection's, when it began */
	uint64_t guards;      /* of the row, then */
	bool snapshot;        /* REPEATABLE READ, from the begin on */
	bool early;           /* the row is locked from the begin on */
	bool numbered;        /* early: the thread that has locked the row has
				 the number on_id on its server */
	bool asks;            /* its begin asks for the row, its server and its
				 guards; else they are known. Always where
				 place->catch_up has a word for it */
	bool releases;        /* its commit gives the lease back, and leaves a
				 receipt (strategy/receipt.h) */
	bool autocommit;      /* of the session, before */
	bool forbids_several; /* the connection did, before */
	bool reconnects;      /* the driver did so by itself, before */
	bool rows_stay;       /* its rollback left rows in tables that have no
				 transactions, said the server: on.rows_stay */
	bool commits_itself;  /* autocommit is on though its begin has turned
				 it off: the session is another one, or the
				 caller has turned it on */
};

enum rlk_guard_end {
	RLK_GUARD_DONE,
	RLK_GUARD_LOST,       /* the lease's row is not there */
	RLK_GUARD_UNCOUNTED,  /* the commit changed no row: it is not there, or
				 others have counted it, or the statement was
				 interrupted; rlk_guard_look() shows which */
	RLK_GUARD_ELSEWHERE,  /* it is another server */
	RLK_GUARD_BROKEN,     /* the transaction has ended before: by a COMMIT,
				 a ROLLBACK, a statement that commits, or an
				 error that rolled it back */
	RLK_GUARD_REPLACED,   /* so it has, and what was written since may be
				 committed: the session is another one, or
				 autocommit was turned on */
	RLK_GUARD_REFUSED,    /* the server refused: *reterr */
	RLK_GUARD_UNANSWERED, /* it may be done or not, or be done later */
};

/* These three block until guard->on.until_ms. Unless they return RLK_GUARD_DONE
 * no transaction of ours is open. Nothing that was written in it is committed
 * then, but RLK_GUARD_UNANSWERED leaves that open. The session is as it was
 * before. */

/**
 * Begin on guard->on: of guard, place, server, on, attempt, snapshot, early,
 * asks and autocommit are written already, and guards unless it asks. Valid
 * ends: all but BROKEN, REPLACED and UNCOUNTED, and LOST and ELSEWHERE only of
 * one that asks; UNANSWERED: the connection is closed, nothing is done.
 */
enum rlk_guard_end rlk_guard_begin(struct rlk_guard *guard,
				   const struct rlk_request *request,
				   struct rowlock_errinfo *reterr);

/** Valid ends: all but LOST. */
enum rlk_guard_end rlk_guard_commit(struct rlk_guard *guard,
				    const struct rlk_request *request,
				    struct rowlock_errinfo *reterr);

/** Valid ends: DONE, BROKEN, REPLACED, and where the connection is closed (so
 *  that the server rolls back) UNANSWERED. */
enum rlk_guard_end rlk_guard_rollback(struct rlk_guard *guard,
				      struct rowlock_errinfo *reterr);

/** The outcome of a commit that was not answered; asked for on a connection of
 *  ours, behind all that was committed in its cluster before. */
enum rlk_guard_outcome {
	RLK_GUARD_WAS_COMMITTED,
	RLK_GUARD_WAS_NOT_COMMITTED, /* nor can it be later */
	RLK_GUARD_ROW_IS_GONE,       /* nobody can say */
};

#endif
