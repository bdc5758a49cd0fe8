/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_CLIENT_H
#define RLK_CORE_CLIENT_H

/*
 * The parts of a client. One mutex protects all that changes; it is never held
 * across I/O, a callback, or anything that may block. Functions named _locked
 * are called with it held and return with it held; those that release it in
 * between say so.
 *
 * Order of locks: that of the watches of threads' ends (base/thread_end.c),
 * client->mutex, then as leaves the pool's, each group's (db/group.h) and that
 * of the lives (base/thread_end.c). There is no other.
 */

#include <rowlock.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/keyed.h"
#include "base/list.h"
#include "base/log.h"
#include "base/text.h"
#include "base/thread.h"
#include "base/thread_end.h"
#include "core/alarm.h"
#include "core/beats.h"
#include "core/counters.h"
#include "core/names.h"
#include "db/group.h"
#include "db/pool.h"
#include "strategy/guard.h"
#include "strategy/session_row.h"

/** The pool's bays. */
enum rlk_bay {
	RLK_BAY_CONTROL, /* keeper, chores, reaper, people */
	RLK_BAY_ROW,     /* row holds and waits; autocommit off */
	RLK_BAY_BELL,    /* lease: waits, and holds granted by waiting */
	RLK_BAY_ASIDE,   /* statements that may wait for a transaction, or for a
			    batch that does */
	RLK_BAY_COMMIT,  /* the commit connection: leases and sets */
	RLK_BAYS,
};

/** innodb_lock_wait_timeout of connections that should not wait: with 0 a
 *  contention of milliseconds already fails on MariaDB. */
#define RLK_LOCK_WAIT_S 1

/** Tables of what was seen of names lately have this many places; two names may
 *  have the same one. */
#define RLK_BUSY_NAMES 256
static inline size_t rlk_busy_place(const char *name)
{
	return rlk_scramble(rlk_text_hash(name)) % RLK_BUSY_NAMES;
}

/** Group commit of requests of one kind: requests of a moment share a round
 *  trip on a connection of @bay. See group/commit.h. */
struct rlk_commit {
	struct rowlock_client *client;
	size_t bay;
	struct rlk_group group;
	/* The leader's, one at a time: on the stacks of hundreds of threads
	 * that may lead they would be a page each. */
	struct rlk_part *parts[RLK_GROUP_MOST];
	struct rlk_alarm alarm;   /* when a request's time is up */
	_Atomic int64_t usual_ms; /* the time of a batch */
	int64_t lone_until_ms;    /* sweeps go without neighbours, as one was
				     locked; the leader's */
};

/** The last answer of the server on any connection (background/heard.h). */
struct rlk_heard {
	int64_t sent_ms; /* when that statement was sent */
	bool wanted;     /* the chores are to ask for one */
};

/** The bells of the commit connection; see group/commit_bell.h. Only a thread
 *  that has the connection changes them. */
struct rlk_commit_bells {
	_Atomic uint64_t conn; /* the last one that had a bell */
	unsigned int count;
	_Atomic bool ghost; /* conn has a bell that no thread will let go: close
			       it. Any thread sets it */
};

/** The client's current session. A lost session is abandoned: its id moves to
 *  client->old_sessions, and the next acquire opens another. */
enum rlk_session_state {
	RLK_SESSION_NONE,
	RLK_SESSION_OPENING, /* some thread is committing its row */
	RLK_SESSION_ALIVE,
};

struct rlk_session {
	enum rlk_session_state state;
	uint64_t id;
	char server[96];        /* identity of the one with its row */
	int64_t valid_until_ms; /* holds are good until then, by our clock */
	int64_t next_beat_ms;
	int64_t next_look_ms;   /* whether the rows of its holds are there */
	uint64_t breaks;        /* as the last beat read it */
	uint64_t beats;         /* answered ones */
	uint64_t beat_seen;     /* the count in its row at the last look, */
	uint64_t beats_then;    /* and `beats` at that moment */
	const char *late;       /* the reason, if the last beat failed */
	struct rlk_alarm alarm; /* at valid_until_ms */
	struct rlk_list holds;  /* struct rlk_hold */
	struct rlk_old_session *grave; /* made beforehand: losing a session must
					  not need memory */
};

/** A session whose row is still to be deleted. */
struct rlk_old_session {
	struct rlk_list node;
	uint64_t id;
};

/** A connection of the application that was seen to lead to the server with the
 *  leases of a session. Another one may have its address, and even its number,
 *  by now: so a commit checks it again. */
struct rlk_verified {
	const struct st_mysql *mysql;
	uint64_t id;      /* the connection's number */
	uint64_t session; /* the client's, then */
};

/** The most that are remembered. */
#define RLK_VERIFIED 64

/** The most receipts that are remembered. */
#define RLK_RECEIPTS 256

/** The most different reasons of losses that a client keeps (hold/late.h): each
 *  may have a kilobyte. */
#define RLK_REASONS 16

/** Where the next pass of a reaper goes on: after this session, and after this
 *  lease. All zero: from the start. */
struct rlk_reap_from {
	uint64_t session;
	char name[RLK_NAME_SIZE];
	unsigned int slot;
};

struct rowlock_client {
	pid_t pid;        /* to be shown */
	uint64_t process; /* rlk_process(): a child of fork() has another */
	const struct rlk_clock *clock;
	struct rlk_log log;

	/* From the options. */
	uint64_t ttl_ms;
	uint64_t margin_ms;
	uint64_t connect_timeout_ms;
	uint64_t call_timeout_ms;
	uint64_t row_idle_ms;
	uint64_t row_slice_ms; /* of a wait in the server; on MariaDB it is
				  longer (api/options.c) */
	uint64_t reap_interval_ms;
	uint64_t handover_ms; /* if either is 0: no hand-over */
	uint64_t handover_passes;
	unsigned int flags;
	rowlock_revoke_fn on_revoke; /* NULL if it listens to none */
	void *revoke_arg;
	char *program;
	char host[256];
	char who[544]; /* "program[pid]@host" */

	struct rlk_conn_target target;
	struct rlk_pool_bay bays[RLK_BAYS];
	struct rlk_pool *pool;
	char server[300];  /* its name, for messages */
	bool many_writers; /* Galera, or a group with several primaries */
	bool observe;      /* never trust the server's clock */

	struct rlk_end_watch thread_ends; /* hold/owner_end.h */
	struct rlk_stats stats;

	struct rlk_mutex mutex; /* protects all below */
	struct rlk_names names;
	struct rlk_alarms alarms;
	struct rlk_list wakers; /* without a sleeper; core/waker.h */
	struct rlk_session session;
	struct rlk_cond session_changed;
	char *reasons[RLK_REASONS];   /* of losses: hold/late.h */
	struct rlk_list old_sessions; /* rows to delete */
	struct rlk_list row_holds;
	/* The application's open transactions; guard/guarded.c. */
	struct rlk_list guarded;
	struct rlk_place place; /* of the tables; from the first of these on */
	struct rlk_verified verified[RLK_VERIFIED]; /* guard/place.c */
	uint64_t
	    receipts[RLK_RECEIPTS]; /* to be deleted; background/receipts.h */
	size_t receipt_count;
	struct rlk_list cut_off;    /* core/cut_off.h */
	struct rlk_list abandoned;  /* attempts that may have made a row, and
				       connections of lost holds */
	int64_t answered_ms;        /* the last answered round of those */
	int64_t prompt_since_ms;    /* all rounds since then were prompt */
	struct rlk_key bell_key;    /* bells are named by it */
	_Atomic bool bells_refused; /* GET_LOCK is forbidden here */
	/* Names that others wanted lately, by hash. */
	_Atomic int64_t busy_until_ms[RLK_BUSY_NAMES];
	/* Rows with and without a line, by hash; see wait/row_line.c. */
	_Atomic int64_t row_line_ms[RLK_BUSY_NAMES];
	uint64_t rounds;   /* a random number: see wait/rounds.h */
	bool has_keeps;    /* it had a hold that was kept (hold/keeping.h) */
	bool row_unclean;  /* idle row connections may have a transaction */
	bool look_breaks;  /* a lease of ours was broken: look which */
	bool look_present; /* a beat was answered: look whether the rows of our
			      holds are there */
	bool look_late;    /* that was due before this beat */
	int64_t jumped_ms; /* when the server's clock last jumped; RLK_NEVER:
			      not at all */
	struct rlk_observer observer;
	int64_t next_tokens_ms;         /* when to look for old tokens again */
	struct rlk_reap_from reap_from; /* of rowlock_reap()'s passes */
	unsigned int users; /* references: the application's, and those of
			       handles and watches */
	bool stopping;
	_Atomic bool ended; /* rowlock_client_free() has returned */
	/* guard/guarded.c: leave the transaction of a lock that is being freed
	 * to the application. NULL before the first transaction. */
	void (*forget_guarded_locked)(struct rowlock *lock);

	/* Handles whose lost callback is due; see background/notifier.c. */
	struct rlk_list notices;
	struct rlk_cond notices_changed;
	struct rowlock *notifying;
	uint64_t notifier_serial;

	/* See background/watch.c. */
	struct rlk_list watches;
	struct rlk_cond watches_changed;
	struct rowlock_watch *telling; /* whose function runs */
	uint64_t watcher_serial;

	struct rlk_commit leases;
	struct rlk_commit sweeps; /* of dead holders */
	struct rlk_commit_bells bells;
	/* A proxy takes no batches: until then each request goes alone. 0 if
	 * none is known. */
	_Atomic int64_t unshared_until_ms;
	_Atomic unsigned int cut_packets; /* in a row */

	/* The deadline thread: no I/O but on its own descriptors. */
	struct rlk_sleeper deadline_sleeper;
	int64_t deadline_armed_ms;
	int sockets;      /* an epoll of row holds' sockets */
	uint64_t watched; /* how many so far */
	/* Ends of sockets that had no hold at that moment. */
	_Atomic uint64_t stray_ends;
	struct rlk_thread deadline;

	/* Opened beforehand, so that the keeper needs none when the server is
	 * full. Used by the keeper only, once it runs. */
	struct rlk_conn *keeper_conns[2];
	struct rlk_sleeper keeper_sleeper;
	struct rlk_thread keeper;
	struct rlk_sleeper pinger_sleeper;
	int64_t pinger_armed_ms;
	struct rlk_heard heard;
	struct rlk_alarms pings; /* the pinger's; upkeep->ping */
	int pongs;               /* an epoll of sockets that owe an answer */
	struct rlk_thread pinger;
	struct rlk_sleeper chores_sleeper;
	struct rlk_thread chores;
	struct rlk_sleeper reaper_sleeper;
	struct rlk_thread reaper;
	struct rlk_thread notifier;
	/* From the first watch on. */
	struct rlk_sleeper watcher_sleeper;
	struct rlk_watch_page *watch_page;
	struct rlk_thread watcher;
};

#endif
