/* SPDX-License-Identifier: MIT */
#ifndef RLK_GROUP_COMMIT_H
#define RLK_GROUP_COMMIT_H

/*
 * Group commit: acquires, releases and draws of this client that come at the
 * same moment share one round trip. See db/group.h for who runs it, and the
 * strategy's batch() for what is sent.
 *
 * One that meets no other is sent by its own thread, as if there were no group;
 * as a packet of one, if it is an acquire that draws.
 * One whose packet failed half way is sent alone, by its own thread, so that
 * what is wrong with one is nothing to the others.
 */

#include "group/ticket.h"

/** What rlk_commit_run() is told by its caller, besides the ticket. */
struct rlk_errand {
	int64_t until_ms; /* the caller's; what it leads ends with a call's */
	int64_t not_before_ms; /* it waits for company until then; 0: it does
				  not. Only if rlk_commit_gathers() */
	bool persist;          /* wait out a server that is away */
	bool aside;            /* its row was locked by somebody: nobody has to
				  wait with it */
	struct rlk_waiter *waiter; /* NULL: cannot be interrupted */
};

enum rlk_outcome {
	RLK_OUT_ANSWERED, /* ticket->part, or ticket->fault and its error */
	RLK_OUT_NOT_SENT, /* its error: no connection, no time, canceled */
	RLK_OUT_LATE,     /* not sent: its round could not be played in time */
	RLK_OUT_LEFT,     /* sent, and no answer in time: the group settles it.
			     The ticket is not the caller's any more. */
	RLK_OUT_UNSENT,   /* the same of an acquire that was not sent by then,
			     as its leader had no connection yet */
};

/** Each request alone, until the options are applied. */
void rlk_commit_init(struct rowlock_client *client);
void rlk_commit_fini(struct rowlock_client *client);

/** rowlock_cancel() of a waiter whose request may be queued, or taken. */
void rlk_commit_withdraw(struct rowlock_client *client,
			 const struct rlk_waiter *waiter);

/** Do requests share packets, so that one may wait for a round? */
bool rlk_commit_gathers(struct rowlock_client *client);

/**
 * Run @ticket, together with others of the moment. Blocks until
 * errand->until_ms at most; no mutex held. After RLK_OUT_LEFT and
 * RLK_OUT_UNSENT the caller's pointer is NULL.
 */
enum rlk_outcome rlk_commit_run(struct rlk_ticket **ticket,
				const struct rlk_errand *errand);

/** The row that a release was to delete. */
struct rlk_found {
	bool row;    /* was there, and is deleted now */
	bool unsure; /* an earlier sending was not answered, and may have
			deleted it */
};

/**
 * Give the row of @hold back, or draw a token for it, of a set for name @which:
 * one sending, together with others. RLK_DONE, and *@ret_found or *@ret_token
 * as the strategy's operations; RLK_UNKNOWN: no answer; RLK_FAILED: not sent;
 * else refused. All with @reterr.
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
 * others that are removed at this moment; errand->aside: alone, as it has to be
 * observed, or was in the others' way. *@holder may be looked up anew. True:
 * the name may be free now; false: it is not, or that could not be done in
 * time.
 */
bool rlk_commit_sweep(struct rlk_hold *hold, const struct rlk_request *request,
		      struct rlk_holder *holder,
		      const struct rlk_errand *errand);

/** Shall a release or a draw be sent again? Others were in the way, somebody
 *  interrupted it, or no answer came. */
static inline bool rlk_commit_again(enum rlk_fault fault)
{
	return fault == RLK_BUSY || fault == RLK_CONFLICT ||
	       fault == RLK_KILLED || fault == RLK_UNKNOWN;
}

#endif
