/* SPDX-License-Identifier: MIT */
/*
 * A multi-lock: a lock of a set of names (strategy/set.h), with the tokens
 * drawn for each name. The names are sorted and become one text, which is the
 * name of the set in this client. So two handles on the same names, in whatever
 * order they are given, share one local line and one hold.
 */
#include <rowlock/multilock.h>

#include <stdlib.h>
#include <string.h>

#include "api/token.h"
#include "base/error.h"
#include "base/set_text.h"
#include "core/call.h"
#include "recipe/recipe.h"
#include "strategy/set.h"
#include "wait/line.h"

struct name {
	uint64_t token;   /* the last one shown; 0: none */
	uint64_t attempt; /* of the hold that it was drawn for, */
	uint64_t passes;  /* and how often that was handed over */
};

struct set {
	struct rlk_recipe recipe;
	struct name names[]; /* in the order of the names' bytes */
};

/* Does the calling thread hold the name by a handle of its own? */
static bool is_own_locked(struct rowlock_client *client, const char *name)
{
	const struct rlk_name *found =
	    rlk_names_find(&client->names, rlk_strategy(ROWLOCK_LEASE), name);

	return found && found->hold &&
	       found->hold->owner == rlk_thread_serial() &&
	       rlk_hold_check_locked(found->hold);
}

/* A thread that holds one of the names alone would wait for itself. */
static int check_own(struct rowlock *lock, bool try,
		     struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);
	size_t count = rlk_set_count(lock->name->text);

	for (size_t i = 0; i < count; i++) {
		struct rlk_set_name name = rlk_set_name_at(lock->name->text, i);

		if (is_own_locked(client, name.text))
			return rlk_fail(reterr,
					try ? ROWLOCK_EBUSY : ROWLOCK_EDEADLOCK,
					"acquire " RLK_LOCK_FORMAT
					": the caller holds '%s' already, by a "
					"lock of its own; release that first",
					RLK_LOCK_ARGS(lock), name.text);
	}
	return 0;
}

static int acquire(struct rowlock *lock, uint64_t wait_ms,
		   struct rowlock_errinfo *reterr)
{
	int code = check_own(lock, wait_ms == 0, reterr);

	return code ? code : rlk_acquire(lock, wait_ms, reterr);
}

/* ------------------------------------------------------------------- made */

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *) a, *(const char *const *) b);
}

/* NULL: out of memory. */
static const char **sort(const char *const *names, size_t count)
{
	const char **sorted = malloc(count * sizeof(*sorted));

	if (!sorted)
		return NULL;
	memcpy(sorted, names, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare);
	return sorted;
}

static int check_names(struct rowlock_client *client, const char *const *names,
		       size_t count, const struct rowlock_options *options,
		       struct rowlock_errinfo *reterr)
{
	if (!names || count < 1 || count > ROWLOCK_MULTILOCK_MAX)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"%zu names%s; give 1 to %d", count,
				names ? "" : " in an array that is NULL",
				ROWLOCK_MULTILOCK_MAX);
	for (size_t i = 0; i < count; i++) {
		int code =
		    names[i] ? rlk_lock_check(client, names[i], options, reterr)
			     : rlk_fail(reterr, ROWLOCK_ENAME,
					"name %zu is NULL", i);

		if (code)
			return code;
	}
	return 0;
}

/* Looks for equal neighbours in sorted names. 0 or ROWLOCK_EINVAL. */
static int find_twice(const char *const *names, size_t count,
		      struct rowlock_errinfo *reterr)
{
	for (size_t i = 1; i < count; i++)
		if (strcmp(names[i - 1], names[i]) == 0)
			return rlk_fail(reterr, ROWLOCK_EINVAL,
					"the name '%s' is given twice; give "
					"each name once",
					names[i]);
	return 0;
}

/* NULL: out of memory. */
static char *join(const char *const *names, size_t count)
{
	size_t size = 0;
	char *text;
	char *at;

	for (size_t i = 0; i < count; i++)
		size += strlen(names[i]) + 1;
	text = malloc(size);
	if (!text)
		return NULL;
	at = text;
	for (size_t i = 0; i < count; i++) {
		at = stpcpy(at, names[i]);
		*at++ = RLK_SET_BETWEEN;
	}
	at[-1] = '\0';
	return text;
}

/* NULL: out of memory. */
static struct rowlock *make(struct rowlock_client *client,
			    const char *const *names, size_t count,
			    const struct rowlock_options *options)
{
	struct set *set = calloc(1, sizeof(*set) + count * sizeof(*set->names));
	char *text = set ? join(names, count) : NULL;
	struct rowlock *lock =
	    text ? rlk_lock_new(client, text, &rlk_strategy_set, options)
		 : NULL;

	free(text);
	if (!lock) {
		free(set);
		return NULL;
	}
	set->recipe.acquire = acquire;
	lock->recipe = &set->recipe;
	return lock;
}

static int new (struct rowlock_client *client, const char *const *names,
		size_t count, const struct rowlock_options *options,
		struct rowlock **ret_lock, struct rowlock_errinfo *reterr)
{
	int code = check_names(client, names, count, options, reterr);
	const char **sorted;

	if (code)
		return code;
	sorted = sort(names, count);
	code = sorted ? find_twice(sorted, count, reterr) : 0;
	if (!code) {
		*ret_lock =
		    sorted ? make(client, sorted, count, options) : NULL;
		if (!*ret_lock)
			code =
			    rlk_fail(reterr, ROWLOCK_ENOMEM, "out of memory");
	}
	free(sorted);
	return code;
}

int rowlock_multilock_new(struct rowlock_client *client,
			  const char *const *names, size_t count,
			  const struct rowlock_options *options,
			  struct rowlock **ret_lock,
			  struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_options lock;
	struct rowlock *made;
	int code = rlk_client_refuses(client, reterr);

	if (!code && !ret_lock)
		code = rlk_fail_null("ret_lock", reterr);
	if (code)
		return code;
	code = rlk_recipe_options("multi-lock", NULL, options, &lock, reterr);
	if (code)
		return code;
	code = new (client, names, count, &lock, &made, reterr);
	if (code)
		rlk_prefix(reterr, "multi-lock: ");
	else
		*ret_lock = made;
	return code;
}

/* ------------------------------------------------------------------ token */

/* The current hold; its attempt is 0 if there is none. */
static struct name present(struct rowlock *lock)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&lock->name->client->mutex);
	struct name present = { 0 };

	if (lock->hold && rlk_hold_check_locked(lock->hold)) {
		present.attempt = lock->hold->attempt;
		present.passes = lock->hold->passes;
	}
	return present;
}

/* Draws where @found has none of the present hold. */
static int token_of(struct rowlock *lock, size_t which, struct name *found,
		    struct rowlock_errinfo *reterr)
{
	struct name now = present(lock);
	int code;

	if (now.attempt && found->attempt == now.attempt &&
	    found->passes == now.passes)
		return 0;
	code = rlk_set_token(lock, (unsigned int) which, found->token,
			     &found->token, reterr);
	if (code)
		return code;
	found->attempt = now.attempt;
	found->passes = now.passes;
	return 0;
}

int rowlock_multilock_token(struct rowlock *lock, const char *name,
			    uint64_t *ret_token, struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	const char *text;
	struct name *found;
	size_t which;
	int code = rlk_lock_refuses(lock, reterr);

	if (!code && !ret_token)
		code = rlk_fail_null("ret_token", reterr);
	if (code)
		return code;
	if (lock->name->strategy != &rlk_strategy_set)
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"token of " RLK_LOCK_FORMAT
				": it is no multi-lock; use rowlock_token()",
				RLK_LOCK_ARGS(lock));
	text = lock->name->text;
	which = name ? rlk_set_find(text, name) : rlk_set_count(text);
	if (which == rlk_set_count(text))
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"token of '%.150s': it is none of the names of "
				"this multi-lock",
				name ? name : "(NULL)");
	found = &container_of(lock->recipe, struct set, recipe)->names[which];
	rlk_lock_enter(lock);
	code = token_of(lock, which, found, reterr);
	if (!code)
		*ret_token = found->token;
	rlk_lock_leave(lock);
	return code;
}
