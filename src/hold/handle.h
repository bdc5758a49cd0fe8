/* SPDX-License-Identifier: MIT */
#ifndef RLK_HOLD_HANDLE_H
#define RLK_HOLD_HANDLE_H

/*
 * The handle, and who waits with it.
 */

#include "core/client.h"
#include "core/waiter.h"
#include "hold/hold.h"

/** The part of a recipe (recipe/) that its handle knows, and frees: it is the
 *  first member of a struct of the recipe. */
struct rlk_recipe {
	/** rowlock_acquire() of it. */
	int (*acquire)(struct rowlock *lock, uint64_t wait_ms,
		       struct rowlock_errinfo *reterr);
	/** rowlock_free() calls both before it frees the memory, the first
	 *  under client->mutex. NULL: nothing. */
	void (*leave_locked)(struct rlk_recipe *recipe);
	void (*fini)(struct rlk_recipe *recipe);
};

/** There may be a hundred thousand of them: test_memory.c counts. */
struct rowlock {
	struct rlk_name *name; /* a reference; with it the client */
	uint8_t flags;         /* enum rowlock_flags */
	bool has_info;
	uint16_t slot; /* under client->mutex: of the permit that it had last,
			  if that came at once; else 0 */
	uint32_t max_hold_ms;
	struct rlk_recipe *recipe; /* NULL: none */

	/* Under client->mutex. */
	struct rlk_hold *hold;   /* the one that it acquired, also when lost */
	struct rowlock *next;    /* in hold->handles */
	unsigned int depth;      /* its own share of the hold's */
	unsigned int calls : 15; /* under way */
	bool freed : 1;          /* somebody waits for their end, to free it */
	unsigned int notices : 12; /* calls of lost_fn that are due */
	bool in_parts : 1;         /* its acquire is one in parts */
	bool shown : 1;       /* of the present hold: its acquire returned 0, or
				 is about to */
	bool lost_told : 1;   /* of the present hold; see notifier.c */
	bool cancel_next : 1; /* the next part of its acquire */
	struct rlk_waiter *waiter;
	rowlock_lost_fn lost_fn;
	void *lost_arg;
	struct rlk_list in_notices;

	char info[];
};

/** May there be a handle on @name with these options? 0 or the error. */
int rlk_lock_check(const struct rowlock_client *client, const char *name,
		   const struct rowlock_options *options,
		   struct rowlock_errinfo *reterr);

/** The handle, made of what was checked; NULL: out of memory. Takes
 *  client->mutex. */
struct rowlock *rlk_lock_new(struct rowlock_client *client, const char *name,
			     const struct rlk_strategy *strategy,
			     const struct rowlock_options *options);

/** rowlock_new() with a strategy that may be none of the options'. */
int rlk_lock_make(struct rowlock_client *client, const char *name,
		  const struct rlk_strategy *strategy,
		  const struct rowlock_options *options,
		  struct rowlock **ret_lock, struct rowlock_errinfo *reterr);

/** Of the row that it makes; NULL: none. */
static inline const char *rlk_lock_info(const struct rowlock *lock)
{
	return lock->has_info ? lock->info : NULL;
}

/** Who is asking: the thread, or the handle. Never equal to one another. Of
 *  what is shared: RLK_OWNER_ALL. */
uint64_t rlk_lock_owner(const struct rowlock *lock);

/** The handle has acquired @hold once (more). */
void rlk_lock_attach_locked(struct rowlock *lock, struct rlk_hold *hold);

/** The handle's levels of its hold are gone. */
void rlk_lock_detach_locked(struct rowlock *lock);

/** Tell @lock that its present hold is lost, once: if it has a function for
 *  that, the notifier will call it. Not before it is shown: whose acquire has
 *  not returned is not told of what it may never see. */
void rlk_lock_notify_locked(struct rowlock *lock);

/** The acquire is about to return the hold that the handle has. */
void rlk_lock_show_locked(struct rowlock *lock);

/** Do both tell people the same? */
bool rlk_lock_same_info(const struct rowlock *a, const struct rowlock *b);

/** "'name' on server": every message about a lock has it. */
#define RLK_LOCK_FORMAT "'%s' (%s) on %s"
#define RLK_LOCK_ARGS(lock)                                                    \
	rlk_name_shown((lock)->name).text, (lock)->name->strategy->name,       \
	    (lock)->name->client->server

/** The hold that @lock has is about to be returned to the caller: its loss is
 *  told from now on. */
void rlk_lock_show(struct rowlock *lock);

/** Does the handle hold its name, whether or not that is shown already? Takes
 *  client->mutex. */
bool rlk_lock_holds(struct rowlock *lock);

/** A call on @lock is under way: it is not freed before the second of these.
 *  Take client->mutex, but for the third. */
void rlk_lock_enter(struct rowlock *lock);
void rlk_lock_leave(struct rowlock *lock);
void rlk_lock_leave_locked(struct rowlock *lock);

/** An acquire that waits in parts, or says more than the one that asks, is
 *  under way all the time: a cancel between them ends the next part. */
void rlk_lock_begin_parts(struct rowlock *lock);
void rlk_lock_end_parts(struct rowlock *lock);

/** May no call on @lock go on? 0; ROWLOCK_EINVAL: it is NULL, or its client was
 *  freed; ROWLOCK_EFORKED. */
int rlk_lock_refuses(const struct rowlock *lock,
		     struct rowlock_errinfo *reterr);

/** The hold of @lock, checked for a call that only its owner may make, or the
 *  error in *@ret_code. Before it is shown it is there for the acquire alone,
 *  which is @inside. */
struct rlk_hold *rlk_lock_hold_locked(struct rowlock *lock, bool inside,
				      int *ret_code,
				      struct rowlock_errinfo *reterr);

/** Is it held, and shown? */
bool rlk_lock_shows_locked(const struct rowlock *lock);

/** Somebody who waits with @lock, up to @wait_ms from now; 0: a try. Without
 *  its waker, which it has to get. */
void rlk_waiter_init(struct rlk_waiter *waiter, struct rowlock *lock,
		     uint64_t wait_ms);

/** From here on rowlock_cancel() ends @waiter's wait, which is for something
 *  else than the lock. False: out of memory. */
bool rlk_waiter_begin(struct rlk_waiter *waiter);
void rlk_waiter_end(struct rlk_waiter *waiter);

/** It has calls that are due: it stands in the notifier's line, once. */
void rlk_lock_queue_notices_locked(struct rowlock *lock);

#endif
