/* SPDX-License-Identifier: MIT */
/*
 * Readers and writers: the part that goes beyond a lock.
 *
 * A writer acquires its row like any lock. From then on no reader is admitted.
 * The writer waits for the earlier readers: it looks again and again which are
 * left, and removes the dead ones. So writers do not starve, and only one at a
 * time polls a name.
 *
 * The look that grants is later than the row, which may have been broken
 * meanwhile. So the look must also show that row, and for an upgrade the
 * reader's: both at the same moment prove that no other writer came in between.
 *
 * Failure modes: a writer that gives up deletes its row, and readers are
 * admitted again. A look changes nothing, so an unanswered one is repeated. A
 * writer whose row is not shown has lost it, and asks again.
 */
#include "recipe/writer.h"

#include "api/release.h"
#include "base/error.h"
#include "core/call.h"
#include "core/overrun.h"
#include "core/waiter.h"
#include "db/lend.h"
#include "hold/clear.h"
#include "strategy/sides.h"
#include "wait/line.h"

/* The pause between two looks: a part of the time waited, from 1 ms to this. */
#define LOOK_MOST_MS 50
#define LOOK_PART 8

/* ------------------------------------------------------------ who is left */

/* A writer that waits for readers. */
struct drain {
	struct rowlock_client *client;
	struct rowlock *writer;
	const struct rowlock *reader; /* its own, or NULL */
	/* References: other threads may release a handle meanwhile. */
	struct rlk_hold *write;
	struct rlk_hold *read; /* the reader's */
	struct rlk_waiter waiter;
	int64_t began_ms;

	/* The result of a look. */
	bool looked;       /* it was answered */
	bool writes;       /* the writer's row, with its session */
	bool reads;        /* the reader's row, with its session */
	size_t others;     /* other readers */
	bool shared;       /* its own is shared by others of this client */
	size_t dead_count; /* of the others, that may be dead */
	struct rlk_rwlock_seen dead[RLK_READERS_MOST];
	struct rowlock_errinfo error; /* why it failed; code 0: no failure */
};

static bool is_row_of(const struct rlk_hold *hold,
		      const struct rlk_rwlock_seen *seen)
{
	return rlk_holder_is(&seen->holder, hold->attempt, hold->session);
}

static void see(const struct rlk_rwlock_seen *seen, void *arg)
{
	struct drain *drain = arg;

	if (seen->slot == RLK_SLOT_WRITER) {
		drain->writes = is_row_of(drain->write, seen);
		return;
	}
	if (drain->read && seen->holder.attempt == drain->read->attempt) {
		drain->reads = is_row_of(drain->read, seen);
		return;
	}
	drain->others++;
	/* A false server may send more than were asked for. */
	if (drain->dead_count < RLK_READERS_MOST &&
	    rlk_may_be_dead(drain->client, &seen->holder))
		drain->dead[drain->dead_count++] = *seen;
}

/* Returns 0 for a transient failure, which is waited out, except by a try. */
static int failed(const struct drain *drain, int code)
{
	if (drain->waiter.wish.try)
		return code == ROWLOCK_ETIMEDOUT ? ROWLOCK_EDB : code;
	if (code == ROWLOCK_ETIMEDOUT || code == ROWLOCK_ECANCELED ||
	    code == ROWLOCK_ECONNECT)
		return 0;
	return code;
}

static int get_conn(struct drain *drain, size_t bay, struct rlk_conn **conn,
		    struct rowlock_errinfo *reterr)
{
	return rlk_pool_get(
	    drain->client->pool, bay, rlk_waiter_io_until(&drain->waiter),
	    !drain->waiter.wish.try, &drain->waiter.pool_waiter, conn, reterr);
}

/* Which readers are left? Returns 0 with drain->others; else the code that ends
 * the wait. */
static int look(struct drain *drain)
{
	const struct rlk_name *name = drain->writer->name;
	struct rlk_conn *conn;
	enum rlk_fault fault;
	int code;

	drain->looked = drain->writes = drain->reads = false;
	drain->others = 0;
	drain->dead_count = 0;
	drain->error.code = 0;
	code = get_conn(drain, RLK_BAY_COMMIT, &conn, &drain->error);
	if (code) {
		drain->others = 1;
		return failed(drain, code);
	}
	fault = rlk_rwlock_look(conn, name->text, see, drain, &drain->error);
	rlk_pool_put(drain->client->pool, conn);
	drain->looked = fault == RLK_DONE;
	if (drain->looked)
		return 0;
	drain->others = 1;
	if (rlk_fault_passes(fault))
		drain->error.code = 0;
	return failed(drain, drain->error.code);
}

/* A transaction may have a dead reader's row locked, so use a connection that
 * no other thread waits for. Returns true if at least one is gone. */
static bool remove_dead(struct drain *drain)
{
	struct rowlock_errinfo error;
	struct rlk_conn *conn;
	bool removed = false;

	if (!drain->dead_count || get_conn(drain, RLK_BAY_ASIDE, &conn, &error))
		return false;
	for (size_t i = 0; i < drain->dead_count && rlk_conn_usable(conn);
	     i++) {
		struct rlk_rwlock_seen *dead = &drain->dead[i];
		const struct rlk_request request = {
			.name = drain->writer->name->text,
			.slot = dead->slot,
		};

		if (rlk_clear_dead(drain->client, conn, &request,
				   &dead->holder))
			removed = true;
	}
	rlk_pool_put(drain->client->pool, conn);
	return removed;
}

/* ---------------------------------------------------------------- the wait */

/* A hold whose row the look did not show was broken. A look with fewer than
 * RLK_READERS_MOST readers has shown all of them. */
static void lose_what_is_gone_locked(struct drain *drain)
{
	if (!drain->looked)
		return;
	if (drain->read && !drain->reads && drain->others < RLK_READERS_MOST)
		rlk_hold_lose_locked(drain->read, RLK_ROW_IS_GONE);
	if (!drain->writes)
		rlk_hold_lose_locked(drain->write, RLK_ROW_IS_GONE);
}

static bool has_locked(const struct rowlock *lock, struct rlk_hold *hold)
{
	return lock->hold == hold && rlk_hold_check_locked(hold);
}

/* Returns 0 if it is held without other readers, 1 to wait on. */
static int judge_locked(struct drain *drain)
{
	const struct rowlock *reader = drain->reader;

	lose_what_is_gone_locked(drain);
	if (reader && !has_locked(reader, drain->read))
		return ROWLOCK_ELOST;
	if (!has_locked(drain->writer, drain->write))
		return ROWLOCK_ECONNECT;
	drain->shared = reader && drain->read->depth > reader->depth;
	return drain->others || drain->shared;
}

/* Sleep until the next look. Returns 1, or the code that ends the wait. */
static int pause_locked(struct drain *drain)
{
	struct rlk_waiter *waiter = &drain->waiter;
	int64_t now = rlk_now(drain->client->clock);
	int64_t delay = (now - drain->began_ms) / LOOK_PART + 1;
	int64_t at = now + (delay < LOOK_MOST_MS ? delay : LOOK_MOST_MS);

	if (waiter->wish.try)
		return ROWLOCK_EBUSY;
	rlk_lock_waited_locked(drain->writer);
	if (waiter->until_ms < at)
		at = waiter->until_ms;
	for (;;) {
		int code = rlk_waiter_over_locked(waiter);

		if (code)
			return code;
		if (rlk_now(drain->client->clock) >= at)
			return 1;
		rlk_waiter_sleep_locked(waiter, at);
	}
}

/* Returns 0 if no reader is left, and it is held and shown; 1: look again. */
static int step(struct drain *drain)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&drain->client->mutex);
	int code = judge_locked(drain);

	if (code > 0)
		return pause_locked(drain);
	if (code == 0)
		rlk_lock_show_locked(drain->writer);
	return code;
}

static int wait_for_readers(struct drain *drain)
{
	int code;

	do {
		do
			code = look(drain);
		while (!code && drain->others && remove_dead(drain));
		if (!code)
			code = step(drain);
	} while (code > 0);
	return code;
}

static int fail_gone(const struct rowlock *writer,
		     struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, ROWLOCK_ECONNECT,
			"acquire " RLK_LOCK_FORMAT
			": granted, and lost again before its readers had "
			"left; it is not held",
			RLK_LOCK_ARGS(writer));
}

static int explain(const struct drain *drain, int code,
		   struct rowlock_errinfo *reterr)
{
	const struct rowlock *writer = drain->writer;
	const struct rowlock_errinfo *error = &drain->error;
	const char *what = code == ROWLOCK_ECANCELED ? "the wait was canceled"
			   : drain->shared
			       ? "is read through other handles of this client"
			       : "is read by others";

	if (code == ROWLOCK_ELOST)
		return rlk_fail(reterr, code,
				"acquire " RLK_LOCK_FORMAT
				": its reader was lost meanwhile (%s)",
				RLK_LOCK_ARGS(writer),
				drain->read->reason ? drain->read->reason
						    : "it was released");
	/* The readers are unknown, which did not end the wait earlier. */
	if (error->code && code != ROWLOCK_ECANCELED)
		return rlk_fail_db(
		    reterr, code == ROWLOCK_ETIMEDOUT ? error->code : code,
		    error->mysql, "acquire " RLK_LOCK_FORMAT ": %s",
		    RLK_LOCK_ARGS(writer), error->message);
	if (code == ROWLOCK_ECONNECT)
		return fail_gone(writer, reterr);
	return rlk_fail(reterr, code, "acquire " RLK_LOCK_FORMAT ": %s",
			RLK_LOCK_ARGS(writer), what);
}

/* A reference to the hold of @lock, or NULL. */
static struct rlk_hold *get_hold(struct rowlock *lock)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);

	if (lock->hold)
		rlk_hold_get_locked(lock->hold);
	return lock->hold;
}

static void put_hold(struct rowlock *lock, struct rlk_hold *hold)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);

	if (hold)
		rlk_hold_put_locked(hold);
}

/* Wait until @until_ms, which may be past by now; for a try, it is the end of
 * the call. */
static int drain(struct rowlock *writer, const struct rowlock *reader,
		 struct rlk_hold *read, uint64_t wait_ms, int64_t until_ms,
		 struct rowlock_errinfo *reterr)
{
	struct drain drain = {
		.client = writer->name->client,
		.writer = writer,
		.reader = reader,
		.write = get_hold(writer),
		.read = read,
		.began_ms = rlk_now(writer->name->client->clock),
	};
	int code;

	rlk_waiter_init(&drain.waiter, writer, wait_ms);
	drain.waiter.until_ms = until_ms;
	drain.waiter.give_up_ms =
	    wait_ms ? rlk_after(until_ms, RLK_OVERRUN_LOOK_MS) : until_ms;
	if (!drain.write)
		return fail_gone(writer, reterr);
	if (rlk_waiter_begin(&drain.waiter)) {
		code = wait_for_readers(&drain);
		rlk_waiter_end(&drain.waiter);
		if (code)
			code = explain(&drain, code, reterr);
	} else {
		code = rlk_fail(reterr, ROWLOCK_ENOMEM,
				"acquire " RLK_LOCK_FORMAT ": out of memory",
				RLK_LOCK_ARGS(writer));
	}
	put_hold(writer, drain.write);
	return code;
}

/* ---------------------------------------------------------------- acquire */

/* The part of @wait_ms that is left until @until_ms; a try stays one. */
static uint64_t time_left(const struct rowlock *lock, uint64_t wait_ms,
			  int64_t until_ms)
{
	int64_t now = rlk_now(lock->name->client->clock);

	if (wait_ms == 0 || wait_ms == ROWLOCK_FOREVER)
		return wait_ms;
	return until_ms > now ? (uint64_t) (until_ms - now) : 1;
}

/* Let no handle of this client join the reader's hold any more. Returns a
 * reference to it in *@ret_read. */
static int close_reader(struct rowlock *reader, struct rlk_hold **ret_read,
			struct rowlock_errinfo *reterr)
{
	_guard_ struct rlk_mutex *guard =
	    rlk_guard(&reader->name->client->mutex);
	int code = 0;
	struct rlk_hold *hold =
	    rlk_lock_hold_locked(reader, false, &code, reterr);

	if (!hold)
		return code;
	if (!rlk_hold_check_locked(hold))
		return rlk_fail(reterr, ROWLOCK_ELOST,
				"acquire " RLK_LOCK_FORMAT
				": its reader was lost (%s)",
				RLK_LOCK_ARGS(reader), hold->reason);
	if (reader->name->hold == hold)
		reader->name->hold = NULL;
	rlk_hold_get_locked(hold);
	*ret_read = hold;
	return 0;
}

/* For a writer that reads: other writers wait for it, so it does not wait for
 * them. */
static int try_row(struct rowlock *writer, uint64_t wait_ms, int64_t until_ms,
		   struct rowlock_errinfo *reterr)
{
	int64_t late = rlk_after(until_ms, RLK_OVERRUN_LOOK_MS);
	int code = rlk_try(writer, wait_ms ? late : until_ms, reterr);

	if (code == ROWLOCK_EBUSY)
		return rlk_fail(reterr, code,
				"acquire " RLK_LOCK_FORMAT
				": another writer waits for this reader; "
				"release it",
				RLK_LOCK_ARGS(writer));
	if (code == ROWLOCK_EDB && wait_ms && reterr->mysql == 0 &&
	    rlk_now(writer->name->client->clock) >= until_ms)
		return rlk_fail(reterr, ROWLOCK_ETIMEDOUT,
				"acquire " RLK_LOCK_FORMAT
				": not asked for in time",
				RLK_LOCK_ARGS(writer));
	return code;
}

/* A refused try has the rest of its call to give back. */
static int64_t give_back_until(const struct rowlock_client *client,
			       uint64_t wait_ms, int64_t until_ms)
{
	int64_t soon =
	    rlk_after(rlk_now(client->clock), RLK_OVERRUN_GIVE_BACK_MS);

	return wait_ms || until_ms < soon ? soon : until_ms;
}

int rlk_writer_acquire(struct rowlock *writer, struct rowlock *reader,
		       uint64_t wait_ms, struct rowlock_errinfo *reterr)
{
	const struct rowlock_client *client = writer->name->client;
	int64_t until = wait_ms ? rlk_after(rlk_now(client->clock), wait_ms)
				: rlk_client_call_until(client);
	struct rlk_hold *read = NULL;
	int code = reader ? close_reader(reader, &read, reterr) : 0;

	while (!code) {
		uint64_t left = time_left(writer, wait_ms, until);

		code = reader ? try_row(writer, wait_ms, until, reterr)
			      : rlk_acquire(writer, left, reterr);
		if (code)
			break;
		code = drain(writer, reader, read, wait_ms, until, reterr);
		if (code == 0)
			break;
		rlk_release(writer, give_back_until(client, wait_ms, until),
			    NULL);
		/* Lost while it waited: begin again if there is time. */
		if (code == ROWLOCK_ECONNECT && wait_ms && !reader &&
		    rlk_now(client->clock) < until)
			code = 0;
	}
	put_hold(writer, read);
	return code;
}

/* Returns in *@ret_attempt the attempt of a writer that is held. */
static int attempt_of(struct rowlock *writer, uint64_t *ret_attempt,
		      struct rowlock_errinfo *reterr)
{
	_guard_ struct rlk_mutex *guard =
	    rlk_guard(&writer->name->client->mutex);
	int code = 0;
	struct rlk_hold *hold =
	    rlk_lock_hold_locked(writer, false, &code, reterr);

	if (!hold)
		return code;
	if (!rlk_hold_check_locked(hold))
		return rlk_fail(reterr, ROWLOCK_ELOST,
				RLK_LOCK_FORMAT ": the hold was lost (%s); "
						"stop what it protects",
				RLK_LOCK_ARGS(writer), hold->reason);
	*ret_attempt = hold->attempt;
	return 0;
}

/* There is one row for writers, and another client has or had it. */
static int lose_writer(struct rowlock *writer, uint64_t attempt,
		       struct rowlock_errinfo *reterr)
{
	_guard_ struct rlk_mutex *guard =
	    rlk_guard(&writer->name->client->mutex);

	if (writer->hold && writer->hold->attempt == attempt)
		rlk_hold_lose_locked(writer->hold, RLK_ROW_IS_GONE);
	return rlk_fail(reterr, ROWLOCK_ELOST,
			RLK_LOCK_FORMAT ": the hold was lost (another writes "
					"by now, or has written); stop what it "
					"protects",
			RLK_LOCK_ARGS(writer));
}

/* The reader was not admitted, with @code: is @writer still held? If not, that
 * is the error. */
static int check_writer(struct rowlock *writer, int code,
			struct rowlock_errinfo *error)
{
	struct rowlock_errinfo verified;

	if (rowlock_verify(writer, &verified) != ROWLOCK_ELOST)
		return code;
	*error = verified;
	return ROWLOCK_ELOST;
}

int rlk_reader_acquire_under(struct rowlock *reader, struct rowlock *writer,
			     struct rowlock_errinfo *reterr)
{
	uint64_t attempt = 0;
	int code = attempt_of(writer, &attempt, reterr);

	if (!code)
		code = rlk_acquire_under(reader, attempt, reterr);
	if (code == ROWLOCK_EBUSY)
		return lose_writer(writer, attempt, reterr);
	if (code && code != ROWLOCK_ELOST)
		return check_writer(writer, code, reterr);
	return code;
}
