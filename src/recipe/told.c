/* SPDX-License-Identifier: MIT */
/*
 * See told.h. In a child of fork() another thread of the parent may have had
 * the mutex: there nothing is done.
 */
#include "recipe/told.h"

#include "hold/handle.h"

void rlk_told_init(struct rlk_told *told)
{
	rlk_mutex_init(&told->mutex);
}

void rlk_told_fini(struct rlk_told *told)
{
	rlk_mutex_fini(&told->mutex);
}

/* First the new function: the old one may be running, and is waited for. */
void rlk_told_set(struct rlk_told *told, struct rowlock *lock, rlk_told_fn fn,
		  void *arg, rowlock_lost_fn pass, void *handle)
{
	if (rlk_check_forked(lock, NULL))
		return;
	rlk_mutex_lock(&told->mutex);
	told->fn = fn;
	told->arg = arg;
	rlk_mutex_unlock(&told->mutex);
	rowlock_on_lost(lock, fn ? pass : NULL, handle);
}

rlk_told_fn rlk_told_get(struct rlk_told *told, void **ret_arg)
{
	rlk_told_fn fn;

	rlk_mutex_lock(&told->mutex);
	fn = told->fn;
	*ret_arg = told->arg;
	rlk_mutex_unlock(&told->mutex);
	return fn;
}
