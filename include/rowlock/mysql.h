/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_MYSQL_H
#define ROWLOCK_MYSQL_H

/**
 * The application's own transactions, tied to a lock: what was written under it
 * is committed only if nobody else has had it meanwhile.
 *
 * A process that was paused, cut off, or whose clock ran wild may believe in a
 * lock that it has lost. What it writes between rowlock_begin() and
 * rowlock_commit() is not committed then: the COMMIT itself changes the lock's
 * row, in the same transaction, and that is there only as long as the hold is.
 * No clock takes part in it.
 *
 *     rowlock_acquire(lock, 1000, &err);
 *     rowlock_begin(lock, mysql, 0, &err);
 *     mysql_query(mysql, "UPDATE account SET ...");
 *     rowlock_commit(lock, mysql, &err);   // 0: committed, and nobody else
 *     rowlock_release(lock, &err);         // has had the lock in between
 *
 * For leases (ROWLOCK_LEASE) of rowlock_new() and rowlock_election_new();
 * rowlock_acquire_in_transaction() is for the
 * row strategy. The lock's tables and the data have to be on one server, in
 * whichever databases (else there is rowlock_fence()); the connection's account
 * needs SELECT and UPDATE on `business_lease`.
 *
 * On Galera, too, and in a group of MySQL with several primaries, with data
 * that all nodes change, each connection to any of them: a transaction begins
 * behind all that was committed on any node before, its lock's row and the work
 * of who had the lock before included. rowlock_begin() waits for that, in a
 * group by a round trip of its own (group_replication_consistency = 'BEFORE',
 * and then what it was). Whoever begins by himself has to do so, too:
 * rowlock_guard_sql().
 *
 * While the transaction is open it locks nothing of rowlock's (but with
 * ROWLOCK_EARLY_GUARD): others try for the lock, and are told, as always, and
 * its tables can be altered. From
 * its first statement to its last the commit locks the lock's row.
 *
 * The promises of a transaction hold for tables that have transactions
 * (InnoDB). In those of MyISAM, Aria or MEMORY each row is there at once, and
 * no rollback removes it: what a stale holder has written there stays, whatever
 * its commit returns. So do not change such tables under a guard. Where the
 * server warns of it at the rollback (1196), the error's message says so, and a
 * rollback that returns 0 logs it as a warning.
 *
 * Where the name of the tables' database is not ASCII the connection has to
 * be one of utf8mb4 (mysql_set_character_set()): what the driver knows to be
 * another is refused (ROWLOCK_EINVAL), but it does not know of SET NAMES. A
 * TEMPORARY table `business_lease` or `business_lock` on the connection hides
 * rowlock's own, and what is said to it guards nothing: make none.
 *
 * What holds for all functions of rowlock.h (errors, outputs, time, fork) holds
 * here. A call lasts as long as the client option call_timeout_ms says, at the
 * most, whatever time-outs the connection has. Where the connection does not
 * answer in time it is closed, as if by the server.
 *
 * The application's own statements: MariaDB may answer an UPDATE or a DELETE
 * that is killed (KILL QUERY, max_statement_time) with "OK, 0 rows", though the
 * row is there and unchanged. Look for it before you conclude anything.
 *
 * Whether a transaction is open, and autocommit on, is in the flags of the
 * connection's last answer. An error has none, and the driver does not read
 * those of mysql_ping(), mysql_reset_connection(), mysql_stmt_prepare() or
 * mysql_stmt_close(), nor does it know that it has older ones: behind these a
 * call that begins something asks the server first, by a round trip more.
 *
 * Threads: a lock as in rowlock.h; a connection one thread at a time, as
 * Connector/C says.
 */

#include <rowlock.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A connection of MariaDB Connector/C: its MYSQL. */
struct st_mysql;

/** Flags of rowlock_begin(); or them together. */
enum rowlock_begin_flags {
	/** REPEATABLE READ, with a snapshot that is taken now: all reads of the
	 *  transaction see the data as they are after the acquire. Without it,
	 *  READ COMMITTED: each read sees what is committed. A snapshot from
	 *  before the acquire would let stale data be written under a right
	 *  lock; so the transaction begins here, not earlier. A commit that
	 *  finds the hold lost is in the way of who wants this name, or one
	 *  beside it, until it is rolled back: a round trip. */
	ROWLOCK_SNAPSHOT = 1 << 0,
	/** Lock the lease's row from the begin on, in share mode: nobody can
	 *  end the hold while the transaction is open, neither a reaper, though
	 *  the client was silent for longer than its TTL, nor `rowlock break`,
	 *  which waits as long as its time-outs allow. So a process that was
	 *  paused can commit all the same: the hold may be lost by our own
	 *  clock by then (rowlock_held() is 0, the lost callback was called),
	 *  and the commit returns 0. For what takes long, or is dear to do
	 *  again. Tries of others are answered at once, as always (but where
	 *  something in between refuses KILL: there what they ask waits on).
	 *
	 *  The price: the name is nobody else's until the transaction ends, and
	 *  `business_lease` cannot be altered: an ALTER TABLE waits, and so
	 *  does everybody behind it. If the host dies, that is when the server
	 *  notices (TCP keepalive, wait_timeout, idle_transaction_timeout). If
	 *  somebody waits to end the hold, the commit may be the victim of a
	 *  deadlock: ROWLOCK_EDB, 1213, rolled back. Not on Galera or a group
	 *  with several primaries, whose nodes do not see each other's locks:
	 *  ROWLOCK_EUNSUPPORTED. */
	ROWLOCK_EARLY_GUARD = 1 << 1,
};

/**
 * Begin a transaction on @conn that can commit only under @lock, which the
 * caller holds. It is open when this returns 0: end it with rowlock_commit() or
 * rowlock_rollback(). Until then the hold's last level cannot be released
 * (ROWLOCK_EHELD), and is not handed over to another thread.
 *
 * @conn   connected to the lock's server, with no transaction open and no
 *         result unread; stays the caller's. Until the end of the transaction
 *         its autocommit is off, and it is not connected anew by the driver
 *         (MYSQL_OPT_RECONNECT); then these are as they were. Tables that it
 *         has locked by LOCK TABLES are unlocked, as by every transaction
 *         that begins
 * @flags  0, or enum rowlock_begin_flags
 *
 * A round trip; three where @conn does not take several statements in one text
 * (CLIENT_MULTI_STATEMENTS), and one more at the end of the transaction: that
 * is allowed in between. One more with MYSQL_OPT_RECONNECT, by which @conn is
 * connected anew if it has to be.
 *
 * With a flag, the first time on a connection, and where it is not sure of the
 * row, it asks the server whether that is the lock's, and the hold still there.
 * Else it goes by what it knows, and a hold that others have ended
 * meanwhile is found out at the commit.
 *
 * Returns 0;
 * ROWLOCK_ENOTHELD, ROWLOCK_ENOTOWNER, ROWLOCK_ELOST: as rowlock_verify();
 * ROWLOCK_EINVAL: @conn is NULL, or has a transaction open, or a result
 * unread, or is connected to another server than the lock's; or a flag that
 * does not exist;
 * ROWLOCK_EHELD: a transaction of this hold is open already;
 * ROWLOCK_EUNSUPPORTED: @lock is not of the lease strategy, or another kind
 * of lock; or ROWLOCK_EARLY_GUARD on a cluster;
 * ROWLOCK_EAUTH: the account of @conn may not read `business_lease`;
 * ROWLOCK_ECONNECT: @conn is closed, or did not answer, and is closed now; or
 * an earlier commit of the hold returned ROWLOCK_EUNKNOWN, and the client's
 * server is still out of reach (what may come of that has to come before);
 * ROWLOCK_ESCHEMA: `business_lease` is not as it should be;
 * ROWLOCK_EDB, ROWLOCK_ENOMEM, ROWLOCK_ESYSTEM, ROWLOCK_EFORKED.
 * Unless it is 0 nothing was begun, and @conn is as it was or closed.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_begin(struct rowlock *lock,
					    struct st_mysql *conn,
					    unsigned int flags,
					    struct rowlock_errinfo *reterr);

/**
 * Commit the transaction that was begun with @lock on @conn, if the hold is
 * still there. The transaction is over when this returns, unless it says that
 * nothing was done.
 *
 * If no answer comes in half of the call's time, or the connection breaks, then
 * whether it was committed is found out in the other half, on a connection of
 * the client's: 0 or ROWLOCK_ECONNECT. That needs the lock's row, read and not
 * locked by others. ROWLOCK_EUNKNOWN is left for a hold that was lost in just
 * that time, for a server that is not back, or a member of a group that stays
 * behind, and for a COMMIT that the server keeps waiting: behind FLUSH TABLES
 * WITH READ LOCK or BACKUP STAGE, behind somebody who has the lock's row
 * locked, or because it is large. Such a one may still come, until the lock is
 * released or the next rowlock_begin() has returned 0: those step over it, or
 * wait.
 *
 * With ROWLOCK_EARLY_GUARD a COMMIT that never came leaves its transaction
 * open, which has the row. So the server is told to end the session of @conn,
 * which is closed on this side by then: by a KILL of the client's account,
 * which has to be @conn's, or to have PROCESS and CONNECTION ADMIN. It is done
 * only where the thread that locked the row has told the number that the
 * driver knows (a proxy may have others), and the server has not been started
 * anew since the client's session began. Else this, too, is ROWLOCK_EUNKNOWN.
 *
 * One round trip, one text, one commit: that of the data.
 *
 * Returns 0: committed; nobody else has had the lock since its acquire.
 * Nothing was committed, and all is rolled back:
 * ROWLOCK_ELOST: the hold was lost (its row is gone, also where the client
 * looks for it); somebody else may have had the lock;
 * ROWLOCK_EBROKEN: the transaction was not what it was any more. Somebody has
 * counted the lock's row meanwhile by its guard as text (rowlock_guard_sql(),
 * rowlock_guard_call()), and the hold stays. Or it had ended before: by a
 * COMMIT or a ROLLBACK of the caller's, by a statement that
 * commits (DDL), by a deadlock or another error that rolled it back and went
 * unnoticed, or @conn was connected anew, or to another server. What the caller
 * committed himself stays committed, unguarded; so does what was written behind
 * a new connection, mysql_reset_connection(), mysql_change_user() or SET
 * autocommit = 1, each statement of which commits by itself: the message says
 * so where that may be, and then look at the data; what he has prepared (XA
 * PREPARE) stays in the server, with its locks, until somebody ends it by XA
 * ROLLBACK or XA COMMIT;
 * ROWLOCK_EDB: the server refused (a deadlock, a time-out, a certification of
 * Galera), or did not find the row that is there (MariaDB, where KILL QUERY or
 * max_statement_time meets the statement): the hold stays; do the transaction
 * again if you like, from rowlock_begin() on;
 * ROWLOCK_EAUTH: the account of @conn may not change `business_lease`;
 * ROWLOCK_EREADONLY: the server takes no writes any more;
 * ROWLOCK_EUNSUPPORTED: it logs by STATEMENT (1665);
 * ROWLOCK_ESCHEMA: `business_lease` is not as it should be;
 * ROWLOCK_ECONNECT: no answer came, or the COMMIT itself failed, and it did not
 * take place; or the row was not found, and the client's server is out of
 * reach, so that it is not known whether the hold is lost: rowlock_verify();
 * ROWLOCK_ENOMEM.
 * It is not known: ROWLOCK_EUNKNOWN.
 * No transaction was begun with this lock on this connection, or a result of
 * @conn is unread, and nothing was done: ROWLOCK_EINVAL. ROWLOCK_ENOTOWNER,
 * ROWLOCK_EFORKED: nothing was done.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_commit(struct rowlock *lock,
					     struct st_mysql *conn,
					     struct rowlock_errinfo *reterr);

/**
 * rowlock_commit(), and the lock is released by the same commit. So data and
 * release are one, and a write under a lock costs two commits in all, that of
 * the acquire included. The commit moves the lock's row to a name that no lock
 * can have: a receipt, by which the outcome is found where the answer got lost.
 * The client deletes its receipts, many at once, a few seconds later.
 *
 * Unless this returns 0 the hold is as rowlock_commit() would leave it: it goes
 * on, but after ROWLOCK_ELOST, and after ROWLOCK_EUNKNOWN: it is lost then, for
 * it may have been given back.
 * Who waits for the name gets it as after rowlock_release(), but that it is not
 * handed over within the client: a round trip behind the commit wakes them.
 *
 * Returns as rowlock_commit(); ROWLOCK_EHELD: the hold has more levels than
 * this handle's last one, by this handle or another; nothing was done, and the
 * transaction is open.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_commit_release(
    struct rowlock *lock, struct st_mysql *conn,
    struct rowlock_errinfo *reterr);

/**
 * Roll the transaction back that was begun with @lock on @conn. The hold stays.
 * The transaction is over when this returns; if @conn does not answer, or has a
 * result unread, it is closed, and the server rolls back by itself. With
 * ROWLOCK_EARLY_GUARD the server is told to end the session of @conn then, as
 * by rowlock_commit(), so that the lock's row is free. Also after
 * @conn was closed or connected anew; it has to be there still.
 *
 * Returns 0: nothing of it was committed by rowlock;
 * ROWLOCK_EBROKEN: it had ended before, as rowlock_commit() says. A COMMIT of
 * the caller's stands. Later statements are rolled back, but not where the
 * session is another one by now: there they may be committed;
 * ROWLOCK_EINVAL: none was begun; ROWLOCK_ENOTOWNER; ROWLOCK_EFORKED.
 */
ROWLOCK_API int rowlock_rollback(struct rowlock *lock, struct st_mysql *conn,
				 struct rowlock_errinfo *reterr);

/** Room for the text of rowlock_guard_sql(), or rowlock_guard_call(), whatever
 * the name and the schema.
 */
#define ROWLOCK_GUARD_SQL_SIZE 2048

/**
 * The guard as SQL, for a connection that is no MYSQL of Connector/C: of an
 * ORM, another language, a script. Four statements, with "; " between them:
 *
 *     UPDATE (SELECT 1) AS hold LEFT JOIN `schema`.business_lease AS lease
 *         ON ... SET lease.guards = ... WHERE IF(lease.name IS NULL,
 *         (SELECT 1 UNION SELECT 2), 1) = 1;
 *     SET @rowlock_guard = IF(ROW_COUNT() = 1, 'DO 0', 'KILL CONNECTION_ID()');
 *     PREPARE rowlock_guard FROM @rowlock_guard;
 *     EXECUTE rowlock_guard
 *
 * Say them as the last ones before the COMMIT, in a transaction that was begun
 * after the acquire, in one text or one by one. The first one fails (1242) if
 * the hold is lost: ROLLBACK. The others are for a client that goes on after an
 * error, as `mariadb --force` does: they end its connection, so that the server
 * rolls back. From the first one to the end of the transaction the lock's row
 * is locked, so nobody else gets the lock in between.
 *
 * A driver that has each statement prepared by the server, as MariaDB's for
 * ODBC has, is refused the third one (1295), and nothing is committed: use
 * rowlock_guard_call() there.
 *
 * What rowlock_begin() and rowlock_commit() do is left to the caller: that it
 * is the lock's server, and on another node of its cluster, that the
 * transaction begins behind what was committed there (wsrep_sync_wait = 1;
 * group_replication_consistency = 'BEFORE'), or it reads old data; that the
 * transaction is not begun before the acquire, and has autocommit off, so that
 * nothing commits by itself after a deadlock; that it has not ended half way;
 * and a COMMIT without an answer stays unknown: it may still come, and the
 * guard of the next transaction would not notice. So release the lock then, and
 * acquire it anew, as after ROWLOCK_EUNKNOWN. On MariaDB an UPDATE or DELETE
 * that KILL QUERY or max_statement_time meets may say that it has found no row,
 * which is there: ROLLBACK all the same, and ask rowlock_verify() whether the
 * hold is lost. So it is with the application's own statements: there, too, 0
 * rows are a reason to look.
 *
 * Not while a transaction of rowlock_begin() is open under the same hold: its
 * commit finds another number of guards than it knows (ROWLOCK_EBROKEN).
 *
 * The text is good for all transactions of this hold, and for no later one: ask
 * again after each acquire. The hold is not handed over to another thread of
 * the client from here on: that one would pass its guard, too.
 *
 * @text  @size bytes; ROWLOCK_GUARD_SQL_SIZE is enough. Without a ';' at its
 *        end. Plain ASCII, but for the schema; the name is in hexadecimal
 *        digits, so nothing of it is a word of SQL
 *
 * Returns 0; ROWLOCK_ENOTHELD, ROWLOCK_ENOTOWNER, ROWLOCK_ELOST: as
 * rowlock_verify(); ROWLOCK_EINVAL: @text is NULL, or @size too small;
 * ROWLOCK_EUNSUPPORTED: as rowlock_begin();
 * ROWLOCK_ECONNECT, ROWLOCK_EAUTH, ROWLOCK_EDB, ROWLOCK_ESCHEMA,
 * ROWLOCK_ESYSTEM: no connection could be had;
 * ROWLOCK_ENOMEM, ROWLOCK_EFORKED. Sends nothing but what opens a connection,
 * if the client has none, and blocks only for that.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_guard_sql(struct rowlock *lock,
						char *text, size_t size,
						struct rowlock_errinfo *reterr);

/**
 * rowlock_guard_sql() as one statement, for an account that may not change
 * rowlock's tables, and for a driver that cannot say the four:
 *
 *     CALL `schema`.rowlock_guard(_utf8mb4 X'...', ...)
 *
 * If the hold is lost it rolls the transaction back and fails (1644). The
 * procedure is made by rowlock-migrate --guard-procedure, and works with the
 * rights of its definer; the caller needs EXECUTE on it, and no other right.
 * This call does not look whether the procedure is there.
 *
 * Returns as rowlock_guard_sql(), and all else is as it says.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_guard_call(
    struct rowlock *lock, char *text, size_t size,
    struct rowlock_errinfo *reterr);

/**
 * Acquire a lock of the row strategy in a transaction of the caller's: begin
 * one on @conn, with the lock's row locked in it. What ends the transaction,
 * the caller's COMMIT, ROLLBACK or DDL, or the end of the connection, releases
 * the lock. So there is nothing to release, and no hold that could be lost
 * without the transaction; and the client knows nothing of it: rowlock_held()
 * and rowlock_release() are for the holds of rowlock_acquire().
 *
 *     rowlock_acquire_in_transaction(lock, mysql, 1000, &err);
 *     mysql_query(mysql, "UPDATE account SET ...");
 *     mysql_query(mysql, "COMMIT");
 *
 * It begins the transaction, with the isolation level that @conn has: one that
 * was open might have read already what the lock is to protect, and write by
 * that under a right lock. So a transaction has one such lock; for several
 * names there is rowlock/multilock.h. A deadlock with others' rows rolls back
 * the transaction, and releases the lock: whoever overlooks 1213 goes on
 * without it.
 *
 * It stands in one line with all who wait for the name on the server, by
 * rowlock_acquire() or by hand, but not with threads of this client that wait
 * behind another one of it; a wait of more than innodb_lock_wait_timeout (50 s)
 * goes to the end of the line.
 *
 * Tables that @conn has locked by LOCK TABLES are unlocked by it, as by every
 * transaction that begins.
 *
 * @lock     of rowlock_new(), of the row strategy; it takes no connection of
 * the client's
 * @conn     connected to the lock's server, with no transaction open and no
 *           result unread, and not one that the driver connects anew by itself
 *           (MYSQL_OPT_RECONNECT): behind an error that is overlooked what
 *           follows would be written on a new one, without the lock, and no
 *           call comes here that could notice. Nor may
 *           mysql_reset_connection() or mysql_change_user() be called on it
 *           before its COMMIT. Stays the caller's. Its account needs SELECT and
 *           UPDATE on `business_lock`
 * @wait_ms  as for rowlock_acquire(); 0: do not wait
 *
 * Two round trips; one statement that waits in the server. Blocks up to
 * @wait_ms and call_timeout_ms. At the deadline, or when rowlock_cancel() is
 * called, the statement is interrupted by a KILL QUERY of the client's account,
 * which has to be @conn's, or to have PROCESS and CONNECTION ADMIN: else @conn
 * is closed. A server whose host vanishes while it is waited for without
 * end is noticed by TCP keepalive alone.
 *
 * Returns 0: the transaction is open, and has the lock;
 * ROWLOCK_EBUSY, ROWLOCK_ETIMEDOUT, ROWLOCK_ECANCELED;
 * ROWLOCK_EDEADLOCK: the caller has the lock by rowlock_acquire();
 * ROWLOCK_EINVAL: @conn is NULL, or has a transaction open, or a result unread,
 * or is connected to another server than the lock's, or is connected anew by
 * the driver (MYSQL_OPT_RECONNECT); or another thread waits
 * with @lock;
 * ROWLOCK_EUNSUPPORTED: @lock is not of the row strategy;
 * ROWLOCK_ESCHEMA: `business_lock` is not as it should be;
 * ROWLOCK_EAUTH, ROWLOCK_EREADONLY, ROWLOCK_EDB, ROWLOCK_ENOMEM,
 * ROWLOCK_ESYSTEM, ROWLOCK_EFORKED;
 * ROWLOCK_ECONNECT: @conn is closed, or did not answer, and is closed now; or
 * the client's server is out of reach.
 * Unless it is 0 no transaction is open.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_acquire_in_transaction(
    struct rowlock *lock, struct st_mysql *conn, uint64_t wait_ms,
    struct rowlock_errinfo *reterr);

/**
 * Draw the next fencing token of @lock in the transaction on @conn that has got
 * it by rowlock_acquire_in_transaction(): it is drawn if that is committed.
 * After a ROLLBACK the next holder draws the same one: so do not let it out
 * before.
 *
 * Draw at once: where a deadlock that went unnoticed, or a COMMIT, has ended
 * the transaction of rowlock_acquire_in_transaction(), and another one was
 * begun since, a lock that nobody has is got anew by this, and what was read
 * before is not protected by it.
 *
 * Its account needs SELECT, INSERT and UPDATE on `lock_token`, SELECT and
 * UPDATE on `lock_token_floor`. The floor is locked in share mode until the end
 * of the transaction, so that no old token is collected meanwhile; nobody waits
 * for that but the reaper. Two round trips; three where `lock_token` has a
 * trigger.
 *
 * Returns 0, and the token in *@ret_token; ROWLOCK_ENOTHELD: another has the
 * lock, or @conn has no transaction open; ROWLOCK_EINVAL: @conn or
 * @ret_token is NULL, or a result is unread, or @conn is connected to another
 * server than the lock's, or anew by the driver; ROWLOCK_EUNSUPPORTED: @lock is
 * not of the row strategy; ROWLOCK_ESCHEMA: a table is not as it should be;
 * ROWLOCK_ESYSTEM; ROWLOCK_EDB: also where somebody else has the token's row
 * locked for longer than innodb_lock_wait_timeout (1205); ROWLOCK_EAUTH,
 * ROWLOCK_EREADONLY, ROWLOCK_ECONNECT, ROWLOCK_ENOMEM, ROWLOCK_EFORKED. The
 * transaction stays open but after ROWLOCK_ECONNECT, and a deadlock
 * (ROWLOCK_EDB, 1213).
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_token_in_transaction(
    struct rowlock *lock, struct st_mysql *conn, uint64_t *ret_token,
    struct rowlock_errinfo *reterr);

/**
 * For data that are not on the lock's server: let the transaction that is open
 * on @conn go on only if no later holder has written there. The data's database
 * has a row for each resource, in the table `lock_fence`, with the largest
 * token that has passed (rowlock-migrate --fence-only makes it); a smaller one
 * is refused.
 *
 *     rowlock_token(lock, &token, &err);
 *     mysql_query(mysql, "SET autocommit = 0");
 *     rowlock_fence(mysql, "account/1", token, &err);
 *     mysql_query(mysql, "UPDATE account SET ...");
 *     mysql_query(mysql, "COMMIT");
 *
 * Say it first, before what the transaction reads: from here to its end whoever
 * else wants to pass waits, so what is read is not from before an earlier
 * holder was done. (A snapshot that was taken before shows older data all the
 * same.) Say it again before the COMMIT if the transaction may have ended in
 * between, by DDL, a COMMIT, or a deadlock that went unnoticed: what was
 * written after that is in another transaction, which has passed nothing yet;
 * and after a ROLLBACK TO SAVEPOINT of one from before it, which takes it back.
 * Where the lock is on the data's own server, rowlock_commit() does all this,
 * and finds out what became of a COMMIT without an answer.
 *
 * It protects against holders who come with a token, all of one lock, and not
 * against who writes without. A transaction that is rolled back has not passed.
 *
 * @conn      with autocommit off or a transaction open, and no result unread,
 *            and not one that the driver connects anew by itself
 *            (MYSQL_OPT_RECONNECT);
 *            its default database has `lock_fence`, on which its account needs
 *            SELECT, INSERT and UPDATE
 * @resource  what the token protects; as the names of locks: 1 to 100
 *            characters of UTF-8. The lock's name will do
 * @token     that of the hold: rowlock_token(), or ROWLOCK_TOKEN of a command
 *            that `rowlock run` has started
 *
 * One statement. It blocks as the application's own statements do: as long as
 * the server's innodb_lock_wait_timeout and the connection's time-outs allow.
 * Needs no client and no lock; a connection one thread at a time.
 *
 * Returns 0;
 * ROWLOCK_ELOST: a later holder has been there. Nothing was changed; the
 * transaction is still open: roll it back;
 * ROWLOCK_ENAME: @resource is no such name;
 * ROWLOCK_EINVAL: @conn is NULL, has no transaction open and autocommit on, or
 * a result unread, or is connected anew by the driver; or @token is 0;
 * ROWLOCK_ESCHEMA: there is no `lock_fence` in that database;
 * ROWLOCK_EAUTH: the account may not change it;
 * ROWLOCK_EREADONLY: the server takes no writes, or the transaction none;
 * ROWLOCK_EUNSUPPORTED: it logs by STATEMENT (1665);
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
