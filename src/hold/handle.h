/* SPDX-License-Identifier: MIT */
#ifndef RLK_HOLD_HANDLE_H
#define RLK_HOLD_HANDLE_H

/*
 * The handle, and the waiters that use it.
 */

#include "core/client.h"
#include "core/waiter.h"
#include "hold/hold.h"

/** The part of a recipe (recipe/) that its handle knows, and frees: it is the
 *  first member of a struct of the recipe. */
struct rlk_recipe {
	/** rowlock_acquire() for the recipe. */
	int (*acquire)(struct rowlock *lock, uint64_t wait_ms,
		       struct rowlock_errinfo *reterr);
	/** The other lock of a pair, which a call on this one may acquire;
	 * NULL: none. */
	struct rowlock *other;
	/** rowlock_free() calls both before it frees the memory, the first
	 *  under client->mutex. NULL: nothing. */
	void (*leave_locked)(struct rlk_recipe *recipe);
	void (*fini)(struct rlk_recipe *recipe);
};

/** There may be a hundred thousand of them: test_memory.c counts. */
struct rowlock {
	struct rlk_name *name; /* a reference; with it the client */
	uint8_t flags;         /* enum rowlock_flags */
	bool has_info : 1;
	bool has_keep : 1; /* its holds are to have a keep */
	uint16_t slot; /* under client->mutex: of the permit that it had last,
			  if that came at once; else 0 */
	uint32_t max_hold_ms;
	struct rlk_recipe *recipe; /* NULL: none */

	/* Under client->mutex. */
	struct rlk_hold *hold;     /* the one that it acquired, even if lost */
	struct rowlock *next;      /* in hold->handles */
	unsigned int depth;        /* its own share of the hold's */
	unsigned int calls : 14;   /* under way */
	bool waited : 1;           /* the last acquire has, or does */
	bool freed : 1;            /* rowlock_free() waits for their end */
	unsigned int notices : 12; /* calls of lost_fn that are due */
	bool in_parts : 1;         /* its acquire goes in parts */
	bool shown : 1;       /* of the current hold: its acquire returned 0, or
				 is about to */
	bool lost_told : 1;   /* of the current hold; see notifier.c */
	bool cancel_next : 1; /* the next part of its acquire */
	struct rlk_waiter *waiter;
	rowlock_lost_fn lost_fn;
	void *lost_arg;
	struct rlk_list in_notices;

	/* Its info, if it has one, and behind that a struct rlk_keep_times, if
	 * it has one. */
	char more[];
};

/** Check @name and @options for a handle. Returns 0 or the error. */
int rlk_lock_check(const struct rowlock_client *client, const char *name,
		   const struct rowlock_options *options,
		   struct rowlock_errinfo *reterr);

/** Make a handle of checked arguments. Returns NULL if memory is out. Takes
 *  client->mutex. */
struct rowlock *rlk_lock_new(struct rowlock_client *client, const char *name,
			     const struct rlk_strategy *strategy,
			     const struct rowlock_options *options);

/** rowlock_new() with a strategy that need not be one of the options'. */
int rlk_lock_make(struct rowlock_client *client, const char *name,
		  const struct rlk_strategy *strategy,
		  const struct rowlock_options *options,
		  struct rowlock **ret_lock, struct rowlock_errinfo *reterr);

/** The info for the row that it makes; NULL: none. */
static inline const char *rlk_lock_info(const struct rowlock *lock)
{
	return lock->has_info ? lock->more : NULL;
}

/** How long its name is kept, and when. */
struct rlk_keep_times {
	uint64_t at_least_ms; /* from its grant on; 0: no keep for that */
	uint64_t delay_ms;    /* after a loss */
};

/** The times of a handle that has a keep. */
struct rlk_keep_times rlk_lock_keep_times(const struct rowlock *lock);

/** The number of the thread or handle that asks, all different. For a shared
 *  lock: RLK_OWNER_ALL. */
uint64_t rlk_lock_owner(const struct rowlock *lock);

/** Add a level of @hold to the handle. */
void rlk_lock_attach_locked(struct rowlock *lock, struct rlk_hold *hold);

/** Remove the handle's levels of its hold. */
void rlk_lock_detach_locked(struct rowlock *lock);

/** Notify @lock, once, that its current hold is lost: if it has a callback, the
 *  notifier calls it. Not before the hold is shown: an acquire that has not
 *  returned may never show it. */
void rlk_lock_notify_locked(struct rowlock *lock);

/** The acquire is about to return the handle's hold. */
void rlk_lock_show_locked(struct rowlock *lock);

/** The acquire waits, as another has the name: counted once. */
void rlk_lock_waited_locked(struct rowlock *lock);

/** Do both have the same info? */
bool rlk_lock_same_info(const struct rowlock *a, const struct rowlock *b);

/** "'name' on server": every message about a lock has it. */
#define RLK_LOCK_FORMAT "'%s' (%s) on %s"
#define RLK_LOCK_ARGS(lock)                                                    \
	rlk_name_shown((lock)->name).text, (lock)->name->strategy->name,       \
	    (lock)->name->client->server

/** The hold of @lock is about to be returned to the caller: its loss is
 *  reported from now on. */
void rlk_lock_show(struct rowlock *lock);

/** Does the handle hold its name, shown or not? Takes client->mutex. */
bool rlk_lock_holds(struct rowlock *lock);

/** A call on @lock is under way, which delays its free until rlk_lock_leave().
 *  Take client->mutex, except for _locked. */
void rlk_lock_enter(struct rowlock *lock);
void rlk_lock_leave(struct rowlock *lock);
void rlk_lock_leave_locked(struct rowlock *lock);

/** An acquire in parts, or with more statements than the asking, is under way
 *  all the time: a cancel between parts ends the next one. The first returns 0,
 *  or ROWLOCK_EINVAL: another thread is within one. */
int rlk_lock_begin_parts(struct rowlock *lock, struct rowlock_errinfo *reterr);
void rlk_lock_end_parts(struct rowlock *lock);

/** The error of an acquire with a handle by which another thread waits. */
int rlk_lock_fail_waiting(const struct rowlock *lock,
			  struct rowlock_errinfo *reterr);

/** May a call on @lock go on? Returns 0; ROWLOCK_EINVAL: it is NULL, or its
 *  client was freed; ROWLOCK_EFORKED. */
int rlk_lock_refuses(const struct rowlock *lock,
		     struct rowlock_errinfo *reterr);

/** The hold of @lock for a call that only its owner may make, or the error in
 *  *@ret_code. Before it is shown only the acquire sees it, with @inside. */
struct rlk_hold *rlk_lock_hold_locked(struct rowlock *lock, bool inside,
				      int *ret_code,
				      struct rowlock_errinfo *reterr);

/** Is the lock held, and shown? */
bool rlk_lock_shows_locked(const struct rowlock *lock);

/** Make a waiter of @lock for @wait_ms from now; 0: a try. The caller has to
 *  get its waker. */
void rlk_waiter_init(struct rlk_waiter *waiter, struct rowlock *lock,
		     uint64_t wait_ms);

/** A cancel that came too late for this part of an acquire is meant for the
 *  next one. */
void rlk_lock_keep_cancel_locked(const struct rlk_waiter *waiter);

/** From here on rowlock_cancel() ends @waiter's wait, which is not for the
 *  lock. Returns false if memory is out. */
bool rlk_waiter_begin(struct rlk_waiter *waiter);
void rlk_waiter_end(struct rlk_waiter *waiter);

/** Put a handle with due calls in the notifier's line, once. */
void rlk_lock_queue_notices_locked(struct rowlock *lock);

#endif
