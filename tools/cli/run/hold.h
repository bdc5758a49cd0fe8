/* SPDX-License-Identifier: MIT */
#ifndef CLI_HOLD_H
#define CLI_HOLD_H

/*
 * The lock that a command runs under: a multi-lock for several names, a reader
 * or a writer, permits of a semaphore, or a candidate of an election. For calls
 * without a function here, use hold.lock.
 */

#include <rowlock.h>
#include <rowlock/adoption.h>
#include <rowlock/election.h>
#include <rowlock/multilock.h>
#include <rowlock/mysql.h>
#include <rowlock/rwlock.h>
#include <rowlock/semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/deadline.h"

/** The side of a read/write lock that is wanted. */
enum hold_mode {
	HOLD_PLAIN, /* none: it is another kind of lock */
	HOLD_READ,
	HOLD_WRITE,
};

/** How a name is to be held; all 0: as a lock that is acquired. */
struct hold_manner {
	enum hold_mode mode;
	unsigned int permits; /* of a semaphore: its total, */
	unsigned int count;   /* and the number wanted */
	bool elects;          /* as a candidate, */
	unsigned int weight;  /* of this weight */
	const char *adopt;    /* the string of its export; NULL: none */
};

struct hold {
	struct hold_manner manner; /* set by the caller */
	const char *server;        /* for messages; once it is made */
	struct rowlock *lock;      /* NULL before it is made */
};

/** Make the lock for @count @names; the options are a lock's. The owner is the
 *  handle. As rowlock_new(); hold->lock is the caller's to free. */
int hold_new(struct hold *hold, struct rowlock_client *client,
	     const char *const *names, size_t count,
	     const struct rowlock_options *options,
	     struct rowlock_errinfo *reterr);

/** As rowlock_acquire(), or rowlock_adopt(). */
int hold_acquire(struct hold *hold, uint64_t wait_ms,
		 struct rowlock_errinfo *reterr);

/** As rowlock_token(), of one of the names. Permits have token 0. */
int hold_token(struct hold *hold, const char *name, uint64_t *ret_token,
	       struct rowlock_errinfo *reterr);

/** rowlock_attempt() of a reader or of permits, whose token does not tell whose
 *  row it is; else 0. */
uint64_t hold_attempt(const struct hold *hold);

/** As rowlock_guard_sql(); @by_call: as rowlock_guard_call(). */
int hold_guard_sql(struct hold *hold, bool by_call, char *text, size_t size,
		   struct rowlock_errinfo *reterr);

/** A rowlock_lost_fn: wakes the loop that polls the eventfd *@arg, which then
 *  asks the lock. */
void hold_lost(struct rowlock *lock, void *arg);

/** Why it is about to be lost, for messages. */
const char *hold_threat(const struct rowlock *lock,
			const struct deadline *deadline);

/** Why it was lost, for messages. */
const char *hold_loss(const struct rowlock *lock);

#endif
