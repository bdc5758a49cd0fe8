/* SPDX-License-Identifier: MIT */
#ifndef RLK_WAIT_STEP_H
#define RLK_WAIT_STEP_H

/*
 * The first waiter of a name asks the server for it, step by step (asking.c).
 * Its steps share these.
 */

#include "hold/handle.h"
#include "wait/rounds.h"
#include "wait/spot.h"

/** Looks at the holder meanwhile. */
struct rlk_asking_look {
	int64_t at_ms;            /* when it may be dead; the next look */
	uint64_t swept;           /* attempt last swept as dead, */
	unsigned int swept_which; /* and on which name or slot of it */
	bool sweeps_alone;        /* the row stayed; it may be locked */
	/* The name was seen free at the last look, and this connection had the
	 * bell; 0: none. */
	bool free;
	uint64_t idle_bell;
};

/** The doubt that the last question has left. */
struct rlk_doubt {
	bool unsure;  /* it may have left a row */
	bool unheard; /* row: nor was the wait's end answered */
	bool table;   /* row: the table was locked as a whole, so nothing is
			  known of the row */
	struct rlk_mark mark; /* lease: the session that did not answer */
};

struct rlk_asking {
	struct rowlock_client *client;
	struct rlk_name *name;
	struct rlk_waiter *waiter;
	struct rlk_hold *hold; /* what it will be */
	struct rlk_conn *conn; /* row: the one in use, kept between slices;
				  lease: the one in line */
	int64_t sent_ms;       /* when this attempt was first sent */
	uint64_t delay_ms;     /* before the next try */
	uint64_t stray_ends;   /* the client's, before conn was taken */
	int64_t round_ms;      /* the next try goes with the others of this
				  round; 0: at once */
	enum rlk_ask ask;
	struct rlk_spot spot;
	struct rlk_asking_look look;
	unsigned int makes; /* times that its row was made */
	unsigned int guess; /* permits: where one may be free; 0: none */
	bool plea_refused;  /* the account may not plead */
	bool saw_others;
	bool wanted; /* others want it as well */
	struct rlk_doubt doubt;
	int code;                     /* why it ended */
	struct rowlock_errinfo error; /* the last failure, if code is 0 one
					 that may pass */
};

/** The step after a question. */
enum rlk_step {
	RLK_STEP_AGAIN, /* ask again, at once */
	RLK_STEP_LATER, /* after a pause that grows */
	RLK_STEP_END,   /* asking->code, and asking->error if it is not 0 */
};

enum rlk_step rlk_end_with(struct rlk_asking *asking, int code);

/** End with a failure; a transient one is waited out, except by a try. A wait
 *  for a connection that was canceled, or whose time was up, is none. */
enum rlk_step rlk_failed(struct rlk_asking *asking, int code);

/** The next request; notes when the attempt is first sent. */
struct rlk_request rlk_next_request(struct rlk_asking *asking);

/** No request is in doubt, so the next one is another attempt. */
void rlk_begin_anew(struct rlk_asking *asking);

/** Others want the name: it was refused, or they hold it. */
void rlk_note_others(struct rlk_asking *asking);

/** Returns 0 if the waiter may go on, else the code that ends it. */
int rlk_asking_over(struct rlk_asking *asking);

/** The pause between polls of a name that is held. */
#define RLK_POLL_DELAY_MS RLK_ROUND_MS

/** Give asking->conn back, if it has one. */
void rlk_put_conn(struct rlk_asking *asking);

/** Let rowlock_cancel() interrupt a statement that waits in the server on
 *  @conn; NULL when the wait is over. */
void rlk_expose_conn(struct rlk_asking *asking, struct rlk_conn *conn);

/** Interrupt, by KILL QUERY, the statement that waits on asking->conn, at the
 *  deadline or a cancel. Returns the time until which its end can be waited
 *  for, which is also set for the connection. */
int64_t rlk_interrupt_wait(struct rlk_asking *asking);

/** A new attempt of @waiter, with all the memory that a grant will need.
 *  Returns NULL if memory is out. */
struct rlk_hold *rlk_make_hold_locked(const struct rlk_waiter *waiter);

/** The error of a wait that ended with ROWLOCK_EBUSY, ROWLOCK_ETIMEDOUT or
 *  ROWLOCK_ECANCELED. */
int rlk_fail_waiting(const struct rowlock *lock, int code,
		     struct rowlock_errinfo *reterr);

/** Write why nothing is known of a row that was not had in time, and return
 *  ROWLOCK_ETIMEDOUT. @unheard: no answer came in the end; else its table is
 *  locked as a whole. */
int rlk_fail_unknown(const struct rowlock *lock, bool unheard,
		     struct rowlock_errinfo *reterr);

#endif
