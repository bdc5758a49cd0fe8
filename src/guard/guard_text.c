/* SPDX-License-Identifier: MIT */
/*
 * The guard as SQL (rowlock/mysql.h), for applications that send the COMMIT
 * themselves. Its text passes for the hold's owner, and counts up the row
 * unseen: so the hold is not handed over any more, and the server is asked for
 * the count.
 */
#include <rowlock/mysql.h>
#include <rowlock/once.h>

#include "base/error.h"
#include "core/call.h"
#include "guard/guarded.h"
#include "guard/place.h"
#include "strategy/guard_sql.h"

static int fail(const struct rowlock *lock, int code, const char *words,
		struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, code, "guard " RLK_LOCK_FORMAT ": %s",
			RLK_LOCK_ARGS(lock), words);
}

struct wish {
	bool by_call;
	const struct rowlock_run *run; /* to note its success; NULL: none */
	char *text;
	size_t size;
};

static int write_text(const struct wish *wish, const struct rlk_place *place,
		      const struct rlk_request *request)
{
	return wish->by_call
		   ? rlk_guard_call(place, request, wish->text, wish->size)
		   : rlk_guard_sql(place, request,
				   wish->run ? wish->run->id : 0, wish->text,
				   wish->size);
}

/* The hold is not handed over from here on. */
static int tell(struct rowlock *lock, const struct wish *wish,
		struct rowlock_errinfo *reterr)
{
	struct rowlock_client *client = lock->name->client;
	_guard_ struct rlk_mutex *mutex = rlk_guard(&client->mutex);
	int code = 0;
	struct rlk_hold *hold =
	    rlk_guarded_hold_locked(lock, "guard", &code, reterr);
	struct rlk_request request;

	if (!hold)
		return code;
	if (wish->run &&
	    (!wish->run->id || wish->run->attempt != hold->attempt))
		return fail(lock, ROWLOCK_EINVAL,
			    "the run was not begun under this hold", reterr);
	request = rlk_hold_request(hold);
	code = write_text(wish, &client->place, &request);
	if (code)
		return fail(lock, code,
			    code == ROWLOCK_ENOMEM
				? "out of memory"
				: "its text does not fit; give "
				  "ROWLOCK_GUARD_SQL_SIZE bytes",
			    reterr);
	hold->guard.told = true;
	return 0;
}

static int learn_and_tell(struct rowlock *lock, const struct wish *wish,
			  struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	int code = rlk_lock_refuses(lock, reterr);

	if (!code && !wish->text)
		code = rlk_fail_null("the room for the guard's text", reterr);
	if (code)
		return code;
	code = rlk_guarded_check_kind(lock, "guard", reterr);
	if (code)
		return code;
	code = rlk_place_find(lock, rlk_client_call_until(lock->name->client),
			      reterr);
	return code ? code : tell(lock, wish, reterr);
}

int rowlock_guard_sql(struct rowlock *lock, char *text, size_t size,
		      struct rowlock_errinfo *reterr)
{
	const struct wish wish = { .text = text, .size = size };

	return learn_and_tell(lock, &wish, reterr);
}

int rowlock_guard_call(struct rowlock *lock, char *text, size_t size,
		       struct rowlock_errinfo *reterr)
{
	const struct wish wish = { .by_call = true,
				   .text = text,
				   .size = size };

	return learn_and_tell(lock, &wish, reterr);
}

int rowlock_once_sql(struct rowlock *lock, const struct rowlock_run *run,
		     char *text, size_t size, struct rowlock_errinfo *reterr)
{
	const struct wish wish = { .run = run, .text = text, .size = size };

	return run ? learn_and_tell(lock, &wish, reterr)
		   : rlk_fail_null("the run", reterr);
}
