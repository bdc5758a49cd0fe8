/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_H
#define ROWLOCK_H

/**
 * rowlock - named locks for programs that live on MySQL or MariaDB.
 *
 *     struct rowlock_client_options options = {
 *             .size = sizeof(options), .dsn = "host=db1;database=app" };
 *     struct rowlock_errinfo err;
 *     struct rowlock_client *client;
 *     struct rowlock *lock;
 *
 *     if (rowlock_client_new(&options, &client, &err) ||
 *         rowlock_new(client, "nightly", NULL, &lock, &err))
 *             errx(1, "%s", err.message);
 *     switch (rowlock_acquire(lock, 10000, &err)) {
 *     case 0:                      // held: nobody else has "nightly" now
 *             run_the_job();
 *             if (rowlock_release(lock, &err))
 *                     warnx("%s", err.message);   // perhaps lost meanwhile
 *             break;
 *     case ROWLOCK_ETIMEDOUT:      // busy: others had it for 10 seconds
 *             break;
 *     default:                     // broken: the server, the account, ...
 *             warnx("%s", err.message);
 *     }
 *     rowlock_free(lock);
 *     rowlock_client_free(client);
 *
 * A struct rowlock is one lock; a struct rowlock_client is the library's
 * context: its connections and threads. These rules hold for every function:
 *
 *   Errors     int functions return 0 or one negative ROWLOCK_E*. A lock is
 *              held if and only if the call that acquires it returned 0. A
 *              timeout is an error: "not held" never looks like success.
 *              A pointer that must not be NULL and is: ROWLOCK_EINVAL (a
 *              name: ROWLOCK_ENAME).
 *   Outputs    ret_* is written on success only, reterr on failure only;
 *              reterr may be NULL.
 *   Ownership  *_new() gives the caller an object, *_free() takes it back and
 *              accepts NULL. Strings passed in are copied.
 *   Options    Every options struct begins with its own size. Set it, or begin
 *              with the struct's _DEFAULT. A member that is 0 or NULL has its
 *              default, and NULL instead of a struct means all defaults.
 *              <rowlock/options.h> has those of a client and of a lock.
 *   Time       Durations are milliseconds and their names end in _ms. The
 *              clock is CLOCK_BOOTTIME: a suspended host loses its holds as a
 *              dead one does.
 *   Threads    Each type says how threads may use it. A function follows its
 *              first argument unless its own comment says otherwise.
 *   Fork       A child of fork() must not use its parent's client. There, each
 *              call returns ROWLOCK_EFORKED, and neither sends nor closes
 *              anything. The child may exit, exec, or make its own client.
 *
 * "And the server errors" stands for ROWLOCK_ECONNECT, ROWLOCK_EAUTH,
 * ROWLOCK_ESCHEMA, ROWLOCK_EREADONLY (after which the next call connects anew,
 * and so follows the server's name to a new primary), ROWLOCK_EUNSUPPORTED (it
 * is too old or another engine, or logs by STATEMENT), ROWLOCK_EDB,
 * ROWLOCK_ENOMEM, ROWLOCK_ESYSTEM, ROWLOCK_EFORKED, and ROWLOCK_EINVAL if an
 * option file is wrong when a call connects anew.
 *
 * At most one hold per name exists in any committed state of the database. A
 * process that was paused past its deadline learns that at its next call: let
 * the COMMIT (rowlock/mysql.h) or the token protect the data.
 */

#include <stddef.h>
#include <stdint.h>

#include <rowlock/options.h>
#include <rowlock/version.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ROWLOCK_API __attribute__((visibility("default")))
#define ROWLOCK_CHECK __attribute__((warn_unused_result))

/** Wait as long as it takes. */
#define ROWLOCK_FOREVER UINT64_MAX

/** The most characters (UTF-8 code points) of a name, and of an info text. */
#define ROWLOCK_NAME_MAX 100
#define ROWLOCK_INFO_MAX 255

/* ------------------------------------------------------------- errors */

enum rowlock_error {
	ROWLOCK_EBUSY = -1,      /* another holds it; the call did not wait */
	ROWLOCK_ETIMEDOUT = -2,  /* others held it during the whole wait */
	ROWLOCK_ECANCELED = -3,  /* rowlock_cancel() ended the wait */
	ROWLOCK_ELOST = -4,      /* the hold expired or was taken away */
	ROWLOCK_EDEADLOCK = -5,  /* the caller would wait for itself */
	ROWLOCK_ENOTHELD = -6,   /* there is no hold to release or to ask for */
	ROWLOCK_ENOTOWNER = -7,  /* held, but not by the caller */
	ROWLOCK_EHELD = -8,      /* still in use; release or free it first */
	ROWLOCK_ENAME = -9,      /* not a name that can be locked */
	ROWLOCK_EINVAL = -10,    /* another argument is not allowed */
	ROWLOCK_ECONNECT = -11,  /* the server is out of reach */
	ROWLOCK_EAUTH = -12,     /* the server does not let this account in */
	ROWLOCK_ESCHEMA = -13,   /* the tables are missing or not as needed */
	ROWLOCK_EREADONLY = -14, /* the server takes no writes */
	ROWLOCK_EUNSUPPORTED = -15, /* this lock or server cannot do that */
	ROWLOCK_EDB = -16,          /* the server refused for another reason */
	ROWLOCK_ENOMEM = -17,       /* out of memory */
	ROWLOCK_ESYSTEM = -18,  /* the system refused a thread or descriptor */
	ROWLOCK_EFORKED = -19,  /* this client belongs to the parent process */
	ROWLOCK_EBROKEN = -20,  /* the transaction had ended before */
	ROWLOCK_EUNKNOWN = -21, /* the outcome is not known */
	ROWLOCK_EDONE = -22, /* nothing to do: a run of the window succeeded */
	ROWLOCK_EOVER = -23, /* the window is over, or has had its runs */
};

/** The reason of a failure: what happened, to which name, on which server, and
 *  what to do next. It lives on the caller's stack and needs no release. */
struct rowlock_errinfo {
	int code;           /* the ROWLOCK_E* that the function returned */
	unsigned int mysql; /* the server's or Connector/C's errno, 0 if none */
	char message[512];  /* always terminated, possibly cut */
};

/** A few words for a ROWLOCK_E*, such as "held by another"; "unknown error" for
 *  any other number. The text is static. Does not block; any thread. */
ROWLOCK_API const char *rowlock_strerror(int error);

/** The version of the library that runs, such as "0.2.0", to compare with
 *  ROWLOCK_VERSION, that of the headers. Static. Does not block; any thread. */
ROWLOCK_API const char *rowlock_version(void);

/** The version of the library that runs as a number, such as 10203 for 1.2.3,
 *  to compare with ROWLOCK_VERSION_NUMBER. Does not block; any thread. */
ROWLOCK_API unsigned int rowlock_version_number(void);

/* ------------------------------------------------------------- client */

/**
 * One process's view of the locks: its connections, the threads that keep its
 * leases alive and remove dead ones, the queue of its own waiters.
 *
 * Threads: safe. One client per process and database is the normal case.
 */
struct rowlock_client;

/**
 * Open a client: connect, check the server and the tables, start the threads,
 * with all their signals blocked.
 *
 * The process's signal actions stay as they are, and a call of this library
 * brings its thread no SIGPIPE. A program that has connections of its own calls
 * mysql_library_init() before: with it the process ignores SIGPIPE. dlclose()
 * does not unload the library, as threads that have held a lock run it at their
 * end.
 *
 * @options     NULL for the defaults: ROWLOCK_DSN and the option files
 * @ret_client  owned by the caller: rowlock_client_free()
 *
 * Returns 0; ROWLOCK_EINVAL (an option, which the message names; or nothing
 * names a server, and the local one lets nobody in); and the server errors.
 * ROWLOCK_ESCHEMA says which table or column is wrong and which command to run;
 * it comes when the tables were wrong for a second and a half, as DDL hides a
 * table for a moment. Blocks up to connect_timeout_ms and call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_client_new(
    const struct rowlock_client_options *options,
    struct rowlock_client **ret_client, struct rowlock_errinfo *reterr);

/**
 * End a client: release what its locks hold, stop its threads, delete its
 * session, close its connections.
 *
 * Locks, watches and observers that are left must be freed afterwards; any
 * other call on them returns ROWLOCK_EINVAL. No other call on the client may be
 * under way. In a callback of the client it does nothing but log an error, in a
 * child of fork() nothing. Blocks up to call_timeout_ms.
 *
 * @client  may be NULL
 */
ROWLOCK_API void rowlock_client_free(struct rowlock_client *client);

/**
 * Free a client that nothing uses: the strict rowlock_client_free().
 *
 * @client  may be NULL. Freed if and only if 0 is returned.
 *
 * Returns 0; ROWLOCK_EHELD: locks, watches or observers of it are not freed
 * yet; ROWLOCK_EINVAL: called from a callback of the client; ROWLOCK_EFORKED.
 * After an error nothing was changed. Blocks up to call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_client_try_free(
    struct rowlock_client *client, struct rowlock_errinfo *reterr);

/** The server that the client was opened on, as its messages name it, such as
 *  "db1:3306 (MariaDB 10.11.19)". Valid until the client is freed. Does not
 *  block; any thread. */
ROWLOCK_API const char *rowlock_client_server(
    const struct rowlock_client *client);

/* --------------------------------------------------------------- lock */

/**
 * A handle on a name.
 *
 * The owner of a hold is the thread that acquired it, through this handle: that
 * thread may acquire it again through the same handle, one level more each
 * time. Another handle on the name excludes, even in the same thread; flags
 * change that.
 *
 * Threads: any thread may call rowlock_cancel(), rowlock_held() and
 * rowlock_remaining_ms() at any time before rowlock_free(); all other calls
 * come from one thread at a time. Threads that compete have a handle each.
 *
 * A thread that ends while it owns a hold loses it, as nobody else could
 * release it: by returning, pthread_exit() or pthread_cancel(). The lost
 * callback runs, and any thread may then release or free the handle. A hold
 * that has to outlive its thread needs ROWLOCK_OWNER_HANDLE. Leases that are
 * held at exit() end with their TTL.
 *
 * pthread_cancel() takes effect after a call of this library, not within it:
 * end a wait with rowlock_cancel().
 */
struct rowlock;

/**
 * Make a handle for @name. Nothing is sent to the server.
 *
 * @name      1 to 100 characters of UTF-8, compared byte by byte; no control
 *            characters, no blank at the end
 * @options   NULL for the defaults
 * @ret_lock  owned by the caller: rowlock_free()
 *
 * Returns 0; ROWLOCK_ENAME; ROWLOCK_EINVAL (an option); ROWLOCK_EUNSUPPORTED
 * (the row strategy on a server with several writers); ROWLOCK_ENOMEM;
 * ROWLOCK_EFORKED. Does not block.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_new(struct rowlock_client *client,
					  const char *name,
					  const struct rowlock_options *options,
					  struct rowlock **ret_lock,
					  struct rowlock_errinfo *reterr);

/**
 * Release every level that @lock holds, whichever thread owns it, and free it.
 *
 * An acquire that is under way in another thread is canceled first and waited
 * for, and so is a lost callback, unless this call comes from it. A release
 * that fails is logged; the client goes on trying to remove the row. The
 * transaction of an open rowlock_begin() is left to the caller, with autocommit
 * and MYSQL_OPT_RECONNECT off: roll it back and turn them on again, or close
 * the connection. In a child of fork() this does nothing. Blocks up to
 * call_timeout_ms, and for a callback that runs.
 *
 * @lock  may be NULL
 */
ROWLOCK_API void rowlock_free(struct rowlock *lock);

/**
 * Free a handle that holds nothing: the strict rowlock_free(). A hold that was
 * lost does not count.
 *
 * @lock  may be NULL. Freed if and only if 0 is returned.
 *
 * Returns 0; ROWLOCK_EHELD: it holds the lock, or a call or a transaction of it
 * is under way; ROWLOCK_EFORKED. After an error nothing was changed. Waits for
 * a lost callback of this lock that is running, unless it is called from it.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_try_free(struct rowlock *lock,
					       struct rowlock_errinfo *reterr);

/** Free *@lock and set it to NULL: for __attribute__((cleanup)). */
static inline void rowlock_freep(struct rowlock **lock)
{
	rowlock_free(*lock);
	*lock = NULL;
}

/** Free *@client and set it to NULL: for __attribute__((cleanup)). */
static inline void rowlock_client_freep(struct rowlock_client **client)
{
	rowlock_client_free(*client);
	*client = NULL;
}

/**
 * Hold the lock, waiting up to @wait_ms for it.
 *
 * Waiters of this client are served first come, first served. So are clients,
 * by the server's line, for waits of any length: only a try, or the first
 * acquire of a client within its first two seconds, may overtake a waiter. A
 * waiter loses its place if its connection ends, or if its process stands still
 * for four seconds when it is its turn. Where GET_LOCK() does not reach all
 * clients (Galera, some proxies) waiters poll, and chance decides. A dead
 * holder is removed first.
 *
 * @wait_ms  0: try. ROWLOCK_FOREVER: no limit.
 *
 * While ALTER TABLE or the like has the table of rows, or waits for the end of
 * a hold, a try under the row strategy is ROWLOCK_EDB after a second: whether
 * the name is held is not known.
 *
 * Returns 0: held. ROWLOCK_EBUSY (only if @wait_ms is 0); ROWLOCK_ETIMEDOUT;
 * ROWLOCK_ECANCELED; ROWLOCK_EDEADLOCK: the owner has it and the lock is not
 * re-entrant, or the calling thread holds it through another handle and would
 * wait for itself (a try is ROWLOCK_EBUSY then); ROWLOCK_ELOST, once, if the
 * handle's last hold was lost and not released: acquire again (never with
 * ROWLOCK_NOT_REENTRANT); ROWLOCK_ENOTOWNER,
 * ROWLOCK_EINVAL: another thread holds it, or waits, with this handle; and the
 * server errors. After a server error the lock is not held; if the answer was
 * lost, a row of ours may keep the name busy until the server answers the
 * client again, or in the worst case ends the connection itself: about a TTL
 * and 40 s.
 *
 * Blocks up to @wait_ms, and at most 100 ms more; with @wait_ms 0 at most
 * call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_acquire(struct rowlock *lock,
					      uint64_t wait_ms,
					      struct rowlock_errinfo *reterr);

/**
 * Count one level down; at the last level give the lock up.
 *
 * Returns 0: given up, or one level less. ROWLOCK_ENOTHELD: this handle has no
 * hold; ROWLOCK_ENOTOWNER: another thread's; nothing was changed.
 * ROWLOCK_EHELD: a transaction of rowlock_begin() is open; nothing was changed.
 * ROWLOCK_ELOST: the hold was lost before, and others may have touched what it
 * protected. ROWLOCK_EUNKNOWN: its row is gone, but an answer was lost: either
 * this release removed it, or somebody else did before; or an earlier
 * rowlock_commit_release() or rowlock_once_end() did, whose outcome is not
 * known. And the server errors:
 * the lock is no longer held here, whether it was lost before is not known, and
 * the client goes on trying to remove the row, which ends with its session at
 * the latest.
 *
 * The next waiting thread of this client may get the hold without the server
 * (handover_ms). A break that only the server knows of is then its loss.
 *
 * Blocks for one round trip, at most call_timeout_ms; not at all if the hold is
 * handed over.
 */
ROWLOCK_API int rowlock_release(struct rowlock *lock,
				struct rowlock_errinfo *reterr);

/**
 * Is the lock held through this handle, by our own clock?
 *
 * Returns 1 or 0: 0 until rowlock_acquire() is about to return 0, and for ever
 * once the hold's deadline has passed, even if nobody else has taken the lock,
 * or a call that was to release it by its commit is ROWLOCK_EUNKNOWN.
 * It stays 1 after a break until the next heartbeat (a third of the TTL):
 * rowlock_verify() asks at once. Under ROWLOCK_ROW it may stay 1 for
 * milliseconds after others have ended the connection, or until the idle bound
 * if the network is down as well. Does not block.
 */
ROWLOCK_API int rowlock_held(const struct rowlock *lock);

/**
 * Ask the server whether the hold is still there. This finds a break at once,
 * and what no clock shows (a paused virtual machine).
 *
 * Returns 0: held now. ROWLOCK_ENOTHELD; ROWLOCK_ENOTOWNER; ROWLOCK_ELOST;
 * and the server errors: nothing is known, the hold is unchanged.
 *
 * Blocks for one round trip (three in a group of MySQL with several primaries,
 * whose member first catches up), at most call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_verify(struct rowlock *lock,
					     struct rowlock_errinfo *reterr);

/**
 * The fencing token of the present hold: larger than every token that earlier
 * holds of this name drew, and less than 2^53. Give it to whatever the lock
 * protects, and let that refuse smaller ones.
 *
 * The first call in a hold draws it: one commit, under row two round trips.
 * Later calls in the hold return the same number without I/O. A client never
 * shows a smaller token than before, even after a failover that lost some.
 *
 * Returns 0; ROWLOCK_ENOTHELD; ROWLOCK_ENOTOWNER; ROWLOCK_ELOST: the hold is
 * over, as the release will say, too; ROWLOCK_EUNSUPPORTED: a multi-lock, a
 * semaphore; and the server errors: try again. Blocks at most call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_token(struct rowlock *lock,
					    uint64_t *ret_token,
					    struct rowlock_errinfo *reterr);

/** Tells why the hold of @lock was lost, such as "its connection ended"; or why
 * it will be, if it is held and its last heartbeat has failed. Returns NULL if
 * all is well, or it was released. The text is valid until the client is freed,
 * or the lock. Any thread, also in the lost callback. Does not block. */
ROWLOCK_API const char *rowlock_lost_reason(const struct rowlock *lock);

/** How long the hold is good by our own clock if the server stays silent from
 *  now on; 0 if not held. Does not block. */
ROWLOCK_API uint64_t rowlock_remaining_ms(const struct rowlock *lock);

/** The random number of the request by which this lease was acquired: that of
 *  its row, as rowlock_list() shows it. Several holds of one client may follow
 *  each other in one row (handover_ms). 0 if not held, or under ROWLOCK_ROW.
 *  Does not block. */
ROWLOCK_API uint64_t rowlock_attempt(const struct rowlock *lock);

/** How many levels this handle holds; 0 if not held. Does not block. */
ROWLOCK_API unsigned int rowlock_depth(const struct rowlock *lock);

/** The handle's name (of a multi-lock all of them, with a line feed between
 *  them); valid as long as the handle. NULL for NULL. Does not block. */
ROWLOCK_API const char *rowlock_name(const struct rowlock *lock);

/**
 * End the wait of the rowlock_acquire() that is under way on @lock, with
 * ROWLOCK_ECANCELED. If the grant came first, it returns 0. Nothing is
 * remembered: the next acquire is not touched.
 *
 * A wait ends at once, here and in the server. A statement that asks for a
 * lease is not taken back: the acquire awaits its answer, call_timeout_ms at
 * most.
 *
 * Any thread, also in the lost callback; does not block. Not async-signal-safe.
 *
 * Returns 1 if an acquire was under way, else 0: to end one that may begin at
 * this moment, set a flag of your own for it to read, and call this again until
 * it has returned.
 */
ROWLOCK_API int rowlock_cancel(struct rowlock *lock);

/** Tells that the hold of @lock is lost. */
typedef void (*rowlock_lost_fn)(struct rowlock *lock, void *arg);

/**
 * Have @fn called once for each hold of @lock that is lost: its deadline has
 * passed, its session was evicted, its connection ended, its maximum hold is
 * over, it was broken, or the thread that owned it ended. Not if the release
 * finds the loss, and only for a hold that rowlock_acquire() returned.
 *
 * @fn   NULL: no callback. Replaces the one before. A loss that nobody was told
 *       of yet is told to @fn. It runs on a thread of the client made for this,
 *       one callback after the other; it may call every function but
 *       rowlock_client_free(), and should return soon. It must not release: a
 *       late callback may find the lock held again.
 * @arg  passed to @fn
 *
 * Any thread. Waits for a callback of this lock that is running, unless it is
 * called from it: afterwards the old @fn is not called any more.
 */
ROWLOCK_API void rowlock_on_lost(struct rowlock *lock, rowlock_lost_fn fn,
				 void *arg);

/** The function that rowlock_execute() runs while it holds @lock. It may ask
 *  @lock whether it is held and for its token; it must not free it. */
typedef void (*rowlock_execute_fn)(struct rowlock *lock, void *arg);

/**
 * Run @fn while holding @name: acquire, call, release.
 *
 * Returns 0: @fn has run, and the lock was held from before its start until
 * after its end. ROWLOCK_ELOST: @fn has run, but the lock was lost before it
 * ended. ROWLOCK_EUNKNOWN: @fn has run, but its release failed or its answer
 * was lost, so it is not known whether the lock was held to the end. Every
 * other code is rowlock_new()'s or rowlock_acquire()'s: @fn has not run.
 *
 * @options  as in rowlock_new()
 * @wait_ms  as in rowlock_acquire()
 *
 * Blocks as rowlock_acquire() and rowlock_release() do. Any thread.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_execute(
    struct rowlock_client *client, const char *name,
    const struct rowlock_options *options, uint64_t wait_ms,
    rowlock_execute_fn fn, void *arg, struct rowlock_errinfo *reterr);

#ifdef __cplusplus
}
#endif

#endif /* ROWLOCK_H */
