/* SPDX-License-Identifier: MIT */
#ifndef RLK_GUARD_GUARDED_PRIVATE_H
#define RLK_GUARD_GUARDED_PRIVATE_H

/*
 * A transaction tied to a hold, for guarded.c and guarded_end.c only.
 */

#include "base/error.h"
#include "guard/guarded.h"
#include "strategy/guard.h"

struct rlk_guarded {
	struct rlk_list node; /* client->guarded */
	struct rowlock *lock;
	struct rlk_hold *hold; /* a reference */
	struct rlk_guard guard;
	char identity[96]; /* of the server that has the row */
	/* The commit's end. */
	bool cut;   /* its connection is closed on this side, */
	bool ended; /* and in the server */
	enum rlk_guard_outcome outcome; /* if it was not answered */
	uint64_t seen; /* guards of the row, if it found none */
	bool read;     /* the row was read after its end: guard.guards is its
			  count */
};

/** "<what> '<name>' (lease) on <server>: <words>" */
static inline int fail(const struct rowlock *lock, const char *what, int code,
		       const char *words, struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, code, "%s " RLK_LOCK_FORMAT ": %s", what,
			RLK_LOCK_ARGS(lock), words);
}

/** Fail with @error of the application's connection. */
static inline int fail_with(const struct rowlock *lock, const char *what,
			    int code, const char *words,
			    const struct rowlock_errinfo *error,
			    struct rowlock_errinfo *reterr)
{
	return rlk_fail_db(reterr, code, error->mysql,
			   "%s " RLK_LOCK_FORMAT ": %s: %s", what,
			   RLK_LOCK_ARGS(lock), words, error->message);
}

/** Note that the hold's row has guard.guards. */
void rlk_guarded_note_locked(const struct rlk_guarded *guarded);

/** The mark of its connection. */
void rlk_guarded_mark(const struct rlk_guarded *guarded,
		      struct rlk_mark *ret_mark);

/** The transaction is over; frees it. If its connection is cut and may still
 *  have the row locked in the server, the chores end it. Takes client->mutex.
 */
void rlk_guarded_untie(struct rlk_guarded *guarded);

/** If the server reported that rows stay after the rollback, report it in the
 *  log and, unless NULL, in @reterr. */
void rlk_guarded_tell_rows(const struct rlk_guarded *guarded,
			   struct rowlock_errinfo *reterr);

#endif
