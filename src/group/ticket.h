/* SPDX-License-Identifier: MIT */
#ifndef RLK_GROUP_TICKET_H
#define RLK_GROUP_TICKET_H

/*
 * A request that is sent together with others (commit.h), and its result. It
 * may outlive its caller, which leaves it to its leader when its time is up.
 */

#include "hold/handle.h"
#include "hold/hold.h"

/** A request, on the heap: it may outlive its caller. */
struct rlk_ticket {
	struct rlk_member member;
	struct rlk_part part;
	struct rlk_hold *hold;

	/* The result besides part's answer. */
	enum rlk_fault fault;
	struct rlk_mark mark;         /* without an answer: its session */
	struct rowlock_errinfo error; /* code 0: none */

	/* In doubt: an earlier attempt to send it was not answered, and cannot
	 * be executed any more. */
	bool unsure;
	bool alone;        /* it has to be sent alone */
	bool left;         /* under client->mutex: one side has left it */
	_Atomic bool sent; /* its leader has sent it, or is about to */
};

/** A ticket for @hold; NULL if memory is out. */
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

/** A ticket on the caller's stack, with the caller's texts. It is always sent
 *  alone. */
void rlk_ticket_init(struct rlk_ticket *ticket, struct rlk_hold *hold,
		     enum rlk_act act, const struct rlk_request *request);

/** Its caller leaves, or its answer has come: the second of the two settles and
 *  frees it. Takes client->mutex. */
void rlk_ticket_leave(struct rlk_ticket *ticket, bool caller);

void rlk_ticket_fail(struct rlk_ticket *ticket, enum rlk_fault fault,
		     const struct rowlock_errinfo *error);

/** Fail it in doubt: the session of @mark may execute it at any time. */
void rlk_ticket_fail_unclear(struct rlk_ticket *ticket,
			     const struct rlk_mark *mark,
			     const struct rowlock_errinfo *error);

#endif
