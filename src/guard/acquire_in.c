/* SPDX-License-Identifier: MIT */
/*
 * rowlock_acquire_in_transaction(), rowlock_token_in_transaction(): a row lock
 * in a transaction of the application. The client has no hold: the server keeps
 * the lock until the transaction ends.
 *
 * A waiter stands in the server's line like all others, on the application's
 * connection. At the deadline, or when it is canceled, one of the client's own
 * connections interrupts the statement.
 *
 * Failure modes: if it cannot be interrupted (an account that may not see the
 * statement, a server that is gone), the application's connection is closed
 * when the call's time is up.
 */
#include <rowlock/mysql.h>

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/random.h"
#include "core/call.h"
#include "core/waiter.h"
#include "db/borrowed_script.h"
#include "db/lend.h"
#include "guard/place.h"
#include "strategy/row_in.h"
#include "wait/step.h"

struct inside {
	struct rlk_waiter waiter;
	struct rlk_interrupter interrupter;
	struct rlk_place place;
	struct rlk_row_in in;
	struct rowlock_errinfo error; /* of the last statement */
	int64_t leave_ms;             /* when to stop asking */
	int64_t close_at_ms;          /* of an interrupted statement; else 0 */
};

/* Repeated, as a statement that has not begun yet is not found. */
#define INTERRUPT_MS 20

static int fail(const struct rowlock *lock, const char *what, int code,
		const char *words, struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, code, "%s " RLK_LOCK_FORMAT ": %s", what,
			RLK_LOCK_ARGS(lock), words);
}

static int fail_elsewhere(const struct rowlock *lock, const char *what,
			  struct rowlock_errinfo *reterr)
{
	return fail(lock, what, ROWLOCK_EINVAL,
		    "the connection is to another server than the lock's, or "
		    "to a replica of it; connect to the lock's own",
		    reterr);
}

/* Fail with @error of the application's connection. */
static int fail_with(const struct rowlock *lock, const char *what,
		     const struct rowlock_errinfo *error,
		     struct rowlock_errinfo *reterr)
{
	return rlk_fail_db(reterr, error->code, error->mysql,
			   "%s " RLK_LOCK_FORMAT ": %s", what,
			   RLK_LOCK_ARGS(lock), error->message);
}

/* Borrow @conn for a call that begins now. */
static struct rlk_borrowed borrow(const struct rowlock *lock,
				  struct st_mysql *conn)
{
	struct rowlock_client *client = lock->name->client;

	return (struct rlk_borrowed){
		.mysql = conn,
		.clock = client->clock,
		.until_ms = rlk_client_call_until(client),
	};
}

/* May the call begin, and is a transaction open? */
static int check(const struct rowlock *lock, const char *what,
		 struct st_mysql *conn, struct rlk_borrowed *on, bool *ret_open,
		 struct rowlock_errinfo *reterr)
{
	struct rlk_borrowed_state state;
	struct rowlock_errinfo error = { 0 };
	int code;

	*on = borrow(lock, conn);
	if (!conn)
		return fail(lock, what, ROWLOCK_EINVAL,
			    "the connection is NULL", reterr);
	if (!lock->name->strategy->pins_connection)
		return fail(lock, what, ROWLOCK_EUNSUPPORTED,
			    "a lease is no part of a transaction; use the row "
			    "strategy, or rowlock_begin() of a lock",
			    reterr);
	code = rlk_borrowed_look(on, &state, &error);
	if (code)
		return fail_with(lock, what, &error, reterr);
	if (rlk_borrowed_reconnects(on))
		return fail(lock, what, ROWLOCK_EINVAL,
			    "the driver connects the connection anew by itself "
			    "(its option for that is on), and what follows "
			    "would be written without the lock; turn that off",
			    reterr);
	*ret_open = state.in_transaction;
	return 0;
}

/* -------------------------------------------------------------------- wait */

/* After the deadline there is the time of one call: half for the interrupted
 * statement, half to leave the connection as it was. A try has the first half
 * for all its statements. */
static uint64_t half_a_call(const struct rowlock_client *client)
{
	return client->call_timeout_ms / 2;
}

static int64_t in_half_a_call(const struct rowlock_client *client)
{
	return rlk_after(rlk_now(client->clock), half_a_call(client));
}

static bool is_time_to_leave(const struct inside *inside)
{
	return rlk_now(inside->waiter.name->client->clock) >= inside->leave_ms;
}

static int64_t interrupt(void *arg)
{
	struct inside *inside = arg;
	struct rowlock_client *client = inside->waiter.name->client;
	struct rlk_conn *control;

	if (is_time_to_leave(inside))
		return 0;
	if (!inside->close_at_ms)
		inside->close_at_ms = in_half_a_call(client);
	if (inside->close_at_ms > inside->leave_ms)
		inside->close_at_ms = inside->leave_ms;
	if (!rlk_pool_get(client->pool, RLK_BAY_CONTROL, inside->close_at_ms,
			  false, NULL, &control, NULL)) {
		rlk_row_in_interrupt(control, &inside->in, NULL);
		rlk_pool_put(client->pool, control);
	}
	if (rlk_now(client->clock) >= inside->close_at_ms)
		return 0;
	return rlk_now(client->clock) + INTERRUPT_MS;
}

/* The interrupt may come after the grant: absorb it, or it would hit the
 * application's next statement. */
static int absorb_interrupt(struct inside *inside,
			    struct rowlock_errinfo *reterr)
{
	const struct rowlock *lock = inside->waiter.lock;
	const struct rlk_borrowed on = {
		.mysql = inside->in.on.mysql,
		.clock = inside->in.on.clock,
		.until_ms = in_half_a_call(inside->waiter.name->client),
	};
	struct rowlock_errinfo error = { 0 };
	size_t answered;

	if (!inside->close_at_ms)
		return 0;
	/* That closed the connection, and the lock is gone with it. */
	if (rlk_borrowed_run(&on, "DO 0", NULL, 0, &answered, &error) ==
	    RLK_UNKNOWN)
		return fail_with(lock, "acquire", &error, reterr);
	return 0;
}

/* The deadline of a statement on one of the client's connections. */
static int64_t aside_until(const struct inside *inside)
{
	int64_t until = rlk_client_call_until(inside->waiter.name->client);

	return until < inside->leave_ms ? until : inside->leave_ms;
}

static int make_row(const struct inside *inside, bool *ret_made,
		    struct rowlock_errinfo *reterr)
{
	const struct rowlock *lock = inside->waiter.lock;
	struct rowlock_client *client = lock->name->client;
	const struct rlk_request request = {
		.name = lock->name->text,
		.info = rlk_lock_info(lock),
	};
	struct rowlock_errinfo error = { 0 };
	enum rlk_fault fault;
	struct rlk_conn *conn;
	int code = rlk_client_conn(client, RLK_BAY_ASIDE, aside_until(inside),
				   &conn, reterr);

	if (code)
		return code;
	fault = lock->name->strategy->make(conn, &request, &error);
	rlk_pool_put(client->pool, conn);
	/* Another client makes it, or fails to. */
	*ret_made = !fault;
	if (!fault || rlk_fault_passes(fault))
		return 0;
	if (fault == RLK_PENDING)
		return fail(lock, "acquire", ROWLOCK_ECONNECT,
			    "no answer came, so its row could not be made",
			    reterr);
	return fail_with(lock, "acquire", &error, reterr);
}

static int is_over(struct rlk_waiter *waiter)
{
	_guard_ struct rlk_mutex *guard =
	    rlk_guard(&waiter->name->client->mutex);

	return rlk_waiter_over_locked(waiter);
}

/* Must the asking end? */
static int over(struct inside *inside, struct rowlock_errinfo *reterr)
{
	struct rlk_waiter *waiter = &inside->waiter;
	const struct rowlock *lock = waiter->lock;
	int code = is_over(waiter);

	if (code)
		return rlk_fail_waiting(lock, code, reterr);
	if (!is_time_to_leave(inside))
		return 0;
	if (inside->error.code)
		return fail_with(lock, "acquire", &inside->error, reterr);
	return fail(lock, "acquire", ROWLOCK_ECONNECT,
		    "the call's time was up before the server had told",
		    reterr);
}

/* Send one statement. Returns 1 to repeat. */
static int ask(struct inside *inside, bool *made,
	       struct rowlock_errinfo *reterr)
{
	struct rlk_waiter *waiter = &inside->waiter;
	const struct rowlock *lock = waiter->lock;
	int code;

	inside->close_at_ms = 0;
	inside->in.tag = rlk_random();
	inside->in.on.until_ms =
	    waiter->wish.try ? inside->leave_ms : waiter->until_ms;
	inside->error = (struct rowlock_errinfo){ 0 };
	switch (rlk_row_in_acquire(&inside->in, !waiter->wish.try,
				   &inside->error)) {
	case RLK_DONE:
		return absorb_interrupt(inside, reterr);
	case RLK_ABSENT:
		if (*made)
			break; /* no row there */
		if (is_time_to_leave(inside))
			return 1;
		code = make_row(inside, made, reterr);
		return code ? code : 1;
	case RLK_BUSY:
		if (waiter->wish.try)
			return rlk_fail_waiting(lock, ROWLOCK_EBUSY, reterr);
		return 1;
	case RLK_KILLED:
	case RLK_CONFLICT:
		return 1;
	case RLK_ELSEWHERE:
		break;
	default:
		return fail_with(lock, "acquire", &inside->error, reterr);
	}
	return fail_elsewhere(lock, "acquire", reterr);
}

static int wait_inside(struct inside *inside, struct rowlock_errinfo *reterr)
{
	struct rlk_waiter *waiter = &inside->waiter;
	struct rowlock_client *client = waiter->name->client;
	bool made = false;
	int code;

	inside->leave_ms = rlk_after(waiter->until_ms, half_a_call(client));
	code =
	    rlk_place_look(client, aside_until(inside), &inside->place, reterr);
	if (code)
		return code;
	code = rlk_place_check_words(&inside->place, &inside->in.on,
				     &inside->error);
	if (code)
		return fail_with(waiter->lock, "acquire", &inside->error,
				 reterr);
	for (;;) {
		code = over(inside, reterr);
		if (code)
			return code;
		code = ask(inside, &made, reterr);
		if (code <= 0)
			return code;
	}
}

/* Fails if a thread waits with the handle, or if our own thread has the lock by
 * another transaction: it would wait for itself. */
static int check_may_wait(struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);
	struct rlk_hold *hold = lock->name->hold;

	if (lock->waiter)
		return fail(lock, "acquire", ROWLOCK_EINVAL,
			    "another thread is waiting with this handle; make "
			    "a handle per thread",
			    reterr);
	if (!hold || hold->owner != rlk_lock_owner(lock) ||
	    !rlk_hold_check_locked(hold))
		return 0;
	return fail(lock, "acquire", ROWLOCK_EDEADLOCK,
		    "the caller holds it already, by rowlock_acquire()",
		    reterr);
}

static int acquire_in(struct rowlock *lock, struct st_mysql *conn,
		      uint64_t wait_ms, struct rowlock_errinfo *reterr)
{
	struct inside inside = {
		.interrupter = { .interrupt = interrupt },
		.in = { .on = { .mysql = conn,
				.clock = lock->name->client->clock },
			.name = lock->name->text,
			.moment_ms = half_a_call(lock->name->client) },
	};
	int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int code = ROWLOCK_ENOMEM;

	if (wake < 0)
		return fail(lock, "acquire", ROWLOCK_ESYSTEM,
			    "the system has no descriptor left", reterr);
	rlk_waiter_init(&inside.waiter, lock, wait_ms);
	inside.waiter.wake = wake;
	inside.interrupter.wake = wake;
	inside.interrupter.arg = &inside;
	inside.in.place = &inside.place;
	inside.in.on.interrupter = &inside.interrupter;
	if (rlk_waiter_begin(&inside.waiter)) {
		code = wait_inside(&inside, reterr);
		rlk_waiter_end(&inside.waiter);
	} else {
		rlk_fail_waiting(lock, code, reterr);
	}
	close(wake);
	return code;
}

static int check_and_acquire(struct rowlock *lock, struct st_mysql *conn,
			     uint64_t wait_ms, struct rowlock_errinfo *reterr)
{
	struct rlk_borrowed on;
	bool open;
	int code = check(lock, "acquire", conn, &on, &open, reterr);

	if (code)
		return code;
	if (open)
		return fail(lock, "acquire", ROWLOCK_EINVAL,
			    "a transaction is open on the connection, and may "
			    "have read already what the lock is to protect; "
			    "commit it, or roll it back, first",
			    reterr);
	code = check_may_wait(lock, reterr);
	return code ? code : acquire_in(lock, conn, wait_ms, reterr);
}

int rowlock_acquire_in_transaction(struct rowlock *lock, struct st_mysql *conn,
				   uint64_t wait_ms,
				   struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	int code = rlk_lock_refuses(lock, reterr);

	if (!code)
		code = rlk_lock_begin_parts(lock, reterr);
	if (code)
		return code;
	code = check_and_acquire(lock, conn, wait_ms, reterr);
	rlk_lock_end_parts(lock);
	return code;
}

/* ------------------------------------------------------------------- token */

static int draw_in(const struct rowlock *lock, const struct rlk_borrowed *on,
		   uint64_t *ret_token, struct rowlock_errinfo *reterr)
{
	struct rowlock_errinfo error = { 0 };
	struct rlk_place place;
	const struct rlk_row_in in = {
		.on = *on,
		.place = &place,
		.name = lock->name->text,
	};
	int code =
	    rlk_place_look(lock->name->client, on->until_ms, &place, reterr);

	if (code)
		return code;
	code = rlk_place_check_words(&place, on, &error);
	if (code)
		return fail_with(lock, "token", &error, reterr);
	switch (rlk_row_in_draw(&in, ret_token, &error)) {
	case RLK_DONE:
		return 0;
	case RLK_ABSENT:
	case RLK_BUSY:
		return fail(lock, "token", ROWLOCK_ENOTHELD,
			    "the transaction on this connection has not got "
			    "it; begin with rowlock_acquire_in_transaction()",
			    reterr);
	case RLK_ELSEWHERE:
		return fail_elsewhere(lock, "token", reterr);
	default:
		return fail_with(lock, "token", &error, reterr);
	}
}

int rowlock_token_in_transaction(struct rowlock *lock, struct st_mysql *conn,
				 uint64_t *ret_token,
				 struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rlk_borrowed on;
	bool open;
	int code = rlk_lock_refuses(lock, reterr);

	if (!code)
		code = check(lock, "token", conn, &on, &open, reterr);
	if (!code && !ret_token)
		code = rlk_fail_null("ret_token", reterr);
	if (code)
		return code;
	if (!open)
		return fail(lock, "token", ROWLOCK_ENOTHELD,
			    "no transaction is open on this connection; begin "
			    "with rowlock_acquire_in_transaction()",
			    reterr);
	return draw_in(lock, &on, ret_token, reterr);
}
