/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_POOL_PRIVATE_H
#define RLK_DB_POOL_PRIVATE_H

/*
 * Shared by the pool's files: pool.c begins and ends it, lend.c gives and
 * takes, opener.c opens.
 *
 * An opener may be stuck in name resolution when the pool is freed. So all it
 * needs is counted (references) and copied (the target), and goes with the last
 * of them.
 */

#include "base/list.h"
#include "base/thread.h"
#include "db/conn_private.h"
#include "db/pool.h"

/** Threads that open at the same time. */
#define RLK_OPENERS 4

/** A waiter; kept for the next when it has been served. */
struct rlk_pool_wait {
	struct rlk_list list; /* of the bay, or of those to spare */
	struct rlk_sleeper sleeper;
	int64_t until_ms;
	bool persist;
	bool served; /* out of the bay's list, by conn or by error */
	struct rlk_conn *conn;
	struct rowlock_errinfo error; /* of the last try; code 0: none */
};

struct rlk_bay {
	struct rlk_pool_bay spec;
	struct rlk_list idle; /* the longest idle first */
	struct rlk_list out;  /* those that are lent */
	struct rlk_list waits;
	unsigned int lent;
	unsigned int kept;    /* in idle */
	unsigned int opening; /* openers that work for it */
	/* The last try's, or code 0, and the time when it failed. */
	struct rowlock_errinfo error;
	int64_t failed_ms;
};

struct rlk_opener {
	struct rlk_pool *pool;
	struct rlk_thread thread;
	struct rlk_sleeper sleeper; /* for back-off */
	bool ready;                 /* the sleeper is there */
	bool running;
};

struct rlk_pool {
	struct rlk_mutex mutex;
	unsigned int references; /* the owner, and each running opener */
	bool closed;
	struct rlk_conn_target target; /* a copy */
	const struct rlk_log *log;     /* the owner's, which openers outlive */
	struct rlk_refusal refusal;
	struct rlk_asked asked;
	char *program;
	char *who;
	char identity[96];        /* of the server reached last */
	int64_t retired_ms;       /* when connections were, the last time */
	struct rlk_sleeper ended; /* an opener has ended */
	struct rlk_list spare;    /* struct rlk_pool_wait */
	struct rlk_opener openers[RLK_OPENERS];
	size_t count;
	struct rlk_bay bays[];
};

/** The connection of a node of a bay's lists; NULL for NULL. */
static inline struct rlk_conn *rlk_pool_conn(struct rlk_list *node)
{
	return node ? container_of(node, struct rlk_conn, loan.in_bay) : NULL;
}

/** May one more connection exist in @bay? Under the mutex. */
static inline bool rlk_bay_has_room(const struct rlk_bay *bay)
{
	return !bay->spec.limit ||
	       bay->lent + bay->kept + bay->opening < bay->spec.limit;
}

/** How many wait in @bay. Under the mutex. */
static inline unsigned int rlk_bay_waiting(const struct rlk_bay *bay)
{
	const struct rlk_list *node;
	unsigned int waiting = 0;

	for (node = bay->waits.next; node != &bay->waits; node = node->next)
		waiting++;
	return waiting;
}

/** Is there one more, idle or to be opened, than those who wait will take?
 *  Under the mutex. */
static inline bool rlk_bay_has_spare(const struct rlk_bay *bay)
{
	unsigned int waiting = rlk_bay_waiting(bay);
	unsigned int coming = waiting > bay->opening ? waiting : bay->opening;

	return !bay->spec.limit || bay->lent + coming < bay->spec.limit;
}

/** When the last reference has gone. Without the mutex. */
void rlk_pool_destroy(struct rlk_pool *pool);

#endif
