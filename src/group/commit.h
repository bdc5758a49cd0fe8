/* SPDX-License-Identifier: MIT */
#ifndef RLK_GROUP_COMMIT_H
#define RLK_GROUP_COMMIT_H

/*
 * Group commit: acquires, releases and draws of this client that come at the
 * same moment share one round trip. db/group.h chooses the thread that runs it,
 * and the strategy's batch() writes what is sent.
 *
 * A request that meets no other is sent by its own thread, as if there were no
 * group; as a batch of one, if it is an acquire that draws. A request whose
 * batch failed half way is sent alone, by its own thread, so that a fault of
 * one request does not affect the others.
 */

#include "group/ticket.h"

/** The caller's conditions for rlk_commit_run(). */
struct rlk_errand {
	int64_t until_ms; /* the caller's; a batch it leads has a call's time */
	int64_t not_before_ms; /* waits for company until then; 0: at once. Only
				  if rlk_commit_gathers() */
	bool persist;          /* wait out a server that is away */
	bool aside;            /* its row was locked: no other request may wait
				  with it */
	struct rlk_waiter *waiter; /* NULL: cannot be interrupted */
};

/** Requests go alone until the options are applied. */
void rlk_commit_init(struct rowlock_client *client);
void rlk_commit_fini(struct rowlock_client *client);

/** rowlock_cancel() of a waiter whose request may be queued, or taken. */
void rlk_commit_withdraw(struct rowlock_client *client,
			 const struct rlk_waiter *waiter);

/** Do requests share batches, so that one may wait for a round? */
bool rlk_commit_gathers(struct rowlock_client *client);

/**
 * Run @ticket, together with other requests of the moment. Blocks until
 * errand->until_ms at most; no mutex held.
 *
 * Returns RLK_DONE: the answer is in ticket->part. Another ticket->fault, with
 * ticket->error; RLK_FAILED if it was not sent (no connection, no time,
 * canceled). RLK_BUSY: not sent, as its round could not be played in time.
 *
 * If the caller's time is up first, *@ticket is NULL, and the ticket the
 * group's, which settles it. RLK_PENDING: it was sent. RLK_FAILED: an acquire
 * that was not, as its leader had no connection yet.
 */
enum rlk_fault rlk_commit_run(struct rlk_ticket **ticket,
			      const struct rlk_errand *errand);

/** The row that a release was to delete. */
struct rlk_found {
	bool row;    /* it was there, and is deleted */
	bool unsure; /* an earlier sending was not answered, and may have
			deleted it */
};

/**
 * Give back the row of @hold, or draw a token for it, of a set for name @which:
 * one attempt, together with other requests. Returns RLK_DONE, with *@ret_found
 * or *@ret_token as the strategy's operations; RLK_UNKNOWN: no answer;
 * RLK_FAILED: not sent; else refused. All with @reterr.
 */
enum rlk_fault rlk_commit_release(struct rlk_hold *hold,
				  const struct rlk_errand *errand,
				  struct rlk_found *ret_found,
				  struct rowlock_errinfo *reterr);
enum rlk_fault rlk_commit_draw(struct rlk_hold *hold, unsigned int which,
			       const struct rlk_errand *errand,
			       uint64_t *ret_token,
			       struct rowlock_errinfo *reterr);

/**
 * Remove the dead @holder of the name that @request is about, together with
 * other sweeps of the moment; errand->aside: alone, as it has to be observed,
 * or was in the others' way. *@holder may be looked up again. Returns true if
 * the name may be free now, else false.
 */
bool rlk_commit_sweep(struct rlk_hold *hold, const struct rlk_request *request,
		      struct rlk_holder *holder,
		      const struct rlk_errand *errand);

/** Shall a release or a draw be sent again? It was blocked, interrupted, or not
 *  answered. */
static inline bool rlk_commit_again(enum rlk_fault fault)
{
	return rlk_fault_passes(fault) || fault == RLK_UNKNOWN;
}

#endif
