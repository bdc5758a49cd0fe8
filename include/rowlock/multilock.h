/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_MULTILOCK_H
#define ROWLOCK_MULTILOCK_H

/**
 * Multi-locks: several names acquired together, all of them or none.
 *
 * No state of the database has a part of them, and who waits holds nothing
 * meanwhile: so callers that want the same names in different orders never
 * deadlock, and one that waits for a busy name keeps nobody from the others.
 *
 * Each name is the same lock as under rowlock_acquire() with ROWLOCK_LEASE: a
 * multi-lock and a lock exclude each other wherever they share a name.
 *
 * What holds for all functions of rowlock.h (errors, outputs, ownership,
 * options, time, threads, fork) holds here.
 */

#include <rowlock.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The most names of one. */
#define ROWLOCK_MULTILOCK_MAX 64

/**
 * A set of names, and our hold on all of them.
 *
 * It owns what it holds: any thread may release it. Not re-entrant: who holds
 * one, and waits for one of its names by another handle, waits for himself.
 *
 * Threads: rowlock_multilock_held(), rowlock_multilock_remaining_ms() and
 * rowlock_multilock_cancel() from any thread at any time before
 * rowlock_multilock_free(); the rest one thread at a time.
 */
struct rowlock_multilock;

struct rowlock_multilock_options {
	size_t size; /* set by ROWLOCK_MULTILOCK_OPTIONS_DEFAULT */
	/** ROWLOCK_LEASE, the default; ROWLOCK_ROW is ROWLOCK_EUNSUPPORTED. */
	enum rowlock_strategy strategy;
	/** As in struct rowlock_options, for each of the names. */
	uint64_t max_hold_ms;
	const char *info;
};

#define ROWLOCK_MULTILOCK_OPTIONS_DEFAULT                                      \
	{                                                                      \
		sizeof(struct rowlock_multilock_options), ROWLOCK_LEASE, 0,    \
		    NULL                                                       \
	}

/**
 * Make a multi-lock of @names. Nothing is sent to the server.
 *
 * @names          @count of them, each as in rowlock_new(), in any order;
 *                 copied
 * @count          1 to ROWLOCK_MULTILOCK_MAX
 * @options        NULL for the defaults
 * @ret_multilock  owned by the caller: rowlock_multilock_free(), before the
 *                 client's end
 *
 * Returns 0; ROWLOCK_ENAME; ROWLOCK_EINVAL: an option, too few or too many
 * names, a name that is given twice; ROWLOCK_EUNSUPPORTED (the row strategy);
 * ROWLOCK_ENOMEM; ROWLOCK_EFORKED. Does not block.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_multilock_new(
    struct rowlock_client *client, const char *const *names, size_t count,
    const struct rowlock_multilock_options *options,
    struct rowlock_multilock **ret_multilock, struct rowlock_errinfo *reterr);

/**
 * Give a multi-lock back.
 *
 * @multilock  may be NULL. Freed if and only if 0 is returned.
 *
 * Returns 0; ROWLOCK_EHELD: it is held, or a call on it is under way: nothing
 * was changed; ROWLOCK_EFORKED. Waits for a lost callback of it that is
 * running, unless it is called from that.
 */
ROWLOCK_API int rowlock_multilock_free(struct rowlock_multilock *multilock,
				       struct rowlock_errinfo *reterr);

/**
 * Acquire all names, waiting up to @wait_ms until they are free at the same
 * moment.
 *
 * Those who wait in one client for the same set of names are served in the
 * order in which they came, and may have it handed over. Otherwise there is no
 * order: a multi-lock asks again about every 50 ms, holds nothing meanwhile,
 * and gets in when all its names are free as it asks. Where others who want
 * single ones of them keep these busy all the time, it may wait for ever.
 *
 * @wait_ms  0: only if all are free; ROWLOCK_FOREVER: as long as it takes
 *
 * Returns 0: all names are held. ROWLOCK_EBUSY (only if @wait_ms is 0);
 * ROWLOCK_ETIMEDOUT; ROWLOCK_ECANCELED (rowlock_multilock_cancel());
 * ROWLOCK_EDEADLOCK: it holds them already, or the calling thread holds one of
 * the names by a lock of its own; ROWLOCK_ELOST: the last hold was lost,
 * release it first; ROWLOCK_EINVAL: another thread waits with it; and the
 * server errors. Of all but 0: none of the names is held by it.
 *
 * Blocks up to @wait_ms, and at most 100 ms more; with @wait_ms 0 as long as
 * the server needs to answer, at most call_timeout_ms. One round trip and one
 * commit if all are free, however many names there are; if not, one more, and
 * no commit.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_multilock_acquire(
    struct rowlock_multilock *multilock, uint64_t wait_ms,
    struct rowlock_errinfo *reterr);

/**
 * Release all names.
 *
 * Returns 0. ROWLOCK_ENOTHELD; ROWLOCK_ELOST: it was lost before, others may
 * have had some or all of the names; ROWLOCK_EUNKNOWN, as rowlock_release();
 * and the server errors: none is held any more in any case, and the names are
 * free when its session ends at the latest. Blocks as rowlock_release().
 */
ROWLOCK_API int rowlock_multilock_release(struct rowlock_multilock *multilock,
					  struct rowlock_errinfo *reterr);

/** Are all names held, by our own clock? 1 or 0. A hold of which a single name
 *  was lost is lost as a whole. No I/O; does not block. */
ROWLOCK_API int rowlock_multilock_held(struct rowlock_multilock *multilock);

/**
 * Ask the server whether all names are still held.
 *
 * Returns 0: they are. ROWLOCK_ENOTHELD; ROWLOCK_ELOST; and the server errors:
 * nothing is known. Blocks for one round trip, at most call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_multilock_verify(
    struct rowlock_multilock *multilock, struct rowlock_errinfo *reterr);

/** How long the hold is still good by our own clock if nothing is heard from
 *  the server from now on; 0 if it is not held. No I/O; does not block. */
ROWLOCK_API uint64_t
rowlock_multilock_remaining_ms(struct rowlock_multilock *multilock);

/**
 * The fencing token of @name in the present hold, as rowlock_token(): each name
 * has its own, since others may lock it by itself. Where a server has lost the
 * last commits, it is larger than those that this handle has shown for @name.
 *
 * @name  one of those that it was made of
 *
 * The first call for a name in a hold draws it (one commit); later ones return
 * the same number without I/O.
 *
 * Returns 0; ROWLOCK_EINVAL: it is none of the names; ROWLOCK_ENOTHELD;
 * ROWLOCK_ELOST: the hold is over, no token was shown; and the server errors:
 * may be asked again. Blocks for one round trip, at most call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_multilock_token(
    struct rowlock_multilock *multilock, const char *name, uint64_t *ret_token,
    struct rowlock_errinfo *reterr);

/** End the rowlock_multilock_acquire() that is under way, or the next one, as
 *  rowlock_cancel() does. Any thread; does not block. */
ROWLOCK_API void rowlock_multilock_cancel(struct rowlock_multilock *multilock);

typedef void (*rowlock_multilock_lost_fn)(struct rowlock_multilock *multilock,
					  void *arg);

/**
 * Have @fn called once for each hold that is lost, which it is with the first
 * name that is. When it runs, on which thread, and what it may do is as for
 * rowlock_on_lost().
 *
 * @fn  NULL: no callback. Replaces the one before.
 *
 * Any thread. Waits for a callback that is running, unless it is called from
 * it.
 */
ROWLOCK_API void rowlock_multilock_on_lost(struct rowlock_multilock *multilock,
					   rowlock_multilock_lost_fn fn,
					   void *arg);

/** Release *@multilock if it is held, then free it: for
 *  __attribute__((cleanup(rowlock_multilock_freep))). Errors are not
 *  reported. */
ROWLOCK_API void rowlock_multilock_freep(struct rowlock_multilock **multilock);

#ifdef __cplusplus
}
#endif

#endif /* ROWLOCK_MULTILOCK_H */
