// SPDX-License-Identifier: MIT
/* The calls of each kind. */
#include "grip.h"

/* Below what the checker lets a name be free while somebody waits for it. */
#define YIELD_MS 300

/* The one in use. */
static struct rowlock *lock_of(const struct grip *grip)
{
	return grip->writer && !grip->reads ? grip->writer : grip->lock;
}

static int acquire(struct grip *grip, uint64_t wait_ms,
		   struct rowlock_errinfo *reterr)
{
	return rowlock_acquire(lock_of(grip), wait_ms, reterr);
}

static int release(struct grip *grip, struct rowlock_errinfo *reterr)
{
	return rowlock_release(lock_of(grip), reterr);
}

static bool held(struct grip *grip)
{
	return rowlock_held(lock_of(grip));
}

static int verify(struct grip *grip, struct rowlock_errinfo *reterr)
{
	return rowlock_verify(lock_of(grip), reterr);
}

static int token_of(struct grip *grip, unsigned int part, uint64_t *ret_token,
		    struct rowlock_errinfo *reterr)
{
	(void) part;
	return rowlock_token(lock_of(grip), ret_token, reterr);
}

static void lost(struct rowlock *lock, void *grip)
{
	(void) lock;
	grip_lost(grip);
}

static void listen_to(struct grip *grip, bool hears)
{
	rowlock_on_lost(grip->lock, hears ? lost : NULL, grip);
	if (grip->writer)
		rowlock_on_lost(grip->writer, hears ? lost : NULL, grip);
}

static int free_both(struct grip *grip, struct rowlock_errinfo *reterr)
{
	int code = rowlock_try_free(grip->writer, reterr);

	return code ? code : rowlock_try_free(grip->lock, reterr);
}

static const struct grip_kind lock_kind = {
	acquire, release, held, verify, token_of, listen_to, free_both, false,
};

int grip_lock(struct grip *grip, struct rowlock_client *client,
	      const struct rowlock_options *options,
	      struct rowlock_errinfo *reterr)
{
	grip->kind = &lock_kind;
	grip->parts = 1;
	return rowlock_new(client, grip->names[0], options, &grip->lock,
			   reterr);
}

struct grip grip_of_lock(struct rowlock *lock)
{
	return (struct grip){ .kind = &lock_kind, .lock = lock, .parts = 1 };
}

int grip_rwlock(struct grip *grip, struct rowlock_client *client,
		struct rowlock_errinfo *reterr)
{
	grip->kind = &lock_kind;
	grip->parts = 1;
	return rowlock_rwlock_new(client, grip->names[0], NULL, &grip->lock,
				  &grip->writer, reterr);
}

/* ------------------------------------------------------------- semaphore */

static int acquire_permits(struct grip *grip, uint64_t wait_ms,
			   struct rowlock_errinfo *reterr)
{
	return rowlock_semaphore_acquire(grip->lock, grip->takes, wait_ms,
					 reterr);
}

static bool permits_held(struct grip *grip)
{
	return rowlock_semaphore_held(grip->lock) == grip->takes;
}

static const struct grip_kind permits_kind = {
	acquire_permits, release,   permits_held, verify, NULL,
	listen_to,       free_both, false,
};

int grip_semaphore(struct grip *grip, struct rowlock_client *client,
		   struct rowlock_errinfo *reterr)
{
	grip->kind = &permits_kind;
	grip->parts = 1;
	return rowlock_semaphore_new(client, grip->names[0], grip->permits,
				     NULL, &grip->lock, reterr);
}

/* ------------------------------------------------------------- multi-lock */

static int token_of_name(struct grip *grip, unsigned int part,
			 uint64_t *ret_token, struct rowlock_errinfo *reterr)
{
	return rowlock_multilock_token(grip->lock, grip->names[part], ret_token,
				       reterr);
}

static const struct grip_kind multilock_kind = {
	acquire,       release,   held,      verify,
	token_of_name, listen_to, free_both, false,
};

int grip_multilock(struct grip *grip, struct rowlock_client *client,
		   struct rowlock_errinfo *reterr)
{
	const char *names[GRIP_PARTS];

	for (unsigned int i = 0; i < grip->parts; i++)
		names[i] = grip->names[i];
	grip->kind = &multilock_kind;
	return rowlock_multilock_new(client, names, grip->parts, NULL,
				     &grip->lock, reterr);
}

/* --------------------------------------------------------------- election */

static const struct grip_kind election_kind = {
	acquire, release, held, verify, token_of, listen_to, free_both, true,
};

int grip_election(struct grip *grip, struct rowlock_client *client,
		  unsigned int weight, struct rowlock_errinfo *reterr)
{
	struct rowlock_election_options options =
	    ROWLOCK_ELECTION_OPTIONS_DEFAULT;

	options.weight = weight;
	options.yield_ms = YIELD_MS;
	grip->kind = &election_kind;
	grip->parts = 1;
	return rowlock_election_new(client, grip->names[0], &options,
				    &grip->lock, reterr);
}
