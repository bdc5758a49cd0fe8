/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_RWLOCK_H
#define ROWLOCK_RWLOCK_H

/**
 * Read/write locks: many read, or one writes.
 *
 * Any number of clients, and of handles in them, may have a name for reading at
 * the same time; who has it for writing has it alone. A writer that waits keeps
 * new readers out, so it gets in when those that were there before it have let
 * go; writers among themselves take turns as with rowlock_acquire(), and so do
 * writers and readers that wait. (Not between the nodes of a cluster, nor where
 * all wait_connections are in use: there who asks first gets in.)
 *
 * The readers of one client cost the server almost nothing: they share a row,
 * which is asked for again every 50 ms (client option handover_ms) as long as
 * new ones come.
 *
 * A name under a read/write lock and the same name under rowlock_acquire() are
 * two different locks.
 *
 * What holds for all functions of rowlock.h (errors, outputs, ownership,
 * options, time, threads, fork) holds here.
 */

#include <rowlock.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A handle on a name, and what it has of it.
 *
 * It owns what it holds: any thread may release it. A thread that reads through
 * one handle and asks through another may wait for a writer that waits for it;
 * who nests does so with the same handle.
 *
 * Threads: rowlock_rwlock_held(), rowlock_rwlock_remaining_ms() and
 * rowlock_rwlock_cancel() from any thread at any time before
 * rowlock_rwlock_free(); the rest one thread at a time.
 */
struct rowlock_rwlock;

struct rowlock_rwlock_options {
	size_t size; /* set by ROWLOCK_RWLOCK_OPTIONS_DEFAULT */
	/** ROWLOCK_LEASE, the default; ROWLOCK_ROW is ROWLOCK_EUNSUPPORTED. */
	enum rowlock_strategy strategy;
	/** As in struct rowlock_options. Readers that share a row show that of
	 *  the first of them. */
	const char *info;
};

#define ROWLOCK_RWLOCK_OPTIONS_DEFAULT                                         \
	{                                                                      \
		sizeof(struct rowlock_rwlock_options), ROWLOCK_LEASE, NULL     \
	}

/** What a handle has. */
enum rowlock_rwlock_mode {
	ROWLOCK_RWLOCK_NONE,
	ROWLOCK_RWLOCK_READ,
	ROWLOCK_RWLOCK_WRITE,
};

/**
 * Make a handle. Nothing is sent to the server.
 *
 * @name        as in rowlock_new(); copied
 * @options     NULL for the defaults
 * @ret_rwlock  owned by the caller: rowlock_rwlock_free(), before the client's
 *              end
 *
 * Returns 0; ROWLOCK_ENAME; ROWLOCK_EINVAL: an option; ROWLOCK_EUNSUPPORTED
 * (the row strategy); ROWLOCK_ENOMEM; ROWLOCK_EFORKED. Does not block.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_rwlock_new(
    struct rowlock_client *client, const char *name,
    const struct rowlock_rwlock_options *options,
    struct rowlock_rwlock **ret_rwlock, struct rowlock_errinfo *reterr);

/**
 * Give a handle back.
 *
 * @rwlock  may be NULL. Freed if and only if 0 is returned.
 *
 * Returns 0; ROWLOCK_EHELD: it is held, or a call on it is under way: nothing
 * was changed; ROWLOCK_EFORKED. Waits for a lost callback of it that is
 * running, unless it is called from that.
 */
ROWLOCK_API int rowlock_rwlock_free(struct rowlock_rwlock *rwlock,
				    struct rowlock_errinfo *reterr);

/**
 * Acquire the name for reading, waiting up to @wait_ms for a writer's end.
 *
 * A handle that reads already reads once more, without asking anybody, and has
 * to release as often.
 *
 * @wait_ms  0: only if nobody writes, or waits to write (where it joins a
 *           reader of this client: if nobody did when that was let in);
 *           ROWLOCK_FOREVER: as long as it takes
 *
 * Returns 0: it is held. ROWLOCK_EBUSY (only if @wait_ms is 0);
 * ROWLOCK_ETIMEDOUT; ROWLOCK_ECANCELED (rowlock_rwlock_cancel());
 * ROWLOCK_EDEADLOCK: this handle writes; ROWLOCK_ELOST: its last hold was lost,
 * release it first; ROWLOCK_EINVAL: another thread waits with it; and the
 * server errors.
 *
 * Blocks up to @wait_ms, and at most 100 ms more; with @wait_ms 0 as long as
 * the server needs to answer, at most call_timeout_ms. Two statements in one
 * round trip, one commit; nothing where a reader of this client was let in
 * within the last 50 ms (handover_ms).
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_rwlock_acquire_read(
    struct rowlock_rwlock *rwlock, uint64_t wait_ms,
    struct rowlock_errinfo *reterr);

/**
 * Acquire the name for writing, waiting up to @wait_ms for others' end.
 *
 * While it waits no new readers come in: also if it gives up in the end. A
 * reader whose client died is waited for until its session expires. A writer
 * whose wait is broken (rowlock_break()) asks anew, behind those that wait by
 * then; if it may not wait any longer: ROWLOCK_ECONNECT, nothing is held.
 *
 * @wait_ms  0: only if nobody reads or writes; ROWLOCK_FOREVER: as long as it
 *           takes
 *
 * Returns as rowlock_rwlock_acquire_read(); ROWLOCK_EDEADLOCK: this handle
 * writes already, or reads: see rowlock_rwlock_upgrade().
 *
 * Blocks like that. Two round trips, one commit; while there are readers a
 * statement more every 1 to 50 ms, by one writer at a time.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_rwlock_acquire_write(
    struct rowlock_rwlock *rwlock, uint64_t wait_ms,
    struct rowlock_errinfo *reterr);

/**
 * From reading to writing, without letting anybody else write in between.
 *
 * Two readers that both want to write would wait for each other for ever, so
 * only the first may: the other is refused at once, and has to release.
 *
 * @wait_ms  for other readers' end; 0: only if there are none
 *
 * Returns 0: it is held for writing. Of all else it is held for reading as
 * before, unless it was lost: ROWLOCK_EBUSY: another writer waits for this
 * reader, or (if @wait_ms is 0) there are other readers; ROWLOCK_ETIMEDOUT;
 * ROWLOCK_ECANCELED; ROWLOCK_ENOTHELD: it does not read; ROWLOCK_EDEADLOCK: it
 * reads more than once; ROWLOCK_ELOST: it was lost, others may have written:
 * release it; and the server errors.
 *
 * 0 means that the server has shown its rows as a reader and as the writer at
 * one moment. Where the reader's row cannot be given back in time it is 0 as
 * well: the client goes on trying to remove that row, which other writers wait
 * for.
 *
 * Blocks like rowlock_rwlock_acquire_write(), and then until its row as a
 * reader is given back, at most call_timeout_ms more. Three round trips, two
 * commits.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_rwlock_upgrade(
    struct rowlock_rwlock *rwlock, uint64_t wait_ms,
    struct rowlock_errinfo *reterr);

/**
 * From writing to reading, without letting anybody else write in between.
 *
 * Returns 0: it is held for reading. ROWLOCK_ENOTHELD: it does not write;
 * ROWLOCK_ELOST: it was lost, others may have written, or write by now: release
 * it; and the server errors: it is held for writing as before, unless it was
 * lost.
 *
 * 0 means the same as for rowlock_rwlock_upgrade(): a writer's row that could
 * not be given back in time keeps others out until the client has removed it.
 *
 * Blocks for two round trips, at most twice call_timeout_ms. Two commits. Where
 * the first is not answered it asks whether it still writes.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_rwlock_downgrade(
    struct rowlock_rwlock *rwlock, struct rowlock_errinfo *reterr);

/**
 * Release what it has, once.
 *
 * Returns 0. ROWLOCK_ENOTHELD; ROWLOCK_ELOST: it was lost before, others may
 * have written, or, if it wrote, read or written; ROWLOCK_EUNKNOWN, as
 * rowlock_release(); and the server errors: it is not held any more in any
 * case, and others get in when its session ends at the latest. Blocks as
 * rowlock_release(); not at all where others of this client go on with the same
 * row.
 */
ROWLOCK_API int rowlock_rwlock_release(struct rowlock_rwlock *rwlock,
				       struct rowlock_errinfo *reterr);

/** What it has, by our own clock: ROWLOCK_RWLOCK_NONE also if that was lost. No
 *  I/O; does not block. */
ROWLOCK_API enum rowlock_rwlock_mode rowlock_rwlock_held(
    struct rowlock_rwlock *rwlock);

/**
 * Ask the server whether it is still held.
 *
 * Returns 0: it is. ROWLOCK_ENOTHELD; ROWLOCK_ELOST; and the server errors:
 * nothing is known. Blocks for one round trip, at most call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_rwlock_verify(
    struct rowlock_rwlock *rwlock, struct rowlock_errinfo *reterr);

/** How long the hold is still good by our own clock if nothing is heard from
 *  the server from now on; 0 if it is not held. No I/O; does not block. */
ROWLOCK_API uint64_t rowlock_rwlock_remaining_ms(struct rowlock_rwlock *rwlock);

/**
 * The fencing token of the hold, as rowlock_token(). A writer's is larger than
 * all that were drawn before; a reader's is larger than those of all earlier
 * writers, and readers among themselves have no order: those that share a row
 * have the same.
 *
 * Returns 0; ROWLOCK_ENOTHELD; ROWLOCK_ELOST: the hold is over, no token was
 * shown; and the server errors: may be asked again. The first call of a hold
 * draws it (one commit); blocks for one round trip, at most call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_rwlock_token(
    struct rowlock_rwlock *rwlock, uint64_t *ret_token,
    struct rowlock_errinfo *reterr);

/** End the call that waits with this handle, or the next one, as
 *  rowlock_cancel() does. Any thread; does not block. */
ROWLOCK_API void rowlock_rwlock_cancel(struct rowlock_rwlock *rwlock);

typedef void (*rowlock_rwlock_lost_fn)(struct rowlock_rwlock *rwlock,
				       void *arg);

/**
 * Have @fn called once for each hold that is lost. When it runs, on which
 * thread, and what it may do is as for rowlock_on_lost().
 *
 * @fn  NULL: no callback. Replaces the one before.
 *
 * Any thread. Waits for a callback that is running, unless it is called from
 * it.
 */
ROWLOCK_API void rowlock_rwlock_on_lost(struct rowlock_rwlock *rwlock,
					rowlock_rwlock_lost_fn fn, void *arg);

/** Release *@rwlock for as long as it is held, then free it: for
 *  __attribute__((cleanup(rowlock_rwlock_freep))). Errors are not reported. */
ROWLOCK_API void rowlock_rwlock_freep(struct rowlock_rwlock **rwlock);

#ifdef __cplusplus
}
#endif

#endif /* ROWLOCK_RWLOCK_H */
