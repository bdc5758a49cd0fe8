/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_MULTILOCK_H
#define ROWLOCK_MULTILOCK_H

/**
 * Multi-locks: several names acquired together, all of them or none.
 *
 * A multi-lock is a struct rowlock: the functions of rowlock.h acquire,
 * release, verify, cancel and free it. It is held while all its names are; with
 * a single one that is lost the hold is lost as a whole.
 *
 * A waiter holds nothing meanwhile: callers that want the same names in
 * different orders never deadlock, and keep nobody from the other names.
 *
 * Each name is the same lock as under rowlock_acquire() with ROWLOCK_LEASE: a
 * multi-lock and a lock exclude each other wherever they share a name.
 */

#include <rowlock.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The most names of one. */
#define ROWLOCK_MULTILOCK_MAX 64

/**
 * Make a multi-lock of @names. Nothing is sent to the server.
 *
 * The handle owns what it holds: any thread may release it. It is not
 * re-entrant: a caller that holds it and waits for one of its names by another
 * handle waits for itself. The owner flags do not matter;
 * ROWLOCK_TOKEN_WITH_GRANT, at_least_ms and delay_after_loss_ms are refused.
 * max_hold_ms and info are for each of the names.
 *
 * rowlock_acquire() waits until all names are free at the same moment. The
 * waiters of one client for the same set are served in their order. Otherwise
 * there is no order: a multi-lock stands in the server's line of one name that
 * is held, asks for all when it is the first there, and begins at the end of
 * another line if another name is held. So it may wait for ever if others keep
 * single names busy all the time. It is ROWLOCK_EDEADLOCK (a
 * try: ROWLOCK_EBUSY) if the calling thread holds one of the names by a lock of
 * its own. One round trip and one commit if all are free, however many names
 * there are; if not, one more, and no commit.
 *
 * @names     @count of them, each as in rowlock_new(), in any order; copied
 * @count     1 to ROWLOCK_MULTILOCK_MAX
 * @options   NULL for the defaults
 * @ret_lock  owned by the caller: rowlock_free()
 *
 * Returns 0; ROWLOCK_ENAME; ROWLOCK_EINVAL: an option, too few or too many
 * names, a name that is given twice; ROWLOCK_EUNSUPPORTED: the row strategy,
 * ROWLOCK_TOKEN_WITH_GRANT; ROWLOCK_ENOMEM; ROWLOCK_EFORKED. Does not block.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_multilock_new(
    struct rowlock_client *client, const char *const *names, size_t count,
    const struct rowlock_options *options, struct rowlock **ret_lock,
    struct rowlock_errinfo *reterr);

/**
 * The fencing token of @name in the present hold, as rowlock_token(), which is
 * ROWLOCK_EUNSUPPORTED here: each name has its own, since others may lock it by
 * itself. Where a server has lost the last commits, it is larger than those
 * that this handle has shown for @name.
 *
 * @name  one of those that it was made of
 *
 * The first call for a name in a hold draws it (one commit); later ones return
 * the same number without I/O.
 *
 * Returns 0; ROWLOCK_EINVAL: it is none of the names; ROWLOCK_EUNSUPPORTED:
 * @lock is no multi-lock; ROWLOCK_ENOTHELD; ROWLOCK_ELOST: the hold is over, no
 * token was shown; and the server errors: may be asked again. Blocks for one
 * round trip, at most call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_multilock_token(
    struct rowlock *lock, const char *name, uint64_t *ret_token,
    struct rowlock_errinfo *reterr);

#ifdef __cplusplus
}
#endif

#endif /* ROWLOCK_MULTILOCK_H */
