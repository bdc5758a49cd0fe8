/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_H
#define ROWLOCK_H

/**
 * rowlock - named locks for programs that live on MySQL or MariaDB.
 *
 * What holds for every function here, so that it need not be said each time:
 *
 *   Errors     int functions return 0 or one negative ROWLOCK_E*, nothing
 *              else. A lock is held if and only if the call that acquires it
 *              returned 0. A timeout is an error: "not held" never looks
 *              like success.
 *   Outputs    ret_* is written on success only, reterr on failure only;
 *              reterr may be NULL.
 *   Ownership  *_new() gives the caller an object, *_free() takes it back and
 *              accepts NULL. Strings passed in are copied.
 *   Options    Every options struct begins with its own size; make it with its
 *              _DEFAULT initialiser and change what you need. NULL stands for
 *              the defaults.
 *   Time       Durations are milliseconds and their names end in _ms. They are
 *              counted on CLOCK_BOOTTIME: a suspended host loses its holds as
 *              a dead one does.
 *   Threads    Said at each type. A function follows its first argument
 *              unless its own comment says otherwise.
 *   Fork       A child of fork() must not use its parent's client: every call
 *              returns ROWLOCK_EFORKED there, and neither sends nor closes
 *              anything. The child may exit, exec, or make a client of its own.
 *
 * What can go wrong with the server, the network or the account is common to
 * all calls that say "and the server errors":
 *   ROWLOCK_ECONNECT, ROWLOCK_EAUTH, ROWLOCK_ESCHEMA, ROWLOCK_EREADONLY,
 *   ROWLOCK_EDB, ROWLOCK_ENOMEM, ROWLOCK_ESYSTEM, ROWLOCK_EFORKED.
 * After ROWLOCK_EREADONLY, as from a primary that was demoted, the client gives
 * its connections to that server up, at most once a second, so that the next
 * call goes to where the server's name leads by then. So it does with those to
 * a node of Galera that has left its cluster (1047: ROWLOCK_ECONNECT); there an
 * acquire that may wait goes on by itself. Holds stay; those under ROWLOCK_ROW
 * until that is another server.
 *
 * What a lock promises, and what none can, is said in README.md. At most one
 * hold per name exists in any committed state of the database; a process that
 * was paused past its deadline cannot know it before its next call: so let the
 * COMMIT (rowlock/mysql.h) or the token (rowlock_token()) protect the data.
 */

#include <stddef.h>
#include <stdint.h>

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
	ROWLOCK_EBUSY = -1,      /* held by another; we did not wait */
	ROWLOCK_ETIMEDOUT = -2,  /* not got in all the time we waited */
	ROWLOCK_ECANCELED = -3,  /* rowlock_cancel() ended the wait */
	ROWLOCK_ELOST = -4,      /* was ours; expired or was taken away */
	ROWLOCK_EDEADLOCK = -5,  /* we would wait for ourselves */
	ROWLOCK_ENOTHELD = -6,   /* there is no hold to release or to ask for */
	ROWLOCK_ENOTOWNER = -7,  /* held, but not by the caller */
	ROWLOCK_EHELD = -8,      /* still in use; release or free it first */
	ROWLOCK_ENAME = -9,      /* not a name that can be locked */
	ROWLOCK_EINVAL = -10,    /* another argument is not allowed */
	ROWLOCK_ECONNECT = -11,  /* the server is out of reach */
	ROWLOCK_EAUTH = -12,     /* the server does not let this account in */
	ROWLOCK_ESCHEMA = -13,   /* the tables are missing or not as needed */
	ROWLOCK_EREADONLY = -14, /* the server takes no writes */
	ROWLOCK_EUNSUPPORTED = -15, /* this server cannot do that safely */
	ROWLOCK_EDB = -16,          /* the server refused for another reason */
	ROWLOCK_ENOMEM = -17,       /* out of memory */
	ROWLOCK_ESYSTEM = -18,  /* the system refused a thread or descriptor */
	ROWLOCK_EFORKED = -19,  /* this client belongs to the parent process */
	ROWLOCK_EBROKEN = -20,  /* the transaction had ended before */
	ROWLOCK_EUNKNOWN = -21, /* the outcome is not known */
};

/**
 * A room for the reason of a failure: what happened, to which name, on which
 * server, and what to do next. Lives on the caller's stack; needs no release.
 */
struct rowlock_errinfo {
	int code;           /* the ROWLOCK_E* that the function returned */
	unsigned int mysql; /* the server's or Connector/C's errno, 0 if none */
	char message[512];  /* always terminated, possibly cut */
};

/**
 * A few words for a ROWLOCK_E* ("held by another"), "unknown error" for any
 * other number. The text is static. Never blocks; any thread.
 */
ROWLOCK_API const char *rowlock_strerror(int error);

/** The library's version as text, e.g. "0.1.0". Static; any thread. */
ROWLOCK_API const char *rowlock_version(void);

/* ------------------------------------------------------------- client */

/**
 * One process's view of the locks: its connections, the threads that keep its
 * leases alive and remove dead ones, the queue of its own waiters.
 *
 * Threads: safe. One client per process and database is the normal case.
 */
struct rowlock_client;

/** How a lock lives in the database. One name under the two strategies is two
 *  different locks. */
enum rowlock_strategy {
	/**
	 * A committed row, kept alive by this client's heartbeat. Survives a
	 * broken connection and a server restart; ends a TTL after its process
	 * has died. Fine for hours.
	 */
	ROWLOCK_LEASE = 0,
	/**
	 * An open transaction that has SELECT ... FOR UPDATE on the name's row
	 * of business_lock. Waiters queue in the server; free the moment the
	 * process dies; lost when the connection or the server ends. For short
	 * holds: on MariaDB an open transaction keeps undo history back.
	 * Excludes, and is excluded by, other programs that lock this row.
	 */
	ROWLOCK_ROW = 1,
};

enum rowlock_log_level {
	ROWLOCK_LOG_ERROR = 0,
	ROWLOCK_LOG_WARNING = 1,
	ROWLOCK_LOG_INFO = 2,
	ROWLOCK_LOG_DEBUG = 3,
};

/**
 * Receives the library's log lines. @message is one line without newline,
 * valid during the call; names in it are escaped. Called from any thread of the
 * client, with no lock of the library held; it must not call the library.
 */
typedef void (*rowlock_log_fn)(enum rowlock_log_level level,
			       const char *message, void *arg);

/** Flags of a client; or them together. */
enum rowlock_client_flags {
	/**
	 * Only one node of this Galera cluster or replication group is ever
	 * written to, and I know how that is enforced: allow the row strategy
	 * there. Without the flag it is refused (ROWLOCK_EUNSUPPORTED), as it
	 * does not exclude between nodes.
	 */
	ROWLOCK_SINGLE_WRITER = 1 << 0,
	/**
	 * Never let the server's clock decide that a session is dead; only
	 * what this client has seen: no beat for the session's TTL and a
	 * margin. Then no assumption is made about the server's clock, and a
	 * dead holder's name takes up to one TTL longer. Always so on Galera.
	 */
	ROWLOCK_OBSERVE_BEATS = 1 << 1,
	/**
	 * Talk to a server on another host without TLS or without verifying
	 * its certificate. Whoever is on the network can then take your locks
	 * and read what is said, but not the password (see unverified_auth).
	 * What the dsn or the option file asks for is still done: ssl-enforce
	 * has TLS, ssl-verify-server-cert verifies, and a certificate that the
	 * authority named by ssl-ca has not signed is refused. Another host is
	 * any but a socket file, "localhost", or an address of loopback that is
	 * written out.
	 */
	ROWLOCK_TLS_UNVERIFIED = 1 << 2,
	/** Read no option file: dsn and ROWLOCK_DSN say all. */
	ROWLOCK_NO_DEFAULTS = 1 << 3,
};

struct rowlock_client_options {
	size_t size; /* set by ROWLOCK_CLIENT_OPTIONS_DEFAULT */

	/**
	 * Where the server is, as a connection string:
	 * "host=db1;port=3306;user=app;password={a;b};database=app". NULL if
	 * it is said elsewhere. Keys that it lacks are taken from ROWLOCK_DSN
	 * in the environment, another such string, and then from the option
	 * files, one by one, as the tools do (rowlock-connect(7)). All are read
	 * again for each connection.
	 *
	 * All that is not understood is ROWLOCK_EINVAL, with its place and what
	 * to write instead, before anything is connected: an unknown key, a
	 * number that is none, an entry without '=', the same key with two
	 * values, an empty host or socket. So is a port where no host or
	 * "localhost" leads to a socket file, and the server there listens on
	 * another port, once it has said so. Nothing is taken from the
	 * environment where secure_getenv(3) finds nothing.
	 */
	const char *dsn;
	/** An option file to read instead of the standard ones. NULL: those.
	 * They are read as MariaDB's own programs read them. One that cannot be
	 * read, that everybody can write, or that has groups and none that is
	 * read, is ROWLOCK_EINVAL. */
	const char *defaults_file;
	/** The group that is read besides [client]. NULL: "rowlock". All
	 * in it that is not understood is ROWLOCK_EINVAL, and so is a group
	 * that is missing where one is there that is written much like it. */
	const char *defaults_group;
	/** "_two": read [client_two] and [rowlock_two], too. NULL:
	 *  $MARIADB_GROUP_SUFFIX, else $MYSQL_GROUP_SUFFIX. */
	const char *defaults_group_suffix;

	/** How long this client's leases outlive its last heartbeat: 1,000 to
	 *  86,400,000. Default 30,000. The heartbeat is sent every third. */
	uint64_t ttl_ms;
	/** Bound for opening the client's first connections, name resolution
	 *  included: 100 to 60,000. 0 (the default): the seconds of the key
	 *  connect-timeout, 60 at most; 5,000 if there is none. */
	uint64_t connect_timeout_ms;
	/** Bound for calls that have no wait of their own (release, verify,
	 *  token, list, break, reap). Default 5,000; 100 to 60,000. */
	uint64_t call_timeout_ms;
	/** The row strategy's idle bound: how long a hold outlives a host that
	 *  vanished without a word. If only its connection went dead, the
	 *  client ends the session by another one, with KILL, and the name is
	 *  free at once; and no other hold is lost, as all connections are
	 *  asked at the same time, every third of the bound. If another thread
	 * on the vanished host waited for the same name in the server, it may
	 * become the holder then, for as long again. Default 10,000; 2,000 to
	 * 3,600,000, in whole seconds (rounded up). */
	uint64_t row_idle_ms;
	/** How often dead clients' leases are removed, about: of all clients
	 *  of a database one does it, as long as it lives; the others only
	 *  look whether it does (an account that may not write lock_token does
	 *  it by itself, the more rarely the more sessions there are).
	 *  Default 60,000; at least 100; 0: not by this
	 *  client (run rowlock-reaperd). Who asks for a name removes its dead
	 *  holder in any case. */
	uint64_t reap_interval_ms;
	/**
	 * Local hand-over: what one thread releases, the next one that waits
	 * for the name in this client has at once, without asking the server.
	 * Such a turn lasts for at most so long and so many passes since the
	 * server granted the name; then it goes back to the server, since other
	 * processes want their turn, too, and the holder cannot know of them.
	 * Longer turns are faster, shorter ones let others wait less. What is
	 * never handed over: a hold with a maximum, or to a waiter who wants
	 * one or gives another info. Readers (rowlock/rwlock.h) share a row
	 * for handover_ms after its grant.
	 *
	 * handover_ms: default 50; at most 60,000; 0: no hand-over.
	 * handover_passes: default 10,000; at most 1,000,000; 0: none.
	 */
	uint64_t handover_ms;
	unsigned int handover_passes;
	/** How many leases this client may wait for in the server at a time,
	 *  each on a connection of its own, which it keeps as long as it has
	 *  what it waited for. Those that find none free ask again and again,
	 *  politely: about 20 times a second, all of them in one statement. So
	 *  does the first in line for a holder that will not ring: one that got
	 *  the name together with others in one statement, or holds more than
	 *  64, or, on MySQL, has not waited for it; it is woken 25 to 75 ms
	 *  later, then. Which of the two it is, the log says at
	 *  ROWLOCK_LOG_DEBUG. Default 16; 0 to 1,024. */
	unsigned int wait_connections;
	/** How many acquires, releases and draws of leases may share one round
	 *  trip. A thread that is alone waits for nobody; where many meet, they
	 *  go together, as one statement of each kind. Default 256; 1 to 256;
	 *  1: each by itself, for a proxy that forbids several statements in
	 *  one text. Where one does, the client finds out, says so in the log
	 *  once, goes on one by one, and tries again once a minute.
	 *
	 *  All of them use one connection, the commit connection. A request
	 *  that has to wait for somebody's transaction, or for one that does,
	 *  uses one of up to 16 others, opened when they are needed; if all are
	 *  in use, it waits for one until its deadline. */
	unsigned int lease_group;
	/** enum rowlock_client_flags. Default 0. */
	unsigned int flags;

	/**
	 * Authentication plugins that may tell the password to a server that
	 * was not verified: their names, with commas. NULL: none, the default.
	 *
	 * Verified is who is behind a socket file, and who was by certificate
	 * (other hosts, but with ROWLOCK_TLS_UNVERIFIED; and with
	 * ssl-verify-server-cert) or fingerprint (ssl-fp). Any other may have
	 * got a server's port, and is told a hash of what it has sent, by
	 * mysql_native_password, client_ed25519, parsec, or
	 * caching_sha2_password as long as the server knows the account: a
	 * MySQL server that was just started does not. Who asks for more gets
	 * nothing, and that is ROWLOCK_EAUTH: name its public key
	 * (server-public-key=FILE), its authority, or the plugin here.
	 */
	const char *unverified_auth;

	/** Who we are, for rowlock_list() and operators. NULL: the name of the
	 *  running program. At most 255 characters. */
	const char *program;

	/** Default NULL: silent. */
	rowlock_log_fn log;
	void *log_arg;
	/** Lines above this level are not made. Default ROWLOCK_LOG_INFO. */
	enum rowlock_log_level log_level;
};

#define ROWLOCK_CLIENT_OPTIONS_DEFAULT                                         \
	{                                                                      \
		sizeof(struct rowlock_client_options), NULL, NULL, NULL, NULL, \
		    30000, 0, 5000, 10000, 60000, 50, 10000, 16, 256, 0, NULL, \
		    NULL, NULL, NULL, ROWLOCK_LOG_INFO                         \
	}

/**
 * Open a client: connect, check the server and the tables, start the threads
 * (all their signals blocked). The first client of a process initialises
 * Connector/C, which lets the process ignore SIGPIPE from then on. dlclose()
 * does not unload the library: threads that have held run it at their end.
 *
 * @options     NULL for the defaults (standard option files)
 * @ret_client  owned by the caller: rowlock_client_free()
 *
 * Returns 0; ROWLOCK_EINVAL (an option; the message names it); and the server
 * errors. ROWLOCK_ESCHEMA says which table or column is not right and which
 * command to run. Blocks up to connect_timeout_ms and call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_client_new(
    const struct rowlock_client_options *options,
    struct rowlock_client **ret_client, struct rowlock_errinfo *reterr);

/**
 * End a client: stop its threads, delete its session, close its connections.
 *
 * @client  may be NULL. Freed if and only if 0 is returned.
 *
 * Returns 0; ROWLOCK_EHELD: locks, or watches (rowlock/watch.h), of it are not
 * freed yet, nothing was changed; ROWLOCK_EINVAL: called from a callback of the
 * client; ROWLOCK_EFORKED. Blocks up to call_timeout_ms. No other call on the
 * client may be under way.
 */
ROWLOCK_API int rowlock_client_free(struct rowlock_client *client,
				    struct rowlock_errinfo *reterr);

/** The server that the client was opened on, as its messages name it, e.g.
 *  "db1:3306 (MariaDB 10.11.19)". Valid until the client is freed. Never
 * blocks; any thread. */
ROWLOCK_API const char *rowlock_client_server(
    const struct rowlock_client *client);

/* --------------------------------------------------------------- lock */

/**
 * A handle on a name.
 *
 * Threads: rowlock_cancel(), rowlock_held() and rowlock_remaining_ms() from
 * any thread at any time before rowlock_free(); the rest one thread at a time.
 * Threads that compete for one name take one struct rowlock each; they queue
 * inside the client, first come, first served, not in the database.
 *
 * pthread_cancel() of a thread that is inside a call of this library, or in a
 * function that the call runs, takes effect after the call: end a wait with
 * rowlock_cancel(). Such a function must return, and not end its thread.
 *
 * A thread that ends while it owns a hold loses it, as nobody else could
 * release it: by returning, pthread_exit() or pthread_cancel(), the main thread
 * too. Its lost callback runs, errors of the handle have "its owner ended" in
 * their message, and others have the name as soon as the server has been told.
 * Any thread may then release or free the handle. What the thread releases in a
 * destructor of pthread_key_create(), in the first two rounds of those, is
 * released; what it acquires in one may outlive it by a third of the TTL, 30 s
 * at most. A hold that has to outlive its thread is one of
 * ROWLOCK_OWNER_HANDLE. The end of the process is not the end of its threads:
 * leases that are held at exit() end with their TTL.
 */
struct rowlock;

/** Flags of a lock; or them together. */
enum rowlock_flags {
	/** The owner who has the name already gets ROWLOCK_EDEADLOCK instead
	 *  of one level more. */
	ROWLOCK_NOT_REENTRANT = 1 << 0,
	/** The owner is this handle, not the calling thread: any thread may
	 *  release what it holds, and it is held on when the thread that
	 *  acquired it ends. For event loops and thread pools. */
	ROWLOCK_OWNER_HANDLE = 1 << 1,
	/** Draw the fencing token with the grant, as part of the acquire: it
	 *  is there when rowlock_acquire() returns 0. A round trip and a commit
	 *  more; where a lease is free at once, and the client says nothing
	 *  else at that moment, the same round trip, and on MariaDB the same
	 *  commit. */
	ROWLOCK_TOKEN_WITH_GRANT = 1 << 2,
};

struct rowlock_options {
	size_t size;                    /* set by ROWLOCK_OPTIONS_DEFAULT */
	enum rowlock_strategy strategy; /* default ROWLOCK_LEASE */
	unsigned int flags;             /* enum rowlock_flags; default 0 */
	/** A hold ends so long after its acquire was sent, even if its owner
	 *  is alive. 1,000 to 2,592,000,000 (30 days); default 0: no
	 *  maximum. */
	uint64_t max_hold_ms;
	/** For people: shown by rowlock_list(). Default NULL: none. The row
	 *  strategy stores it only when it makes the name's row. */
	const char *info;
};

#define ROWLOCK_OPTIONS_DEFAULT                                                \
	{                                                                      \
		sizeof(struct rowlock_options), ROWLOCK_LEASE, 0, 0, NULL      \
	}

/**
 * Make a handle for @name. Nothing is sent to the server.
 *
 * @name      1 to 100 characters of UTF-8, compared byte by byte; no control
 *            characters, no blank at the end
 * @options   NULL for the defaults
 * @ret_lock  owned by the caller: rowlock_free(), before the client's end
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
 * Give a handle back.
 *
 * @lock  may be NULL. Freed if and only if 0 is returned.
 *
 * Returns 0; ROWLOCK_EHELD: it holds the lock, or a call on it is under way:
 * nothing was changed; ROWLOCK_EFORKED. A hold that was lost does not count.
 *
 * Waits for a lost callback of this lock that is running, unless it is called
 * from that callback.
 */
ROWLOCK_API int rowlock_free(struct rowlock *lock,
			     struct rowlock_errinfo *reterr);

/**
 * Hold the lock, waiting up to @wait_ms for it.
 *
 * An owner (by default the calling thread) that has the name already, through
 * any handle of the client, counts one level up at once and must release as
 * often, each level through the handle that acquired it. Local waiters are
 * served first come, first served, and have it without a round trip from the
 * thread that releases it, for a turn (client option handover_ms). Between
 * processes: under row the server's order; under lease the server's
 * order, too, where GET_LOCK() works: a waiter stands in the server's line for
 * the name's doorbell, and is woken when the name is given back. Where it does
 * not (Galera, a proxy that forbids it, no connection to spare: see
 * wait_connections) waiters ask again with back-off, and chance decides. Two
 * kinds of acquires may jump the line: a try, and the first of a client that
 * did not know that others wait. The log tells which of the two is in use
 * (ROWLOCK_LOG_DEBUG; once at ROWLOCK_LOG_WARNING if the server refuses).
 *
 * @wait_ms  0: try; two round trips at most for a name that is held. A dead
 *           holder is removed first, also by a try. ROWLOCK_FOREVER: no limit.
 *
 * Returns 0: held. ROWLOCK_EBUSY (only if @wait_ms is 0); ROWLOCK_ETIMEDOUT;
 * ROWLOCK_ECANCELED; ROWLOCK_EDEADLOCK (ROWLOCK_NOT_REENTRANT, and the owner
 * has it); ROWLOCK_ELOST, once: this handle's last hold was lost and not
 * released yet; it is over now, and the next acquire starts afresh (with
 * ROWLOCK_NOT_REENTRANT this one does); ROWLOCK_ENOTOWNER, ROWLOCK_EINVAL:
 * another thread holds it, or waits, with this handle; and the server errors.
 * After a server error the lock is not held here; if the answer was lost, a row
 * of ours may keep the name busy until the server answers the client again. A
 * request whose connection cannot be ended (it is on another node of a cluster,
 * or KILL is refused) may still make one, for half a second at a time, until
 * the server has ended that connection itself, in about a TTL and 40 s.
 *
 * Blocks up to @wait_ms, and at most 100 ms more. With @wait_ms 0 it takes as
 * long as the server needs to answer, at most call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_acquire(struct rowlock *lock,
					      uint64_t wait_ms,
					      struct rowlock_errinfo *reterr);

/**
 * Count one level down; at the last level give the lock up.
 *
 * Returns 0: given up (or one level less). ROWLOCK_ENOTHELD: this handle has no
 * hold; ROWLOCK_ENOTOWNER: another's; nothing was changed. ROWLOCK_ELOST:
 * the hold was lost before; what the lock protected may have been touched by
 * others since. ROWLOCK_EUNKNOWN: its row is gone, but an answer was lost, and
 * this release may have removed it, or somebody else before. And the server
 * errors: the lock is not held here any more in any case, whether it was lost
 * before is not known, and the client goes on trying to remove the row, which
 * ends with its session at the latest.
 *
 * If a thread of this client waits for the name it may have the hold from here
 * on (handover_ms): a break that only the server knows is told to that one.
 *
 * Blocks for one round trip, at most call_timeout_ms; handed over, not at all.
 */
ROWLOCK_API int rowlock_release(struct rowlock *lock,
				struct rowlock_errinfo *reterr);

/**
 * Is the lock held through this handle, by our own clock? 1 or 0.
 *
 * False until rowlock_acquire() is about to return 0, and for ever once the
 * hold's deadline has passed, even if nobody else has taken the lock; under
 * ROWLOCK_ROW also once the end of its connection was heard of, which takes
 * milliseconds if others ended it, and until the idle bound if no packet gets
 * through just then. No I/O; does not block. 0 in a
 * forked child.
 */
ROWLOCK_API int rowlock_held(struct rowlock *lock);

/**
 * Ask the server whether the hold is still there: detects at once what
 * rowlock_held() learns from the next heartbeat (a break), and what no clock
 * shows (a paused virtual machine).
 *
 * Returns 0: held now. ROWLOCK_ENOTHELD; ROWLOCK_ENOTOWNER; ROWLOCK_ELOST;
 * and the server errors: nothing is known, the hold is unchanged.
 *
 * Blocks for one round trip, at most call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_verify(struct rowlock *lock,
					     struct rowlock_errinfo *reterr);

/**
 * The fencing token of the present hold: larger than every token that earlier
 * holds of this name drew, and less than 2^53. Hand it to whatever the lock
 * protects, and let that refuse smaller ones.
 *
 * Where a server takes over that has lost the last commits, and whose clock is
 * behind, less is known. Then, as long as the client has a handle on the name,
 * the token is larger than each that it has shown of the name, and than each
 * that its watches and observers were told of: where the server draws a smaller
 * one, it is told, which takes two more commits.
 *
 * The first call in a hold draws it (one commit; under row two round trips);
 * later calls in the hold return the same number without I/O.
 *
 * Returns 0; ROWLOCK_ENOTHELD; ROWLOCK_ENOTOWNER; ROWLOCK_ELOST: the hold is
 * over, no token was shown; ROWLOCK_EUNSUPPORTED: a multi-lock, a semaphore;
 * and the server errors: may be asked again. Blocks for its round trips, at
 * most call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_token(struct rowlock *lock,
					    uint64_t *ret_token,
					    struct rowlock_errinfo *reterr);

/** How long the hold is still good by our own clock if nothing is heard from
 *  the server from now on; 0 if not held. No I/O; does not block. */
ROWLOCK_API uint64_t rowlock_remaining_ms(struct rowlock *lock);

/** How many levels this handle holds; 0 if not held. Does not block. */
ROWLOCK_API unsigned int rowlock_depth(struct rowlock *lock);

/** The handle's name (of a multi-lock all of them, with a line feed between
 *  them); valid as long as the handle. Does not block. */
ROWLOCK_API const char *rowlock_name(const struct rowlock *lock);

/**
 * End the wait of the rowlock_acquire() that is under way on @lock, with
 * ROWLOCK_ECANCELED. If none is, the next one ends so at once. If the grant
 * came first, rowlock_acquire() returns 0 and nothing is remembered.
 *
 * A wait ends at once, in this client as in the server. A statement that asks
 * for a lease does not wait there, and is not taken back: while its answer is
 * under way the acquire stays, at most call_timeout_ms where the server has
 * fallen silent.
 *
 * Any thread, also the lost callback's; does not block. Not async-signal-safe.
 */
ROWLOCK_API void rowlock_cancel(struct rowlock *lock);

/** Tells that the hold of @lock is lost. */
typedef void (*rowlock_lost_fn)(struct rowlock *lock, void *arg);

/**
 * Have @fn called once for each hold of @lock that is lost: when its deadline
 * passes, its session was evicted, its connection ended, its maximum hold is
 * over, it was broken or the thread that owned it ended. Not for a release.
 *
 * @fn   NULL: no callback. Replaces the one before. If the present hold was
 *       lost before the call, and nobody was told yet, @fn is called for it.
 *       It runs on a thread of the client made for this; it may call every
 *       function but rowlock_client_free(), and should return soon, since the
 *       callbacks of a client run one after the other. One that comes late may
 *       find the lock held again: it must not release it. Only a hold that
 *       rowlock_acquire() returned is told of; while that returns at the
 *       earliest.
 * @arg  passed to @fn
 *
 * Any thread. Waits for a callback of this lock that is running, unless it is
 * called from it: afterwards the old @fn is not called any more.
 */
ROWLOCK_API void rowlock_on_lost(struct rowlock *lock, rowlock_lost_fn fn,
				 void *arg);

/** Release every level of *@lock, then free it: for
 *  __attribute__((cleanup(rowlock_freep))). Errors are not reported. */
ROWLOCK_API void rowlock_freep(struct rowlock **lock);

/* ----------------------------------------------------- run one by one */

struct rowlock_execute_options {
	size_t size;      /* set by ROWLOCK_EXECUTE_OPTIONS_DEFAULT */
	uint64_t wait_ms; /* as in rowlock_acquire(); default 10,000 */
	const struct rowlock_options *lock; /* default NULL: the defaults */
};

#define ROWLOCK_EXECUTE_OPTIONS_DEFAULT                                        \
	{                                                                      \
		sizeof(struct rowlock_execute_options), 10000, NULL            \
	}

/** What rowlock_execute() runs while it holds @lock. It may ask @lock whether
 *  it is held and for its token; it must not free it. */
typedef void (*rowlock_execute_fn)(struct rowlock *lock, void *arg);

/**
 * Run @fn while holding @name: acquire, call, release.
 *
 * Returns 0: @fn has run, and the lock was held from before its start until
 * after its end. ROWLOCK_ELOST: @fn has run, but the lock was lost before it
 * ended. ROWLOCK_EUNKNOWN: @fn has run, but its release failed, or its answer
 * was lost, so it is not known whether it was. Every other code is
 * rowlock_new()'s or rowlock_acquire()'s, and says that @fn has not run.
 *
 * Blocks as rowlock_acquire() and rowlock_release() do. Any thread.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_execute(
    struct rowlock_client *client, const char *name,
    const struct rowlock_execute_options *options, rowlock_execute_fn fn,
    void *arg, struct rowlock_errinfo *reterr);

/* --------------------------------------------------------- for people */

enum rowlock_state {
	ROWLOCK_STATE_HELD = 0,    /* by who lives; a writer may yet wait */
	ROWLOCK_STATE_DEAD = 1,    /* its holder is gone: next to ask gets it */
	ROWLOCK_STATE_FREE = 2,    /* row: known, nobody has it */
	ROWLOCK_STATE_UNKNOWN = 3, /* row: known; not looked whether held */
	ROWLOCK_STATE_WAITING = 4, /* a candidate, waits to be elected */
};

/** What a row is: of a read/write lock (rowlock/rwlock.h) there is one for the
 *  writer, also while it waits for readers to go, and one or several for a
 *  client's readers; of a semaphore (rowlock/semaphore.h) one for each permit;
 *  of an election (rowlock/election.h) one for each candidate that waits and
 *  has a weight, as the info says. */
enum rowlock_kind {
	ROWLOCK_KIND_LOCK = 0,
	ROWLOCK_KIND_WRITER = 1,
	ROWLOCK_KIND_READER = 2,
	ROWLOCK_KIND_PERMIT = 3,
	ROWLOCK_KIND_CANDIDATE = 4,
};

/** What is known of one name. Strings are "" and numbers 0 where nothing is
 *  known; all is valid during the call of rowlock_list_fn only. */
struct rowlock_entry {
	size_t size;
	enum rowlock_strategy strategy;
	enum rowlock_kind kind;
	enum rowlock_state state;
	const char *name;
	unsigned int slot; /* which of the rows of that name: 0 for a lock */
	const char *info;
	const char *host;        /* of the holder; row: as the server sees it */
	unsigned int pid;        /* of the holder; lease only */
	const char *program;     /* of the holder; lease only */
	const char *acquired_at; /* UTC, "2026-11-20 12:00:00.000000" */
	uint64_t held_ms;      /* since then, by the server; row: or the wait */
	uint64_t remaining_ms; /* until it expires if no beat comes */
	uint64_t session;
	uint64_t attempt;
	uint64_t token; /* lease: what this very hold has drawn last, 0: it has
			   drawn none; row: the last one drawn for the name */
	const char *drawn_at; /* when this hold did, UTC; lease only */
	uint64_t last_token;  /* the last one drawn for the name, by any hold */
	uint64_t expired_ms;  /* dead: for how long, 0: not known */
	uint64_t connection;  /* row: the holder's, its number; 0: not known */
	uint64_t collected;   /* watched: at least each collected token */
};

typedef int (*rowlock_list_fn)(const struct rowlock_entry *entry, void *arg);

struct rowlock_list_options {
	size_t size; /* set by ROWLOCK_LIST_OPTIONS_DEFAULT */
	/** Only names that match: SQL's LIKE with '*' and '?' instead of '%'
	 *  and '_' (a shell's pattern without brackets). NULL: all. */
	const char *pattern;
	/** Only this very name. NULL: all. */
	const char *name;
	/** Show the names of business_lock too (the row strategy). Default 1.
	 *  Who has one is told to an account that may see it (rowlock(1)). To
	 *  others its state is ROWLOCK_STATE_UNKNOWN. */
	int row;
	/** Show leases. Default 1. */
	int lease;
	/** Look whether rows are locked, by locking each for an instant: a
	 *  try by another program in that instant finds it busy. Default 0. */
	int probe;
};

#define ROWLOCK_LIST_OPTIONS_DEFAULT                                           \
	{                                                                      \
		sizeof(struct rowlock_list_options), NULL, NULL, 1, 1, 0       \
	}

/**
 * Call @fn for each name that is held, or known, in the order of strategy
 * (lease first), name and slot, as long as it returns 0. It runs on the calling
 * thread and must not call the library. 256 are asked for at a time (what comes
 * or goes meanwhile may be told or not), and who holds rows. Blocks, at most
 * call_timeout_ms for each question; a server that lies may never end them.
 * Any thread. Returns 0, also if @fn ended it; ROWLOCK_EINVAL; and the server
 * errors, perhaps after some calls of @fn.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_list(
    struct rowlock_client *client, const struct rowlock_list_options *options,
    rowlock_list_fn fn, void *arg, struct rowlock_errinfo *reterr);

/**
 * End the present hold of @name, whoever has it, against the holder's will.
 *
 * lease: of a read/write lock of that name (rowlock/rwlock.h) the holds of the
 * writer and of all readers end, too, and of a semaphore all permits in use.
 * Its row is deleted, and its holder's lost callback runs at its next heartbeat
 * (a third of its TTL) or rowlock_verify(). row: the holder's connection is
 * killed, where the account may find and kill it. One of this very client, on
 * whatever thread, it can always end: that is lost at once, and needs no right.
 *
 * Returns 0: there was a hold, and it is over. ROWLOCK_ENOTHELD: there was
 * none. ROWLOCK_ENAME, ROWLOCK_EINVAL; ROWLOCK_EUNSUPPORTED (row: the account
 * may not; the message has the statements for a DBA to type); and the server
 * errors. After one of those a row hold of this client is not held any more:
 * its row is free when the server has seen its connection end. Blocks, at most
 * call_timeout_ms. Any thread.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_break(struct rowlock_client *client,
					    enum rowlock_strategy strategy,
					    const char *name,
					    struct rowlock_errinfo *reterr);

struct rowlock_reap_options {
	size_t size;        /* set by ROWLOCK_REAP_OPTIONS_DEFAULT */
	unsigned int batch; /* rows looked up at a time; 1 to 500 (256) */
	uint64_t most_ms;   /* its time (60,000); the next call goes on there */
};

#define ROWLOCK_REAP_OPTIONS_DEFAULT                                           \
	{                                                                      \
		sizeof(struct rowlock_reap_options), 256, 60000                \
	}

/** What one rowlock_reap() removed. */
struct rowlock_reap_result {
	size_t size;      /* set by the caller: sizeof *result */
	uint64_t evicted; /* sessions that were dead */
	uint64_t swept;   /* leases of dead sessions, or past their maximum */
	uint64_t tokens;  /* tokens of names that drew none for 30 days, and
			     that nobody leases; 0 where many nodes write */
	int more;         /* its time was up, and there may be more */
};

/**
 * Remove what dead clients left behind, once: sessions whose time is up by the
 * server's clock (with ROWLOCK_OBSERVE_BEATS, on Galera, and after the
 * server's clock was seen to jump: those that this client has seen not beat
 * for their TTL and a margin, which takes two calls that far apart), then
 * leases without a session, then old tokens (each leaves a floor: the next
 * one of its name is larger). Rows are deleted by their keys, up to 256 by one
 * statement, with the condition checked again: a live lease is never touched,
 * and any number of reapers may run at once. After each statement that removes
 * many there is a rest, of up to 40 ms, so that others hardly notice. One log
 * line (ROWLOCK_LOG_INFO) per session, and per statement that removed leases.
 *
 * @result  may be NULL
 *
 * Returns 0; ROWLOCK_EINVAL; and the server errors: @result says what was done.
 * Blocks, at most most_ms and call_timeout_ms. Any thread.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_reap(
    struct rowlock_client *client, const struct rowlock_reap_options *options,
    struct rowlock_reap_result *result, struct rowlock_errinfo *reterr);

#ifdef __cplusplus
}
#endif

#endif /* ROWLOCK_H */
