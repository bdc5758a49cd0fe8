/* SPDX-License-Identifier: MIT */
/*
 * A read/write lock: a reader's side and a writer's (recipe/writer.h), each a
 * lock of the handle's own, and which of them counts. From one side to the
 * other it goes by having both for a moment.
 *
 * Failure modes: those of the locks. Where the side that was left tells that
 * it had been lost before, others may have written in between: then the other
 * side is given back, too.
 */
#include <rowlock/rwlock.h>

#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/thread.h"
#include "hold/handle.h"
#include "recipe/told.h"
#include "recipe/writer.h"

struct rowlock_rwlock {
	struct rowlock *reader;
	struct rowlock *writer;

	_Atomic enum rowlock_rwlock_mode mode; /* also of what was lost */
	unsigned int reads; /* how often it is to be released */
	bool gone;          /* lost between two modes, to be released, too */

	struct rlk_told told;
	struct rlk_mutex mutex;  /* protects what follows; nothing is called
				    with it */
	struct rowlock *waiting; /* the side that is being acquired */
	bool cancel_next;
};

/* The side that counts; NULL: none. */
static struct rowlock *side(struct rowlock_rwlock *rwlock)
{
	enum rowlock_rwlock_mode mode = rwlock->mode;

	if (mode == ROWLOCK_RWLOCK_READ)
		return rwlock->reader;
	return mode == ROWLOCK_RWLOCK_WRITE ? rwlock->writer : NULL;
}

static const char *name_of(const struct rowlock_rwlock *rwlock)
{
	return rowlock_name(rwlock->writer);
}

/* @how: for what it would have to be, or "". */
static int fail_not_held(const struct rowlock_rwlock *rwlock, const char *what,
			 const char *how, struct rowlock_errinfo *reterr)
{
	int code = rlk_check_forked(rwlock->reader, reterr);

	if (code)
		return code;
	if (rwlock->gone)
		return rlk_fail(reterr, ROWLOCK_ELOST,
				"%s '%s': the last hold of this handle was "
				"lost; release it first",
				what, name_of(rwlock));
	return rlk_fail(reterr, ROWLOCK_ENOTHELD,
			"%s '%s': it is not held%s through this handle; "
			"acquire it first",
			what, name_of(rwlock), how);
}

/* ------------------------------------------------------------ made, freed */

static int check(const char *name, const struct rowlock_rwlock_options *options,
		 struct rowlock_errinfo *reterr)
{
	if (options->size != sizeof(*options))
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"read/write lock '%.150s': the options' size "
				"is wrong; begin with "
				"ROWLOCK_RWLOCK_OPTIONS_DEFAULT",
				name ? name : "");
	if (options->strategy == ROWLOCK_ROW)
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"read/write lock '%.150s': the row strategy "
				"has none; use ROWLOCK_LEASE",
				name ? name : "");
	return 0;
}

static int make_sides(struct rowlock_rwlock *rwlock,
		      struct rowlock_client *client, const char *name,
		      const struct rowlock_rwlock_options *options,
		      struct rowlock_errinfo *reterr)
{
	struct rowlock_options lock = ROWLOCK_OPTIONS_DEFAULT;
	int code;

	lock.strategy = options->strategy;
	lock.info = options->info;
	lock.flags = ROWLOCK_OWNER_HANDLE;
	code = rlk_reader_new(client, name, &lock, &rwlock->reader, reterr);
	if (code)
		return code;
	lock.flags |= ROWLOCK_NOT_REENTRANT;
	code = rlk_writer_new(client, name, &lock, &rwlock->writer, reterr);
	if (code)
		rowlock_free(rwlock->reader, NULL);
	return code;
}

int rowlock_rwlock_new(struct rowlock_client *client, const char *name,
		       const struct rowlock_rwlock_options *options,
		       struct rowlock_rwlock **ret_rwlock,
		       struct rowlock_errinfo *reterr)
{
	const struct rowlock_rwlock_options defaults =
	    ROWLOCK_RWLOCK_OPTIONS_DEFAULT;
	struct rowlock_rwlock *rwlock;
	int code;

	if (!options)
		options = &defaults;
	code = check(name, options, reterr);
	if (code)
		return code;
	rwlock = calloc(1, sizeof(*rwlock));
	if (!rwlock)
		return rlk_fail(reterr, ROWLOCK_ENOMEM,
				"read/write lock '%.150s': out of memory",
				name ? name : "");
	code = make_sides(rwlock, client, name, options, reterr);
	if (code) {
		free(rwlock);
		rlk_prefix(reterr, "read/write lock: ");
		return code;
	}
	rlk_mutex_init(&rwlock->mutex);
	rlk_told_init(&rwlock->told);
	*ret_rwlock = rwlock;
	return 0;
}

/* Both, or none: first the one that may be in use, which of both it is. Between
 * two parts of one wait neither is. */
int rowlock_rwlock_free(struct rowlock_rwlock *rwlock,
			struct rowlock_errinfo *reterr)
{
	bool waits;
	bool writes;
	int code;

	if (!rwlock)
		return 0;
	code = rlk_check_forked(rwlock->reader, reterr);
	if (code)
		return code;
	rlk_mutex_lock(&rwlock->mutex);
	waits = rwlock->waiting != NULL;
	rlk_mutex_unlock(&rwlock->mutex);
	if (waits)
		return rlk_fail(reterr, ROWLOCK_EHELD,
				"read/write lock '%s': a call on it is under "
				"way; cancel it first",
				name_of(rwlock));
	writes = rwlock->mode == ROWLOCK_RWLOCK_WRITE;
	code = rowlock_free(writes ? rwlock->writer : rwlock->reader, reterr);
	if (code)
		return code;
	rowlock_free(writes ? rwlock->reader : rwlock->writer, NULL);
	rlk_mutex_fini(&rwlock->mutex);
	rlk_told_fini(&rwlock->told);
	free(rwlock);
	return 0;
}

/* ---------------------------------------------------------------- acquire */

/* From here on rowlock_rwlock_cancel() reaches @lock. */
static int begin(struct rowlock_rwlock *rwlock, struct rowlock *lock,
		 struct rowlock_errinfo *reterr)
{
	int code = rlk_check_forked(lock, reterr);
	bool canceled;
	bool busy;

	if (code)
		return code;
	if (rwlock->gone)
		return fail_not_held(rwlock, "acquire", "", reterr);
	rlk_mutex_lock(&rwlock->mutex);
	busy = rwlock->waiting != NULL;
	canceled = !busy && rwlock->cancel_next;
	if (!busy) {
		rwlock->cancel_next = false;
		rwlock->waiting = canceled ? NULL : lock;
	}
	rlk_mutex_unlock(&rwlock->mutex);
	if (busy)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"acquire '%s': another thread is waiting with "
				"this handle; make a handle per thread",
				name_of(rwlock));
	if (canceled)
		return rlk_fail(reterr, ROWLOCK_ECANCELED,
				"acquire '%s': the wait was canceled",
				name_of(rwlock));
	return 0;
}

static void end(struct rowlock_rwlock *rwlock)
{
	rlk_mutex_lock(&rwlock->mutex);
	rwlock->waiting = NULL;
	rlk_mutex_unlock(&rwlock->mutex);
}

/* It has the other side already: held, or lost. */
static int fail_other(struct rowlock_rwlock *rwlock, const char *what,
		      struct rowlock_errinfo *reterr)
{
	int code = rlk_check_forked(rwlock->reader, reterr);

	if (code)
		return code;
	if (!rowlock_held(side(rwlock)))
		return rlk_fail(reterr, ROWLOCK_ELOST,
				"acquire '%s': the last hold of this handle "
				"was lost; release it first",
				name_of(rwlock));
	return rlk_fail(reterr, ROWLOCK_EDEADLOCK, "acquire '%s': %s",
			name_of(rwlock), what);
}

int rowlock_rwlock_acquire_read(struct rowlock_rwlock *rwlock, uint64_t wait_ms,
				struct rowlock_errinfo *reterr)
{
	int code;

	if (rwlock->mode == ROWLOCK_RWLOCK_WRITE)
		return fail_other(rwlock,
				  "this handle has it for writing, which "
				  "includes reading; or use "
				  "rowlock_rwlock_downgrade()",
				  reterr);
	code = begin(rwlock, rwlock->reader, reterr);
	if (code)
		return code;
	code = rowlock_acquire(rwlock->reader, wait_ms, reterr);
	if (code == 0) {
		rwlock->reads++;
		rwlock->mode = ROWLOCK_RWLOCK_READ;
	}
	end(rwlock);
	return code;
}

int rowlock_rwlock_acquire_write(struct rowlock_rwlock *rwlock,
				 uint64_t wait_ms,
				 struct rowlock_errinfo *reterr)
{
	int code;

	if (rwlock->mode == ROWLOCK_RWLOCK_READ)
		return fail_other(rwlock,
				  "this handle has it for reading; use "
				  "rowlock_rwlock_upgrade()",
				  reterr);
	code = begin(rwlock, rwlock->writer, reterr);
	if (code)
		return code;
	code = rlk_writer_acquire(rwlock->writer, NULL, wait_ms, reterr);
	if (code == 0)
		rwlock->mode = ROWLOCK_RWLOCK_WRITE;
	end(rwlock);
	return code;
}

/* @left is not needed any more. That it was lost before tells that others may
 * have written: then @kept is nothing to rely on. */
static int leave(struct rowlock_rwlock *rwlock, struct rowlock *left,
		 struct rowlock *kept, struct rowlock_errinfo *reterr)
{
	struct rowlock_errinfo error;
	int code = rowlock_release(left, &error);

	if (code != ROWLOCK_ELOST)
		return 0;
	if (reterr)
		*reterr = error;
	rowlock_release(kept, NULL);
	rwlock->mode = ROWLOCK_RWLOCK_NONE;
	rwlock->reads = 0;
	rwlock->gone = true;
	return code;
}

static int upgrade(struct rowlock_rwlock *rwlock, uint64_t wait_ms,
		   struct rowlock_errinfo *reterr)
{
	int code =
	    rlk_writer_acquire(rwlock->writer, rwlock->reader, wait_ms, reterr);

	if (code)
		return code;
	rwlock->mode = ROWLOCK_RWLOCK_WRITE;
	rwlock->reads = 0;
	return leave(rwlock, rwlock->reader, rwlock->writer, reterr);
}

int rowlock_rwlock_upgrade(struct rowlock_rwlock *rwlock, uint64_t wait_ms,
			   struct rowlock_errinfo *reterr)
{
	int code;

	if (rwlock->mode != ROWLOCK_RWLOCK_READ)
		return fail_not_held(rwlock, "upgrade", " for reading", reterr);
	code = rlk_check_forked(rwlock->reader, reterr);
	if (code)
		return code;
	if (rwlock->reads > 1)
		return rlk_fail(reterr, ROWLOCK_EDEADLOCK,
				"upgrade '%s': this handle reads %u times; "
				"release it until it reads once",
				name_of(rwlock), rwlock->reads);
	code = begin(rwlock, rwlock->writer, reterr);
	if (code)
		return code;
	code = upgrade(rwlock, wait_ms, reterr);
	end(rwlock);
	if (code)
		rlk_prefix(reterr, "upgrade: ");
	return code;
}

int rowlock_rwlock_downgrade(struct rowlock_rwlock *rwlock,
			     struct rowlock_errinfo *reterr)
{
	int code;

	if (rwlock->mode != ROWLOCK_RWLOCK_WRITE)
		return fail_not_held(rwlock, "downgrade", " for writing",
				     reterr);
	code = rlk_reader_acquire_under(rwlock->reader, rwlock->writer, reterr);
	if (code == 0) {
		rwlock->mode = ROWLOCK_RWLOCK_READ;
		rwlock->reads = 1;
		code = leave(rwlock, rwlock->writer, rwlock->reader, reterr);
	}
	if (code)
		rlk_prefix(reterr, "downgrade: ");
	return code;
}

static int release_nothing(struct rowlock_rwlock *rwlock,
			   struct rowlock_errinfo *reterr)
{
	if (!rwlock->gone || rlk_check_forked(rwlock->reader, NULL))
		return fail_not_held(rwlock, "release", "", reterr);
	rwlock->gone = false;
	return rlk_fail(reterr, ROWLOCK_ELOST,
			"release '%s': it was lost before; check what it "
			"protected",
			name_of(rwlock));
}

int rowlock_rwlock_release(struct rowlock_rwlock *rwlock,
			   struct rowlock_errinfo *reterr)
{
	struct rowlock *lock = side(rwlock);
	int code;

	if (!lock)
		return release_nothing(rwlock, reterr);
	code = rowlock_release(lock, reterr);
	if (code == ROWLOCK_EFORKED)
		return code;
	if (lock == rwlock->writer || --rwlock->reads == 0)
		rwlock->mode = ROWLOCK_RWLOCK_NONE;
	return code;
}

void rowlock_rwlock_cancel(struct rowlock_rwlock *rwlock)
{
	struct rowlock *waiting;

	if (rlk_check_forked(rwlock->reader, NULL))
		return;
	rlk_mutex_lock(&rwlock->mutex);
	waiting = rwlock->waiting;
	rwlock->cancel_next = !waiting;
	rlk_mutex_unlock(&rwlock->mutex);
	if (waiting)
		rowlock_cancel(waiting);
}

/* ------------------------------------------------------------------ asked */

enum rowlock_rwlock_mode rowlock_rwlock_held(struct rowlock_rwlock *rwlock)
{
	enum rowlock_rwlock_mode mode = rwlock->mode;

	if (mode == ROWLOCK_RWLOCK_READ && rowlock_held(rwlock->reader))
		return mode;
	if (mode == ROWLOCK_RWLOCK_WRITE && rowlock_held(rwlock->writer))
		return mode;
	return ROWLOCK_RWLOCK_NONE;
}

int rowlock_rwlock_verify(struct rowlock_rwlock *rwlock,
			  struct rowlock_errinfo *reterr)
{
	struct rowlock *lock = side(rwlock);

	return lock ? rowlock_verify(lock, reterr)
		    : fail_not_held(rwlock, "verify", "", reterr);
}

uint64_t rowlock_rwlock_remaining_ms(struct rowlock_rwlock *rwlock)
{
	struct rowlock *lock = side(rwlock);

	return lock ? rowlock_remaining_ms(lock) : 0;
}

int rowlock_rwlock_token(struct rowlock_rwlock *rwlock, uint64_t *ret_token,
			 struct rowlock_errinfo *reterr)
{
	struct rowlock *lock = side(rwlock);

	return lock ? rowlock_token(lock, ret_token, reterr)
		    : fail_not_held(rwlock, "token of", "", reterr);
}

static void lost(struct rowlock *lock, void *arg)
{
	struct rowlock_rwlock *rwlock = arg;
	rowlock_rwlock_lost_fn fn;
	void *fn_arg;

	(void) lock;
	fn = (rowlock_rwlock_lost_fn) rlk_told_get(&rwlock->told, &fn_arg);
	if (fn)
		fn(rwlock, fn_arg);
}

void rowlock_rwlock_on_lost(struct rowlock_rwlock *rwlock,
			    rowlock_rwlock_lost_fn fn, void *arg)
{
	rlk_told_set(&rwlock->told, rwlock->reader, (rlk_told_fn) fn, arg, lost,
		     rwlock);
	rlk_told_set(&rwlock->told, rwlock->writer, (rlk_told_fn) fn, arg, lost,
		     rwlock);
}

void rowlock_rwlock_freep(struct rowlock_rwlock **rwlock)
{
	if (!*rwlock)
		return;
	while (rowlock_rwlock_held(*rwlock) &&
	       rowlock_rwlock_release(*rwlock, NULL) == 0)
		;
	if (rowlock_rwlock_free(*rwlock, NULL) == 0)
		*rwlock = NULL;
}
