/* SPDX-License-Identifier: MIT */
/*
 * The fake library: read/write locks and semaphores, made of its locks.
 */
#include <rowlock/rwlock.h>
#include <rowlock/semaphore.h>

#include <stdio.h>
#include <stdlib.h>

#include "fake_rowlock.h"

/* A read/write lock is the fake lock of its name, of which it is told what
 * for. */
struct rowlock_rwlock {
	struct rowlock *lock;
	rowlock_rwlock_lost_fn fn;
	void *arg;
};

int rowlock_rwlock_new(struct rowlock_client *client, const char *name,
		       const struct rowlock_rwlock_options *options,
		       struct rowlock_rwlock **ret_rwlock,
		       struct rowlock_errinfo *reterr)
{
	struct rowlock_options lock = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_rwlock *rwlock = calloc(1, sizeof(*rwlock));
	int r;

	if (options->size != sizeof(*options))
		abort();
	lock.strategy = options->strategy;
	lock.info = options->info;
	r = rowlock_new(client, name, &lock, &rwlock->lock, reterr);
	if (r < 0)
		free(rwlock);
	else
		*ret_rwlock = rwlock;
	return r;
}

int rowlock_rwlock_free(struct rowlock_rwlock *rwlock,
			struct rowlock_errinfo *reterr)
{
	int r;

	if (!rwlock)
		return 0;
	r = rowlock_free(rwlock->lock, reterr);
	if (r == 0)
		free(rwlock);
	return r;
}

int rowlock_rwlock_acquire_read(struct rowlock_rwlock *rwlock, uint64_t wait_ms,
				struct rowlock_errinfo *reterr)
{
	int r = fake_ask(NULL, reterr, "read");

	return r < 0 ? r : rowlock_acquire(rwlock->lock, wait_ms, reterr);
}

int rowlock_rwlock_acquire_write(struct rowlock_rwlock *rwlock,
				 uint64_t wait_ms,
				 struct rowlock_errinfo *reterr)
{
	int r = fake_ask(NULL, reterr, "write");

	return r < 0 ? r : rowlock_acquire(rwlock->lock, wait_ms, reterr);
}

int rowlock_rwlock_release(struct rowlock_rwlock *rwlock,
			   struct rowlock_errinfo *reterr)
{
	return rowlock_release(rwlock->lock, reterr);
}

int rowlock_rwlock_token(struct rowlock_rwlock *rwlock, uint64_t *ret_token,
			 struct rowlock_errinfo *reterr)
{
	return rowlock_token(rwlock->lock, ret_token, reterr);
}

enum rowlock_rwlock_mode rowlock_rwlock_held(struct rowlock_rwlock *rwlock)
{
	return rowlock_held(rwlock->lock) ? ROWLOCK_RWLOCK_READ
					  : ROWLOCK_RWLOCK_NONE;
}

uint64_t rowlock_rwlock_remaining_ms(struct rowlock_rwlock *rwlock)
{
	return rowlock_remaining_ms(rwlock->lock);
}

void rowlock_rwlock_cancel(struct rowlock_rwlock *rwlock)
{
	rowlock_cancel(rwlock->lock);
}

static void rwlock_lost(struct rowlock *lock, void *arg)
{
	struct rowlock_rwlock *rwlock = arg;

	(void) lock;
	rwlock->fn(rwlock, rwlock->arg);
}

void rowlock_rwlock_on_lost(struct rowlock_rwlock *rwlock,
			    rowlock_rwlock_lost_fn fn, void *arg)
{
	if (fn) {
		rwlock->fn = fn;
		rwlock->arg = arg;
	}
	rowlock_on_lost(rwlock->lock, fn ? rwlock_lost : NULL, rwlock);
}

/* A semaphore is the fake lock of its name, of which it is told how many. */
struct rowlock_semaphore {
	struct rowlock *lock;
	unsigned int permits;
	rowlock_semaphore_lost_fn fn;
	void *arg;
};

int rowlock_semaphore_new(struct rowlock_client *client, const char *name,
			  unsigned int permits,
			  const struct rowlock_semaphore_options *options,
			  struct rowlock_semaphore **ret_semaphore,
			  struct rowlock_errinfo *reterr)
{
	struct rowlock_options lock = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_semaphore *semaphore = calloc(1, sizeof(*semaphore));
	int r;

	if (options->size != sizeof(*options))
		abort();
	lock.strategy = options->strategy;
	lock.info = options->info;
	semaphore->permits = permits;
	r = rowlock_new(client, name, &lock, &semaphore->lock, reterr);
	if (r < 0)
		free(semaphore);
	else
		*ret_semaphore = semaphore;
	return r;
}

int rowlock_semaphore_free(struct rowlock_semaphore *semaphore,
			   struct rowlock_errinfo *reterr)
{
	int r;

	if (!semaphore)
		return 0;
	r = rowlock_free(semaphore->lock, reterr);
	if (r == 0)
		free(semaphore);
	return r;
}

int rowlock_semaphore_acquire(struct rowlock_semaphore *semaphore,
			      unsigned int count, uint64_t wait_ms,
			      struct rowlock_errinfo *reterr)
{
	char what[64];
	int r;

	snprintf(what, sizeof(what), "permits-%u-of-%u", count,
		 semaphore->permits);
	r = fake_ask(NULL, reterr, "%s", what);
	return r < 0 ? r : rowlock_acquire(semaphore->lock, wait_ms, reterr);
}

int rowlock_semaphore_release(struct rowlock_semaphore *semaphore,
			      struct rowlock_errinfo *reterr)
{
	return rowlock_release(semaphore->lock, reterr);
}

unsigned int rowlock_semaphore_held(struct rowlock_semaphore *semaphore)
{
	return rowlock_held(semaphore->lock) ? 1 : 0;
}

uint64_t rowlock_semaphore_remaining_ms(struct rowlock_semaphore *semaphore)
{
	return rowlock_remaining_ms(semaphore->lock);
}

int rowlock_semaphore_count(struct rowlock_client *client, const char *name,
			    unsigned int *ret_permits, unsigned int *ret_used,
			    struct rowlock_errinfo *reterr)
{
	struct rowlock_errinfo told = { .message = "" };
	char text[512];
	int r = fake_ask(NULL, &told, "count name=%s",
			 fake_hex(name, text, sizeof(text)));

	(void) client;
	*ret_permits = *ret_used = 0;
	if (r < 0)
		*reterr = told;
	else
		sscanf(told.message, "%u %u", ret_permits, ret_used);
	return r < 0 ? r : 0;
}

int rowlock_semaphore_resize(struct rowlock_client *client, const char *name,
			     unsigned int permits,
			     struct rowlock_errinfo *reterr)
{
	char text[512];

	(void) client;
	return fake_ask(NULL, reterr, "resize name=%s permits=%u",
			fake_hex(name, text, sizeof(text)), permits);
}

void rowlock_semaphore_cancel(struct rowlock_semaphore *semaphore)
{
	rowlock_cancel(semaphore->lock);
}

static void permits_lost(struct rowlock *lock, void *arg)
{
	struct rowlock_semaphore *semaphore = arg;

	(void) lock;
	semaphore->fn(semaphore, semaphore->arg);
}

void rowlock_semaphore_on_lost(struct rowlock_semaphore *semaphore,
			       rowlock_semaphore_lost_fn fn, void *arg)
{
	if (fn) {
		semaphore->fn = fn;
		semaphore->arg = arg;
	}
	rowlock_on_lost(semaphore->lock, fn ? permits_lost : NULL, semaphore);
}
