/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SEMAPHORE_H
#define ROWLOCK_SEMAPHORE_H

/**
 * Semaphores: up to N at a time, across all programs on the database.
 *
 * How many permits a semaphore has stands in the database: whoever uses it
 * first says so, and who says another number is refused. A client may acquire
 * several at once, all or none. What a dead client had comes back within its
 * TTL, as locks do.
 *
 * A semaphore is no lock of the same name: neither keeps the other out. And a
 * permit has no fencing token: several have one at a time, so that a number
 * which grows could not tell the stale ones from the others.
 *
 * What holds for all functions of rowlock.h (errors, outputs, ownership,
 * options, time, threads, fork) holds here.
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
 * A handle on a semaphore, and the permits that were acquired through it.
 *
 * It owns what it holds: any thread may release it. It has the permits of one
 * acquire at a time; who wants more of them meanwhile makes another handle.
 *
 * Threads: rowlock_semaphore_held(), rowlock_semaphore_remaining_ms() and
 * rowlock_semaphore_cancel() from any thread at any time before
 * rowlock_semaphore_free(); the rest one thread at a time.
 */
struct rowlock_semaphore;

struct rowlock_semaphore_options {
	size_t size; /* set by ROWLOCK_SEMAPHORE_OPTIONS_DEFAULT */
	/** ROWLOCK_LEASE, the default; ROWLOCK_ROW is ROWLOCK_EUNSUPPORTED. */
	enum rowlock_strategy strategy;
	/** As in struct rowlock_options, for all permits of an acquire. */
	uint64_t max_hold_ms;
	const char *info;
};

#define ROWLOCK_SEMAPHORE_OPTIONS_DEFAULT                                      \
	{                                                                      \
		sizeof(struct rowlock_semaphore_options), ROWLOCK_LEASE, 0,    \
		    NULL                                                       \
	}

/**
 * Make a handle on semaphore @name. Nothing is sent to the server.
 *
 * @name           as in rowlock_new(); copied
 * @permits        how many it has: 1 to ROWLOCK_SEMAPHORE_MAX, the same in all
 *                 programs; or ROWLOCK_PERMITS_STORED: whatever the database
 *                 says at each acquire, so that it may be changed meanwhile
 * @options        NULL for the defaults
 * @ret_semaphore  owned by the caller: rowlock_semaphore_free(), before the
 *                 client's end
 *
 * Returns 0; ROWLOCK_ENAME; ROWLOCK_EINVAL: an option, or a number that is not
 * allowed; ROWLOCK_EUNSUPPORTED (the row strategy); ROWLOCK_ENOMEM;
 * ROWLOCK_EFORKED. Does not block.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_semaphore_new(
    struct rowlock_client *client, const char *name, unsigned int permits,
    const struct rowlock_semaphore_options *options,
    struct rowlock_semaphore **ret_semaphore, struct rowlock_errinfo *reterr);

/**
 * Give a handle back.
 *
 * @semaphore  may be NULL. Freed if and only if 0 is returned.
 *
 * Returns 0; ROWLOCK_EHELD: it has permits, or a call on it is under way:
 * nothing was changed; ROWLOCK_EFORKED. Waits for a lost callback of it that is
 * running, unless it is called from that.
 */
ROWLOCK_API int rowlock_semaphore_free(struct rowlock_semaphore *semaphore,
				       struct rowlock_errinfo *reterr);

/**
 * Acquire @count permits at once, waiting up to @wait_ms until so many are
 * free.
 *
 * Those who wait in one client are served in the order in which they came, and
 * who wants as many as another thread gives back may have just those, handed
 * over for a turn as locks are (client options handover_ms, handover_passes):
 * without a word to the server. The clients stand in the server's line, where
 * the first asks until it has what it wants and nobody overtakes it: so one who
 * wants many gets in beside those who want few. Only if it has been there for
 * 12 seconds others take what it leaves, each once in such a time: it may be a
 * connection that nobody uses. Where GET_LOCK() does not reach everybody
 * (rowlock_acquire()) there is no such line, and who wants few may overtake.
 *
 * @count    1 to as many as the semaphore has
 * @wait_ms  0: only if they are free, and nobody stands in line;
 *           ROWLOCK_FOREVER: as long as it takes
 *
 * Returns 0: it has them. ROWLOCK_EBUSY (only if @wait_ms is 0);
 * ROWLOCK_ETIMEDOUT; ROWLOCK_ECANCELED (rowlock_semaphore_cancel());
 * ROWLOCK_EDEADLOCK: this handle has permits already; ROWLOCK_ELOST: its last
 * ones were lost, release it first; ROWLOCK_EINVAL: @count, another thread
 * waits with it, or the database says that the semaphore has another number of
 * permits, or does not know it (ROWLOCK_PERMITS_STORED); and the server errors.
 * Of all but 0: it has none.
 *
 * Blocks up to @wait_ms, and at most 100 ms more; with @wait_ms 0 as long as
 * the server needs to answer, at most call_timeout_ms. Two statements and one
 * commit if they are free, however many are acquired; one statement for a
 * single permit that is free where this handle had its last, if that came at
 * once, too; two more for the first that ever uses the semaphore.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_semaphore_acquire(
    struct rowlock_semaphore *semaphore, unsigned int count, uint64_t wait_ms,
    struct rowlock_errinfo *reterr);

/**
 * Release all permits that the handle has.
 *
 * Returns 0. ROWLOCK_ENOTHELD; ROWLOCK_ELOST: they were lost before, others may
 * have had some or all of them; ROWLOCK_EUNKNOWN, as rowlock_release(); and the
 * server errors: it has none any more in any case, and they are free when its
 * session ends at the latest. Blocks as rowlock_release(): one statement, one
 * commit.
 */
ROWLOCK_API int rowlock_semaphore_release(struct rowlock_semaphore *semaphore,
					  struct rowlock_errinfo *reterr);

/** How many permits does it have, by our own clock? 0: none, or they were lost:
 *  with a single one all are. No I/O; does not block. */
ROWLOCK_API unsigned int rowlock_semaphore_held(
    struct rowlock_semaphore *semaphore);

/**
 * Ask the server whether it still has all its permits.
 *
 * Returns 0: it has. ROWLOCK_ENOTHELD; ROWLOCK_ELOST; and the server errors:
 * nothing is known. Blocks for one round trip, at most call_timeout_ms: one
 * statement.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_semaphore_verify(
    struct rowlock_semaphore *semaphore, struct rowlock_errinfo *reterr);

/** How long its permits are still good by our own clock if nothing is heard
 *  from the server from now on; 0 if it has none. No I/O; does not block. */
ROWLOCK_API uint64_t
rowlock_semaphore_remaining_ms(struct rowlock_semaphore *semaphore);

/** End the rowlock_semaphore_acquire() that is under way, or the next one, as
 *  rowlock_cancel() does. Any thread; does not block. */
ROWLOCK_API void rowlock_semaphore_cancel(struct rowlock_semaphore *semaphore);

typedef void (*rowlock_semaphore_lost_fn)(struct rowlock_semaphore *semaphore,
					  void *arg);

/**
 * Have @fn called once for each time that its permits are lost. When it runs,
 * on which thread, and what it may do is as for rowlock_on_lost().
 *
 * @fn  NULL: no callback. Replaces the one before.
 *
 * Any thread. Waits for a callback that is running, unless it is called from
 * it.
 */
ROWLOCK_API void rowlock_semaphore_on_lost(struct rowlock_semaphore *semaphore,
					   rowlock_semaphore_lost_fn fn,
					   void *arg);

/** Release what *@semaphore has, then free it: for
 *  __attribute__((cleanup(rowlock_semaphore_freep))). Errors are not
 *  reported. */
ROWLOCK_API void rowlock_semaphore_freep(struct rowlock_semaphore **semaphore);

/**
 * How many permits has semaphore @name, and how many are in use?
 *
 * Both are of one moment, and may be old when they are read: nothing is
 * reserved. More may be in use than there are, for a while after the number was
 * lowered; and those of dead clients count until somebody asks for permits, or
 * the reaper comes.
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
 * Programs that say another number are refused at their next acquire, those
 * with ROWLOCK_PERMITS_STORED go on. Nobody loses permits that he has: where
 * the number is lowered, no more are granted until few enough are in use. On
 * Galera a request that another node is executing at this moment may still be
 * granted by the number before.
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
