/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_JUDGE_H
#define ROWLOCK_SIM_JUDGE_H

/*
 * The judge knows what clients believe and what the database says, both at the
 * same instant, and ends the run when a promise does not hold.
 */

#include <rowlock/adoption.h>

#include "hold/handle.h"
#include "proc.h"
#include "tables.h"

/* ------------------------------------------------ what applications do */

/** A call of the library that has to return in time. */
struct sim_call {
	struct rlk_list node;
	const char *what;
	struct sim_fiber *fiber;
	int64_t until_ms; /* by the process's clock; RLK_NEVER: whenever */
	int64_t delay_us; /* what the process had lost before */
	int64_t began_us;
};

void sim_call_begin(struct sim_call *call, const char *what, uint64_t ms);
void sim_call_end(struct sim_call *call);

/** @lock is going to be acquired, on @names, a bit each; and how that ended. */
void sim_judge_acquire(struct rowlock *lock, unsigned int names);
void sim_judge_acquired(struct rowlock *lock, int code);
/** Was the lease that @attempt made taken by hand? */
bool sim_was_broken(uint64_t attempt);

/** It is going to be released for good; the call has returned, or an acquire
 *  has told of its loss. */
void sim_judge_release(struct rowlock *lock);
void sim_judge_released(struct rowlock *lock, int code);
/** It was exported: it is not held, and its loss is told yet. */
void sim_judge_exported(const struct rowlock *lock);
/** It is not there any more. */
void sim_judge_freed(const struct rowlock *lock);
/** @lock's grant is given back by a call that upgrades or downgrades: whoever
 *  writes by it does so no more. */
void sim_judge_yields(const struct rowlock *lock, bool yields);
/** Its transaction is about to give it back; or has not. */
void sim_judge_gives(const struct rowlock *lock, bool gives);
/** The present grant of @lock, which began unseen, in rowlock_execute(). */
void sim_judge_entered(struct rowlock *lock, unsigned int name);
/** The end of that function: no one is told of a loss later. Is it held? */
bool sim_judge_left(struct rowlock *lock);
/** A number of the grant that @lock has now; 0: it has none. */
uint64_t sim_judge_grant(const struct rowlock *lock);
/** The lost callback ran. */
void sim_judge_told(const struct rowlock *lock);
/** rowlock_token() showed @token for @name of its present hold. */
void sim_judge_token(const struct rowlock *lock, unsigned int name,
		     uint64_t token);
/** rowlock_held() said so. */
void sim_judge_held(const struct rowlock *lock, bool held);

/** How many grants came from another thread, not from the server. */
extern uint64_t sim_passes;

/** Does anybody's hold come from @lock's grant just now? */
void sim_judge_began(void);

struct sim_borrowed;

/** Called where a mutex is unlocked: what happened under it is true now. */
static inline void sim_judge_acquiring(void)
{
	const struct rowlock *lock = sim_self->acquiring;

	if (lock && lock->hold &&
	    (lock->hold->attempt != sim_self->acquiring_attempt ||
	     lock->hold->passes != sim_self->acquiring_pass))
		sim_judge_began();
}

/** Nothing of @proc is left. */
void sim_judge_forget(const struct sim_proc *proc);

/* --------------------------------- leases that are handed over; offers.c */

/** A lease that was exported. */
struct sim_offer {
	char text[ROWLOCK_EXPORT_SIZE]; /* "": none */
	uint64_t attempt;
	uint64_t session;
	bool taken_back; /* its exporter releases it, */
	bool left;       /* or ends, and has not lost it before */
};

/** The last one of @name. */
struct sim_offer *sim_offer_of(unsigned int name);
/** Is its lease as it was exported, and alive? */
bool sim_offer_stands(unsigned int name, const struct sim_offer *offer);
/** The lease that an adoption is about. */
struct sim_request;
struct sim_lease *sim_lease_adopted(const struct sim_request *request);
/** @lease is removed by its own process. */
void sim_judge_offer_removed(const struct sim_lease *lease);
/** @client is about to be freed. */
void sim_judge_offers_leave(const struct rowlock_client *client);
/** The session of @row is deleted by its process. */
void sim_judge_offers_left(const struct sim_session_row *row);

/* ------------------------------------------------ what the server does */

void sim_judge_lease_made(const struct sim_session *by,
			  const struct sim_lease *lease);
void sim_judge_lease_removed(const struct sim_session *by,
			     const struct sim_lease *lease);
void sim_judge_lease_broken(const struct sim_session *by,
			    const struct sim_lease *lease);
/** Its process leaves a lease that is kept. */
void sim_judge_lease_left(const struct sim_session *by,
			  const struct sim_lease *lease);
/** @lock was acquired, and its name is kept from now on. */
void sim_judge_kept_from(const struct rowlock *lock, unsigned int name);
/** Names need not be kept any more: the server's clock has jumped. */
void sim_judge_kept_forget(void);
void sim_judge_session_made(const struct sim_session_row *row);
void sim_judge_session_removed(const struct sim_session *by,
			       const struct sim_session_row *row);
void sim_judge_beat(const struct sim_session *by,
		    const struct sim_session_row *row);
void sim_judge_drawn(bool row, unsigned int name, uint64_t token);
void sim_judge_kill(const struct sim_session *by,
		    const struct sim_session *victim);

/* --------------------------- the application's transactions; judge_guarded.c
 */

/** How a transaction is tied to its hold. */
enum sim_guard {
	SIM_GUARD_AT_END,
	SIM_GUARD_KEEPS,   /* the hold, from the begin on */
	SIM_GUARD_IS_TOLD, /* as text, and the hold is this owner's for good */
};

/** One was begun under @lock, of @name, on the connection @on. Returns its
 *  number. */
uint64_t sim_judge_guarded(const struct rowlock *lock, unsigned int name,
			   uint64_t on, enum sim_guard guard);
/** The row of its hold is there, with its attempt, and was counted by others
 *  than the transaction on @session, which is tied to @name, knows of. */
void sim_judge_miscounted(const struct sim_session *session, unsigned int name);
/** Was that so of this one? */
bool sim_judge_was_miscounted(uint64_t work);
/** The row of @name was counted on by its client, so that no earlier commit
 *  finds it. */
void sim_judge_overtaken(unsigned int name);
/** Its call returned @code; @wrote: it has written its counter. */
void sim_judge_outcome(uint64_t work, bool wrote, int code);
/** It is being committed in the server, with @number as the counter of @name.
 */
void sim_judge_counted(unsigned int name, uint64_t number, uint64_t work);

/* ---------------- row locks in transactions, and fences; judge_inside.c */

/** rowlock_acquire_in_transaction() returned 0 on @own. Returns the
 * transaction's number.
 */
uint64_t sim_judge_inside(unsigned int name, const struct sim_borrowed *own);
/** The number of one that passes a fence with a token of @name. */
uint64_t sim_judge_fencing(unsigned int name);
/** rowlock_token_in_transaction() returned @code, and @token. */
void sim_judge_drew(const struct sim_borrowed *own, unsigned int name, int code,
		    uint64_t token);
/** It is committed, and the caller knows: the token of the lock of @name that
 *  was locked as the row's @serial. */
void sim_judge_inside_token(struct rowlock *lock, unsigned int name,
			    uint64_t serial, uint64_t token);
/** rowlock_fence() returned @code. */
void sim_judge_fenced(const struct sim_borrowed *own, enum sim_book book,
		      unsigned int name, uint64_t token, int code);
/** A @call that failed in the transaction on @own, with the server's @error:
 *  it stays open but after a deadlock. */
void sim_judge_stays_open(const struct sim_borrowed *own, const char *call,
			  int code, unsigned int error);
/** The transaction of @session is being committed with a count, but for those
 *  under a guard; with a pass. */
void sim_judge_booked(const struct sim_session *session);
void sim_judge_passed(const struct sim_session *session);

/* -------------------------------------------------------------- always */

void sim_judge_begin(void);
/** After each step of a fiber. */
void sim_judge_step(void);
/** Nobody holds or calls anything now? */
void sim_judge_end(void);

#endif
