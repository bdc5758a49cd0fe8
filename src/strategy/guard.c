/* SPDX-License-Identifier: MIT */
/*
 * A transaction of the application's that commits only under its lease.
 *
 * It begins with autocommit off, so that nothing commits by itself after an
 * error that rolled it back (1213): an explicit START TRANSACTION alone would
 * leave what follows autocommitted. It is there all the same: its answer shows
 * the driver, and with it all of the process, that a transaction is open before
 * any statement is executed in it. A savepoint stands at the beginning: it is
 * gone with the transaction, whatever ended that, so its RELEASE shows whether
 * the COMMIT covers all that was done since (MySQL manual, "SAVEPOINT, ROLLBACK
 * TO SAVEPOINT, and RELEASE SAVEPOINT Statements").
 *
 * The end is one text: the first error is the last statement of it that is
 * executed. The statement that judges the guard also commits: turning
 * autocommit on commits the transaction (MySQL manual, "START TRANSACTION,
 * COMMIT, and ROLLBACK Statements"), and giving it a value that it cannot have
 * does nothing. A guard earlier in the transaction would not do: a ROLLBACK TO
 * SAVEPOINT, DDL or an overlooked 1213 gives its lock back, and a stale COMMIT
 * goes through. Where an early guard is wanted, it comes in addition, in share
 * mode: our own session may still ask for the row.
 *
 * A node of Galera that rolls a transaction back for another node's does not
 * stop the text if it is between two of its statements: the rest is executed in
 * a new transaction, and 1213 is the answer to the last one, even if that is
 * behind the COMMIT (MariaDB 10.11: wsrep_mysql_parse() leaves the error to the
 * end of dispatch_command()). So Galera gets two savepoints, one of which is
 * released between the guard and a separate COMMIT; and if the last statement
 * fails, the outcome is asked for.
 *
 * Failure modes: whatever is refused is rolled back. A COMMIT that changed no
 * row does not prove that the row is gone: a statement that was interrupted
 * answers the same. guard_outcome.c finds the outcome of a COMMIT without an
 * answer.
 */
#include "strategy/guard.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "db/borrowed_script.h"
#include "db/sql.h"
#include "strategy/attempt.h"
#include "strategy/receipt.h"

/* The cheapest statement that can fail: it has no result. autocommit cannot be
 * 2, so the text ends. 1 commits; 0 is as it was, and the COMMIT follows. */
#define JUDGE "SET SESSION autocommit = IF(ROW_COUNT() = 1, %d, 2)"
#define ERROR_JUDGE 1231

#define ERROR_SYNTAX 1064
#define ERROR_ROWS 1242
#define ERROR_DEADLOCK 1213

/* In place of a row that is not as its condition says, where a snapshot of
 * before shows it so (MariaDB, innodb_snapshot_isolation). */
#define ERROR_CHANGED 1020
#define ERROR_NO_SAVEPOINT 1305
#define ERROR_UNKNOWN_VARIABLE 1193

/* A transaction of the caller's is open: its characteristics stay. */
#define ERROR_OPEN 1568
#define ERROR_STILL_OPEN 1766 /* and so is how consistent it is */

/* Added to what an early guard reads, where the thread that locks the row has
 * the number that the driver knows. `guards`, and one more, has 33 bits. */
#define NUMBERED (1ull << 33)

/* The first statement of a begin: the server's word that nothing is open. */
#define BEGIN_ISOLATION 0

/* The most of a begin whose numbers are read: two isolation levels, autocommit
 * on and off, what looks first, the start, and the row. Each costs the server a
 * packet and the client a wake-up, one with a result several times that
 * (tools/lib/bench/README.md). */
#define NUMBERS 7

/* And of a commit. */
enum {
	COMMIT_SAVEPOINT,
	COMMIT_COUNT,
	COMMIT_GUARD, /* and that is the COMMIT; but on a cluster */
	COMMIT_OTHER_SAVEPOINT,
	COMMIT_COMMIT,
};

/* ------------------------------------------------------------------ texts */

static void put_row(struct rlk_script *text, const struct rlk_request *request)
{
	rlk_script_put(text, " WHERE ");
	rlk_attempt_put(text, "", request);
}

static void put_savepoint(struct rlk_script *text,
			  const struct rlk_guard *guard)
{
	char name[40];

	snprintf(name, sizeof(name), "SAVEPOINT rowlock_%016" PRIx64,
		 guard->attempt);
	rlk_script_put(text, name);
}

/* The one that outlives the other's release. */
static void put_other_savepoint(struct rlk_script *text,
				const struct rlk_guard *guard)
{
	put_savepoint(text, guard);
	rlk_script_put(text, "_end");
}

static bool on_cluster(const struct rlk_guard *guard)
{
	return !guard->place->identity;
}

/* It fails where the row is not there: under REPEATABLE READ a read that locks
 * would lock the gap, and keep others from names of their own, until all is
 * rolled back. Without a LIMIT of its own a SELECT has sql_select_limit, which
 * may be 0: then it reads nothing. */
static void put_look(struct rlk_script *text, const struct rlk_guard *guard,
		     const struct rlk_request *request)
{
	rlk_script_put(text, "SELECT IF(COUNT(*) = 1, 1, (SELECT 1 UNION "
			     "SELECT 2)) FROM ");
	rlk_place_put_table(text, guard->place, RLK_PLACE_LEASES);
	put_row(text, request);
	rlk_script_put(text, " LIMIT 1; ");
}

static bool looks_first(const struct rlk_guard *guard)
{
	return guard->early && guard->snapshot;
}

/* Something is read before the transaction. */
static bool reads_before(const struct rlk_guard *guard)
{
	return looks_first(guard) || (guard->asks && !guard->early);
}

/* Where put_read() reads, among the answers. */
static size_t at_read(const struct rlk_guard *guard)
{
	return BEGIN_ISOLATION + (guard->autocommit ? 1 : 2);
}

/* Where it asks for the row, its server and its guards, among the answers. */
static size_t at_row(const struct rlk_guard *guard)
{
	if (!guard->early)
		return at_read(guard);
	return looks_first(guard) ? at_read(guard) + 4 : BEGIN_ISOLATION + 3;
}

static void put_isolation(struct rlk_script *text,
			  const struct rlk_guard *guard)
{
	rlk_script_put(text, "SET TRANSACTION ISOLATION LEVEL ");
	rlk_script_put(text,
		       guard->snapshot ? "REPEATABLE READ" : "READ COMMITTED");
	rlk_script_put(text, ", READ WRITE; ");
}

/* A proxy may number threads itself: so the thread that locks the row returns
 * its own number, in the statement that locks it. */
static void put_numbered(struct rlk_script *text, const struct rlk_guard *guard)
{
	if (!guard->early)
		return;
	rlk_script_put(text, " + IF(CONNECTION_ID() = ");
	rlk_script_put_value(text, rlk_u64(guard->on_id));
	rlk_script_put(text, ", ");
	rlk_script_put_value(text, rlk_u64(NUMBERED));
	rlk_script_put(text, ", 0)");
}

static void put_ask(struct rlk_script *text, const struct rlk_guard *guard,
		    const struct rlk_request *request)
{
	rlk_script_put(text, guard->place->catch_up->select);
	rlk_script_put(text, "SELECT IF(");
	rlk_place_put_is_here(text, guard->place, guard->server);
	rlk_script_put(text, ", guards + 1");
	put_numbered(text, guard);
	rlk_script_put(text, ", 0) FROM ");
	rlk_place_put_table(text, guard->place, RLK_PLACE_LEASES);
	put_row(text, request);
	rlk_script_put(text, " LIMIT 1");
	rlk_script_put(text, guard->early ? " LOCK IN SHARE MODE; " : "; ");
}

/* A read in a transaction keeps its table from being altered until the end, and
 * an ALTER that waits keeps others from reading it. So it is read before, by
 * statements that commit by themselves. Such a one takes the isolation level
 * that was set for the next transaction, so that has to be set again. */
static void put_read(struct rlk_script *text, const struct rlk_guard *guard,
		     const struct rlk_request *request)
{
	if (!guard->autocommit)
		rlk_script_put(text, "SET SESSION autocommit = 1; ");
	if (guard->early)
		put_look(text, guard, request);
	else
		put_ask(text, guard, request);
	put_isolation(text, guard);
}

static void put_begin(struct rlk_script *text, const struct rlk_guard *guard,
		      const struct rlk_request *request)
{
	put_isolation(text, guard);
	if (reads_before(guard))
		put_read(text, guard, request);
	rlk_script_put(text, "SET SESSION autocommit = 0; START TRANSACTION");
	rlk_script_put(text,
		       guard->snapshot ? " WITH CONSISTENT SNAPSHOT; " : "; ");
	if (guard->early)
		put_ask(text, guard, request);
	if (on_cluster(guard)) {
		put_other_savepoint(text, guard);
		rlk_script_put(text, "; ");
	}
	put_savepoint(text, guard);
}

/* Behind the statement that counts. */
static void put_end(struct rlk_script *text, const struct rlk_guard *guard)
{
	const int judged = on_cluster(guard) ? 0 : 1;
	char judge[64];

	snprintf(judge, sizeof(judge), JUDGE, judged);
	rlk_script_put(text, judge);
	if (on_cluster(guard)) {
		rlk_script_put(text, "; RELEASE ");
		put_other_savepoint(text, guard);
		rlk_script_put(text, "; COMMIT AND NO CHAIN NO RELEASE");
	}
	if (guard->autocommit != (judged == 1))
		rlk_script_put(text, guard->autocommit
					 ? "; SET SESSION autocommit = 1"
					 : "; SET SESSION autocommit = 0");
}

/* The row goes there, and the lock is free. The hold's maximum is no receipt's:
 * a reaper would take away what proves the commit. */
static void put_receipt(struct rlk_script *text, uint64_t attempt)
{
	char name[RLK_RECEIPT_SIZE];

	rlk_receipt_name(attempt, name);
	rlk_script_put(text, ", name = ");
	rlk_script_put_value(text, rlk_text(name));
	rlk_script_put(text, ", slot = 0, expires_at = NULL");
}

static void put_commit(struct rlk_script *text, const struct rlk_guard *guard,
		       const struct rlk_request *request)
{
	rlk_script_put(text, "RELEASE ");
	put_savepoint(text, guard);
	rlk_script_put(text, "; UPDATE ");
	rlk_place_put_table(text, guard->place, RLK_PLACE_LEASES);
	rlk_script_put(text, " SET guards = ");
	rlk_script_put_value(text, rlk_u64(rlk_guard_count(guard->guards, 1)));
	if (guard->releases)
		put_receipt(text, request->attempt);
	put_row(text, request);
	rlk_script_put(text, " AND guards = ");
	rlk_script_put_value(text, rlk_u64(guard->guards));
	rlk_script_put(text, " AND ");
	rlk_place_put_is_here(text, guard->place, guard->server);
	rlk_script_put(text, "; ");
	put_end(text, guard);
}

static enum rlk_fault say(const struct rlk_guard *guard,
			  struct rlk_script *text, uint64_t *ret_numbers,
			  size_t *ret_answered, struct rowlock_errinfo *reterr)
{
	return rlk_borrowed_run_script(&guard->on, text, ret_numbers, NUMBERS,
				       ret_answered, reterr);
}

typedef void (*put_fn)(struct rlk_script *text, const struct rlk_guard *guard,
		       const struct rlk_request *request);

/* Only a try shows whether the connection takes several statements in one text:
 * the flag with which it was opened may have been changed by
 * mysql_set_server_option(). */
static enum rlk_fault say_several(struct rlk_guard *guard, put_fn put,
				  const struct rlk_request *request,
				  uint64_t *ret_numbers, size_t *ret_answered,
				  struct rowlock_errinfo *reterr)
{
	struct rlk_script text = { .failed = false };
	struct rlk_script again = { .failed = false };
	enum rlk_fault fault;

	put(&text, guard, request);
	fault = say(guard, &text, ret_numbers, ret_answered, reterr);
	if (fault != RLK_REFUSED || *ret_answered ||
	    reterr->mysql != ERROR_SYNTAX)
		return fault;
	fault = rlk_borrowed_allow_several(&guard->on, true, reterr);
	if (fault)
		return fault;
	guard->forbids_several = true;
	put(&again, guard, request);
	return say(guard, &again, ret_numbers, ret_answered, reterr);
}

/* -------------------------------------------------------------------- ends */

/* Where it cannot be forbidden again, the session is not as it was. */
static enum rlk_guard_end forbid_several(const struct rlk_guard *guard,
					 struct rowlock_errinfo *reterr)
{
	if (!guard->forbids_several ||
	    !rlk_borrowed_allow_several(&guard->on, false, reterr))
		return RLK_GUARD_DONE;
	rlk_borrowed_close(&guard->on);
	return RLK_GUARD_UNANSWERED;
}

/* Roll back, and have the session as it was. */
static enum rlk_guard_end undo(const struct rlk_guard *guard,
			       struct rowlock_errinfo *reterr)
{
	if (rlk_borrowed_roll_back(&guard->on,
				   guard->autocommit ? RLK_AUTOCOMMIT_ON
						     : RLK_AUTOCOMMIT_OFF,
				   reterr))
		return RLK_GUARD_UNANSWERED;
	return forbid_several(guard, reterr);
}

/* After a reconnect, writes since then may be in a transaction that nothing
 * guards: the next COMMIT would be a stale one. */
static bool was_replaced(const struct rlk_guard *guard,
			 struct rowlock_errinfo *reterr)
{
	struct rlk_borrowed_state state;

	if (rlk_borrowed_id(&guard->on) == guard->on_id)
		return false;
	if (rlk_borrowed_look(&guard->on, &state, NULL))
		rlk_borrowed_close(&guard->on);
	else if (state.in_transaction)
		rlk_borrowed_roll_back(&guard->on, RLK_AUTOCOMMIT_AS_IT_IS,
				       NULL);
	rlk_fail(reterr, ROWLOCK_ECONNECT, "it was connected anew meanwhile");
	return true;
}

/* By the last answer that had flags: every write since the begin came with one,
 * so no round trip is needed. */
static bool autocommits_again(const struct rlk_guard *guard)
{
	struct rlk_borrowed_state state;

	rlk_borrowed_recall(&guard->on, &state);
	return state.autocommits;
}

/* One whose savepoint is not there had ended before. */
static enum rlk_guard_end had_ended(const struct rlk_guard *guard)
{
	return guard->commits_itself ? RLK_GUARD_REPLACED : RLK_GUARD_BROKEN;
}

/* If the savepoint is there, the ROLLBACK undoes all that was done since the
 * begin. It is a text of its own, as its warnings are read. */
enum rlk_guard_end rlk_guard_rollback(struct rlk_guard *guard,
				      struct rowlock_errinfo *reterr)
{
	struct rlk_script text = { .failed = false };
	struct rowlock_errinfo error = { 0 };
	uint64_t numbers[NUMBERS];
	enum rlk_fault fault;
	size_t answered;

	if (was_replaced(guard, reterr))
		return RLK_GUARD_REPLACED;
	guard->commits_itself = autocommits_again(guard);
	rlk_script_put(&text, "RELEASE ");
	put_savepoint(&text, guard);
	fault = say(guard, &text, numbers, &answered, &error);
	if (undo(guard, reterr) || fault == RLK_UNKNOWN)
		return RLK_GUARD_UNANSWERED;
	return fault && error.mysql == ERROR_NO_SAVEPOINT ? had_ended(guard)
							  : RLK_GUARD_DONE;
}

/* The lease's row is not there, or is on another server: only then is the
 * server asked which it is. An error about a missing table is less to the
 * point. */
static enum rlk_guard_end tell_place(const struct rlk_guard *guard,
				     enum rlk_guard_end otherwise,
				     struct rowlock_errinfo *reterr)
{
	struct rowlock_errinfo error = { 0 };
	struct rlk_script text = { .failed = false };
	uint64_t numbers[NUMBERS] = { 1 };
	enum rlk_fault fault;
	size_t answered;

	rlk_script_put(&text, "SELECT ");
	rlk_place_put_is_here(&text, guard->place, guard->server);
	rlk_script_put(&text, " LIMIT 1");
	fault = say(guard, &text, numbers, &answered, &error);
	if (fault == RLK_UNKNOWN) {
		*reterr = error;
		return RLK_GUARD_UNANSWERED;
	}
	if (error.mysql == ERROR_UNKNOWN_VARIABLE || !numbers[0])
		return RLK_GUARD_ELSEWHERE;
	return otherwise;
}

/* Why a begin failed; no fault: the row was not there. */
static enum rlk_guard_end judge_begin(const struct rlk_guard *guard,
				      enum rlk_fault fault, size_t answered,
				      struct rowlock_errinfo *error)
{
	if (!fault || (looks_first(guard) && answered == at_read(guard) &&
		       error->mysql == ERROR_ROWS))
		return tell_place(guard, RLK_GUARD_LOST, error);
	if ((answered == at_row(guard) && guard->asks) ||
	    (answered == at_read(guard) && looks_first(guard)))
		return tell_place(guard, RLK_GUARD_REFUSED, error);
	if (answered == BEGIN_ISOLATION && error->mysql == ERROR_OPEN)
		error->code = ROWLOCK_EINVAL;
	return RLK_GUARD_REFUSED;
}

/* A transaction that was open is the caller's, and stays. Without an answer the
 * connection is closed, and what is known stays known. */
static void give_up(const struct rlk_guard *guard, size_t answered,
		    const struct rowlock_errinfo *error)
{
	if (answered == BEGIN_ISOLATION && error->mysql == ERROR_OPEN)
		forbid_several(guard, NULL);
	else
		undo(guard, NULL);
}

/* A read in this text finds all that was committed before, whichever the
 * connection's member is. */
static void put_catch_up(struct rlk_script *text, const struct rlk_guard *guard,
			 const struct rlk_request *request)
{
	rlk_script_put(text, guard->place->catch_up->first);
	if (!guard->autocommit)
		rlk_script_put(text, "; SET SESSION autocommit = 1");
	rlk_script_put(text, "; SELECT COUNT(*) FROM ");
	rlk_place_put_table(text, guard->place, RLK_PLACE_LEASES);
	put_row(text, request);
	rlk_script_put(text, "; ");
	rlk_script_put(text, guard->place->catch_up->last);
}

/* If the first statement failed, as in an open transaction, nothing was set. */
static enum rlk_guard_end fail_to_catch_up(const struct rlk_guard *guard,
					   size_t answered,
					   struct rowlock_errinfo *error)
{
	if (answered) {
		if (!rlk_borrowed_insist(&guard->on,
					 guard->place->catch_up->last, NULL))
			undo(guard, NULL);
		return RLK_GUARD_REFUSED;
	}
	if (error->mysql == ERROR_STILL_OPEN || error->mysql == ERROR_OPEN)
		error->code = ROWLOCK_EINVAL;
	forbid_several(guard, NULL);
	return RLK_GUARD_REFUSED;
}

static enum rlk_guard_end catch_up(struct rlk_guard *guard,
				   const struct rlk_request *request,
				   struct rowlock_errinfo *reterr)
{
	uint64_t numbers[NUMBERS];
	enum rlk_fault fault;
	size_t answered;

	if (!guard->place->catch_up->first)
		return RLK_GUARD_DONE;
	fault = say_several(guard, put_catch_up, request, numbers, &answered,
			    reterr);
	if (fault == RLK_UNKNOWN)
		return RLK_GUARD_UNANSWERED;
	return fault ? fail_to_catch_up(guard, answered, reterr)
		     : RLK_GUARD_DONE;
}

enum rlk_guard_end rlk_guard_begin(struct rlk_guard *guard,
				   const struct rlk_request *request,
				   struct rowlock_errinfo *reterr)
{
	const size_t at = at_row(guard);
	uint64_t numbers[NUMBERS] = { 0 };
	enum rlk_guard_end end;
	enum rlk_fault fault;
	size_t answered;

	guard->on_id = rlk_borrowed_id(&guard->on);
	guard->forbids_several = false;
	end = catch_up(guard, request, reterr);
	if (end)
		return end;
	fault =
	    say_several(guard, put_begin, request, numbers, &answered, reterr);
	if (fault == RLK_UNKNOWN)
		return RLK_GUARD_UNANSWERED;
	if (fault == RLK_DONE && (numbers[at] || !guard->asks)) {
		guard->numbered = numbers[at] & NUMBERED;
		if (guard->asks)
			guard->guards = (numbers[at] & ~NUMBERED) - 1;
		return RLK_GUARD_DONE;
	}
	end = judge_begin(guard, fault, answered, reterr);
	if (end != RLK_GUARD_UNANSWERED)
		give_up(guard, answered, reterr);
	return end;
}

/* Its begin need not have asked, and a server may get another number. */
static bool is_elsewhere(const struct rlk_guard *guard)
{
	struct rowlock_errinfo error;

	return tell_place(guard, RLK_GUARD_UNCOUNTED, &error) ==
	       RLK_GUARD_ELSEWHERE;
}

/* Judge a commit whose COMMIT was not executed. */
static enum rlk_guard_end judge_commit(const struct rlk_guard *guard,
				       size_t answered,
				       struct rowlock_errinfo *error)
{
	if (answered == COMMIT_SAVEPOINT && error->mysql == ERROR_NO_SAVEPOINT)
		return had_ended(guard);
	if ((answered == COMMIT_GUARD && error->mysql == ERROR_JUDGE) ||
	    (answered == COMMIT_COUNT && error->mysql == ERROR_CHANGED))
		return is_elsewhere(guard) ? RLK_GUARD_ELSEWHERE
					   : RLK_GUARD_UNCOUNTED;
	if (answered == COMMIT_COUNT && error->mysql == ERROR_UNKNOWN_VARIABLE)
		return RLK_GUARD_ELSEWHERE;
	if (answered == COMMIT_OTHER_SAVEPOINT &&
	    error->mysql == ERROR_NO_SAVEPOINT)
		rlk_fail_db(error, ROWLOCK_EDB, ERROR_DEADLOCK,
			    "another node changed the same rows first, said %s",
			    rlk_borrowed_host(&guard->on));
	return RLK_GUARD_REFUSED;
}

enum rlk_guard_end rlk_guard_commit(struct rlk_guard *guard,
				    const struct rlk_request *request,
				    struct rowlock_errinfo *reterr)
{
	const size_t at_commit =
	    on_cluster(guard) ? COMMIT_COMMIT : COMMIT_GUARD;
	uint64_t numbers[NUMBERS];
	enum rlk_fault fault;
	size_t answered;

	if (was_replaced(guard, reterr))
		return RLK_GUARD_REPLACED;
	guard->commits_itself = autocommits_again(guard);
	fault =
	    say_several(guard, put_commit, request, numbers, &answered, reterr);
	/* It is committed, and later statements may fail; but on a cluster such
	 * an error may be the COMMIT's own. */
	if (answered > at_commit && (!fault || !on_cluster(guard))) {
		if (fault)
			undo(guard, NULL);
		else
			forbid_several(guard, NULL);
		return RLK_GUARD_DONE;
	}
	if (fault == RLK_UNKNOWN)
		return RLK_GUARD_UNANSWERED;
	undo(guard, NULL);
	/* Whatever else a COMMIT fails with: who knows how far it came? */
	if (answered > at_commit ||
	    (answered == at_commit && fault != RLK_CONFLICT &&
	     reterr->mysql != ERROR_JUDGE))
		return RLK_GUARD_UNANSWERED;
	return judge_commit(guard, answered, reterr);
}
