/* SPDX-License-Identifier: MIT */
#ifndef RLK_HOLD_HOLD_H
#define RLK_HOLD_HOLD_H

/*
 * A hold, from before it is asked for until nobody remembers it.
 *
 *              start             release             over
 *     ASKED ----------> HELD ----------> RELEASING ----------> OVER
 *       |                |                   |                  ^
 *       | give up        | lose              | lose             |
 *       v                v                   v                  |
 *   ABANDONED <-------- LOST <---------------+                  |
 *       |       (a row or a connection is left)                 |
 *       +-------------------------------------------------------+
 *
 * Only HELD is held. LOST is decided by our own clock, by an answer of the
 * server, by the end of a connection or of its owner, and is for ever.
 * ABANDONED means that something of it may still be in the server;
 * background/chores.c removes it.
 *
 * A HELD one may go on with another owner of this process: see handover.c. Of
 * a shared one the client is the owner, and every handle may join it: share.c.
 *
 * Counted references: the name's while HELD or RELEASING, the chores' while
 * ABANDONED, and one of each handle that acquired it, so that a handle can
 * learn that its hold was lost.
 */

#include "base/list.h"
#include "core/alarm.h"
#include "core/client.h"

enum rlk_hold_state {
	RLK_HOLD_ASKED,
	RLK_HOLD_HELD,
	RLK_HOLD_RELEASING,
	RLK_HOLD_LOST,
	RLK_HOLD_ABANDONED,
	RLK_HOLD_OVER,
};

/**
 * What a hold needs that has an end or a connection of its own: a row hold, one
 * with a maximum, one that keeps its bell, one of permits; and what may be left
 * of any in a session that has to be ended. Most leases live with their session
 * and never have it.
 */
struct rlk_upkeep {
	struct rlk_hold *hold;
	int64_t max_until_ms;   /* of a maximum hold, else RLK_NEVER */
	int64_t idle_until_ms;  /* row: of the idle bound; else RLK_NEVER */
	struct rlk_alarm alarm; /* at the earlier of the two */
	struct rlk_alarm ping;  /* client->pings: when hold->conn is to be
				   pinged, or a ping is to be given up */
	int64_t pinged_ms;      /* when the ping under way was sent */
	bool pinging;           /* one is under way; then conn_busy, too */
	struct rlk_list waits;  /* threads that want hold->conn */
	struct rlk_mark mark;   /* ABANDONED: a session to end; id 0: none */
	int64_t marked_ms;      /* nothing was sent on that since then */
	unsigned int count;     /* of permits; 0 of what is none, */
	unsigned int *slots;    /* where they are, */
	unsigned int permits;   /* and of how many, as was said; 0: nothing */
};

/** The owner of a hold that was lost by its owner's end; and that of one that
 * is shared. */
#define RLK_OWNER_NOBODY 0
#define RLK_OWNER_ALL (1ull << 63)

/** The application's transactions that are tied to a hold. */
struct rlk_hold_guard {
	bool in_transaction : 1;  /* one is open */
	bool told : 1;            /* the application has the guard as text, and
				     commits by itself */
	bool commit_may_come : 1; /* one that was not answered, and that nobody
				     could ask after */
	bool unsure : 1;          /* the count may be another one */
	uint16_t count; /* of guards in the row, unless that is unsure, or at
			   its most */
};

/** There may be a hundred thousand of them: test_memory.c counts. */
struct rlk_hold {
	enum rlk_hold_state state : 7;
	bool suspect : 1;    /* perhaps broken: being looked up */
	bool mixed_info : 1; /* it may be in the server under another info than
				that of its last handle */
	bool conn_busy : 1;  /* some thread talks on conn, or pings it */
	bool wanted : 1;     /* lease: others wanted the name, too, when it was
				granted */
	bool orphan : 1;     /* lost by its owner's end, and not logged yet */
	unsigned int passes : 20; /* how often it was handed over since
				     began_ms; an option bounds it */
	struct rlk_hold_guard guard;
	unsigned int refs;
	unsigned int depth;
	int64_t began_ms;      /* when the server granted it */
	struct rlk_name *name; /* name->hold while HELD or RELEASING, but of
				  many the last only */
	uint64_t owner;        /* rlk_lock_owner(), or RLK_OWNER_NOBODY */
	uint64_t attempt;
	uint64_t session; /* lease */
	uint64_t token;   /* 0: not drawn */
	/* The commit connection that has its bell; 0. A thread that takes the
	 * number away sees to the bell. */
	_Atomic uint64_t bell_conn;
	struct rlk_list node;      /* session.holds, row_holds or abandoned */
	struct rowlock *handles;   /* to be told; the last first */
	const char *reason;        /* why it was lost; static */
	struct rlk_conn *conn;     /* row: its own; lease: that has its bell */
	struct rlk_upkeep *upkeep; /* NULL: none */
};

/** Made before it is asked for, so that a grant never lacks memory. */
struct rlk_hold *rlk_hold_new_locked(struct rlk_name *name);

/** Have hold->upkeep, before anything is granted that needs it. False: out of
 *  memory. */
bool rlk_hold_make_upkeep(struct rlk_hold *hold);

/** Have hold->upkeep with room for the slots of @count permits. False: out of
 *  memory. */
bool rlk_hold_make_slots(struct rlk_hold *hold, unsigned int count);

/** How many rows it has in the server. */
size_t rlk_hold_rows(const struct rlk_hold *hold);

/** Does it end by itself, at a maximum? */
bool rlk_hold_has_maximum(const struct rlk_hold *hold);

void rlk_hold_get_locked(struct rlk_hold *hold);
/** Frees it with the last reference. */
void rlk_hold_put_locked(struct rlk_hold *hold);

/** ASKED to HELD: it is its name's now. Takes a reference for the name. */
void rlk_hold_start_locked(struct rlk_hold *hold);

/** Until when it is good by our own clock. */
int64_t rlk_hold_until_locked(const struct rlk_hold *hold);

/** Is it held now? If its time is up, it becomes LOST here and now. */
bool rlk_hold_check_locked(struct rlk_hold *hold);

/** Why a hold is lost whose row is not there; or that of its session. */
#define RLK_ROW_IS_GONE "its row is gone from the server"
#define RLK_WAS_EVICTED "its session was evicted as dead"
#define RLK_WAS_RESTORED                                                       \
	"its session's row is older than it was: the tables were restored"

/**
 * HELD or RELEASING to LOST: the name is free for the next local waiter, the
 * callbacks are due, and what is left in the server goes to the chores.
 * Nothing in any other state. @reason ends "the hold was lost: ...".
 */
void rlk_hold_lose_locked(struct rlk_hold *hold, const char *reason);

/** The same. Takes client->mutex. */
void rlk_hold_lose(struct rlk_hold *hold, const char *reason);

/** HELD to RELEASING: not held any more, not free yet. */
void rlk_hold_releasing_locked(struct rlk_hold *hold);

/** RELEASING to OVER: the next local waiter's turn. */
void rlk_hold_over_locked(struct rlk_hold *hold);

/** ABANDONED to OVER: nothing of it is in the server any more. */
void rlk_hold_cleared_locked(struct rlk_hold *hold);

/** The session of @mark, on which nothing is sent any more, has to be ended
 *  before this hold is over in the server. The first mark stays. Without memory
 *  it is forgotten. */
void rlk_hold_mark_locked(struct rlk_hold *hold, const struct rlk_mark *mark);

/** ASKED or RELEASING to ABANDONED: a row of it may be there, or come. @mark
 *  (may be NULL) is a session to end before its absence means anything. */
void rlk_hold_abandon_locked(struct rlk_hold *hold,
			     const struct rlk_mark *mark);

/** The lease was got by waiting on @conn, which has its bell: it stays with the
 *  hold, whose upkeep is there. */
void rlk_hold_keep_bell_locked(struct rlk_hold *hold, struct rlk_conn *conn);

/** Move the end of a row hold's idle bound: answered at @t0_ms. It has its
 *  upkeep. */
void rlk_hold_answered_locked(struct rlk_hold *hold, int64_t t0_ms);

/** Lose every lease of the present session, and abandon it. */
void rlk_session_lose_locked(struct rowlock_client *client, const char *reason);

/** The end of the session by our clock is now @t0_ms plus TTL less margin, if
 *  that is later. */
void rlk_session_answered_locked(struct rowlock_client *client, int64_t t0_ms);

/** As strategy operations take it. */
struct rlk_request rlk_hold_request(const struct rlk_hold *hold);

/** Take the pinned connection for the calling thread, waiting until @until_ms
 *  for a thread that talks on it (lets the mutex go meanwhile). False: it is
 *  gone, and the hold is lost. */
bool rlk_hold_take_conn_locked(struct rlk_hold *hold, int64_t until_ms);
void rlk_hold_put_conn_locked(struct rlk_hold *hold);

#endif
