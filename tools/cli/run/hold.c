/* SPDX-License-Identifier: MIT */
/*
 * See hold.h.
 */
#include "run/hold.h"

#include <string.h>
#include <sys/eventfd.h>

static int new_election(struct hold *hold, struct rowlock_client *client,
			const char *name, const struct rowlock_options *options,
			struct rowlock_errinfo *reterr)
{
	struct rowlock_election_options like = ROWLOCK_ELECTION_OPTIONS_DEFAULT;

	like.lock_options = options;
	like.weight = hold->manner.weight;
	return rowlock_election_new(client, name, &like, &hold->lock, reterr);
}

/* Only one side of the pair is needed. */
static int new_side(struct hold *hold, struct rowlock_client *client,
		    const char *name, const struct rowlock_options *options,
		    struct rowlock_errinfo *reterr)
{
	bool reads = hold->manner.mode == HOLD_READ;
	struct rowlock *other;
	int code = rowlock_rwlock_new(client, name, options,
				      reads ? &hold->lock : &other,
				      reads ? &other : &hold->lock, reterr);

	if (code == 0)
		rowlock_free(other);
	return code;
}

int hold_new(struct hold *hold, struct rowlock_client *client,
	     const char *const *names, size_t count,
	     const struct rowlock_options *options,
	     struct rowlock_errinfo *reterr)
{
	struct rowlock_options tokenless = *options;

	hold->server = rowlock_client_server(client);
	if (hold->manner.elects)
		return new_election(hold, client, names[0], options, reterr);
	tokenless.flags &= ~(unsigned int) ROWLOCK_TOKEN_WITH_GRANT;
	if (hold->manner.permits)
		return rowlock_semaphore_new(client, names[0],
					     hold->manner.permits, &tokenless,
					     &hold->lock, reterr);
	if (hold->manner.mode)
		return new_side(hold, client, names[0], &tokenless, reterr);
	if (count == 1)
		return rowlock_new(client, names[0], options, &hold->lock,
				   reterr);
	return rowlock_multilock_new(client, names, count, &tokenless,
				     &hold->lock, reterr);
}

int hold_acquire(struct hold *hold, uint64_t wait_ms,
		 struct rowlock_errinfo *reterr)
{
	if (hold->manner.adopt)
		return rowlock_adopt(hold->lock, hold->manner.adopt, reterr);
	return hold->manner.permits
		   ? rowlock_semaphore_acquire(hold->lock, hold->manner.count,
					       wait_ms, reterr)
		   : rowlock_acquire(hold->lock, wait_ms, reterr);
}

int hold_token(struct hold *hold, const char *name, uint64_t *ret_token,
	       struct rowlock_errinfo *reterr)
{
	bool is_set = strcmp(rowlock_name(hold->lock), name) != 0;

	if (hold->manner.permits) {
		*ret_token = 0;
		return 0;
	}
	return is_set ? rowlock_multilock_token(hold->lock, name, ret_token,
						reterr)
		      : rowlock_token(hold->lock, ret_token, reterr);
}

uint64_t hold_attempt(const struct hold *hold)
{
	return hold->manner.permits || hold->manner.mode == HOLD_READ
		   ? rowlock_attempt(hold->lock)
		   : 0;
}

int hold_guard_sql(struct hold *hold, bool by_call, char *text, size_t size,
		   struct rowlock_errinfo *reterr)
{
	return by_call ? rowlock_guard_call(hold->lock, text, size, reterr)
		       : rowlock_guard_sql(hold->lock, text, size, reterr);
}

void hold_lost(struct rowlock *lock, void *arg)
{
	(void) lock;
	eventfd_write(*(const int *) arg, 1);
}

const char *hold_threat(const struct rowlock *lock,
			const struct deadline *deadline)
{
	const char *reason = rowlock_lost_reason(lock);

	if (deadline_is_maximum(deadline))
		return "its maximum is nearly over";
	return reason ? reason : "not renewed in time";
}

const char *hold_loss(const struct rowlock *lock)
{
	const char *reason = rowlock_lost_reason(lock);

	return reason ? reason : "it is not known why";
}
