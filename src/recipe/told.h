/* SPDX-License-Identifier: MIT */
#ifndef RLK_RECIPE_TOLD_H
#define RLK_RECIPE_TOLD_H

/*
 * Who is told of the loss of what a recipe's handle holds: its own function, to
 * which that of the lock below passes on.
 */
#include <rowlock.h>
#include <stdbool.h>

#include "base/thread.h"

/** Any function; whoever gets it casts it to what it was. */
typedef void (*rlk_told_fn)(void);

struct rlk_told {
	struct rlk_mutex mutex; /* protects both; nothing is called with it */
	rlk_told_fn fn;         /* NULL: nobody */
	void *arg;
};

void rlk_told_init(struct rlk_told *told);
void rlk_told_fini(struct rlk_told *told);

/**
 * Have @fn told of the losses of @lock, by @pass with @handle; NULL: nobody. As
 * rowlock_on_lost().
 */
void rlk_told_set(struct rlk_told *told, struct rowlock *lock, rlk_told_fn fn,
		  void *arg, rowlock_lost_fn pass, void *handle);

/** For @pass: who it is, and *@ret_arg; NULL: nobody any more. */
rlk_told_fn rlk_told_get(struct rlk_told *told, void **ret_arg);

#endif
