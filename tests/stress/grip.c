// SPDX-License-Identifier: MIT
/* The calls of each kind. */
#include "grip.h"

/* Below what the checker lets a name be free while somebody waits for it. */
#define YIELD_MS 300

/* ---------------------------------------------------------------- lock */

static int acquire_lock(struct grip *grip, uint64_t wait_ms,
			struct rowlock_errinfo *reterr)
{
	return rowlock_acquire(grip->lock, wait_ms, reterr);
}

static int release_lock(struct grip *grip, struct rowlock_errinfo *reterr)
{
	return rowlock_release(grip->lock, reterr);
}

static bool lock_held(struct grip *grip)
{
	return rowlock_held(grip->lock);
}

static int verify_lock(struct grip *grip, struct rowlock_errinfo *reterr)
{
	return rowlock_verify(grip->lock, reterr);
}

static int token_of_lock(struct grip *grip, unsigned int part,
			 uint64_t *ret_token, struct rowlock_errinfo *reterr)
{
	(void) part;
	return rowlock_token(grip->lock, ret_token, reterr);
}

static void lock_lost(struct rowlock *lock, void *grip)
{
	(void) lock;
	grip_lost(grip);
}

static void listen_to_lock(struct grip *grip, bool hears)
{
	rowlock_on_lost(grip->lock, hears ? lock_lost : NULL, grip);
}

static int free_lock(struct grip *grip, struct rowlock_errinfo *reterr)
{
	return rowlock_free(grip->lock, reterr);
}

static const struct grip_kind lock_kind = {
	acquire_lock,  release_lock,   lock_held, verify_lock,
	token_of_lock, listen_to_lock, free_lock, false,
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

/* --------------------------------------------------------- read/write lock */

static int acquire_rwlock(struct grip *grip, uint64_t wait_ms,
			  struct rowlock_errinfo *reterr)
{
	return grip->reads
		   ? rowlock_rwlock_acquire_read(grip->rwlock, wait_ms, reterr)
		   : rowlock_rwlock_acquire_write(grip->rwlock, wait_ms,
						  reterr);
}

static int release_rwlock(struct grip *grip, struct rowlock_errinfo *reterr)
{
	return rowlock_rwlock_release(grip->rwlock, reterr);
}

static bool rwlock_held(struct grip *grip)
{
	return rowlock_rwlock_held(grip->rwlock) != ROWLOCK_RWLOCK_NONE;
}

static int verify_rwlock(struct grip *grip, struct rowlock_errinfo *reterr)
{
	return rowlock_rwlock_verify(grip->rwlock, reterr);
}

static int token_of_rwlock(struct grip *grip, unsigned int part,
			   uint64_t *ret_token, struct rowlock_errinfo *reterr)
{
	(void) part;
	return rowlock_rwlock_token(grip->rwlock, ret_token, reterr);
}

static void rwlock_lost(struct rowlock_rwlock *rwlock, void *grip)
{
	(void) rwlock;
	grip_lost(grip);
}

static void listen_to_rwlock(struct grip *grip, bool hears)
{
	rowlock_rwlock_on_lost(grip->rwlock, hears ? rwlock_lost : NULL, grip);
}

static int free_rwlock(struct grip *grip, struct rowlock_errinfo *reterr)
{
	return rowlock_rwlock_free(grip->rwlock, reterr);
}

static const struct grip_kind rwlock_kind = {
	acquire_rwlock,  release_rwlock,   rwlock_held, verify_rwlock,
	token_of_rwlock, listen_to_rwlock, free_rwlock, false,
};

int grip_rwlock(struct grip *grip, struct rowlock_client *client,
		struct rowlock_errinfo *reterr)
{
	grip->kind = &rwlock_kind;
	grip->parts = 1;
	return rowlock_rwlock_new(client, grip->names[0], NULL, &grip->rwlock,
				  reterr);
}

/* ------------------------------------------------------------- semaphore */

static int acquire_permits(struct grip *grip, uint64_t wait_ms,
			   struct rowlock_errinfo *reterr)
{
	return rowlock_semaphore_acquire(grip->semaphore, grip->takes, wait_ms,
					 reterr);
}

static int release_permits(struct grip *grip, struct rowlock_errinfo *reterr)
{
	return rowlock_semaphore_release(grip->semaphore, reterr);
}

static bool permits_held(struct grip *grip)
{
	return rowlock_semaphore_held(grip->semaphore) == grip->takes;
}

static int verify_permits(struct grip *grip, struct rowlock_errinfo *reterr)
{
	return rowlock_semaphore_verify(grip->semaphore, reterr);
}

static void permits_lost(struct rowlock_semaphore *semaphore, void *grip)
{
	(void) semaphore;
	grip_lost(grip);
}

static void listen_to_permits(struct grip *grip, bool hears)
{
	rowlock_semaphore_on_lost(grip->semaphore, hears ? permits_lost : NULL,
				  grip);
}

static int free_permits(struct grip *grip, struct rowlock_errinfo *reterr)
{
	return rowlock_semaphore_free(grip->semaphore, reterr);
}

static const struct grip_kind permits_kind = {
	acquire_permits,   release_permits, permits_held, verify_permits, NULL,
	listen_to_permits, free_permits,    false,
};

int grip_semaphore(struct grip *grip, struct rowlock_client *client,
		   struct rowlock_errinfo *reterr)
{
	grip->kind = &permits_kind;
	grip->parts = 1;
	return rowlock_semaphore_new(client, grip->names[0], grip->permits,
				     NULL, &grip->semaphore, reterr);
}

/* ------------------------------------------------------------- multi-lock */

static int acquire_multilock(struct grip *grip, uint64_t wait_ms,
			     struct rowlock_errinfo *reterr)
{
	return rowlock_multilock_acquire(grip->multilock, wait_ms, reterr);
}

static int release_multilock(struct grip *grip, struct rowlock_errinfo *reterr)
{
	return rowlock_multilock_release(grip->multilock, reterr);
}

static bool multilock_held(struct grip *grip)
{
	return rowlock_multilock_held(grip->multilock);
}

static int verify_multilock(struct grip *grip, struct rowlock_errinfo *reterr)
{
	return rowlock_multilock_verify(grip->multilock, reterr);
}

static int token_of_multilock(struct grip *grip, unsigned int part,
			      uint64_t *ret_token,
			      struct rowlock_errinfo *reterr)
{
	return rowlock_multilock_token(grip->multilock, grip->names[part],
				       ret_token, reterr);
}

static void multilock_lost(struct rowlock_multilock *multilock, void *grip)
{
	(void) multilock;
	grip_lost(grip);
}

static void listen_to_multilock(struct grip *grip, bool hears)
{
	rowlock_multilock_on_lost(grip->multilock,
				  hears ? multilock_lost : NULL, grip);
}

static int free_multilock(struct grip *grip, struct rowlock_errinfo *reterr)
{
	return rowlock_multilock_free(grip->multilock, reterr);
}

static const struct grip_kind multilock_kind = {
	acquire_multilock,  release_multilock,
	multilock_held,     verify_multilock,
	token_of_multilock, listen_to_multilock,
	free_multilock,     false,
};

int grip_multilock(struct grip *grip, struct rowlock_client *client,
		   struct rowlock_errinfo *reterr)
{
	const char *names[GRIP_PARTS];

	for (unsigned int i = 0; i < grip->parts; i++)
		names[i] = grip->names[i];
	grip->kind = &multilock_kind;
	return rowlock_multilock_new(client, names, grip->parts, NULL,
				     &grip->multilock, reterr);
}

/* --------------------------------------------------------------- election */

static int campaign(struct grip *grip, uint64_t wait_ms,
		    struct rowlock_errinfo *reterr)
{
	return rowlock_election_campaign(grip->election, wait_ms, reterr);
}

static int resign(struct grip *grip, struct rowlock_errinfo *reterr)
{
	return rowlock_election_resign(grip->election, reterr);
}

static bool leads(struct grip *grip)
{
	return rowlock_election_is_leader(grip->election);
}

static int verify_election(struct grip *grip, struct rowlock_errinfo *reterr)
{
	return rowlock_election_verify(grip->election, reterr);
}

/* It costs nothing: the term was drawn with the election. */
static int term_of(struct grip *grip, unsigned int part, uint64_t *ret_term,
		   struct rowlock_errinfo *reterr)
{
	(void) part;
	(void) reterr;
	*ret_term = rowlock_election_term(grip->election);
	return *ret_term ? 0 : ROWLOCK_ELOST;
}

static void election_lost(struct rowlock_election *election, void *grip)
{
	(void) election;
	grip_lost(grip);
}

static void listen_to_election(struct grip *grip, bool hears)
{
	rowlock_election_on_lost(grip->election, hears ? election_lost : NULL,
				 grip);
}

static int free_election(struct grip *grip, struct rowlock_errinfo *reterr)
{
	return rowlock_election_free(grip->election, reterr);
}

static const struct grip_kind election_kind = {
	campaign,           resign,        leads, verify_election, term_of,
	listen_to_election, free_election, true,
};

int grip_election(struct grip *grip, struct rowlock_client *client, int weight,
		  struct rowlock_errinfo *reterr)
{
	struct rowlock_election_options options =
	    ROWLOCK_ELECTION_OPTIONS_DEFAULT;

	options.weight = weight;
	options.yield_ms = YIELD_MS;
	grip->kind = &election_kind;
	grip->parts = 1;
	return rowlock_election_new(client, grip->names[0], &options,
				    &grip->election, reterr);
}
