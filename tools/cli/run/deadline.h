/* SPDX-License-Identifier: MIT */
#ifndef CLI_DEADLINE_H
#define CLI_DEADLINE_H

/*
 * When to end the command of 'rowlock run' because its lock goes.
 *
 *   sent        a heartbeat is answered: the hold is good for R more
 *    |<------------------------- R = TTL - margin ------------------->|
 *    |          beat         beat                 |            |      |
 *    0          TTL/3        2 TTL/3            TERM         KILL   deadline
 *
 * TERM is sent when no more than a fifth of the TTL is left (at most 30 s):
 * by then two heartbeats were due and neither was answered. KILL follows when
 * no more than a twentieth is left (at most 2 s), so that nothing of the
 * command lives at the deadline, from which on another may hold the lock. With
 * a TTL of 30 s: TERM 6 s and KILL 1.5 s before.
 *
 * A hold can also end in an instant: broken by hand, or, under row, with its
 * connection. Another may have the lock already. Then TERM is sent at once and
 * KILL half a second later, or at the time above if that is earlier.
 *
 * If the server answers again after TERM, KILL is put off, not cancelled.
 *
 * All times are milliseconds of one clock, given by the caller.
 */

#include <stdbool.h>
#include <stdint.h>

#define DEADLINE_NEVER UINT64_MAX

/** Between TERM and KILL when the lock is lost already. */
#define DEADLINE_GRACE_MS 500

enum deadline_phase {
	DEADLINE_WATCH, /* all is well */
	DEADLINE_TERM,  /* SIGTERM was sent */
	DEADLINE_KILL,  /* SIGKILL was sent */
};

struct deadline {
	uint64_t term_ms;  /* TERM when no more is left */
	uint64_t kill_ms;  /* KILL when no more is left */
	uint64_t ends;     /* when the hold ends, as last known */
	uint64_t kill_at;  /* a fixed time for KILL; DEADLINE_NEVER: none */
	uint64_t max_from; /* one that ends from here on is at its maximum */
	enum deadline_phase phase;
};

/** @ttl_ms  the TTL of the lease, or the idle bound of the row strategy */
void deadline_init(struct deadline *deadline, uint64_t ttl_ms);

/** The hold was granted just now, and has a maximum. @max_ms  0: none
 *  @ttl_ms  as of deadline_init(), so not more than the maximum */
void deadline_limit(struct deadline *deadline, uint64_t now_ms, uint64_t max_ms,
		    uint64_t ttl_ms);

/** Does the hold end by its maximum, or by beats that stay away? Both are one
 *  deadline. */
bool deadline_is_maximum(const struct deadline *deadline);

/** Is so little left that nothing should be started? */
bool deadline_is_near(const struct deadline *deadline, uint64_t remaining_ms);

/**
 * Look at the lock.
 *
 * @remaining_ms  rowlock_remaining_ms(), 0 if it is not held
 * @ret_wake_ms   look again within this time
 *
 * Returns the phase. When it has changed, send the signal.
 */
enum deadline_phase deadline_step(struct deadline *deadline, uint64_t now_ms,
				  uint64_t remaining_ms, uint64_t *ret_wake_ms);

/**
 * The time at which the guard (guard.h) has to act if no message comes. Between
 * our own KILL and the deadline, so that it does not compete with a look that
 * finds the server's answer.
 */
uint64_t deadline_guard_time(const struct deadline *deadline);

/** KILL half a second from now, or earlier: for what is left of a group whose
 *  leader has obeyed TERM. */
void deadline_hasten(struct deadline *deadline, uint64_t now_ms);

#endif
