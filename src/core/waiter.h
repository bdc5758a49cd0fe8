/* SPDX-License-Identifier: MIT */
#ifndef RLK_CORE_WAITER_H
#define RLK_CORE_WAITER_H

/* A thread that waits: for a name, for the session, for a connection. */

#include "core/client.h"
#include "core/waker.h"

struct rlk_offer;
struct rowlock;

/** The request of the caller. */
struct rlk_wish {
	bool try;
	bool undrawn;   /* its token is drawn later, not with its row */
	uint64_t under; /* a reader: the writer's attempt that lets it
			   in; 0: none */
	const struct rlk_offer *offer; /* to be adopted; NULL: none */
	unsigned int permits;          /* of a semaphore: its total, */
	unsigned int count;            /* and the number wanted */
};

/** The state of a waiter: STANDS -> ASKS <-> RESTS. It may be handed the hold
 *  while it stands; for permits also while it rests. */
enum rlk_waiter_state {
	RLK_WAITER_STANDS, /* in the line of its name */
	RLK_WAITER_ASKS,   /* the server, or is about to */
	RLK_WAITER_RESTS,  /* between two questions, with none in doubt */
};

/**
 * A thread in rowlock_acquire(), on its stack. It sleeps on a condition that is
 * its own meanwhile, so a grant, a cancel or an alarm wakes only this thread.
 */
struct rlk_waiter {
	struct rlk_list node; /* in its name's queue */
	struct rowlock *lock;
	struct rlk_name *name;
	uint64_t owner; /* the owner to be */
	enum rlk_waiter_state state;
	bool handed; /* it has lock->hold from the last owner, or shares it */
	struct rlk_waker *waker;
	struct rlk_alarm alarm; /* while it sleeps */
	_Atomic bool canceled;  /* written under the mutex */
	bool in_session;        /* it sleeps on client->session_changed */
	int64_t until_ms;       /* the caller's deadline */
	int64_t give_up_ms;     /* no statement may last longer */
	struct rlk_wish wish;
	bool refused;    /* by the server, at least once */
	bool waited;     /* another had the name; its own thread's */
	bool freed;      /* of a semaphore: one of our holds has ended since it
			    last asked */
	uint64_t breaks; /* of the session, at the last request */
	struct rlk_conn *conn; /* it waits in the server: interrupt */
	int wake;              /* an eventfd that ends another wait; -1 */
	struct rlk_pool_waiter pool_waiter;
};

/** The reason to end the wait now: 0, ROWLOCK_ECANCELED or ROWLOCK_ETIMEDOUT. A
 *  try's time is not up before it has asked. */
int rlk_waiter_over_locked(struct rlk_waiter *waiter);

/** Sleep on the waiter's condition until it is signalled, or until @at_ms.
 *  Releases the mutex meanwhile. */
void rlk_waiter_sleep_locked(struct rlk_waiter *waiter, int64_t at_ms);

/** The deadline of a statement that is sent for @waiter now. */
int64_t rlk_waiter_io_until(const struct rlk_waiter *waiter);

/** Wake the first waiter of @name, if it may go now. */
void rlk_name_next_locked(struct rlk_name *name);

/** Wake all waiters of @name. */
void rlk_name_all_locked(struct rlk_name *name);

#endif
