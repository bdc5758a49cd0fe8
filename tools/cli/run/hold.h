/* SPDX-License-Identifier: MIT */
#ifndef CLI_HOLD_H
#define CLI_HOLD_H

/*
 * What a command runs under: a lock, a multi-lock where it wants several names,
 * a read/write lock, permits of a semaphore, or the lead of an election. The
 * library's calls on each.
 */

#include <rowlock.h>
#include <rowlock/election.h>
#include <rowlock/multilock.h>
#include <rowlock/mysql.h>
#include <rowlock/rwlock.h>
#include <rowlock/semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*hold_lost_fn)(void *arg);

/** How a name is to be held; all 0: as a lock. */
struct hold_manner {
	enum rowlock_rwlock_mode mode; /* of a read/write lock: what for */
	unsigned int permits;          /* of a semaphore: how many it has, */
	unsigned int count;            /* and how many are wanted */
	bool elects;                   /* as a candidate, */
	int weight;                    /* of this weight */
};

struct hold {
	struct hold_manner manner; /* set by the caller */
	const char *server;        /* for messages; once it is made */

	/* Exactly one of them, once it is made. */
	struct rowlock *lock;
	struct rowlock_multilock *set;
	struct rowlock_rwlock *rwlock;
	struct rowlock_semaphore *semaphore;
	struct rowlock_election *election;

	hold_lost_fn lost_fn;
	void *lost_arg;
};

/** For @names, @count of them; the options are a lock's. The owner is the
 *  handle. As rowlock_new(). */
int hold_new(struct hold *hold, struct rowlock_client *client,
	     const char *const *names, size_t count,
	     const struct rowlock_options *options,
	     struct rowlock_errinfo *reterr);
/** It must have been released. Nothing if it was never made. */
void hold_free(struct hold *hold);

bool hold_is_made(const struct hold *hold);

/** As the library's calls of the same name. Permits have token 0. */
int hold_acquire(struct hold *hold, uint64_t wait_ms,
		 struct rowlock_errinfo *reterr);
int hold_release(struct hold *hold, struct rowlock_errinfo *reterr);
int hold_token(struct hold *hold, const char *name, uint64_t *ret_token,
	       struct rowlock_errinfo *reterr);
/** As rowlock_guard_sql(); of a lock only. */
/** @by_call: as a CALL of rowlock_guard(). */
int hold_guard_sql(struct hold *hold, bool by_call, char *text, size_t size,
		   struct rowlock_errinfo *reterr);
bool hold_held(struct hold *hold);
uint64_t hold_remaining_ms(struct hold *hold);
void hold_cancel(struct hold *hold);

/** Have @fn called when it is lost; NULL: not any more. @hold stays where it is
 *  until then. */
void hold_on_lost(struct hold *hold, hold_lost_fn fn, void *arg);

#endif
