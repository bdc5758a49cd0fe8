/* SPDX-License-Identifier: MIT */
#ifndef RLK_GROUP_TICKET_H
#define RLK_GROUP_TICKET_H

/*
 * A request that is sent together with others (commit.h), and what came out. It
 * may outlive its caller, who leaves it to its leader when his time is up.
 */

#include "hold/handle.h"
#include "hold/hold.h"

/** A request, on the heap: it may outlive its caller. */
struct rlk_ticket {
	struct rlk_member member;
	struct rlk_part part;
	struct rlk_hold *hold;

	/* What came out, besides part's answer. */
	enum rlk_fault fault;
	struct rlk_mark mark;         /* if no answer came: of which session */
	struct rowlock_errinfo error; /* code 0: none */

	/* Nobody knows what an earlier sending has done: it was not answered,
	 * and cannot be executed any more. */
	bool unsure;
	bool alone;        /* it has to be sent by itself */
	bool left;         /* under client->mutex: one of two has let it go */
	_Atomic bool sent; /* its leader has sent it, or is about to */
};

/** A ticket for @hold; NULL: no memory. */
struct rlk_ticket *rlk_ticket_new(struct rlk_hold *hold, enum rlk_act act,
				  const struct rlk_request *request);
struct rlk_ticket *rlk_ticket_free(struct rlk_ticket *ticket);

static inline void rlk_ticket_freep(struct rlk_ticket **ticket)
{
	if (*ticket)
		*ticket = rlk_ticket_free(*ticket);
}

static inline struct rlk_ticket *rlk_ticket_of(struct rlk_member *member)
{
	return container_of(member, struct rlk_ticket, member);
}

/** One on the caller's stack, whose texts are the caller's. It never goes
 *  together with others. */
void rlk_ticket_init(struct rlk_ticket *ticket, struct rlk_hold *hold,
		     enum rlk_act act, const struct rlk_request *request);

/** Its caller leaves, or else its answer is there: the second of the two sees
 *  to what is left, and frees it. Takes client->mutex. */
void rlk_ticket_leave(struct rlk_ticket *ticket, bool caller);

void rlk_ticket_fail(struct rlk_ticket *ticket, enum rlk_fault fault,
		     const struct rowlock_errinfo *error);

/** Nobody knows what the session of @mark has done, or will do. */
void rlk_ticket_fail_unclear(struct rlk_ticket *ticket,
			     const struct rlk_mark *mark,
			     const struct rowlock_errinfo *error);

#endif
