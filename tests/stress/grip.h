/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_STRESS_GRIP_H
#define ROWLOCK_STRESS_GRIP_H

/*
 * The kinds of locks that a thread of a run can hold. All of
 * them are acquired, asked about and released in the same cycle.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <rowlock.h>
#include <rowlock/adoption.h>
#include <rowlock/election.h>
#include <rowlock/multilock.h>
#include <rowlock/rwlock.h>
#include <rowlock/semaphore.h>

struct grip;
struct worker;

/** The calls of its kind: as those of the library, but that held() says yes or
 *  no. */
struct grip_kind {
	int (*acquire)(struct grip *grip, uint64_t wait_ms,
		       struct rowlock_errinfo *reterr);
	int (*release)(struct grip *grip, struct rowlock_errinfo *reterr);
	bool (*held)(struct grip *grip);
	int (*verify)(struct grip *grip, struct rowlock_errinfo *reterr);
	/** The token of one of its parts; NULL for a kind without tokens. */
	int (*token)(struct grip *grip, unsigned int part, uint64_t *ret_token,
		     struct rowlock_errinfo *reterr);
	/** Have its losses told, or no more. */
	void (*listen)(struct grip *grip, bool hears);
	int (*free)(struct grip *grip, struct rowlock_errinfo *reterr);
	bool elects; /* the token comes with the grant */
};

#define GRIP_PARTS 3 /* at most */

struct grip {
	const struct grip_kind *kind;
	struct worker *worker;
	struct rowlock *lock;   /* or what the recipe made, or the reader */
	struct rowlock *writer; /* of a read/write lock; else NULL */
	bool reads;             /* of a read/write lock, this time */
	unsigned int permits;   /* that a semaphore has; else 0 */
	unsigned int takes;     /* of these, this time */
	/* Each name of a multi-lock is a hold of its own in the history. */
	unsigned int parts;
	char names[GRIP_PARTS][128];
	pthread_mutex_t mutex;
	pthread_cond_t told;
	uint64_t serial; /* of the hold that is or was last, or is asked for */
	uint64_t last_lost; /* serial of the last hold told lost */
};

/** Make @grip, whose names and number of permits are written in it, of a client
 *  of its own kind. */
int grip_lock(struct grip *grip, struct rowlock_client *client,
	      const struct rowlock_options *options,
	      struct rowlock_errinfo *reterr);
int grip_rwlock(struct grip *grip, struct rowlock_client *client,
		struct rowlock_errinfo *reterr);
int grip_semaphore(struct grip *grip, struct rowlock_client *client,
		   struct rowlock_errinfo *reterr);
int grip_multilock(struct grip *grip, struct rowlock_client *client,
		   struct rowlock_errinfo *reterr);
int grip_election(struct grip *grip, struct rowlock_client *client,
		  unsigned int weight, struct rowlock_errinfo *reterr);

/** One that is made already, with which nothing is acquired. */
struct grip grip_of_lock(struct rowlock *lock);

/** Called by each when its hold is lost. */
void grip_lost(struct grip *grip);

#endif
