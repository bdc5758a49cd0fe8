/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_REFUSAL_H
#define RLK_DB_REFUSAL_H

/*
 * A server that refuses a client which it took before: the password is being
 * changed, the account is locked for a moment, tables are made anew. For some
 * minutes such a server counts as out of reach (ROWLOCK_ECONNECT), which waits
 * outlast; then the refusal is what it says.
 *
 * Refusals that are less than a minute apart are one, which is logged once.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"

/** A pool's. Any thread. */
struct rlk_refusal {
	const struct rlk_clock *clock;
	uint64_t most_ms;        /* how long it counts as out of reach */
	_Atomic bool taken;      /* the server took the account and tables */
	_Atomic uint64_t worked; /* statements that did, by a hash */
	_Atomic bool unreported;

	struct rlk_mutex mutex; /* protects all below; a leaf */
	bool any;               /* there was one */
	int64_t since_ms;
	int64_t last_ms;
	char message[512]; /* of the first, to be reported */
};

void rlk_refusal_init(struct rlk_refusal *refusal,
		      const struct rlk_clock *clock, uint64_t most_ms);
void rlk_refusal_fini(struct rlk_refusal *refusal);

/** The server has let the client in, and its tables are as they must be.
 *  @refusal may be NULL. */
void rlk_refusal_begin(struct rlk_refusal *refusal);

/** A statement called @label was done. @refusal may be NULL. */
void rlk_refusal_worked(struct rlk_refusal *refusal, const char *label);

/**
 * @error is what a connect, or the statement called @label, ended with. Turn
 * its code, ROWLOCK_EAUTH or ROWLOCK_ESCHEMA, into ROWLOCK_ECONNECT if the
 * server took the same before, and has not refused it for long.
 *
 * @refusal  may be NULL: then nothing is expected to pass
 * @label    NULL for a connect
 */
void rlk_refusal_judge(struct rlk_refusal *refusal, const char *label,
		       struct rowlock_errinfo *error);

/** Log the refusal if that was not done. On a thread that ends before the owner
 *  of @log does, as an opener may not. */
void rlk_refusal_report(struct rlk_refusal *refusal, const struct rlk_log *log);

#endif
