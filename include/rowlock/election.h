/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_ELECTION_H
#define ROWLOCK_ELECTION_H

/**
 * Leader election: of all candidates for a name, one leads at a time.
 *
 * A candidate is a struct rowlock: rowlock_acquire() campaigns,
 * rowlock_release() resigns, rowlock_held() says whether it leads, and
 * rowlock_token() is its term. The term is drawn with each election, and larger
 * than all terms before. The leader hands the term to what it acts on, which
 * refuses smaller ones: a leader that was paused past its deadline cannot know
 * it before its next call, but its term is old by then.
 *
 * The name of an election and the same name under rowlock_new() are one lock:
 * its holder leads.
 */

#include <rowlock.h>
#include <rowlock/watch.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rowlock_election_options {
	size_t size; /* sizeof(struct rowlock_election_options) */
	/** The waiting candidate with the largest weight is elected, whenever
	 *  it came; candidates of the same weight in their order, in which a
	 *  waiter goes to the end every 5 seconds. 1 to ROWLOCK_WEIGHT_MAX.
	 *  Default: none; such a candidate is elected in its turn, and neither
	 *  yields nor is yielded to. Only under ROWLOCK_LEASE. */
	unsigned int weight;
	/** The options of its lock. Observers are told its info while it leads,
	 *  such as where it listens. Under ROWLOCK_ROW nobody can be told who
	 *  leads. */
	const struct rowlock_options *lock_options;
	/** A preference must not keep a name without a leader: a candidate that
	 *  is elected yields to heavier ones for this long at most, and then
	 *  leads. Default 5,000; 1 to 3,600,000. */
	uint64_t yield_ms;
};

/** The largest weight. */
#define ROWLOCK_WEIGHT_MAX 1000

#define ROWLOCK_ELECTION_OPTIONS_DEFAULT                                       \
	{                                                                      \
		sizeof(struct rowlock_election_options), 0, NULL, 0            \
	}

/**
 * Make a candidate for @name. Nothing is sent to the server.
 *
 * The handle leads, not the thread: it is always ROWLOCK_OWNER_HANDLE,
 * ROWLOCK_NOT_REENTRANT and ROWLOCK_TOKEN_WITH_GRANT. It leads, and its term is
 * drawn, when rowlock_acquire() returns 0; from then on rowlock_token() needs
 * no I/O. Candidates without a weight are elected in the order in which they
 * came, as far as the waiters of a lock are (rowlock_acquire()). A candidate
 * with a weight that is elected while a heavier one waits lets that one lead,
 * without a term, and goes on waiting; in a try: ROWLOCK_EBUSY. Two round trips
 * while nobody leads, on MariaDB one; with a weight three, and two more if it
 * has to wait.
 *
 * @name      as in rowlock_new()
 * @options   NULL for the defaults
 * @ret_lock  owned by the caller: rowlock_free()
 *
 * Returns 0; ROWLOCK_ENAME; ROWLOCK_EINVAL (an option); ROWLOCK_EUNSUPPORTED
 * (a weight under the row strategy, or that on a server with several writers;
 * at_least_ms, delay_after_loss_ms); ROWLOCK_ENOMEM; ROWLOCK_EFORKED. Does not
 * block.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_election_new(
    struct rowlock_client *client, const char *name,
    const struct rowlock_election_options *options, struct rowlock **ret_lock,
    struct rowlock_errinfo *reterr);

/**
 * Does a candidate of a larger weight wait to lead in the place of @lock's?
 *
 * A leader uses this to hand over to a preferred candidate: it releases, and
 * the heaviest waiting candidate is elected. Hand over only to one that has
 * waited for a while: it is healthy. If it did not take the lead then, do not
 * release for it again soon.
 *
 * @ret_weight    its weight, or 0 if there is none. That of a leader without a
 *                weight counts as 0
 * @ret_stood_ms  how long it has waited, by the server's clock; of several of
 *                the same weight, the longest
 *
 * Returns 0; ROWLOCK_EUNSUPPORTED: it is of the row strategy, or another kind
 * of lock; ROWLOCK_EFORKED; and the server errors: nothing is known. Blocks
 * for one round trip, at most call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_election_challenger(
    struct rowlock *lock, unsigned int *ret_weight, uint64_t *ret_stood_ms,
    struct rowlock_errinfo *reterr);

/* ----------------------------------------------------------- observers */

enum rowlock_leader_state {
	/** Nobody leads; the term is that of the last leader, or 0. */
	ROWLOCK_LEADER_NONE = 0,
	/** Somebody leads, as far as the server knows. */
	ROWLOCK_LEADER_PRESENT = 1,
	/** The server has not answered for three intervals: nothing is known
	 *  but the last term that was heard of. */
	ROWLOCK_LEADER_UNKNOWN = 2,
};

/** The leader of a name. An unknown string is "" and an unknown number 0. All
 *  of it is valid during the call of rowlock_leader_fn only. */
struct rowlock_leader {
	size_t size; /* of the library's struct */
	enum rowlock_leader_state state;
	unsigned int pid;
	const char *name;
	uint64_t term;
	const char *since; /* when it was elected: UTC, by the server's clock,
			      "2026-11-20 12:00:00.000000" */
	const char *info;  /* as its options said */
	const char *host;
	const char *program;
};

/** Told by an observer. It runs on a thread of the client made for this, one
 *  after the other; it may call every function but rowlock_client_free(), and
 *  should return soon. */
typedef void (*rowlock_leader_fn)(const struct rowlock_leader *leader,
				  void *arg);

/** Is told the leader of a name; it need not be a candidate. Threads: safe, but
 *  rowlock_observer_free() is its last call. */
struct rowlock_observer;

/**
 * Have @fn called with the leader of @name: as soon as the server has told it,
 * and then at each change, at most one interval late. It never gets an earlier
 * term than before, nor a leader whose end it got, whichever server answers: a
 * replica that is late is not believed. A leader whose session's time is up is
 * told as ROWLOCK_LEADER_NONE, and again, in the same term, if a heartbeat
 * still comes.
 *
 * The server's knowledge is told: a leader that has lost its hold by its own
 * clock is shown until its session ends. Only rowlock_held() of a candidate
 * says whether it leads.
 *
 * @name          of an election under ROWLOCK_LEASE
 * @options       as in rowlock_watch_new(); NULL for the defaults
 * @ret_observer  owned by the caller: rowlock_observer_free(). @fn may
 *                run before it is written.
 *
 * Returns 0; ROWLOCK_ENAME; ROWLOCK_EINVAL; ROWLOCK_ENOMEM; ROWLOCK_ESYSTEM;
 * ROWLOCK_EFORKED. Does not block. The observers and watches of a client cost
 * one statement per interval and 64 names.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_observer_new(
    struct rowlock_client *client, const char *name,
    const struct rowlock_watch_options *options, rowlock_leader_fn fn,
    void *arg, struct rowlock_observer **ret_observer,
    struct rowlock_errinfo *reterr);

/**
 * End an observer, as rowlock_watch_free() ends a watch.
 *
 * @observer  may be NULL
 */
ROWLOCK_API void rowlock_observer_free(struct rowlock_observer *observer);

/** Free *@observer and set it to NULL: for __attribute__((cleanup)). */
static inline void rowlock_observer_freep(struct rowlock_observer **observer)
{
	rowlock_observer_free(*observer);
	*observer = NULL;
}

#ifdef __cplusplus
}
#endif

#endif /* ROWLOCK_ELECTION_H */
