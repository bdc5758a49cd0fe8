/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_CHECKER_PROOF_H
#define ROWLOCK_CHECKER_PROOF_H

/*
 * A hold is proved from the return of its acquire to the last time at which
 * the library vouched for it (held() said yes, a draw, a verify or a release
 * went well): the time of each was read before its call, so the hold stood
 * then or later. A hold without such a proof is known to have stood at some
 * instant between call and return of its acquire, no more: its process may
 * have been stopped before it read the clock.
 */

#include "run.h"

/** How long after its end a connection (row), or after it a maximum, may go
 *  unnoticed. */
#define PROOF_NOTICE (100ull * RUN_MS)

struct proof {
	uint64_t asked;
	uint64_t from;
	uint64_t until; /* from itself: at one instant only */
	uint64_t slack; /* of what held() said */
};

struct proof proof_of(const struct run *run, const struct hold *hold);

#endif
