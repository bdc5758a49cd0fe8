/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_ADMIN_H
#define ROWLOCK_ADMIN_H

/**
 * For operators: list the locks and the runs of jobs, ask for a lease, break a
 * lock, remove what dead clients left, read what a client has counted.
 *
 * The rules of rowlock.h (errors, outputs, ownership, options, time, threads,
 * fork) hold here.
 */

#include <rowlock.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rowlock_state {
	ROWLOCK_STATE_HELD = 0, /* its holder lives; a writer may yet wait */
	ROWLOCK_STATE_DEAD =
	    1, /* its holder is gone: the next to ask gets it */
	ROWLOCK_STATE_FREE = 2,    /* row: known, nobody has it */
	ROWLOCK_STATE_UNKNOWN = 3, /* row: known; not looked whether held */
	ROWLOCK_STATE_WAITING = 4, /* a candidate that waits for its election;
				      any waiter of rowlock_list_waiters() */
	ROWLOCK_STATE_KEPT = 5,    /* nobody holds it, but its name stays taken
				      until then: at_least_ms of its holder,
				      who has released it, or is gone, or
				      delay_after_loss_ms of one that is gone */
};

/** The kind of a row. A read/write lock has one for the writer, also while it
 * waits for readers to go, and one or several for a client's readers; a
 * semaphore has one for each permit in use; an election has one for each
 * waiting candidate with a weight, and the info says which. A waiter of a
 * read/write lock has no row yet: whether it is to read or to write the server
 * does not show. */
enum rowlock_kind {
	ROWLOCK_KIND_LOCK = 0,
	ROWLOCK_KIND_WRITER = 1,
	ROWLOCK_KIND_READER = 2,
	ROWLOCK_KIND_PERMIT = 3,
	ROWLOCK_KIND_CANDIDATE = 4,
	ROWLOCK_KIND_RWLOCK = 5, /* waits to read, or to write */
};

/** A name, and everything that is known of it. An unknown string is "" and an
 * unknown number 0. All of it is valid during the call of rowlock_list_fn only.
 */
struct rowlock_entry {
	size_t size; /* of the library's struct */
	enum rowlock_strategy strategy;
	enum rowlock_kind kind;
	enum rowlock_state state;
	unsigned int slot; /* which of the rows of that name: 0 for a lock */
	unsigned int pid;  /* of the holder; lease only */
	const char *name;
	const char *info;
	const char *host;        /* of the holder; row: as the server sees it */
	const char *program;     /* of the holder; lease only */
	const char *acquired_at; /* UTC, "2026-11-20 12:00:00.000000" */
	uint64_t held_ms;      /* since then, by the server; row: or the wait */
	uint64_t remaining_ms; /* until it expires if no beat comes */
	uint64_t session;
	uint64_t attempt;
	uint64_t token; /* lease: the last that this very hold has drawn, or 0;
			   row: the last that was drawn for the name */
	const char *drawn_at; /* when this hold drew it, UTC; lease only */
	uint64_t last_token;  /* the last drawn for the name, by any hold */
	uint64_t expired_ms;  /* dead: for how long; 0: not known */
	uint64_t connection;  /* row: the number of the holder's; 0: unknown */
	uint64_t collected;   /* watched: at least each collected token */
	uint64_t place;       /* in line, from 1; 0 if it is in none */
};

/** Receives an entry of a list; not 0 ends it. */
typedef int (*rowlock_list_fn)(const struct rowlock_entry *entry, void *arg);

/** Flags of rowlock_list(); or them together. */
enum rowlock_list_flags {
	/** Leases. Without this flag and the next one: both. */
	ROWLOCK_LIST_LEASES = 1 << 0,
	/** Names of business_lock (the row strategy). An account that may
	 *  see other connections is told of the holder (rowlock(1)); to others
	 *  the state is ROWLOCK_STATE_UNKNOWN. */
	ROWLOCK_LIST_ROWS = 1 << 1,
	/** Look whether rows are locked, by locking each for an instant: a try
	 *  by another program in that instant finds it busy. */
	ROWLOCK_LIST_PROBE = 1 << 2,
};

struct rowlock_list_options {
	size_t size;        /* sizeof(struct rowlock_list_options) */
	unsigned int flags; /* enum rowlock_list_flags */
	/** Only names that match: SQL's LIKE with '*' and '?' instead of '%'
	 *  and '_' (a shell's pattern without brackets). UTF-8, else
	 *  ROWLOCK_EINVAL. Default: all. */
	const char *pattern;
	/** Only this very name. Default: all. */
	const char *name;
};

#define ROWLOCK_LIST_OPTIONS_DEFAULT                                           \
	{                                                                      \
		sizeof(struct rowlock_list_options), 0, NULL, NULL             \
	}

/**
 * Call @fn for each lease, and for each name of business_lock with its state,
 * in the order of strategy (lease first), name and slot, as long as it returns
 * 0. The readers of one client share a row. It runs on the calling thread and
 * must not call the library. 256 names are read at a time; what comes or goes
 * meanwhile may be missed.
 *
 * Returns 0, also if @fn ended it; ROWLOCK_EINVAL; and the server errors,
 * perhaps after some calls of @fn. Blocks, at most call_timeout_ms for each
 * question; a server that lies may never end them. Any thread.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_list(
    struct rowlock_client *client, const struct rowlock_list_options *options,
    rowlock_list_fn fn, void *arg, struct rowlock_errinfo *reterr);

/** A remark of rowlock_list_waiters() on its list. */
struct rowlock_waiters_result {
	size_t size; /* set by the caller: sizeof *result */
	/** "": no other connection waits in line. Else the reason for which
	 *  some may be missing, for people. */
	char incomplete[256];
};

/**
 * Call @fn for each connection that waits in the server for a name, in the
 * order of strategy (lease first), name, kind and place, as long as it returns
 * 0. Waits for locks, read/write locks, permits, elections and rows are seen.
 *
 * The entry's state is ROWLOCK_STATE_WAITING. Its acquired_at and held_ms are
 * when the connection's present statement began to wait, by the server. Its
 * place is that in the server's line for the name: 1 is the first there.
 * Program, pid and host are as the waiting program calls itself; of one that
 * does not use this library the server's connection and host are known only.
 * The list is for people: it is old when @fn is called. MariaDB renews what it
 * shows of waits for rows only when nobody has read it for 100 ms.
 *
 * Not seen are: the threads of a client behind its first one for a name, which
 * wait locally; multi-locks; clients that ask again and again (ROWLOCK_POLL, no
 * wait_connections left, a cluster with several writers); and, if no name is
 * given, those for a lease without a row. A waiter that has become the first
 * behind a holder that does not ring (rowlock(7), "waiting") has left the line,
 * and asks again and again as well. MySQL shows it all the same, with an
 * unknown acquired_at; MariaDB does so for permits only, without its program.
 *
 * Privileges: MariaDB shows other accounts' connections to an account that has
 * PROCESS ("Information Schema PROCESSLIST Table"); without it those of the
 * account itself are listed, and no waits for rows. MySQL needs SELECT on
 * performance_schema ("The metadata_locks Table", "The data_locks Table");
 * without it nothing is listed. @result says so: an empty list does not prove
 * that nobody waits unless its member incomplete is "".
 *
 * @options  as of rowlock_list(); ROWLOCK_LIST_PROBE has no effect
 * @result   may be NULL; written if 0 is returned
 *
 * Returns 0, also if @fn ended it; ROWLOCK_EINVAL; and the server errors,
 * perhaps after some calls of @fn. @fn runs on the calling thread and must not
 * call the library. Blocks, at most call_timeout_ms for each question, and for
 * all rows of a name that is given: if there are more @result says so. Any
 * thread.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_list_waiters(
    struct rowlock_client *client, const struct rowlock_list_options *options,
    rowlock_list_fn fn, void *arg, struct rowlock_waiters_result *result,
    struct rowlock_errinfo *reterr);

/** How a run of a job (rowlock/once.h) has ended, if it has. */
enum rowlock_run_state {
	ROWLOCK_RUN_SUCCEEDED = 0,
	ROWLOCK_RUN_FAILED = 1,
	ROWLOCK_RUN_RUNNING = 2, /* it has its lock */
	ROWLOCK_RUN_DIED = 3,    /* no end is noted, and its lock is gone: its
				    host died, or it lost the lock */
};

/** A run. An unknown string is "" and an unknown number 0. All of it is valid
 *  during the call of rowlock_list_runs_fn only. Times are UTC, as those of
 *  struct rowlock_entry, and the server's. */
struct rowlock_run_entry {
	size_t size; /* of the library's struct */
	enum rowlock_run_state state;
	int code;         /* that rowlock_once_end() was given */
	unsigned int pid; /* that ran it, */
	const char *name;
	const char *host;    /* on this host, */
	const char *program; /* in this program */
	const char *began_at;
	const char *ended_at; /* "": no end is noted */
	const char *from_at;  /* its window begins then, */
	const char *until_at; /* and is over then */
	uint64_t began_ms;    /* since it began */
	uint64_t took_ms;     /* until its end, or now if it is running */
	int64_t left_ms;      /* of its window; below 0: since that is over */
	uint64_t nth;         /* run of its window */
};

/** Receives a run of a list; not 0 ends it. */
typedef int (*rowlock_list_runs_fn)(const struct rowlock_run_entry *entry,
				    void *arg);

/**
 * Call @fn for each run of a job that is kept in the table job_run, in the
 * order of name, the newest run of a name first, as long as it returns 0. It
 * runs on the calling thread and must not call the library. 256 runs are read
 * at a time; what comes or goes meanwhile may be missed.
 *
 * @options  as of rowlock_list(); the flags have no effect
 *
 * Returns 0, also if @fn ended it; ROWLOCK_EINVAL; ROWLOCK_ESCHEMA: the tables
 * are older than version 8; ROWLOCK_EAUTH: no SELECT on job_run; and the other
 * server errors, perhaps after some calls of @fn. Blocks, at most
 * call_timeout_ms for each question. Any thread.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_list_runs(
    struct rowlock_client *client, const struct rowlock_list_options *options,
    rowlock_list_runs_fn fn, void *arg, struct rowlock_errinfo *reterr);

/**
 * End the present hold of @name, whoever has it, against the holder's will.
 *
 * lease: the row is deleted, and the holder's lost callback runs at its next
 * heartbeat (a third of its TTL) or rowlock_verify(). If others wait behind the
 * holder's connection and the name stays free for 300 ms, that connection is
 * killed, so that the next one has it at once; without the right to kill it the
 * waiters take the name within 20 seconds. The holds of the writer
 * and of all readers of a read/write lock of that name end as well, and all
 * permits in use of a semaphore. row: the holder's connection is killed, if the
 * account may find and kill it. A hold of this very client needs no right and
 * is lost at once.
 *
 * Returns 0 if a hold has been ended; ROWLOCK_ENOTHELD if there was none;
 * ROWLOCK_ENAME, ROWLOCK_EINVAL; ROWLOCK_EUNSUPPORTED (row: the account
 * may not; the message has the statements for a DBA to type); and the server
 * errors. After one of those a row hold of this client is no longer held: its
 * row is free when the server has seen its connection end. Blocks, at most
 * call_timeout_ms. Any thread.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_break(struct rowlock_client *client,
					    enum rowlock_strategy strategy,
					    const char *name,
					    struct rowlock_errinfo *reterr);

/**
 * Ask the holder of the lease @name to give it back. Its client learns of the
 * request behind its next heartbeat (a third of its TTL at most), if it was
 * opened with rowlock_client_options.on_revoke: who asks, and why. It may
 * answer, and it holds on until it releases: this call takes nothing away, as
 * rowlock_break() does, and does not wait. A later request for the same hold
 * takes the place of the one before. It ends with the hold.
 *
 * @name    of a lock, also one of a multi-lock, or of an election, whose leader
 *          is asked
 * @reason  for the holder, at most ROWLOCK_INFO_MAX characters; "" is none.
 *          NULL: ask nothing, and read the request that there is
 * @result  may be NULL, else its size is set by the caller; if 0 is returned,
 *          it has the request, and the answer so far. The request is for the
 *          hold with its attempt; a later hold has another
 *
 * Returns 0; ROWLOCK_ENOTHELD: no client that lives holds it;
 * ROWLOCK_ENAME, ROWLOCK_EINVAL; ROWLOCK_ESCHEMA: the tables are older than
 * version 8; and the other server errors, after which it may have been asked.
 * Blocks, at most call_timeout_ms. Any thread.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_revoke(struct rowlock_client *client,
					     const char *name,
					     const char *reason,
					     struct rowlock_revocation *result,
					     struct rowlock_errinfo *reterr);

struct rowlock_reap_options {
	size_t size;            /* sizeof(struct rowlock_reap_options) */
	unsigned int batch;     /* rows at a time: 1 to 500; default 256 */
	uint64_t time_limit_ms; /* default 60,000; the next call goes on */
};

#define ROWLOCK_REAP_OPTIONS_DEFAULT                                           \
	{                                                                      \
		sizeof(struct rowlock_reap_options), 0, 0                      \
	}

/** The rows that one rowlock_reap() removed. */
struct rowlock_reap_result {
	size_t size;      /* set by the caller: sizeof *result */
	uint64_t evicted; /* sessions that were dead */
	uint64_t swept;   /* leases of dead sessions, or past their maximum */
	uint64_t tokens;  /* tokens of names that drew none for 30 days and that
			     nobody leases; 0 where many nodes write */
	int more;         /* 1: its time was up, and there may be more */
};

/**
 * Remove once what dead clients left behind: their sessions, leases without a
 * session, then old tokens (each leaves a floor: the next token of its name is
 * larger).
 *
 * A session is dead when its time is up by the server's clock. With
 * ROWLOCK_OBSERVE_BEATS, on Galera, and after a jump of the server's clock, it
 * is dead when this client has seen no beat for the TTL and a margin, which
 * takes two calls. A live lease is never touched, and any number of reapers may
 * run at once. It logs at ROWLOCK_LOG_INFO.
 *
 * @result  may be NULL
 *
 * Returns 0; ROWLOCK_EINVAL; and the server errors: @result says what was done.
 * Blocks, at most time_limit_ms and call_timeout_ms. Any thread.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_reap(
    struct rowlock_client *client, const struct rowlock_reap_options *options,
    struct rowlock_reap_result *result, struct rowlock_errinfo *reterr);

/** The number of buckets of a struct rowlock_durations, and of reasons that a
 *  struct rowlock_client_stats has room for. */
#define ROWLOCK_BUCKETS 16
#define ROWLOCK_LOSSES 16

/** Why a hold was lost: each has the text of rowlock_lost_reason(), which
 *  rowlock_loss_text() returns. */
enum rowlock_loss {
	ROWLOCK_LOSS_OTHER = 0,
	ROWLOCK_LOSS_EVICTED = 1,  /* others removed its session as dead */
	ROWLOCK_LOSS_SILENCE = 2,  /* no heartbeat was answered for the TTL */
	ROWLOCK_LOSS_BROKEN = 3,   /* rowlock_break() */
	ROWLOCK_LOSS_GONE = 4,     /* its row was removed */
	ROWLOCK_LOSS_RESTORED = 5, /* the tables went back to an earlier day */
	ROWLOCK_LOSS_MAXIMUM = 6,  /* max_hold_ms */
	ROWLOCK_LOSS_CUT = 7,      /* row: its connection ended */
	ROWLOCK_LOSS_DEAF = 8,     /* row: only its connection was silent */
	ROWLOCK_LOSS_IDLE = 9,     /* row: the server was, for the idle bound */
	ROWLOCK_LOSS_KEEP = 10,    /* no heartbeat of at_least_ms, or of
				      delay_after_loss_ms, was answered */
	ROWLOCK_LOSS_OWNER = 11,   /* the thread that owned it ended */
	ROWLOCK_LOSS_CLIENT = 12,  /* the client was freed */
	ROWLOCK_LOSS_UNKNOWN = 13, /* a commit that was to give it back was not
				      answered */
	ROWLOCK_LOSS_ADOPTED = 14, /* it was exported, and adopted or broken */
};

/** How many took no longer than this. */
struct rowlock_bucket {
	uint64_t at_most_ms; /* of the last one UINT64_MAX */
	uint64_t count;      /* with those of the buckets before it */
};

/** How long something took, to the millisecond. The bounds are 1, 2, 5, 10, 50,
 *  100 and 500 ms, 1, 5, 10 and 30 s, 1 and 10 minutes, an hour, a day. */
struct rowlock_durations {
	uint64_t sum_ms;
	struct rowlock_bucket buckets[ROWLOCK_BUCKETS];
};

/**
 * The counters of a client since it was opened. No number ever becomes less.
 *
 * An acquire is a call of rowlock_acquire(), rowlock_semaphore_acquire(),
 * rowlock_rwlock_upgrade() or _downgrade(), also within rowlock_execute() and
 * rowlock_execute_once(), for any kind of lock. A set, and any number of
 * permits, is one acquire and one hold. Row locks inside a transaction of the
 * application (rowlock_acquire_in_transaction()) are not counted.
 */
struct rowlock_client_stats {
	size_t size;       /* set by the caller: sizeof *stats */
	uint64_t acquired; /* acquires that returned 0, */
	uint64_t busy;     /* tries that were ROWLOCK_EBUSY, */
	uint64_t timed_out;
	uint64_t canceled;
	uint64_t failed; /* and acquires that returned another error */
	uint64_t levels; /* those of `acquired` that added a level to a hold of
			    this client: by its owner, or by one more reader
			    that shares its row */
	uint64_t waits;  /* acquires that waited, as another thread or client
			    had the name; once each. Under ROWLOCK_ROW a wait of
			    less than two seconds may be missed */
	uint64_t holds;  /* that began: with the first level of an owner, from
			    the server, handed over or adopted; of readers that
			    share a row with the first one */
	uint64_t handed_over; /* by a thread of this client to another, without
				 the server */
	uint64_t evicted;     /* sessions of dead clients that this one removed,
				 for a waiter or as a reaper */
	/** Holds that were lost, by enum rowlock_loss, once each; found by the
	 *  release also. */
	uint64_t losses[ROWLOCK_LOSSES];
	/** From the call of an acquire to its end: of each that was acquired,
	 *  timed out, or was canceled. */
	struct rowlock_durations waiting;
	/** From the begin of a hold to its last release, its export, or its
	 *  loss. `holds` less the count of the last bucket are held now. */
	struct rowlock_durations holding;
};

/**
 * Read the counters of @client, for a metrics page. They are read one by one,
 * so that those of a call that ends at this moment may be there in part.
 *
 * @stats  its size is set by the caller
 *
 * Returns 0; ROWLOCK_EINVAL; ROWLOCK_EFORKED. Does not block, and asks the
 * server nothing. Any thread.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_stats(const struct rowlock_client *client,
					    struct rowlock_client_stats *stats,
					    struct rowlock_errinfo *reterr);

/** The text of a loss, such as "its session was evicted as dead": that of
 *  rowlock_lost_reason(), without the error of the last heartbeat. NULL for a
 *  number that has none. Static. Does not block; any thread. */
ROWLOCK_API const char *rowlock_loss_text(int loss);

#ifdef __cplusplus
}
#endif

#endif /* ROWLOCK_ADMIN_H */
