/* SPDX-License-Identifier: MIT */
/*
 * A multi-lock: a handle on a set of names (recipe/set_handle.h) that owns what
 * it holds, and the tokens that were drawn for each of them. The rest is the
 * lock's.
 */
#include <rowlock/multilock.h>

#include <stdlib.h>
#include <string.h>

#include "api/token.h"
#include "base/error.h"
#include "base/set_text.h"
#include "recipe/set_handle.h"
#include "recipe/told.h"

struct name {
	uint64_t token; /* the last that was shown; 0: none */
	bool drawn;     /* for the present hold */
};

struct rowlock_multilock {
	struct rowlock *lock; /* its name is the text of all of them */
	struct rlk_told told;

	size_t count;
	struct name names[]; /* in the order of the names' bytes */
};

static int check(const char *const *names, size_t count,
		 const struct rowlock_multilock_options *options,
		 struct rowlock_errinfo *reterr)
{
	if (options->size != sizeof(*options))
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"multi-lock: the options' size is wrong; begin "
				"with ROWLOCK_MULTILOCK_OPTIONS_DEFAULT");
	if (!names || count < 1 || count > ROWLOCK_MULTILOCK_MAX)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"multi-lock: %zu names%s; give 1 to %d", count,
				names ? "" : " in an array that is NULL",
				ROWLOCK_MULTILOCK_MAX);
	if (options->strategy == ROWLOCK_ROW)
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"multi-lock: the row strategy has none; use "
				"ROWLOCK_LEASE");
	return 0;
}

int rowlock_multilock_new(struct rowlock_client *client,
			  const char *const *names, size_t count,
			  const struct rowlock_multilock_options *options,
			  struct rowlock_multilock **ret_multilock,
			  struct rowlock_errinfo *reterr)
{
	const struct rowlock_multilock_options defaults =
	    ROWLOCK_MULTILOCK_OPTIONS_DEFAULT;
	struct rowlock_options lock = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_multilock *multilock;
	int code;

	if (!options)
		options = &defaults;
	code = check(names, count, options, reterr);
	if (code)
		return code;
	lock.strategy = options->strategy;
	lock.info = options->info;
	lock.max_hold_ms = options->max_hold_ms;
	lock.flags = ROWLOCK_OWNER_HANDLE | ROWLOCK_NOT_REENTRANT;
	for (size_t i = 0; i < count; i++)
		if (!names[i])
			return rlk_fail(reterr, ROWLOCK_ENAME,
					"multi-lock: name %zu is NULL", i);
	multilock =
	    calloc(1, sizeof(*multilock) + count * sizeof(*multilock->names));
	if (!multilock)
		return rlk_fail(reterr, ROWLOCK_ENOMEM,
				"multi-lock: out of memory");
	code =
	    rlk_set_new(client, names, count, &lock, &multilock->lock, reterr);
	if (code) {
		free(multilock);
		rlk_prefix(reterr, "multi-lock: ");
		return code;
	}
	multilock->count = count;
	rlk_told_init(&multilock->told);
	*ret_multilock = multilock;
	return 0;
}

int rowlock_multilock_free(struct rowlock_multilock *multilock,
			   struct rowlock_errinfo *reterr)
{
	int code;

	if (!multilock)
		return 0;
	code = rowlock_free(multilock->lock, reterr);
	if (code)
		return code;
	rlk_told_fini(&multilock->told);
	free(multilock);
	return 0;
}

int rowlock_multilock_acquire(struct rowlock_multilock *multilock,
			      uint64_t wait_ms, struct rowlock_errinfo *reterr)
{
	int code = rlk_set_check_own(multilock->lock, reterr);

	if (!code)
		code = rowlock_acquire(multilock->lock, wait_ms, reterr);
	for (size_t i = 0; !code && i < multilock->count; i++)
		multilock->names[i].drawn = false;
	return code;
}

int rowlock_multilock_release(struct rowlock_multilock *multilock,
			      struct rowlock_errinfo *reterr)
{
	return rowlock_release(multilock->lock, reterr);
}

int rowlock_multilock_held(struct rowlock_multilock *multilock)
{
	return rowlock_held(multilock->lock);
}

int rowlock_multilock_verify(struct rowlock_multilock *multilock,
			     struct rowlock_errinfo *reterr)
{
	return rowlock_verify(multilock->lock, reterr);
}

uint64_t rowlock_multilock_remaining_ms(struct rowlock_multilock *multilock)
{
	return rowlock_remaining_ms(multilock->lock);
}

int rowlock_multilock_token(struct rowlock_multilock *multilock,
			    const char *name, uint64_t *ret_token,
			    struct rowlock_errinfo *reterr)
{
	size_t which = multilock->count;
	struct name *found;
	int code;

	if (name)
		which = rlk_set_find(rowlock_name(multilock->lock), name);
	if (which == multilock->count)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"token of '%.150s': it is none of the names of "
				"this multi-lock",
				name ? name : "(NULL)");
	found = &multilock->names[which];
	if (!found->drawn || !rowlock_held(multilock->lock)) {
		code = rlk_set_token(multilock->lock, (unsigned int) which,
				     found->token, &found->token, reterr);
		if (code)
			return code;
		found->drawn = true;
	}
	*ret_token = found->token;
	return 0;
}

void rowlock_multilock_cancel(struct rowlock_multilock *multilock)
{
	rowlock_cancel(multilock->lock);
}

static void lost(struct rowlock *lock, void *arg)
{
	struct rowlock_multilock *multilock = arg;
	rowlock_multilock_lost_fn fn;
	void *fn_arg;

	(void) lock;
	fn =
	    (rowlock_multilock_lost_fn) rlk_told_get(&multilock->told, &fn_arg);
	if (fn)
		fn(multilock, fn_arg);
}

void rowlock_multilock_on_lost(struct rowlock_multilock *multilock,
			       rowlock_multilock_lost_fn fn, void *arg)
{
	rlk_told_set(&multilock->told, multilock->lock, (rlk_told_fn) fn, arg,
		     lost, multilock);
}

void rowlock_multilock_freep(struct rowlock_multilock **multilock)
{
	if (!*multilock)
		return;
	if (rowlock_multilock_held(*multilock))
		rowlock_multilock_release(*multilock, NULL);
	if (rowlock_multilock_free(*multilock, NULL) == 0)
		*multilock = NULL;
}
