/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_OPTIONS_H
#define ROWLOCK_OPTIONS_H

/**
 * The options of a lock and of a client. <rowlock.h> includes this header.
 */

#include <stddef.h>
#include <stdint.h>

/* --------------------------------------------------------------- lock */

/** How a lock lives in the database. One name under the two strategies is two
 *  different locks. Use ROWLOCK_LEASE unless you need what only the other can
 *  do. */
enum rowlock_strategy {
	/** A committed row, kept alive by this client's heartbeat. It survives
	 *  a broken connection and a server restart, and ends one TTL after its
	 *  process has died. Fine for hours. */
	ROWLOCK_LEASE = 0,
	/** An open transaction that has SELECT ... FOR UPDATE on the name's row
	 *  of business_lock. Waiters queue in the server. The name is free the
	 *  moment the process dies, and lost when the connection or the server
	 *  ends. For short holds: on MariaDB an open transaction keeps undo
	 *  history back. It excludes, and is excluded by, other programs that
	 *  lock this row. */
	ROWLOCK_ROW = 1,
};

/** Flags of a lock; or them together. */
enum rowlock_flags {
	/** The owner gets ROWLOCK_EDEADLOCK instead of one level more. */
	ROWLOCK_NOT_REENTRANT = 1 << 0,
	/** The owner is this handle: any thread may release what it holds, and
	 *  the hold outlives the thread that acquired it. For event loops and
	 *  thread pools. */
	ROWLOCK_OWNER_HANDLE = 1 << 1,
	/** Draw the fencing token with the grant: rowlock_token() is certain
	 *  once rowlock_acquire() has returned 0. One round trip and commit
	 *  more, except for a lease that is free at once. */
	ROWLOCK_TOKEN_WITH_GRANT = 1 << 2,
	/** The owner is the calling thread, whichever handle it uses: what it
	 *  holds by one handle with this flag it enters again by another one
	 *  with this flag. Each level is released through the handle that
	 *  acquired it. Not with ROWLOCK_OWNER_HANDLE. */
	ROWLOCK_OWNER_THREAD = 1 << 3,
};

struct rowlock_options {
	size_t size;                    /* sizeof(struct rowlock_options) */
	enum rowlock_strategy strategy; /* default ROWLOCK_LEASE */
	unsigned int flags;             /* enum rowlock_flags */
	/** A hold ends this long after its acquire was sent, even if its owner
	 *  is alive: 1,000 to 2,592,000,000 (30 days). Default: no maximum. */
	uint64_t max_hold_ms;
	/** For people: rowlock_list() shows it. Default: none. The row strategy
	 *  stores it only when it makes the name's row. */
	const char *info;
	/** The name stays taken for at least this long after its grant, even if
	 *  the hold is released before, or its host dies: 1 to 2,592,000,000
	 *  (30 days). So a short job that ten hosts start within this time runs
	 *  once at most. From the release, or the death, until then the row has
	 *  no holder (ROWLOCK_STATE_KEPT); rowlock_break() takes it. Leases
	 *  only: neither row locks, nor read/write locks, semaphores,
	 *  multi-locks and elections. Two round trips and commits more with the
	 *  grant. The server's clock tells when the time is over; if it was set
	 *  back, or does not decide (ROWLOCK_OBSERVE_BEATS, Galera, a group),
	 *  only clients that look for as long find out. Default: not at all.
	 */
	uint64_t at_least_ms;
	/** After an end that its owner did not ask for (it died, it was away
	 *  for longer than the TTL, its thread ended) nobody gets the name for
	 *  this long: 1 to 2,592,000,000 (30 days). In that time what it has
	 *  sent to other systems arrives, or is given up. A release frees the
	 *  name at once, and so do rowlock_free() and rowlock_break(); when
	 *  max_hold_ms is over the name is free, whatever happened before.
	 *  The row is ROWLOCK_STATE_KEPT meanwhile. Not with at_least_ms. The
	 *  options of the outermost level count for a hold with several.
	 *  It costs the same, is for the same locks, and knows the end of the
	 *  time in the same way. Default: no delay. */
	uint64_t delay_after_loss_ms;
};

#define ROWLOCK_OPTIONS_DEFAULT                                                \
	{                                                                      \
		sizeof(struct rowlock_options), ROWLOCK_LEASE, 0, 0, NULL, 0,  \
		    0                                                          \
	}

/* ------------------------------------------------------------- client */

enum rowlock_log_level {
	ROWLOCK_LOG_ERROR = 1,
	ROWLOCK_LOG_WARNING = 2,
	ROWLOCK_LOG_INFO = 3,
	ROWLOCK_LOG_DEBUG = 4,
};

/**
 * Receives the library's log lines. @message is one line without newline, valid
 * during the call; names in it are escaped. Any thread of the client calls it,
 * and any that calls the library, with no lock of the library held; it must not
 * call the library. It must not wait for a reader either, as a write to a full
 * pipe does: the thread that keeps the leases alive may be the one that calls.
 */
typedef void (*rowlock_log_fn)(enum rowlock_log_level level,
			       const char *message, void *arg);

/** The answer to a request to give a lease back (rowlock_revoke()). */
enum rowlock_answer {
	ROWLOCK_ANSWER_NONE = 0,  /* the holder has not said that it knows */
	ROWLOCK_ANSWER_HEARD = 1, /* it knows, and says no more */
	ROWLOCK_ANSWER_LATER = 2, /* it gives the lease back when it is done */
	ROWLOCK_ANSWER_NO = 3,    /* it does not */
	ROWLOCK_ANSWER_UNASKED = 4, /* there is no request */
};

/** A request to give a lease back. An unknown string is "". */
struct rowlock_revocation {
	size_t size; /* sizeof(struct rowlock_revocation) */
	enum rowlock_answer answer;
	unsigned int pid;   /* of the one who asks, */
	uint64_t attempt;   /* rowlock_attempt() of the hold */
	char name[408];     /* that is held */
	char host[1024];    /* on this host, */
	char program[1024]; /* in this program, */
	char reason[1024];  /* and why */
	char asked_at[32];  /* UTC, "2026-11-20 12:00:00.000000" */
};

/**
 * Receives a request for a lease of this client, or for one name of several
 * that it holds together, and returns the answer: _HEARD, _LATER or _NO. Where
 * the answer does not reach the server the same request comes once more.
 *
 * It runs on a thread of the client that has more to do: it must return at
 * once, and must not call the library. So it leaves word, and another thread
 * releases. @asked is valid during the call.
 */
typedef enum rowlock_answer (*rowlock_revoke_fn)(
    const struct rowlock_revocation *asked, void *arg);

/** Flags of a client; or them together. */
enum rowlock_client_flags {
	/** Only one node of this Galera cluster or replication group is ever
	 *  written to, and I know how that is enforced: allow the row strategy
	 *  there. Without the flag it is refused (ROWLOCK_EUNSUPPORTED), as it
	 *  does not exclude between nodes. */
	ROWLOCK_SINGLE_WRITER = 1 << 0,
	/** Never let the server's clock decide that a session is dead; only
	 *  what this client has seen: no beat for the session's TTL and a
	 *  margin. A dead holder's name then takes up to one TTL longer. Always
	 *  so on Galera. */
	ROWLOCK_OBSERVE_BEATS = 1 << 1,
	/** Talk to a server on another host without TLS, or without verifying
	 *  its certificate. An attacker in the network can then take your locks
	 *  and read the traffic, but not the password (see unverified_auth).
	 *  The dsn and the option files are still heeded: ssl-enforce
	 *  requires TLS, ssl-verify-server-cert verifies, and ssl-ca refuses a
	 *  certificate of any other authority. Another host is any but a socket
	 *  file, "localhost", or a literal loopback address. */
	ROWLOCK_TLS_UNVERIFIED = 1 << 2,
	/** Read no option file: dsn and ROWLOCK_DSN are complete. */
	ROWLOCK_NO_DEFAULTS = 1 << 3,
	/** Leave dead leases to other clients, or to rowlock-reaperd. */
	ROWLOCK_NO_REAPER = 1 << 4,
	/** Give each released name back to the server, even if a thread of
	 *  this client waits for it. */
	ROWLOCK_NO_HANDOVER = 1 << 5,
	/** Wait for leases by asking about 20 times a second, without a
	 *  connection that waits in the server. */
	ROWLOCK_POLL = 1 << 6,
};

struct rowlock_client_options {
	size_t size; /* sizeof(struct rowlock_client_options) */

	/* ---- What you will set */

	/**
	 * The server, as a connection string:
	 * "host=db1;port=3306;user=app;password={a;b};database=app". Keys that
	 * it lacks are taken from the environment variable ROWLOCK_DSN,
	 * another such string, and then from the option files, key by key:
	 * rowlock-connect(7) has the keys. Default: only those two. All are
	 * read again for each connection.
	 *
	 * ROWLOCK_EINVAL, before anything is connected, for what is not
	 * understood: an unknown key, a bad number, an entry without '=', the
	 * same key with two values, an empty host or socket. The message has
	 * its place and what to write instead. ROWLOCK_DSN
	 * is not read where secure_getenv(3) finds nothing.
	 */
	const char *dsn;
	/** How long this client's leases outlive its last heartbeat: 1,000 to
	 *  86,400,000. Default 30,000. A heartbeat is sent every third of it;
	 *  more often if it is below 30,000, up to 24 times in it, so that
	 *  leases outlast a server that stands still for most of it. */
	uint64_t ttl_ms;
	/** The program's name for rowlock_list() and operators: at most 255
	 *  characters. Default: that of the running program. */
	const char *program;
	/** Default: silent. */
	rowlock_log_fn log;
	void *log_arg;
	/** Lines above this level are not made. Default ROWLOCK_LOG_INFO. */
	enum rowlock_log_level log_level;
	/** enum rowlock_client_flags. */
	unsigned int flags;

	/* ---- Option files */

	/** An option file to read instead of the standard ones, by the rules of
	 *  MariaDB's own programs. It is read before each connect, wherever
	 *  the program's current directory is by then. ROWLOCK_EINVAL if
	 *  it cannot be read, if everybody can write it, or if it has none of
	 *  the groups. */
	const char *defaults_file;
	/** The group that is read besides [client]. Default "rowlock". An
	 *  unknown key in it is ROWLOCK_EINVAL, and so is a group of nearly the
	 *  same name if this one is missing. */
	const char *defaults_group;
	/** "_two": read [client_two] and [rowlock_two] as well. Default:
	 *  $MARIADB_GROUP_SUFFIX, else $MYSQL_GROUP_SUFFIX. */
	const char *defaults_group_suffix;
	/** Names of authentication plugins, with commas, that may send the
	 *  password to a server that was not verified: rowlock(1). If the
	 *  server has let in by a hash that it may forget, this is logged as a
	 *  warning: rowlock-connect(7), "MYSQL FORGETS PASSWORDS".
	 *  Default: none. ROWLOCK_EAUTH if the server asks for another. */
	const char *unverified_auth;

	/* ---- Tuning: rowlock(7) explains the mechanisms */

	/** The limit for opening the client's first connections, including name
	 *  resolution: 100 to 60,000. Default: the key connect-timeout (in
	 *  seconds), else 5,000. */
	uint64_t connect_timeout_ms;
	/** The limit for calls without a wait of their own: release, verify,
	 *  token, list, break, reap. Default 5,000; 100 to 60,000. */
	uint64_t call_timeout_ms;
	/** The row strategy's idle bound: how long a hold outlives a host that
	 *  vanished without a word. Default 10,000; 2,000 to 3,600,000, rounded
	 *  up to seconds. A hold is pinged 24 times in it, and lasts as long as
	 *  it while the server answers nobody. */
	uint64_t row_idle_ms;
	/** How often dead clients' leases are removed. Default 60,000; 100 to
	 *  86,400,000. One client of a database does it for all. */
	uint64_t reap_interval_ms;
	/** A released name goes to the next waiting thread of this client at
	 *  once, without the server, at most this often after the server's
	 *  grant (default 10,000; 1 to 1,000,000), */
	unsigned int handover_passes;
	/** and for at most this long (default 50; 1 to 60,000). Readers
	 *  (rowlock/rwlock.h) share one row for as long. */
	uint64_t handover_ms;
	/** How many leases this client may wait for in the server at a time,
	 *  each on its own connection. Further waiters poll. Default 16; 1 to
	 *  1,024. */
	unsigned int wait_connections;
	/** How many acquires, releases and draws of leases may share one round
	 *  trip. Default 256; 1 to 256. 1 suits a proxy that forbids several
	 *  statements in one text. */
	unsigned int batch_size;
	/** How long a server that took this client's account and tables before
	 *  may refuse them, as while a password is changed, an account is
	 *  locked or tables are made anew, until that is ROWLOCK_EAUTH or
	 *  ROWLOCK_ESCHEMA. Before it is ROWLOCK_ECONNECT, which a wait
	 *  outlasts, and is logged once (ROWLOCK_LOG_ERROR). Default 300,000;
	 *  1,000 to 86,400,000. */
	uint64_t refusal_timeout_ms;

	/* ---- Being asked to give a lease back: rowlock_revoke() */

	/** Called for each request, behind the next heartbeat (a third of
	 *  ttl_ms at most). Default: none, so nobody gets an answer. */
	rowlock_revoke_fn on_revoke;
	void *revoke_arg;
};

#define ROWLOCK_CLIENT_OPTIONS_DEFAULT                                         \
	{                                                                      \
		sizeof(struct rowlock_client_options), NULL, 0, NULL, NULL,    \
		    NULL, (enum rowlock_log_level) 0, 0, NULL, NULL, NULL,     \
		    NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL                \
	}

#endif /* ROWLOCK_OPTIONS_H */
