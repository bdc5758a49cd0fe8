/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SEMAPHORE_H
#define ROWLOCK_SEMAPHORE_H

/**
 * Semaphores: up to N at a time, across all programs on the database.
 *
 * A semaphore is a struct rowlock: the functions of rowlock.h acquire one
 * permit, release all that the handle has, verify, cancel and free it.
 *
 * How many permits a semaphore has stands in the database: the first program
 * that uses it says so, and a program that says another number is refused. A
 * handle may acquire several at once, all or none. The permits of a dead client
 * come back within its TTL, as locks do.
 *
 * A semaphore is not a lock of the same name: neither keeps the other out. And
 * a permit has no fencing token (rowlock_token() is ROWLOCK_EUNSUPPORTED):
 * several have one at a time, so that a number which grows could not tell the
 * stale ones from the others. It guards no transaction, either.
 */

#include <rowlock.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The most permits of a semaphore. */
#define ROWLOCK_SEMAPHORE_MAX 1000

/** For rowlock_semaphore_new(): as many as the database says. */
#define ROWLOCK_PERMITS_STORED (~0u)

/**
 * Make a handle on semaphore @name. Nothing is sent to the server.
 *
 * The handle owns its permits: any thread may release them. It has the permits
 * of one acquire at a time; a second acquire is ROWLOCK_EDEADLOCK. The flags do
 * not matter, but ROWLOCK_TOKEN_WITH_GRANT is refused.
 *
 * @name      as in rowlock_new(); copied
 * @permits   how many it has: 1 to ROWLOCK_SEMAPHORE_MAX, the same in all
 *            programs; or ROWLOCK_PERMITS_STORED: the number that the database
 *            says at each acquire, so that it may be changed meanwhile
 * @options   NULL for the defaults
 * @ret_lock  owned by the caller: rowlock_free()
 *
 * Returns 0; ROWLOCK_ENAME; ROWLOCK_EINVAL: an option, or a number that is not
 * allowed; ROWLOCK_EUNSUPPORTED: the row strategy, at_least_ms,
 * delay_after_loss_ms, ROWLOCK_TOKEN_WITH_GRANT; ROWLOCK_ENOMEM;
 * ROWLOCK_EFORKED. Does not block.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_semaphore_new(
    struct rowlock_client *client, const char *name, unsigned int permits,
    const struct rowlock_options *options, struct rowlock **ret_lock,
    struct rowlock_errinfo *reterr);

/**
 * Acquire @count permits at once, waiting up to @wait_ms until they are free.
 * rowlock_acquire() is the same for one.
 *
 * The waiters of one client are served in their order; a released number that
 * fits may be handed over as locks are (handover_ms). The clients stand in the
 * server's line, where nobody overtakes the first: a waiter that wants many
 * gets in beside those that want few. Where GET_LOCK() does not reach everybody
 * (rowlock_acquire()) small requests may overtake large ones.
 *
 * @count    1 to as many as the semaphore has
 * @wait_ms  0: only if they are free, and nobody stands in line;
 *           ROWLOCK_FOREVER: as long as it takes
 *
 * Returns as rowlock_acquire(), and ROWLOCK_EINVAL: @count, or the database
 * says that the semaphore has another number of permits, or does not know it
 * (ROWLOCK_PERMITS_STORED); ROWLOCK_EUNSUPPORTED: @lock is no semaphore. With
 * any code but 0 it has no permits, or those that it had before.
 *
 * Blocks as rowlock_acquire(). Two statements and one commit if they are free,
 * however many are acquired.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_semaphore_acquire(
    struct rowlock *lock, unsigned int count, uint64_t wait_ms,
    struct rowlock_errinfo *reterr);

/** How many permits does it have, by our own clock? 0: none, or they were lost:
 *  with a single one all are. No I/O; does not block. Any thread. */
ROWLOCK_API unsigned int rowlock_semaphore_held(const struct rowlock *lock);

/**
 * How many permits has semaphore @name, and how many are in use?
 *
 * Both are of one moment: nothing is reserved. More may be in use than there
 * are, for a while after the number was lowered. Those of dead clients count
 * until somebody asks for permits, or the reaper comes.
 *
 * @ret_permits  0: nobody has used it yet, or said how many it has
 *
 * Returns 0; ROWLOCK_ENAME; ROWLOCK_EFORKED; and the server errors. Blocks for
 * one round trip, at most call_timeout_ms: one statement.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_semaphore_count(
    struct rowlock_client *client, const char *name, unsigned int *ret_permits,
    unsigned int *ret_used, struct rowlock_errinfo *reterr);

/**
 * Have semaphore @name @permits from now on; make it if it is not there.
 *
 * Programs that say another number are refused at their next acquire; those
 * with ROWLOCK_PERMITS_STORED go on. Nobody loses permits: where the number is
 * lowered, no more are granted until few enough are in use. On Galera a request
 * that another node is executing at this moment may still be granted by the
 * number before.
 *
 * @permits  1 to ROWLOCK_SEMAPHORE_MAX
 *
 * Returns 0; ROWLOCK_ENAME; ROWLOCK_EINVAL: @permits; ROWLOCK_EFORKED; and the
 * server errors, after which ROWLOCK_ECONNECT leaves open whether it was
 * changed. Blocks for one round trip, at most call_timeout_ms: one statement,
 * one commit. Waits for acquires of this semaphore that are being executed.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_semaphore_resize(
    struct rowlock_client *client, const char *name, unsigned int permits,
    struct rowlock_errinfo *reterr);

#ifdef __cplusplus
}
#endif

#endif /* ROWLOCK_SEMAPHORE_H */
