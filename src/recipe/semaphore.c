/* SPDX-License-Identifier: MIT */
/*
 * A semaphore: a handle on permits (recipe/semaphore_permits.h) that owns what
 * it holds, and how many there are to be. The rest is the lock's.
 */
#include <rowlock/semaphore.h>

#include <stdlib.h>

#include "base/error.h"
#include "recipe/semaphore_permits.h"
#include "recipe/told.h"

struct rowlock_semaphore {
	struct rowlock *lock;
	unsigned int permits; /* 0: as many as is stored */
	struct rlk_told told;
};

static int check(const char *name, unsigned int permits,
		 const struct rowlock_semaphore_options *options,
		 struct rowlock_errinfo *reterr)
{
	const char *shown = name ? name : "";

	if (options->size != sizeof(*options))
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"semaphore '%.150s': the options' size is "
				"wrong; begin with "
				"ROWLOCK_SEMAPHORE_OPTIONS_DEFAULT",
				shown);
	if (permits != ROWLOCK_PERMITS_STORED &&
	    (permits < 1 || permits > ROWLOCK_SEMAPHORE_MAX))
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"semaphore '%.150s': %u permits; give 1 to %d, "
				"or ROWLOCK_PERMITS_STORED",
				shown, permits, ROWLOCK_SEMAPHORE_MAX);
	if (options->strategy == ROWLOCK_ROW)
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"semaphore '%.150s': the row strategy has "
				"none; use ROWLOCK_LEASE",
				shown);
	return 0;
}

int rowlock_semaphore_new(struct rowlock_client *client, const char *name,
			  unsigned int permits,
			  const struct rowlock_semaphore_options *options,
			  struct rowlock_semaphore **ret_semaphore,
			  struct rowlock_errinfo *reterr)
{
	const struct rowlock_semaphore_options defaults =
	    ROWLOCK_SEMAPHORE_OPTIONS_DEFAULT;
	struct rowlock_options lock = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_semaphore *semaphore;
	int code;

	if (!options)
		options = &defaults;
	code = check(name, permits, options, reterr);
	if (code)
		return code;
	lock.strategy = options->strategy;
	lock.info = options->info;
	lock.max_hold_ms = options->max_hold_ms;
	lock.flags = ROWLOCK_OWNER_HANDLE | ROWLOCK_NOT_REENTRANT;
	semaphore = calloc(1, sizeof(*semaphore));
	if (!semaphore)
		return rlk_fail(reterr, ROWLOCK_ENOMEM,
				"semaphore '%.150s': out of memory",
				name ? name : "");
	code = rlk_permits_new(client, name, &lock, &semaphore->lock, reterr);
	if (code) {
		free(semaphore);
		rlk_prefix(reterr, "semaphore: ");
		return code;
	}
	semaphore->permits = permits == ROWLOCK_PERMITS_STORED ? 0 : permits;
	rlk_told_init(&semaphore->told);
	*ret_semaphore = semaphore;
	return 0;
}

int rowlock_semaphore_free(struct rowlock_semaphore *semaphore,
			   struct rowlock_errinfo *reterr)
{
	int code;

	if (!semaphore)
		return 0;
	code = rowlock_free(semaphore->lock, reterr);
	if (code)
		return code;
	rlk_told_fini(&semaphore->told);
	free(semaphore);
	return 0;
}

int rowlock_semaphore_acquire(struct rowlock_semaphore *semaphore,
			      unsigned int count, uint64_t wait_ms,
			      struct rowlock_errinfo *reterr)
{
	unsigned int most =
	    semaphore->permits ? semaphore->permits : ROWLOCK_SEMAPHORE_MAX;

	if (count < 1 || count > most)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"acquire '%s': %u permits; give 1 to %u",
				rowlock_name(semaphore->lock), count, most);
	return rlk_permits_acquire(semaphore->lock, semaphore->permits, count,
				   wait_ms, reterr);
}

int rowlock_semaphore_release(struct rowlock_semaphore *semaphore,
			      struct rowlock_errinfo *reterr)
{
	return rowlock_release(semaphore->lock, reterr);
}

unsigned int rowlock_semaphore_held(struct rowlock_semaphore *semaphore)
{
	return rlk_permits_held(semaphore->lock);
}

int rowlock_semaphore_verify(struct rowlock_semaphore *semaphore,
			     struct rowlock_errinfo *reterr)
{
	return rowlock_verify(semaphore->lock, reterr);
}

uint64_t rowlock_semaphore_remaining_ms(struct rowlock_semaphore *semaphore)
{
	return rowlock_remaining_ms(semaphore->lock);
}

void rowlock_semaphore_cancel(struct rowlock_semaphore *semaphore)
{
	rowlock_cancel(semaphore->lock);
}

static void lost(struct rowlock *lock, void *arg)
{
	struct rowlock_semaphore *semaphore = arg;
	rowlock_semaphore_lost_fn fn;
	void *fn_arg;

	(void) lock;
	fn =
	    (rowlock_semaphore_lost_fn) rlk_told_get(&semaphore->told, &fn_arg);
	if (fn)
		fn(semaphore, fn_arg);
}

void rowlock_semaphore_on_lost(struct rowlock_semaphore *semaphore,
			       rowlock_semaphore_lost_fn fn, void *arg)
{
	rlk_told_set(&semaphore->told, semaphore->lock, (rlk_told_fn) fn, arg,
		     lost, semaphore);
}

void rowlock_semaphore_freep(struct rowlock_semaphore **semaphore)
{
	if (!*semaphore)
		return;
	if (rowlock_held((*semaphore)->lock))
		rowlock_semaphore_release(*semaphore, NULL);
	if (rowlock_semaphore_free(*semaphore, NULL) == 0)
		*semaphore = NULL;
}

/* --------------------------------------------------------- the semaphore */

int rowlock_semaphore_count(struct rowlock_client *client, const char *name,
			    unsigned int *ret_permits, unsigned int *ret_used,
			    struct rowlock_errinfo *reterr)
{
	return rlk_permits_count(client, name, ret_permits, ret_used, reterr);
}

int rowlock_semaphore_resize(struct rowlock_client *client, const char *name,
			     unsigned int permits,
			     struct rowlock_errinfo *reterr)
{
	if (permits < 1 || permits > ROWLOCK_SEMAPHORE_MAX)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"resize semaphore '%.150s': %u permits; give 1 "
				"to %d",
				name ? name : "", permits,
				ROWLOCK_SEMAPHORE_MAX);
	return rlk_permits_resize(client, name, permits, reterr);
}
