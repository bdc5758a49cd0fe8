/* SPDX-License-Identifier: MIT */
/*
 * rowlock_execute(): acquire, call, release.
 */
#include <rowlock.h>

#include "base/error.h"
#include "base/thread.h"

/* The function has run: was it protected until its end? Our clock alone cannot
 * tell: a lease may have been broken a moment ago. */
static int finish(struct rowlock *lock, struct rowlock_errinfo *reterr)
{
	struct rowlock_errinfo error;
	int held = rowlock_held(lock);
	int code = rowlock_release(lock, &error);

	if (held && code == 0)
		return 0;
	if (code == ROWLOCK_ELOST)
		return rlk_fail(reterr, code, "execute: %s", error.message);
	if (!held && code != ROWLOCK_EUNKNOWN)
		return rlk_fail(reterr, ROWLOCK_ELOST,
				"execute: it was lost before its end");
	return rlk_fail_db(reterr, ROWLOCK_EUNKNOWN, error.mysql,
			   "execute: the function has run, but whether it was "
			   "protected to its end is not known; check what it "
			   "did: %s",
			   error.message);
}

int rowlock_execute(struct rowlock_client *client, const char *name,
		    const struct rowlock_options *options, uint64_t wait_ms,
		    rowlock_execute_fn fn, void *arg,
		    struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock *lock;
	int code;

	if (!fn)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"execute '%.150s': give a function",
				name ? name : "");
	code = rowlock_new(client, name, options, &lock, reterr);
	if (code)
		return code;
	code = rowlock_acquire(lock, wait_ms, reterr);
	if (code == 0) {
		fn(lock, arg);
		code = finish(lock, reterr);
	}
	rowlock_free(lock);
	return code;
}
