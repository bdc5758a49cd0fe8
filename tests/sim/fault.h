/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_FAULT_H
#define ROWLOCK_SIM_FAULT_H

/*
 * The kinds of faults, each with its chance in this world. A world has some of
 * them only: what all at once would hide, two of them may show.
 */

#include <stdbool.h>
#include <stdint.h>

enum sim_fault_kind {
	/* of one statement */
	SIM_LOST_REQUEST,
	SIM_LOST_REPLY,
	SIM_SLOW_REQUEST,
	SIM_SLOW_REPLY,
	SIM_BREAK_BEFORE,
	SIM_BREAK_AFTER,
	SIM_LATE_EXECUTION,
	SIM_BLOCKED_STATEMENT,
	SIM_LOCK_TIMEOUT,
	SIM_DEADLOCK,
	SIM_INTERRUPTED,
	/* of one connect */
	SIM_SLOW_CONNECT,
	SIM_LOST_CONNECT,
	SIM_TOO_MANY,
	SIM_STUCK_RESOLVER,
	/* of a thread */
	SIM_STALL,
	SIM_SPURIOUS_WAKE,
	SIM_NO_THREAD,
	/* of the world, from time to time */
	SIM_PAUSE,
	SIM_CUT,
	SIM_PAUSE_CUT,
	SIM_CUT_KILL,
	SIM_KILL,
	SIM_VANISH,
	SIM_FREEZE,
	SIM_RESTART,
	SIM_CRASH,
	SIM_READ_ONLY,
	SIM_CLOCK_BACK,
	SIM_CLOCK_AHEAD,
	SIM_KILL_CONNECTION,
	SIM_KILL_QUERY,
	SIM_ROW_GONE,
	SIM_HALF_OPEN,
	SIM_SLOW_KILL,
	SIM_FAULTS,
};

/** Its name, as in a history. */
const char *sim_fault_name(enum sim_fault_kind kind);

/** Does it happen here and now? Counted if so. */
bool sim_happens(enum sim_fault_kind kind);
/** It happened. */
void sim_fault(enum sim_fault_kind kind);

/** How often each of them was injected, in all worlds. */
extern uint64_t sim_fault_counts[SIM_FAULTS];

/** Draw which faults this world has; begin. */
void sim_faults_begin(bool none);
/** No more of them from now on; what is under way is healed. */
void sim_faults_heal(void);

#endif
