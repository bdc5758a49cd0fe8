/* SPDX-License-Identifier: MIT */
/*
 * Handles on sets: the names are sorted and become one text, which is the name
 * of the set in this client. So two handles on the same names, in whatever
 * order they are given, share one local line and one hold.
 */
#include "recipe/set_handle.h"

#include "base/error.h"
#include "base/set_text.h"
#include "core/call.h"
#include "hold/handle.h"
#include "hold/hold.h"
#include "strategy/set.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *) a, *(const char *const *) b);
}

static int check(struct rowlock_client *client, const char *const *names,
		 size_t count, const struct rowlock_options *options,
		 struct rowlock_errinfo *reterr)
{
	for (size_t i = 0; i < count; i++) {
		int code = rlk_lock_check(client, names[i], options, reterr);

		if (code)
			return code;
	}
	return 0;
}

/* Of what is sorted: 0 or ROWLOCK_EINVAL. */
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

static int make(struct rowlock_client *client, const char **names, size_t count,
		const struct rowlock_options *options,
		struct rowlock **ret_lock, struct rowlock_errinfo *reterr)
{
	struct rowlock *lock;
	char *text;
	int code;

	qsort(names, count, sizeof(*names), compare);
	code = find_twice(names, count, reterr);
	if (code)
		return code;
	text = join(names, count);
	lock = text ? rlk_lock_new(client, text, &rlk_strategy_set, options)
		    : NULL;
	free(text);
	if (!lock)
		return rlk_fail(reterr, ROWLOCK_ENOMEM, "out of memory");
	*ret_lock = lock;
	return 0;
}

int rlk_set_new(struct rowlock_client *client, const char *const *names,
		size_t count, const struct rowlock_options *options,
		struct rowlock **ret_lock, struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	const char **sorted;
	int code;

	if (rlk_client_forked(client))
		return rlk_client_fail_forked(client, reterr);
	code = check(client, names, count, options, reterr);
	if (code)
		return code;
	sorted = malloc(count * sizeof(*sorted));
	if (!sorted)
		return rlk_fail(reterr, ROWLOCK_ENOMEM, "out of memory");
	memcpy(sorted, names, count * sizeof(*sorted));
	code = make(client, sorted, count, options, ret_lock, reterr);
	free(sorted);
	return code;
}

/* Does the thread hold the name, by a handle of its own? */
static bool is_own_locked(struct rowlock_client *client, const char *name)
{
	const struct rlk_name *found =
	    rlk_names_find(&client->names, rlk_strategy(ROWLOCK_LEASE), name);

	return found && found->hold &&
	       found->hold->owner == rlk_thread_serial() &&
	       rlk_hold_check_locked(found->hold);
}

int rlk_set_check_own(struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_client *client = lock->name->client;
	size_t count = rlk_set_count(lock->name->text);
	int code = 0;

	if (rlk_client_forked(client))
		return rlk_client_fail_forked(client, reterr);
	rlk_mutex_lock(&client->mutex);
	for (size_t i = 0; i < count && !code; i++) {
		struct rlk_set_name name = rlk_set_name_at(lock->name->text, i);

		if (is_own_locked(client, name.text))
			code = rlk_fail(reterr, ROWLOCK_EDEADLOCK,
					"acquire " RLK_LOCK_FORMAT
					": the caller holds '%s' already, by a "
					"lock of its own; release that first",
					RLK_LOCK_ARGS(lock), name.text);
	}
	rlk_mutex_unlock(&client->mutex);
	return code;
}
