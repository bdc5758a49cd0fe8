/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_MYSQL_H
#define ROWLOCK_MYSQL_H

/**
 * The application's own transactions, tied to a lock: they commit only if
 * nobody else has had it meanwhile.
 *
 *     rowlock_acquire(lock, 1000, &err);
 *     rowlock_begin(lock, mysql, 0, &err);
 *     mysql_query(mysql, "UPDATE account SET ...");
 *     rowlock_commit(lock, mysql, &err);   // 0: committed, and nobody else
 *     rowlock_release(lock, &err);         // has had the lock in between
 *
 * A process that was paused, cut off, or whose clock ran wild may believe in a
 * lock that it has lost. Its transaction is not committed then: the COMMIT
 * itself changes the lock's row, in the same transaction, and that row exists
 * only as long as the hold. No clock takes part in it.
 *
 * For leases (ROWLOCK_LEASE) of rowlock_new() and rowlock_election_new();
 * rowlock_acquire_in_transaction() is for the row strategy. The lock's tables
 * and the data are on one server, in any databases (else use rowlock_fence()).
 * The connection's account needs SELECT and UPDATE on `business_lease`.
 *
 * Galera and groups of MySQL with several primaries work, through any node. A
 * transaction begins behind everything that was committed on any node before,
 * so rowlock_begin() waits for that: in a group by one more round trip.
 *
 * An open transaction locks nothing of rowlock's (except with
 * ROWLOCK_EARLY_GUARD). The commit locks the lock's row from its first
 * statement to its last.
 *
 * Use tables with transactions (InnoDB). MyISAM, Aria and MEMORY keep each row
 * that a stale holder writes, whatever the commit returns. If the server warns
 * of that at a rollback (1196), the error's message says so, or the log.
 *
 * If the name of the tables' database is not ASCII the connection has to use
 * utf8mb4 (mysql_set_character_set()); another set that the driver knows of is
 * ROWLOCK_EINVAL. A TEMPORARY table of the application's hides rowlock's own of
 * that name. A copy of `business_lease` or `business_lock` (CREATE ... SELECT)
 * is ROWLOCK_ESCHEMA (1176), as one of `job_run` for rowlock_once_sql(). One
 * that has its key as well (CREATE ... LIKE), or of another table, is not
 * noticed: make none.
 *
 * A call lasts at most call_timeout_ms, whatever time-outs the connection has.
 * A connection that does not answer in time is closed. MariaDB may answer an
 * UPDATE or a DELETE that is killed (KILL QUERY, max_statement_time) with "OK,
 * 0 rows" though the row is there: look for it before you conclude anything.
 *
 * The driver's flags tell whether a transaction is open. It does not read them
 * after an error, mysql_ping(), mysql_reset_connection(), mysql_stmt_prepare()
 * or mysql_stmt_close(): behind these a call asks the server first.
 *
 * The rules of rowlock.h (errors, outputs, time, fork) hold here. Threads: a
 * lock as in rowlock.h; a connection one thread at a time, as Connector/C says.
 */

#include <rowlock.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A connection of MariaDB Connector/C: its MYSQL. */
struct st_mysql;

/** Flags of rowlock_begin(); or them together. */
enum rowlock_begin_flags {
	/** REPEATABLE READ with a snapshot that is taken now, behind the
	 *  acquire. An older snapshot would let stale data be written under a
	 *  right lock. Without the flag the transaction is READ COMMITTED. */
	ROWLOCK_SNAPSHOT = 1 << 0,
	/** Lock the lease's row in share mode from the begin on: nothing can
	 *  end the hold while the transaction is open, neither a reaper nor
	 *  `rowlock break`. A process that was paused can still commit, even if
	 *  rowlock_held() is 0 and the lost callback was called by then. For
	 *  long or costly work.
	 *
	 *  The price: the name stays busy until the transaction ends, which
	 *  after the death of the host is when the server notices (TCP
	 *  keepalive, wait_timeout, idle_transaction_timeout). An ALTER TABLE
	 *  of `business_lease` waits, and everybody behind it. A commit may be
	 *  the victim of a deadlock with a session that wants to end the hold
	 *  (ROWLOCK_EDB, 1213). ROWLOCK_EUNSUPPORTED on Galera and in a group
	 *  with several primaries, whose nodes do not see each other's locks.
	 */
	ROWLOCK_EARLY_GUARD = 1 << 1,
};

/**
 * Begin a transaction on @conn that can commit only under @lock, which the
 * caller holds. End it with rowlock_commit() or rowlock_rollback(). Until then
 * the hold's last level cannot be released (ROWLOCK_EHELD) and is not handed
 * over to another thread.
 *
 * @conn   connected to the lock's server, with no transaction open and no
 *         result unread; stays the caller's. Until the end of the transaction
 *         autocommit and MYSQL_OPT_RECONNECT are off; then they are as before.
 *         LOCK TABLES end, as with every transaction that begins
 * @flags  0, or enum rowlock_begin_flags
 *
 * One round trip, or three if @conn has no CLIENT_MULTI_STATEMENTS; one more
 * with MYSQL_OPT_RECONNECT, and with ROWLOCK_EARLY_GUARD. With a flag, and the
 * first time on a connection, it asks the server whether the hold is still
 * there; otherwise the commit finds out.
 *
 * Returns 0;
 * ROWLOCK_ENOTHELD, ROWLOCK_ENOTOWNER, ROWLOCK_ELOST: as rowlock_verify();
 * ROWLOCK_EINVAL: @conn is NULL, has a transaction open or a result unread, or
 * is connected to another server; or an unknown flag;
 * ROWLOCK_EHELD: a transaction of this hold is open already;
 * ROWLOCK_EUNSUPPORTED: @lock is not a lease, or another kind of lock; or
 * ROWLOCK_EARLY_GUARD on a cluster;
 * ROWLOCK_EAUTH: the account of @conn may not read `business_lease`;
 * ROWLOCK_ECONNECT: @conn is closed, or did not answer and is closed now; or an
 * earlier commit of the hold returned ROWLOCK_EUNKNOWN, may still come, and the
 * client's server is out of reach;
 * ROWLOCK_ESCHEMA: `business_lease` is not as it should be;
 * ROWLOCK_EREADONLY: the server takes no writes, and an earlier commit of the
 * hold may still come;
 * ROWLOCK_EDB, ROWLOCK_ENOMEM, ROWLOCK_ESYSTEM, ROWLOCK_EFORKED.
 * After an error nothing was begun, and @conn is as it was or closed.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_begin(struct rowlock *lock,
					    struct st_mysql *conn,
					    unsigned int flags,
					    struct rowlock_errinfo *reterr);

/**
 * Commit the transaction that was begun with @lock on @conn, if the hold is
 * still there. The transaction is over when this returns, except where it says
 * that nothing was done. One round trip, one text, one commit: that of the
 * data.
 *
 * If no answer comes in half of the call's time, or the connection breaks, the
 * other half finds out on a connection of the client's whether it was
 * committed: 0 or ROWLOCK_ECONNECT. ROWLOCK_EUNKNOWN remains for a hold that
 * was lost just then, for a server that is not back, for a member of a group
 * that stays behind, and for a COMMIT that the server keeps waiting (FLUSH
 * TABLES WITH READ LOCK, BACKUP STAGE, somebody's lock on the lock's row, or
 * its size). Such a COMMIT may still take place until the lock is released or
 * the next rowlock_begin() has returned 0: those step over it, or wait.
 *
 * With ROWLOCK_EARLY_GUARD a COMMIT that never arrived leaves its transaction
 * open, with the row. The client then ends the session of @conn by KILL, if its
 * account may (the same account, or PROCESS and CONNECTION ADMIN), and if the
 * thread that locked the row told the same number as the driver, on the same
 * run of the server. Otherwise it is ROWLOCK_EUNKNOWN. If the server is out of
 * reach it is that as well, and the session is ended when the client reaches
 * the server again: then the next rowlock_begin(), or the release, settles it.
 * The same is done for a begin or a rollback that was not answered.
 *
 * Returns 0: committed; nobody else has had the lock since its acquire.
 * Nothing was committed, and everything is rolled back:
 * ROWLOCK_ELOST: the hold was lost, its row is gone; somebody else may have had
 * the lock;
 * ROWLOCK_EBROKEN: the transaction was no longer the one that was begun. Either
 * the guard as text (rowlock_guard_sql(), rowlock_guard_call()) has counted the
 * lock's row meanwhile, and the hold stays; or the transaction had ended
 * before: by a COMMIT or ROLLBACK of the caller's, by DDL, by a deadlock or
 * another error that went unnoticed, or by a new connection. The
 * caller's own commits stay, unguarded; so does everything that was written
 * behind a new connection, mysql_reset_connection(), mysql_change_user() or SET
 * autocommit = 1, each statement of which commits by itself: the message says
 * where that may be. XA PREPARE stays in the server until XA ROLLBACK or XA
 * COMMIT; ROWLOCK_EDB: the server refused (a deadlock, a time-out, a
 * certification of Galera), or did not find the row that is there (KILL QUERY
 * or max_statement_time on MariaDB). The hold stays: you may begin again;
 * ROWLOCK_EAUTH: the account of @conn may not change `business_lease`;
 * ROWLOCK_EREADONLY: the server takes no writes any more;
 * ROWLOCK_EUNSUPPORTED: it logs by STATEMENT (1665);
 * ROWLOCK_ESCHEMA: `business_lease` is not as it should be;
 * ROWLOCK_ECONNECT: no answer came, or the COMMIT itself failed, and it did not
 * take place; or the row was not found, and the client's server is out of
 * reach, so that the hold may be lost: rowlock_verify();
 * ROWLOCK_ENOMEM.
 * The outcome is not known: ROWLOCK_EUNKNOWN.
 * Nothing was done: ROWLOCK_EINVAL: no transaction was begun with this lock on
 * this connection, or a result of @conn is unread; ROWLOCK_ENOTOWNER,
 * ROWLOCK_EFORKED.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_commit(struct rowlock *lock,
					     struct st_mysql *conn,
					     struct rowlock_errinfo *reterr);

/**
 * Commit as rowlock_commit() does, and release the lock by the same commit. A
 * write under a lock then costs two commits in all, with that of the acquire.
 * The commit moves the lock's row to a name that no lock can have: a receipt,
 * which tells the outcome if the answer is lost. The client deletes its
 * receipts a few seconds later, many at once.
 *
 * After an error the hold goes on, except after ROWLOCK_ELOST and
 * ROWLOCK_EUNKNOWN, which may have given it back: rowlock_held() is 0 then, and
 * rowlock_release() returns the same code. Waiters get the name as after
 * rowlock_release(), without a hand-over within the client.
 *
 * Returns as rowlock_commit(); ROWLOCK_EHELD: the hold has more levels than
 * this handle's last one; ROWLOCK_EUNSUPPORTED: its name is to stay taken
 * (at_least_ms, delay_after_loss_ms). After both nothing was done, and the
 * transaction is open.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_commit_release(
    struct rowlock *lock, struct st_mysql *conn,
    struct rowlock_errinfo *reterr);

/**
 * Roll back the transaction that was begun with @lock on @conn. The hold stays.
 * The transaction is over when this returns: a @conn that does not answer, or
 * has a result unread, is closed, and the server rolls back by itself. With
 * ROWLOCK_EARLY_GUARD its session is ended then, as by rowlock_commit(). Call
 * it also after @conn was closed or connected anew; the MYSQL must still exist.
 *
 * Returns 0: rowlock has committed nothing of it;
 * ROWLOCK_EBROKEN: it had ended before, as rowlock_commit() says. A COMMIT of
 * the caller's stands. Later statements are rolled back, except on a new
 * session, where they may be committed;
 * ROWLOCK_EINVAL: none was begun; ROWLOCK_ENOTOWNER; ROWLOCK_EFORKED.
 */
ROWLOCK_API int rowlock_rollback(struct rowlock *lock, struct st_mysql *conn,
				 struct rowlock_errinfo *reterr);

/** Room for the text of rowlock_guard_sql(), rowlock_guard_call(), or
 *  rowlock_once_sql(), for any name and schema. */
#define ROWLOCK_GUARD_SQL_SIZE 4096

/**
 * Write the guard as SQL, for a connection that is not a MYSQL of Connector/C:
 * of an ORM, another language, a script. Four statements, with "; " between
 * them:
 *
 *     UPDATE (SELECT 1) AS hold LEFT JOIN `schema`.business_lease AS lease
 *         FORCE INDEX (PRIMARY) ON ... SET lease.guards = ...
 *         WHERE IF(lease.name IS NULL, (SELECT 1 UNION SELECT 2), 1) = 1;
 *     SET @rowlock_guard = IF(ROW_COUNT() = 1, 'DO 0', 'KILL CONNECTION_ID()');
 *     PREPARE rowlock_guard FROM @rowlock_guard;
 *     EXECUTE rowlock_guard
 *
 * Execute them last before the COMMIT, in one text or one by one, in a
 * transaction that began after the acquire, with autocommit off. The first one
 * fails (1242) if the hold is lost: ROLLBACK. The others end the connection of
 * a client that goes on after an error, as `mariadb --force` does. A driver
 * that prepares each statement in the server, as MariaDB's for ODBC, is refused
 * the third one (1295): use rowlock_guard_call().
 *
 * The caller does what rowlock_begin() and rowlock_commit() do otherwise:
 * rowlock_mysql(3), "Other languages". A COMMIT without an answer stays
 * unknown: release the lock then, and acquire it anew. Do not use it while a
 * transaction of rowlock_begin() is open under the same hold.
 *
 * The text is good for all transactions of this hold, and for no later one. The
 * hold is not handed over to another thread of the client from here on.
 *
 * @text  @size bytes; ROWLOCK_GUARD_SQL_SIZE is enough. No ';' at its end;
 * plain ASCII except for the schema; the name is in hexadecimal digits
 *
 * Returns 0; ROWLOCK_ENOTHELD, ROWLOCK_ENOTOWNER, ROWLOCK_ELOST: as
 * rowlock_verify(); ROWLOCK_EINVAL: @text is NULL, or @size too small;
 * ROWLOCK_EUNSUPPORTED: as rowlock_begin(); ROWLOCK_ECONNECT, ROWLOCK_EAUTH,
 * ROWLOCK_EDB, ROWLOCK_ESCHEMA, ROWLOCK_ESYSTEM: no connection can be opened;
 * ROWLOCK_ENOMEM, ROWLOCK_EFORKED. Blocks only to open a connection, if the
 * client has none.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_guard_sql(struct rowlock *lock,
						char *text, size_t size,
						struct rowlock_errinfo *reterr);

/**
 * Write the guard as one statement, for an account that may not change
 * rowlock's tables, and for a driver that cannot execute the four:
 *
 *     CALL `schema`.rowlock_guard(_utf8mb4 X'...', ...)
 *
 * If the hold is lost it rolls the transaction back and fails (1644); with any
 * other error it rolls it back as well.
 * rowlock-migrate --guard-procedure makes the procedure, which works with the
 * rights of its definer; the caller needs only EXECUTE on it. This call does
 * not look whether it exists.
 *
 * Returns as rowlock_guard_sql(), and all else is as it says.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_guard_call(
    struct rowlock *lock, char *text, size_t size,
    struct rowlock_errinfo *reterr);

/**
 * Begin a transaction on @conn with the row of @lock, a lock of the row
 * strategy, locked in it. The end of the transaction releases the lock: the
 * caller's COMMIT, ROLLBACK or DDL, or the end of the connection. The client
 * knows nothing of it: rowlock_held() and rowlock_release() are for the holds
 * of rowlock_acquire().
 *
 *     rowlock_acquire_in_transaction(lock, mysql, 1000, &err);
 *     mysql_query(mysql, "UPDATE account SET ...");
 *     mysql_query(mysql, "COMMIT");
 *
 * The transaction has the isolation level of @conn, and one such lock; for
 * several names there is rowlock/multilock.h. A deadlock with others' rows
 * rolls it back and releases the lock: whoever overlooks 1213 goes on without
 * it.
 *
 * It waits in one line with everybody who waits for the name on the server, but
 * not with threads of this client that wait behind another one of it. A wait of
 * more than innodb_lock_wait_timeout (50 s) goes to the end of the line.
 *
 * @lock     of rowlock_new(); it takes no connection of the client's
 * @conn     connected to the lock's server, with no transaction open, no result
 *           unread and without MYSQL_OPT_RECONNECT. Do not call
 *           mysql_reset_connection() or mysql_change_user() on it before the
 *           COMMIT. Its account needs SELECT and UPDATE on `business_lock`.
 *           LOCK TABLES end. Stays the caller's
 * @wait_ms  as for rowlock_acquire(); 0: do not wait
 *
 * Two round trips; one statement that waits in the server. Blocks up to
 * @wait_ms and call_timeout_ms. A deadline or rowlock_cancel() interrupts the
 * statement by KILL QUERY of the client's account, which is @conn's or has
 * PROCESS and CONNECTION ADMIN; otherwise @conn is closed.
 *
 * Returns 0: the transaction is open, and has the lock;
 * ROWLOCK_EBUSY, ROWLOCK_ETIMEDOUT, ROWLOCK_ECANCELED;
 * ROWLOCK_EDEADLOCK: the caller has the lock by rowlock_acquire();
 * ROWLOCK_EINVAL: @conn is NULL, has a transaction open, a result unread or
 * MYSQL_OPT_RECONNECT, or is connected to another server; or another thread
 * waits with @lock;
 * ROWLOCK_EUNSUPPORTED: @lock is not of the row strategy;
 * ROWLOCK_ESCHEMA: `business_lock` is not as it should be;
 * ROWLOCK_ECONNECT: @conn is closed, or did not answer and is closed now; or
 * the client's server is out of reach;
 * ROWLOCK_EAUTH, ROWLOCK_EREADONLY, ROWLOCK_EDB, ROWLOCK_ENOMEM,
 * ROWLOCK_ESYSTEM, ROWLOCK_EFORKED.
 * After an error no transaction is open.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_acquire_in_transaction(
    struct rowlock *lock, struct st_mysql *conn, uint64_t wait_ms,
    struct rowlock_errinfo *reterr);

/**
 * Draw the next fencing token of @lock in the transaction on @conn that has it
 * by rowlock_acquire_in_transaction(). The token is drawn if that commits;
 * after a ROLLBACK the next holder draws the same one, so do not publish it
 * before.
 *
 * Draw at once: if a deadlock that went unnoticed, or a COMMIT, has ended the
 * transaction and another one was begun since, this acquires a free lock anew,
 * and what was read before is not protected by it.
 *
 * The account needs SELECT, INSERT and UPDATE on `lock_token`, SELECT and
 * UPDATE on `lock_token_floor`, which only the reaper waits for. Two round
 * trips; three if `lock_token` has a trigger.
 *
 * Returns 0, and the token in *@ret_token; ROWLOCK_ENOTHELD: another has the
 * lock, or @conn has no transaction open; ROWLOCK_EINVAL: @conn or @ret_token
 * is NULL, a result is unread, MYSQL_OPT_RECONNECT, or another server;
 * ROWLOCK_EUNSUPPORTED: @lock is not of the row strategy; ROWLOCK_ESCHEMA: a
 * table is not as it should be; ROWLOCK_EDB, also if somebody has the token's
 * row locked for longer than innodb_lock_wait_timeout (1205); ROWLOCK_EAUTH,
 * ROWLOCK_EREADONLY, ROWLOCK_ECONNECT, ROWLOCK_ENOMEM, ROWLOCK_ESYSTEM,
 * ROWLOCK_EFORKED. The transaction stays open, except after ROWLOCK_ECONNECT
 * and a deadlock (ROWLOCK_EDB, 1213).
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_token_in_transaction(
    struct rowlock *lock, struct st_mysql *conn, uint64_t *ret_token,
    struct rowlock_errinfo *reterr);

/**
 * Let the transaction that is open on @conn go on only if no later holder has
 * written there: for data that are not on the lock's server. The data's
 * database has a table `lock_fence` (rowlock-migrate --fence-only), with the
 * largest token that has passed for each resource; a smaller one is refused.
 *
 *     rowlock_token(lock, &token, &err);
 *     mysql_query(mysql, "SET autocommit = 0");
 *     rowlock_fence(mysql, "account/1", token, &err);
 *     mysql_query(mysql, "UPDATE account SET ...");
 *     mysql_query(mysql, "COMMIT");
 *
 * Call it before the transaction reads anything: until its end every other
 * passer waits, so it reads nothing from before an earlier holder was done. (A
 * snapshot that was taken before shows older data all the same.) Call it again
 * before the COMMIT if the transaction may have ended in between, and after a
 * ROLLBACK TO SAVEPOINT of one from before it. It stops holders with a smaller
 * token of the same lock, and nobody who writes without a token.
 *
 * @conn      with autocommit off or a transaction open, no result unread and
 *            without MYSQL_OPT_RECONNECT; its default database has
 *            `lock_fence`, on which its account needs SELECT, INSERT and UPDATE
 * @resource  what the token protects: 1 to 100 characters of UTF-8, as for
 *            locks. The lock's name will do
 * @token     that of the hold: rowlock_token(), or ROWLOCK_TOKEN of a command
 *            that `rowlock run` has started
 *
 * One statement. Blocks as the application's own statements do, by
 * innodb_lock_wait_timeout and the connection's time-outs. Needs no client and
 * no lock; a connection one thread at a time.
 *
 * Returns 0;
 * ROWLOCK_ELOST: a later holder has been there. Nothing was changed; the
 * transaction is still open: roll it back;
 * ROWLOCK_ENAME: @resource is no such name;
 * ROWLOCK_EINVAL: @conn is NULL, has no transaction open and autocommit on, a
 * result unread, or MYSQL_OPT_RECONNECT; or @token is 0;
 * ROWLOCK_ESCHEMA: there is no `lock_fence` in that database;
 * ROWLOCK_EAUTH: the account may not change it;
 * ROWLOCK_EREADONLY: the server takes no writes, or the transaction none;
 * ROWLOCK_EUNSUPPORTED: the server logs by STATEMENT (1665);
 * ROWLOCK_EDB: the server refused: a deadlock (1213), after which the
 * transaction is rolled back, a time-out (1205), or a snapshot from before the
 * last pass (1020, MariaDB's innodb_snapshot_isolation);
 * ROWLOCK_ECONNECT: @conn is closed, or broke; the server rolls back by itself;
 * ROWLOCK_ENOMEM.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_fence(struct st_mysql *conn,
					    const char *resource,
					    uint64_t token,
					    struct rowlock_errinfo *reterr);

#ifdef __cplusplus
}
#endif

#endif
