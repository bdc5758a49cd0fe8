/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_ELECTION_H
#define ROWLOCK_ELECTION_H

/**
 * Leader election: of all who campaign for a name, one leads at a time.
 *
 * An election is a lock whose holder is called the leader, and whose fencing
 * token is called the term: it is drawn with each election, and larger than all
 * terms before. Whoever acts as the leader hands the term to what it acts on,
 * which refuses smaller ones: a leader that was paused past its deadline cannot
 * know it before its next call, but its term is old by then.
 *
 * The name of an election and the same name under rowlock_acquire() are one
 * lock: whoever holds it leads.
 *
 * What holds for all functions of rowlock.h (errors, outputs, ownership,
 * options, time, threads, fork) holds here.
 */

#include <rowlock.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A candidate.
 *
 * Threads: rowlock_election_is_leader(), rowlock_election_term(),
 * rowlock_election_remaining_ms() and rowlock_election_cancel() from any thread
 * at any time before rowlock_election_free(); the rest one thread at a time,
 * which need not be the same: who leads is the candidate, not the thread.
 */
struct rowlock_election;

struct rowlock_election_options {
	size_t size; /* set by ROWLOCK_ELECTION_OPTIONS_DEFAULT */
	/** Default ROWLOCK_LEASE. Under ROWLOCK_ROW nobody can be told who
	 *  leads. */
	enum rowlock_strategy strategy;
	/** What observers are told of this candidate while it leads, such as
	 *  where it listens: at most ROWLOCK_INFO_MAX characters. Default NULL:
	 *  nothing. */
	const char *info;
	/** Of the candidates that wait at the same time the one with the
	 *  largest weight is elected, whenever it came; of the same weight,
	 *  whoever is first in line: who waits goes to its end every 5 seconds.
	 *  0 to ROWLOCK_WEIGHT_MAX, or ROWLOCK_UNWEIGHTED, the default: it is
	 *  elected in its turn, asks for nobody's weight, and nobody yields to
	 *  it. Only under ROWLOCK_LEASE. */
	int weight;
	/** A preference must not keep a name without a leader: a candidate that
	 *  is elected yields to heavier ones for so long at the most, and leads
	 *  then. Default 5,000; 0 to 3,600,000. */
	uint64_t yield_ms;
};

/** The largest weight. */
#define ROWLOCK_WEIGHT_MAX 1000
#define ROWLOCK_UNWEIGHTED (-1)

#define ROWLOCK_ELECTION_OPTIONS_DEFAULT                                       \
	{                                                                      \
		sizeof(struct rowlock_election_options), ROWLOCK_LEASE, NULL,  \
		    ROWLOCK_UNWEIGHTED, 5000                                   \
	}

/**
 * Make a candidate for @name. Nothing is sent to the server.
 *
 * @name          as in rowlock_new()
 * @options       NULL for the defaults
 * @ret_election  owned by the caller: rowlock_election_free(), before the
 *                client's end
 *
 * Returns 0; ROWLOCK_ENAME; ROWLOCK_EINVAL (an option); ROWLOCK_EUNSUPPORTED
 * (a weight under the row strategy, or that on a server with several writers);
 * ROWLOCK_ENOMEM; ROWLOCK_EFORKED. Does not block.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_election_new(
    struct rowlock_client *client, const char *name,
    const struct rowlock_election_options *options,
    struct rowlock_election **ret_election, struct rowlock_errinfo *reterr);

/**
 * Give a candidate back.
 *
 * @election  may be NULL. Freed if and only if 0 is returned.
 *
 * Returns 0; ROWLOCK_EHELD: it leads, or a call on it is under way: nothing was
 * changed; ROWLOCK_EFORKED. Waits for a lost callback of it that is running,
 * unless it is called from that.
 */
ROWLOCK_API int rowlock_election_free(struct rowlock_election *election,
				      struct rowlock_errinfo *reterr);

/**
 * Stand for election, and wait up to @wait_ms to be elected.
 *
 * Candidates without a weight are elected in the order in which they came, as
 * far as the waiters of a lock are (rowlock_acquire()). One whose leadership
 * was lost may campaign again at once.
 *
 * @wait_ms  0: only if nobody leads; ROWLOCK_FOREVER: as long as it takes
 *
 * Returns 0: it leads, and its term is drawn. ROWLOCK_EBUSY (only if @wait_ms
 * is 0); ROWLOCK_ETIMEDOUT; ROWLOCK_ECANCELED (rowlock_election_cancel());
 * ROWLOCK_EDEADLOCK: it leads already; ROWLOCK_ELOST: it was elected, and lost
 * it before its term was drawn; ROWLOCK_EINVAL: another thread campaigns with
 * it; and the server errors, after which it does not lead.
 *
 * Blocks up to @wait_ms, and at most 100 ms more; with @wait_ms 0 as long as
 * the server needs to answer, at most call_timeout_ms. Two round trips while
 * nobody leads, on MariaDB one; with a weight three, and two more if it has to
 * wait. A candidate with a weight that is elected while a heavier one waits
 * lets that one lead, without a term, and goes on waiting: with @wait_ms 0
 * ROWLOCK_EBUSY.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_election_campaign(
    struct rowlock_election *election, uint64_t wait_ms,
    struct rowlock_errinfo *reterr);

/**
 * Does it lead, by our own clock? 1 or 0. False from the deadline of its hold
 * on, whether or not there is another leader by then; false until it is elected
 * again. No I/O; does not block.
 */
ROWLOCK_API int rowlock_election_is_leader(struct rowlock_election *election);

/** The term in which it leads; 0 if it does not lead. No I/O; does not block.
 */
ROWLOCK_API uint64_t rowlock_election_term(struct rowlock_election *election);

/** How long it leads by our own clock if nothing is heard from the server from
 *  now on; 0 if it does not. No I/O; does not block. */
ROWLOCK_API uint64_t
rowlock_election_remaining_ms(struct rowlock_election *election);

/**
 * Ask the server whether it still leads: tells at once what
 * rowlock_election_is_leader() learns from the next heartbeat.
 *
 * Returns 0: it leads now. ROWLOCK_ENOTHELD; ROWLOCK_ELOST; and the server
 * errors: nothing is known. Blocks for one round trip, at most call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_election_verify(
    struct rowlock_election *election, struct rowlock_errinfo *reterr);

/**
 * Who of a larger weight waits to lead in its place? For a leader that hands
 * over to whom it is to be led by: it resigns, and that one is elected. One
 * that has stood for a while is well; one that comes and goes is not worth the
 * change. One that it has resigned for, and that has stood since before then
 * when it leads again, cannot lead: it should not resign for that one again
 * soon.
 *
 * @ret_weight    its weight; 0: nobody's is larger. Any candidate's is larger
 *                than that of one without a weight
 * @ret_stood_ms  for how long it has waited, by the server's clock; of several
 *                of the same weight, the longest
 *
 * Returns 0; and the server errors: nothing is known. Blocks for one round
 * trip, at most call_timeout_ms.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_election_challenger(
    struct rowlock_election *election, unsigned int *ret_weight,
    uint64_t *ret_stood_ms, struct rowlock_errinfo *reterr);

/**
 * Lead no longer: the next candidate is elected.
 *
 * Returns 0. ROWLOCK_ENOTHELD: it does not lead, and has lost nothing;
 * ROWLOCK_ELOST: it was lost before, and others may have led since;
 * ROWLOCK_EUNKNOWN, as rowlock_release(); and the server errors: it does not
 * lead any more in any case, and the name is free when its session ends at the
 * latest. Blocks as rowlock_release().
 */
ROWLOCK_API int rowlock_election_resign(struct rowlock_election *election,
					struct rowlock_errinfo *reterr);

/** End the rowlock_election_campaign() that is under way, or the next one, as
 *  rowlock_cancel() does. Any thread; does not block. */
ROWLOCK_API void rowlock_election_cancel(struct rowlock_election *election);

/** Its name; valid as long as it is. Does not block. */
ROWLOCK_API const char *rowlock_election_name(
    const struct rowlock_election *election);

typedef void (*rowlock_election_lost_fn)(struct rowlock_election *election,
					 void *arg);

/**
 * Have @fn called once for each leadership that is lost: not for one that it
 * resigned. When it runs, on which thread, and what it may do is as for
 * rowlock_on_lost().
 *
 * @fn  NULL: no callback. Replaces the one before.
 *
 * Any thread. Waits for a callback that is running, unless it is called from
 * it.
 */
ROWLOCK_API void rowlock_election_on_lost(struct rowlock_election *election,
					  rowlock_election_lost_fn fn,
					  void *arg);

/* ----------------------------------------------------------- observers */

enum rowlock_leader_state {
	/** Nobody leads; the term is that of the last leader, 0: there was
	 *  none. */
	ROWLOCK_LEADER_NONE = 0,
	/** Somebody leads, as far as the server knows. */
	ROWLOCK_LEADER_PRESENT = 1,
	/** The server has not answered for three intervals: nothing is known
	 *  but the last term that was heard of. */
	ROWLOCK_LEADER_UNKNOWN = 2,
};

/** Who leads. Strings are "" and numbers 0 where nothing is known; all is valid
 *  during the call of rowlock_leader_fn only. */
struct rowlock_leader {
	size_t size;
	enum rowlock_leader_state state;
	const char *name;
	uint64_t term;
	const char *since; /* when it was elected: UTC, by the server's clock,
			      "2026-11-20 12:00:00.000000" */
	const char *info;  /* as its options said */
	const char *host;
	unsigned int pid;
	const char *program;
};

/** Told by an observer. It runs on a thread of the client made for this, one
 *  after the other; it may call every function but rowlock_client_free(), and
 *  should return soon. */
typedef void (*rowlock_leader_fn)(const struct rowlock_leader *leader,
				  void *arg);

/** Somebody who is told who leads, candidate or not. Threads: safe, but
 *  rowlock_observer_free() is its last call. */
struct rowlock_observer;

struct rowlock_observer_options {
	size_t size; /* set by ROWLOCK_OBSERVER_OPTIONS_DEFAULT */
	/** The elections are those of this strategy. Default ROWLOCK_LEASE;
	 *  ROWLOCK_ROW is ROWLOCK_EUNSUPPORTED: no table says who has a row. */
	enum rowlock_strategy strategy;
	/** As in rowlock_watch_new(). Default 5,000; 100 to 3,600,000. */
	uint64_t interval_ms;
};

#define ROWLOCK_OBSERVER_OPTIONS_DEFAULT                                       \
	{                                                                      \
		sizeof(struct rowlock_observer_options), ROWLOCK_LEASE, 5000   \
	}

/**
 * Have @fn called with who leads @name: as soon as the server has told it, and
 * from then on whenever it changes, an interval late at the most. It is never
 * told of an earlier term than before, nor of a leader that has resigned or was
 * evicted after its end was told, whichever server answers: a replica that is
 * late is not believed. One whose session's time is up is told as
 * ROWLOCK_LEADER_NONE, and may be told of again, in the same term, if a
 * heartbeat still comes.
 *
 * What is told is what the server knows: a leader that has stopped to believe
 * in itself is shown until its session ends, and a new one an interval late.
 * Only rowlock_election_is_leader() says whether one leads.
 *
 * @options       NULL for the defaults
 * @ret_observer  owned by the caller: rowlock_observer_free(), before the
 *                client's end. @fn may run before it is written.
 *
 * Returns 0; ROWLOCK_ENAME; ROWLOCK_EINVAL; ROWLOCK_EUNSUPPORTED;
 * ROWLOCK_ENOMEM; ROWLOCK_ESYSTEM; ROWLOCK_EFORKED. Does not block. All
 * observers and watches of a client together cost one statement per interval
 * and 64 names.
 */
ROWLOCK_API ROWLOCK_CHECK int rowlock_observer_new(
    struct rowlock_client *client, const char *name,
    const struct rowlock_observer_options *options, rowlock_leader_fn fn,
    void *arg, struct rowlock_observer **ret_observer,
    struct rowlock_errinfo *reterr);

/**
 * End an observer: afterwards its function is not called any more. Waits for a
 * call of it that is running, unless it is called from that.
 *
 * @observer  may be NULL
 *
 * Returns 0; ROWLOCK_EFORKED: nothing was changed.
 */
ROWLOCK_API int rowlock_observer_free(struct rowlock_observer *observer,
				      struct rowlock_errinfo *reterr);

#ifdef __cplusplus
}
#endif

#endif /* ROWLOCK_ELECTION_H */
