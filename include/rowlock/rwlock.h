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
 * Any number of clients, and of pairs in them, may hold a name for reading at
 * the same time; a writer holds it alone. A writer that waits keeps new readers
 * out, so it gets in when those that were there before it have let go; writers
 * among themselves take turns as with other locks, and so do writers and
 * readers that wait. (Not between the nodes of a cluster, nor where all
 * wait_connections are in use: there the first that asks gets in.)
 *
 * The readers of one client cost the server almost nothing: they share a row,
 * which is asked for again every 50 ms (client option handover_ms) as long as
 * new ones come.
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
 * Each handle owns what it holds: any thread may release it. But for the calls
 * that rowlock.h allows to any thread the two of a pair count as one handle,
 * which one thread at a time uses. They do not wait for each other: while one
 * is held, an acquire of the other is ROWLOCK_EDEADLOCK; see
 * rowlock_rwlock_upgrade() and _downgrade(). A thread that reads through one
 * pair and asks through another may wait for a writer that waits for it. The
 * flags do not matter, but ROWLOCK_TOKEN_WITH_GRANT is refused.
 *
 * reader: re-entrant, also for other threads: one that reads already reads once
 * more, without asking anybody, and has to be released as often; after a loss
 * its next acquire is ROWLOCK_ELOST, once. A try gets it only if nobody writes,
 * or waits to write (where it joins a reader of this client: if nobody did when
 * that was let in). Two
 * statements in one round trip, one commit; nothing where a reader of this
 * client was let in within the last 50 ms (handover_ms). Readers that share a
 * row show the info of the first of them, and have the same token; it is larger
 * than those of all earlier writers, and readers among themselves have no
 * order.
 *
 * writer: not re-entrant. While it waits no new readers come in, also if it
 * gives up in the end. A reader whose client died is waited for until its
 * session expires. A writer whose wait is broken (rowlock_break()) asks anew,
 * behind those that wait by then; if it may not wait any longer:
 * ROWLOCK_ECONNECT, nothing is held. Two round trips, one commit; while there
 * are readers a statement more every 1 to 50 ms, by one writer at a time. Its
 * token is larger than all that were drawn before.
 *
 * @name        as in rowlock_new(); copied
 * @options     of both; NULL for the defaults
 * @ret_reader  owned by the caller: rowlock_free()
 * @ret_writer  the same
 *
 * Returns 0; ROWLOCK_ENAME; ROWLOCK_EINVAL: an option; ROWLOCK_EUNSUPPORTED:
 * the row strategy, max_hold_ms, ROWLOCK_TOKEN_WITH_GRANT; ROWLOCK_ENOMEM;
 * ROWLOCK_EFORKED. Does not block.
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
 * one moment. Where the reader's row cannot be given back in time it is 0 as
 * well: the client goes on trying to remove that row, which other writers wait
 * for.
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
 * ROWLOCK_ECANCELED: rowlock_cancel() of the reader; and the server errors:
 * @writer is held as before, unless it was lost.
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
