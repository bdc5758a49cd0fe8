/* SPDX-License-Identifier: MIT */
#ifndef RLK_HOLD_HOLD_H
#define RLK_HOLD_HOLD_H

/*
 * A hold, from before its request until its last reference.
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
 * EXPORTED is a HELD lease that is for whoever adopts it: it is not held any
 * more, and its row lives by the session. It goes on to RELEASING, or to LOST
 * when it was adopted.
 *
 * Only HELD is held. Our own clock, an answer of the server, the end of a
 * connection or of its owner decide LOST, which is final. ABANDONED means that
 * parts of it may still be in the server; background/chores.c removes them.
 *
 * A HELD one may go on with another owner of this process: see handover.c. The
 * client owns a shared one, and every handle may join it: share.c.
 *
 * Counted references: the name's while HELD or RELEASING, the chores' while
 * ABANDONED, and one of each handle that acquired it, so that a handle learns
 * that its hold was lost.
 */

#include "base/list.h"
#include "core/alarm.h"
#include "core/client.h"
#include "strategy/keep.h"

enum rlk_hold_state {
	RLK_HOLD_ASKED,
	RLK_HOLD_HELD,
	RLK_HOLD_EXPORTED,
	RLK_HOLD_RELEASING,
	RLK_HOLD_LOST,
	RLK_HOLD_ABANDONED,
	RLK_HOLD_OVER,
};

/** The keep of a hold (hold/keeping.h). */
struct rlk_hold_keep {
	struct rlk_keep row; /* its id is 0 if there is none */
	int64_t until_ms;    /* the hold is good until then; RLK_NEVER: no keep
				can have its lease */
	uint64_t round;      /* the session's beat that it was beaten with */
	uint64_t breaks;     /* of the session, as known before the last answer
				that found it */
};

/**
 * The part of a hold with a deadline or a connection of its own: a row hold,
 * one with a maximum, one that keeps its bell, one that is kept, one of
 * permits; and of any hold with a session to end. Most leases live with their
 * session and never have it.
 */
struct rlk_upkeep {
	struct rlk_hold *hold;
	int64_t max_until_ms;  /* of a maximum hold, else RLK_NEVER */
	int64_t idle_until_ms; /* row: of the idle timeout; else RLK_NEVER */
	struct rlk_hold_keep keep;
	struct rlk_alarm alarm; /* at the earliest of the three */
	struct rlk_conn *conn;  /* row: its own; lease: that has its bell */
	struct rlk_alarm ping;  /* client->pings: when conn is to be
				   pinged, or a ping is to be given up */
	int64_t pinged_ms;      /* when the ping under way was sent */
	bool pinging;           /* one is under way; conn_busy is set */
	bool passed_over;       /* a later statement on another connection was
				   answered before it */
	struct rlk_list waits;  /* threads that want conn */
	struct rlk_mark mark;   /* ABANDONED: a session to end; id 0: none */
	int64_t marked_ms;      /* no statement since then on that */
	unsigned int count;     /* of permits; 0 for other locks, */
	unsigned int *slots;    /* their places, */
	unsigned int permits;   /* and the stated total; 0: none */
};

/** The owner of a hold that was lost by its owner's end; and of a shared
 * one. */
#define RLK_OWNER_NOBODY 0
#define RLK_OWNER_ALL (1ull << 63)

/** The application's transactions that are tied to a hold. */
struct rlk_hold_guard {
	bool in_transaction : 1;  /* one is open */
	bool told : 1;            /* the application has the guard as text, and
				     sends COMMIT itself */
	bool commit_may_come : 1; /* one that was not answered, with its outcome
				     unknown */
	bool unsure : 1;          /* the count is unknown */
	bool unseen : 1;          /* the last look left its row out */
	bool gives_back : 1;      /* a transaction that deletes its row is being
				     ended */
	bool may_be_gone : 1;     /* such a transaction had no answer */
	uint16_t count; /* of guards in the row, unless that is unsure, or at
			   its most */
};

/** There may be a hundred thousand of them: test_memory.c counts. */
struct rlk_hold {
	enum rlk_hold_state state : 6;
	bool suspect : 1;    /* maybe broken: being looked up */
	bool mixed_info : 1; /* its row may have another info than its last
				handle */
	bool asked : 1;      /* somebody was told that it is asked for */
	bool conn_busy : 1;  /* some thread uses conn, or pings it */
	bool wanted : 1;     /* lease: others wanted the name when it was
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
	int64_t shown_ms;      /* when its present owner got it, for
				  hold/losses.h; 0: not yet */
	uint64_t attempt;
	uint64_t session; /* lease */
	uint64_t token;   /* 0: not drawn */
	/* The commit connection that has its bell, or 0. A thread that takes
	 * the number away lets go of the bell. */
	_Atomic uint64_t bell_conn;
	struct rlk_list node;      /* session.holds, row_holds or abandoned */
	struct rowlock *handles;   /* to be notified; the last first */
	const char *reason;        /* why it was lost; static */
	struct rlk_upkeep *upkeep; /* NULL: none */
};

/** Its connection, or NULL: of a row its own, of a lease the one that has its
 *  bell. */
static inline struct rlk_conn *rlk_hold_conn(const struct rlk_hold *hold)
{
	return hold->upkeep ? hold->upkeep->conn : NULL;
}

/** The same, which is the caller's from then on. */
static inline struct rlk_conn *rlk_hold_take_conn(struct rlk_hold *hold)
{
	return hold->upkeep ? TAKE_PTR(hold->upkeep->conn) : NULL;
}

/** Made before its request, so that a grant never lacks memory. */
struct rlk_hold *rlk_hold_new_locked(struct rlk_name *name);

/** Make hold->upkeep before a grant that needs it. Returns false if memory is
 *  out. */
bool rlk_hold_make_upkeep(struct rlk_hold *hold);

/** Make hold->upkeep for the slots of @count permits. Returns false if memory
 *  is out. */
bool rlk_hold_make_slots(struct rlk_hold *hold, unsigned int count);

/** The number of its rows in the server. */
size_t rlk_hold_rows(const struct rlk_hold *hold);

/** Does it end at a maximum? */
bool rlk_hold_has_maximum(const struct rlk_hold *hold);

void rlk_hold_get_locked(struct rlk_hold *hold);
/** Frees it with the last reference. */
void rlk_hold_put_locked(struct rlk_hold *hold);

/** ASKED to HELD: gives the hold to its name, with a reference. */
void rlk_hold_start_locked(struct rlk_hold *hold);

/** Its deadline by our own clock. */
int64_t rlk_hold_until_locked(const struct rlk_hold *hold);

/** Is it held now? If its time is up, it becomes LOST here. */
bool rlk_hold_check_locked(struct rlk_hold *hold);

/** The same, or may it be gone: is it still to be released? */
bool rlk_hold_stands_locked(struct rlk_hold *hold);

/** The reason if its row is gone; or that of its session. */
#define RLK_ROW_IS_GONE "its row is gone from the server"
#define RLK_WAS_EVICTED "its session was evicted as dead"
#define RLK_WAS_BROKEN "it was broken by hand"
#define RLK_WAS_RESTORED                                                       \
	"its session's row is older than it was: the tables were restored"

/**
 * HELD, EXPORTED or RELEASING to LOST: the name is free for the next local
 * waiter, the callbacks are due, and the chores clear the server. In other
 * states does nothing. @reason ends "the hold was lost: ...".
 */
void rlk_hold_lose_locked(struct rlk_hold *hold, const char *reason);

/** As rlk_hold_lose_locked(). Takes client->mutex. */
void rlk_hold_lose(struct rlk_hold *hold, const char *reason);

/** The reason of a hold that was given back by a transaction without an answer.
 */
#define RLK_MAY_BE_GONE "whether it was given back is not known"

/**
 * A transaction that deletes the row of @hold was not answered, so another may
 * have the name by now: it is not held any more, and its callbacks are due. It
 * stays HELD for its owner to find the outcome out; a release, or its next
 * acquire, ends it.
 */
void rlk_hold_doubt_locked(struct rlk_hold *hold);

/** Why a hold is not held from its export on, and when it was adopted. */
#define RLK_WAS_EXPORTED "it was exported"
#define RLK_WAS_ADOPTED "it was exported and adopted, or broken"

/** HELD to EXPORTED: it is the next local waiter's turn, which will find the
 *  name taken. */
void rlk_hold_export_locked(struct rlk_hold *hold);

/** HELD or EXPORTED to RELEASING: not held any more, not free yet. */
void rlk_hold_releasing_locked(struct rlk_hold *hold);

/** RELEASING to OVER: it is the next local waiter's turn. */
void rlk_hold_over_locked(struct rlk_hold *hold);

/** ABANDONED to OVER: the server has no part of it any more. */
void rlk_hold_cleared_locked(struct rlk_hold *hold);

/** The session of @mark, which is not used any more, has to be ended before
 *  this hold is over in the server. The first mark stays. Without memory it is
 *  dropped. */
void rlk_hold_mark_locked(struct rlk_hold *hold, const struct rlk_mark *mark);

/** ASKED or RELEASING to ABANDONED: its row may be there, or come. @mark (may
 *  be NULL) is a session to end before the row's absence means anything. */
void rlk_hold_abandon_locked(struct rlk_hold *hold,
			     const struct rlk_mark *mark);

/** Keep @conn, on which the lease waited, and which has its bell, with the
 *  hold. It has its upkeep. The first ping has the server keep @conn for a TTL:
 *  until then a stopped client loses it within seconds, and a short hold costs
 * no statement. */
void rlk_hold_keep_bell_locked(struct rlk_hold *hold, struct rlk_conn *conn);

/** hold->upkeep->keep.until_ms has moved. */
void rlk_hold_kept_locked(struct rlk_hold *hold);

/** Move the idle deadline of a row hold: answered at @t0_ms. It has its
 *  upkeep. */
void rlk_hold_answered_locked(struct rlk_hold *hold, int64_t t0_ms);

/** Lose every lease of the current session, and abandon it. */
void rlk_session_lose_locked(struct rowlock_client *client, const char *reason);

/** The session's time is up: lose it. */
void rlk_session_expire_locked(struct rowlock_client *client);

/** Move the session's deadline to @t0_ms plus TTL less margin, if later. */
void rlk_session_answered_locked(struct rowlock_client *client, int64_t t0_ms);

/** The request for strategy operations. */
struct rlk_request rlk_hold_request(const struct rlk_hold *hold);

/** Take the pinned connection, waiting until @until_ms for a thread that uses
 *  it (releases the mutex meanwhile). Returns false if the connection is gone,
 *  and the hold lost. */
bool rlk_hold_take_conn_locked(struct rlk_hold *hold, int64_t until_ms);
void rlk_hold_put_conn_locked(struct rlk_hold *hold);

#endif
