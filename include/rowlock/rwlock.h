/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_RWLOCK_H
#define ROWLOCK_RWLOCK_H

/**
 * Read/write locks: many read, or one writes.
 *
 * A read/write lock is a pair of struct rowlock, the reader and the writer of
 * one name: the functions of rowlock.h acquire, release, verify, cancel and
 * free each of them.
 *
 * Any number of readers hold a name at the same time; a writer holds it alone.
 * A waiting writer keeps new readers out, so it gets in when the earlier ones
 * have released. Waiters take turns as with other locks; readers with no writer
 * between them come in together. (Not between the nodes of a cluster, nor where
 * all wait_connections are in use: there the first that asks gets in.) The
 * readers of one client share a row, which is asked for again every 50 ms
 * (client option handover_ms) as long as new ones come.
 *
 * In a group of MySQL with several primaries each look of an acquire waits for
 * all that was committed before on any member, by two round trips more. While
 * the client's member does not catch up nothing is granted: ROWLOCK_ECONNECT.
 *
 * A name under a read/write lock and the same name under rowlock_new() are two
 * different locks.
 */

#include <rowlock.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Make a pair. Nothing is sent to the server.
 *
 * Each handle owns what it holds: any thread may release it. One thread at a
 * time uses a pair, as it uses one handle. While one of the pair is held an
 * acquire of the other is ROWLOCK_EDEADLOCK; see rowlock_rwlock_upgrade() and
 * _downgrade(). A thread that reads through one pair and asks through another
 * may wait for a writer that waits for it. The owner flags do not matter;
 * ROWLOCK_TOKEN_WITH_GRANT is refused.
 *
 * The reader is re-entrant, also for other threads; after a loss its next
 * acquire is ROWLOCK_ELOST, once. A try gets it only if nobody writes or waits
 * to write. Two statements in one round trip, one commit; none if a reader of
 * this client was let in within the last 50 ms. Readers that share a row show
 * the info of the first of them, and have one token, which is larger than those
 * of all earlier writers; readers among themselves have no order.
 *
 * The writer is not re-entrant. New readers stay out while it waits, also if it
 * gives up in the end. It waits for a dead client's readers until that session
 * expires. If its wait is broken (rowlock_break()) it asks anew, behind the
 * present waiters; at the end of its time that is ROWLOCK_ECONNECT. Two round
 * trips, one commit; while there are readers one statement more every 1 to 50
 * ms. Its token is larger than all earlier ones.
 *
 * @name        as in rowlock_new(); copied
 * @options     of both; NULL for the defaults
 * @ret_reader  owned by the caller: rowlock_free()
 * @ret_writer  the same
 *
 * Returns 0; ROWLOCK_ENAME; ROWLOCK_EINVAL: an option; ROWLOCK_EUNSUPPORTED:
 * the row strategy, max_hold_ms, at_least_ms, delay_after_loss_ms,
 * ROWLOCK_TOKEN_WITH_GRANT; ROWLOCK_ENOMEM; ROWLOCK_EFORKED. Does not block.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_rwlock_new(
    struct rowlock_client *client, const char *name,
    const struct rowlock_options *options, struct rowlock **ret_reader,
    struct rowlock **ret_writer, struct rowlock_errinfo *reterr);

/**
 * From reading to writing, without letting anybody else write in between: the
 * writer of the pair is held then, and @reader is not.
 *
 * Two readers that both want to write would wait for each other for ever, so
 * only the first may: the other is refused at once, and has to release.
 *
 * @reader   held once
 * @wait_ms  for other readers' end; 0: only if there are none. rowlock_cancel()
 *           of the writer ends the wait
 *
 * Returns 0. ROWLOCK_ELOST: it was lost, others may have written; neither is
 * held, and nothing is to be released. With any other code @reader is held as
 * before, unless it was lost: ROWLOCK_EBUSY: another writer waits for this
 * reader, or (if @wait_ms is 0) there are other readers; ROWLOCK_ETIMEDOUT;
 * ROWLOCK_ECANCELED; ROWLOCK_ENOTHELD: it does not read; ROWLOCK_EDEADLOCK: it
 * reads more than once; ROWLOCK_EUNSUPPORTED: @reader is none, or its writer
 * was freed; ROWLOCK_EINVAL: another thread waits with the writer; and the
 * server errors.
 *
 * 0 means that the server has shown the rows of the reader and of the writer at
 * one moment; the client goes on trying to remove a reader's row that cannot be
 * given back in time.
 *
 * Blocks like rowlock_acquire() of the writer, and then until the reader's row
 * is given back, at most call_timeout_ms more. Three round trips, two commits.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_rwlock_upgrade(
    struct rowlock *reader, uint64_t wait_ms, struct rowlock_errinfo *reterr);

/**
 * From writing to reading, without letting anybody else write in between: the
 * reader of the pair is held then, and @writer is not.
 *
 * Returns 0. ROWLOCK_ENOTHELD: it does not write; ROWLOCK_ELOST: it was lost,
 * others may have written, or write by now; neither is held, and
 * nothing is to be released;
 * ROWLOCK_EUNSUPPORTED: @writer is none, or its reader was freed;
 * ROWLOCK_ECANCELED: rowlock_cancel() of the reader; ROWLOCK_EINVAL: another
 * thread waits with the reader; and the server errors: @writer is held as
 * before, unless it was lost.
 *
 * 0 means the same as for rowlock_rwlock_upgrade(): a writer's row that could
 * not be given back in time keeps others out until the client has removed it.
 *
 * Blocks for two round trips, at most twice call_timeout_ms. Two commits. Where
 * the first is not answered it asks whether it still writes.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_rwlock_downgrade(
    struct rowlock *writer, struct rowlock_errinfo *reterr);

#ifdef __cplusplus
}
#endif

#endif /* ROWLOCK_RWLOCK_H */
