/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_LOCKS_H
#define ROWLOCK_SIM_LOCKS_H

/*
 * Rows of leases that transactions of the application's have locked, and who
 * waits for one: as InnoDB does it.
 */

#include <stdbool.h>
#include <stdint.h>

struct sim_lease;
struct sim_request;
struct sim_session;

/** How a statement wants a row. */
enum sim_want {
	SIM_WANTS_NOTHING,
	SIM_WANTS_SHARED,
	SIM_WANTS_ALONE,
};

/** The transaction of @session has @lease from now on. */
void sim_locks_take(struct sim_session *session, struct sim_lease *lease,
		    enum sim_want want);
/** The transaction is over: who waits goes on. */
void sim_locks_release(struct sim_session *session);

/**
 * The statement of @session that is to be executed now, or the packet's next
 * step, or its text's: does it wait for a row? If not it may have been refused:
 * answer.error, and of a packet or a text where it fails.
 */
bool sim_locks_hold_up(struct sim_session *session);
bool sim_locks_hold_up_packet(struct sim_session *session);
bool sim_locks_hold_up_text(struct sim_session *session,
			    struct sim_lease *lease, enum sim_want want);

/** The statement of @session does not see @lease, which is locked. */
bool sim_locks_pass_over(const struct sim_session *session,
			 const struct sim_lease *lease);

/** @session waits for the row @what, which another has, as long as its time-out
 *  allows: it is executed again then, or when somebody wakes those who wait.
 *  False: it has waited for long enough. */
bool sim_locks_stand_in_line(struct sim_session *session, const void *what,
			     bool alone);
void sim_locks_wake(const void *what);
/** Its text's next statement fails with @error. False: it does not wait. */
bool sim_locks_refuse_text(struct sim_session *session, unsigned int error);

/** Is any row of a lease locked? */
bool sim_locks_any(void);
void sim_locks_begin(void);

struct sim_lock_counts {
	uint64_t taken;
	uint64_t met;     /* by somebody who had to wait */
	uint64_t refused; /* or did not want to */
	uint64_t timeouts;
	uint64_t deadlocks;
};
extern struct sim_lock_counts sim_lock_counts;

#endif
