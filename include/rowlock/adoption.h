/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_ADOPTION_H
#define ROWLOCK_ADOPTION_H

/**
 * Handing a lease over to another process, or across exec(): its holder exports
 * it, and whoever has the string adopts it. The name is not free in between,
 * and one of the two at most holds it at any time.
 *
 *     char text[ROWLOCK_EXPORT_SIZE];
 *
 *     // The old process, before it executes its new version:
 *     if (rowlock_export(lock, text, sizeof(text), &err) == 0)
 *             setenv("MY_LOCK", text, 1);
 *     execv(...);
 *
 *     // The new one:
 *     if (!getenv("MY_LOCK") ||
 *         rowlock_adopt(lock, getenv("MY_LOCK"), &err))
 *             rowlock_acquire(lock, ...);
 *
 * The string is for one adoption. Keep it as a secret: whoever has it, and may
 * write to the tables of locks, gets the lease; and until it is adopted, passes
 * for its holder where a procedure is granted (rowlock_guard_call()). It gives
 * no right that an account lacks.
 */

#include <rowlock.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Room for the string of rowlock_export(): letters, digits and dots. */
#define ROWLOCK_EXPORT_SIZE 64

/**
 * Export the lease that @lock holds: it is not held here any more
 * (rowlock_held() is 0), nor is its name free.
 *
 * Until it is adopted this client keeps it alive, also when @lock is freed;
 * when the client is freed, executes another program, or dies, the lease lives
 * until a TTL after the last heartbeat. rowlock_release() takes it back, and
 * frees the name; rowlock_adopt() by the same handle, or another one of this
 * client, holds it again. When this client finds that it was adopted, at its
 * next heartbeat, the lost callback of @lock runs, and rowlock_lost_reason()
 * names the program and the host that has it now, and since when; from the
 * adoption on rowlock_release() is ROWLOCK_ELOST and changes nothing. If this
 * client is stopped or cut off until its session ends, the reason says that,
 * and the lease may have been adopted before. rowlock_acquire() of the name
 * waits, as it does for another's lease, also by @lock.
 *
 * @lock  holds one level of a lease, without max_hold_ms, at_least_ms and
 *        delay_after_loss_ms
 * @text  ROWLOCK_EXPORT_SIZE bytes
 *
 * Returns 0; ROWLOCK_ENOTHELD; ROWLOCK_ENOTOWNER; ROWLOCK_ELOST; ROWLOCK_EHELD:
 * it holds several levels, or a transaction of rowlock_begin() is open, or its
 * outcome is not known; ROWLOCK_EUNSUPPORTED: a row lock, a read/write lock, a
 * semaphore, a multi-lock, an election, or a lease with one of those options;
 * ROWLOCK_EINVAL: @size is too small; ROWLOCK_EFORKED. After an error nothing
 * was changed.
 *
 * Blocks at most call_timeout_ms, to wake the next waiter in the server's line.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_export(struct rowlock *lock, char *text,
					     size_t size,
					     struct rowlock_errinfo *reterr);

/**
 * Hold the lease that was exported as @text: rowlock_acquire() without a wait
 * for others.
 *
 * It is another hold: rowlock_attempt() is another one, and so is
 * rowlock_token(), which is drawn by its first call, with
 * ROWLOCK_TOKEN_WITH_GRANT, too. A guard or a token of the exporter is stale
 * from now on. The info of its row stays that of its exporter; a request of
 * rowlock_revoke() that the exporter had is now one to this client, without an
 * answer, and it is told of it at its next heartbeat.
 *
 * @lock  holds nothing; made for the name that was exported, on the same
 *        database, without max_hold_ms, at_least_ms and delay_after_loss_ms
 *
 * Returns 0: held. ROWLOCK_EINVAL: @text is not such a string, or was made for
 * another name or database; ROWLOCK_ELOST: it was used before, or the lease was
 * released, broken, or had expired: the message says which, as far as can be
 * known; ROWLOCK_EHELD: @lock holds it already; ROWLOCK_EBUSY: another handle
 * of this client holds the name, or waits for it; ROWLOCK_ECANCELED;
 * ROWLOCK_EUNSUPPORTED: as in rowlock_export(); and the server errors. After
 * those it is not held here; if an answer was lost, the lease may be taken over
 * all the same, and is given back as that of an acquire is. After any other
 * error nothing was changed.
 *
 * Blocks at most call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_adopt(struct rowlock *lock,
					    const char *text,
					    struct rowlock_errinfo *reterr);

#ifdef __cplusplus
}
#endif

#endif /* ROWLOCK_ADOPTION_H */
