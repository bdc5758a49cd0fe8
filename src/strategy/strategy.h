/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_STRATEGY_H
#define RLK_STRATEGY_STRATEGY_H

/*
 * Kinds of locks, in SQL. A strategy has no threads, no clock and no waiting of
 * its own: core gives it a connection whose deadline is set, and it runs its
 * statements on that.
 *
 * Core calls every operation on any thread, with no mutex held. An operation
 * may block until the connection's deadline, has not touched ret_* when it
 * fails, and writes @reterr when it returns a fault other than RLK_DONE; an
 * acquire when it returns RLK_REFUSED, RLK_FAILED or RLK_UNKNOWN. A connection
 * that is dead afterwards says so itself (rlk_conn_usable()).
 */

#include <rowlock.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/keyed.h"
#include "db/conn.h"
#include "db/packet.h"
#include "db/stmt.h"

/** A request to a strategy. */
struct rlk_request {
	const char *name;
	unsigned int slot;
	uint64_t attempt;     /* random; the identity of what it makes */
	uint64_t session;     /* lease: who it will belong to */
	uint64_t max_hold_ms; /* 0: no maximum */
	const char *info;     /* NULL: none */
	bool bell;            /* acquire: take its bell too, if that is free */
	bool draw;            /* acquire: draw its first token too, if that
				 takes no round trip more; see batch() */
	struct rlk_key key;   /* its bell is named by it */
	uint64_t bell_conn;   /* release: the connection that has its bell, by
				 rlk_conn_id(); 0: none */
	unsigned int which;   /* draw, look, bell, of a set: for which of its
				 names */
	uint64_t under; /* acquire, of a reader: the attempt of the writer that
			   lets it in; 0: none */
	unsigned int count;   /* of a semaphore: how many permits, */
	unsigned int *slots;  /* where they are: an acquire writes it before it
				 makes them. The caller's, @count of them */
	unsigned int permits; /* acquire: how many the semaphore has; 0: as it
				 is stored */
	bool passes_line;     /* acquire: also while others stand in line */
	unsigned int guess;   /* acquire of one permit: a slot that is likely to
				 be free; 0: none */
	bool row;             /* it is of the row strategy: for its bell */
	bool observes; /* acquire: the server's clock does not tell who is
			  dead; of several holders any is told of */
};

/** The holder of a name, as far as an answer shows it. */
struct rlk_holder {
	bool known; /* the rest is filled in */
	uint64_t session;
	uint64_t attempt;
	bool absent;     /* its session is gone: it is dead, for ever */
	int64_t left_us; /* until its session expires, server's clock */
	bool has_max;
	int64_t max_left_us; /* until its maximum, server's clock */
	bool looked;         /* the three below are filled in */
	uint64_t beat;
	uint64_t ttl_ms;
	uint64_t max_ms;    /* its maximum hold, if has_max */
	bool bell;          /* it is ours, and so is its bell */
	bool line;          /* it is ours, but somebody in line has its bell */
	unsigned int which; /* of a set: which of its names is held */
	unsigned int slot;  /* of permits: where it is */
};

/** How to ask. */
enum rlk_ask {
	RLK_ASK_FIRST, /* do not wait; tell who has it if that is free */
	RLK_ASK_AGAIN, /* do not wait; touch nothing that is held */
	RLK_ASK_WAIT,  /* wait in the server, a slice at the most */
};

/** The kinds of requests that are asked together with others. */
enum rlk_act {
	RLK_ACT_ACQUIRE,
	RLK_ACT_RELEASE,
	RLK_ACT_DRAW,
	RLK_ACT_SWEEP, /* remove its dead holder */
};

struct rlk_part {
	enum rlk_act act;
	struct rlk_request request;
	enum rlk_ask ask;         /* an acquire, as acquire() takes it */
	bool answered;            /* what follows is filled in */
	enum rlk_fault verdict;   /* of an acquire: RLK_DONE, RLK_HELD with
				       the holder (if all were only asked
				       again: not known), or RLK_CONFLICT */
	struct rlk_holder holder; /* of a sweep: who is dead, told beforehand */
	bool lone;       /* of the first sweep of a packet: no neighbours are
			    swept along */
	bool not_made;   /* of an acquire without an answer: it is certain that
			    this sending made no row */
	bool found;      /* of a release; of a sweep: what it was about is gone,
			    or was alive after all */
	bool evicted;    /* of a sweep: for certain it was this one that removed
			    the holder's session */
	bool swept;      /* and its lease */
	uint64_t token;  /* of a draw, or an acquire; 0: not drawn */
	uint64_t ran_on; /* core's: which connection, if it was alone or has
			    got the bell; else 0 */
	size_t seen;     /* batch()'s: how many of its rows are there, */
	size_t others;   /* how many of its names another has, */
	uint8_t kind;    /* and with which statement it goes */
};

/** Called when the deadline of a connection has come while an answer is
 *  outstanding. True: go on waiting, for which a new one was set. */
struct rlk_patience {
	bool (*go_on)(struct rlk_conn *conn, void *arg);
	void *arg;
};

struct rlk_strategy {
	const char *name; /* as in lock_token, in messages, on command lines */
	/** A grant stays on the connection that it was got on, and ends with
	 *  it; waiting is done in the server (RLK_ASK_WAIT). Any other lives by
	 *  the client's session. */
	bool pins_connection;
	/** Waiters for a name stand in line for its bell. If a grant pins its
	 *  connection, that one stands there, and lets the bell go when it is
	 *  granted. */
	bool bells;
	/** A name may have many holds at a time: readers, permits. The first in
	 *  line asks again and again, and lets the bell go with its grant. */
	bool many;
	/** Handles of this client that come in time join the last of these
	 *  holds without asking: readers. */
	bool shared;
	/** Each hold is of as many rows as it asks for: permits. */
	bool counted;
	/** Several holders may keep one request out: sets, permits. */
	bool several;
	/** A hold is of several names: a waiter stands in the line of one that
	 *  another has, and lets the bell go with its grant. */
	bool of_names;
	/** Holders that share it may still be there when it is granted: a
	 *  writer waits for them. */
	bool drained;
	/** The slot of the row of an attempt. NULL: slot 0. */
	unsigned int (*slot)(uint64_t attempt);
	/** The slot of the row whose holder keeps others out. */
	unsigned int held_slot;

	/**
	 * Ask for a hold. With the same attempt again it is idempotent: what
	 * is ours already is granted again.
	 * Valid results: all.
	 */
	enum rlk_fault (*acquire)(struct rlk_conn *conn,
				  const struct rlk_request *request,
				  enum rlk_ask ask,
				  struct rlk_holder *ret_holder,
				  struct rowlock_errinfo *reterr);

	/**
	 * Go on after RLK_PENDING. NULL unless a grant pins its connection.
	 * Valid results: all but RLK_HELD.
	 */
	enum rlk_fault (*resume)(struct rlk_conn *conn,
				 struct rowlock_errinfo *reterr);

	/** After RLK_ABSENT: make the name's row, on another connection that
	 *  commits by itself. NULL: never needed. */
	enum rlk_fault (*make)(struct rlk_conn *conn,
			       const struct rlk_request *request,
			       struct rowlock_errinfo *reterr);

	/**
	 * Give a grant back; @conn is the grant's own if it is pinned.
	 * *@ret_found: it was there until now. Idempotent unless pinned.
	 * After RLK_BUSY and RLK_CONFLICT: ask again.
	 */
	enum rlk_fault (*release)(struct rlk_conn *conn,
				  const struct rlk_request *request,
				  bool *ret_found,
				  struct rowlock_errinfo *reterr);

	/**
	 * Send all of @parts, leases and sets of slot 0, in one round trip;
	 * another one if some are held. The order of @parts is changed. Either
	 * all of them are sweeps, or none is; what is swept is absent, or over
	 * by the server's clock, which is to decide. RLK_DONE: all are
	 * answered, except for a release that did not find all its rows, a draw
	 * that brought no token, a set that is there in part, and parts for
	 * which there was no room. Those have to be sent alone; after another
	 * fault all that are not answered have to be. A release or a draw among
	 * them was not executed, but after RLK_PENDING and RLK_UNKNOWN that is
	 * open; an acquire may have been. A connection that is RLK_PENDING has
	 * to be given up. NULL: requests cannot be put together.
	 *
	 * A single first acquire may draw, and take its bell; others have both
	 * by acquire() and draw().
	 */
	enum rlk_fault (*batch)(struct rlk_conn *conn, struct rlk_part **parts,
				size_t count,
				const struct rlk_patience *patience,
				struct rowlock_errinfo *reterr);

	/** Is the grant still there? @conn as for release(). If it is pinned:
	 *  one round trip, which is sent even if the deadline has come; after
	 *  RLK_PENDING call rlk_stmt_resume(), whose RLK_DONE means that it is
	 *  there. */
	enum rlk_fault (*confirm)(struct rlk_conn *conn,
				  const struct rlk_request *request,
				  bool *ret_found,
				  struct rowlock_errinfo *reterr);

	/**
	 * Draw a token for the grant, on a connection that commits by itself.
	 * *@ret_token 0: none was drawn; the grant seems not to be there any
	 * more, and confirm() shows it. If the grant is pinned the caller must
	 * confirm() before it shows the token.
	 */
	enum rlk_fault (*draw)(struct rlk_conn *conn,
			       const struct rlk_request *request,
			       uint64_t *ret_token,
			       struct rowlock_errinfo *reterr);

	/**
	 * Have each later draw of the name be above @token: for a grant whose
	 * draw was not above it, since the server has lost earlier draws.
	 */
	enum rlk_fault (*raise)(struct rlk_conn *conn,
				const struct rlk_request *request,
				uint64_t token, struct rowlock_errinfo *reterr);

	/** Look up the holder of the name, for one that waits in line. Without
	 *  a holder *@ret_holder is not known. NULL: the server tells of its
	 *  end (row), it is the business of the first in line (permits), or
	 *  nobody stands in line (candidates). */
	enum rlk_fault (*look)(struct rlk_conn *conn,
			       const struct rlk_request *request,
			       struct rlk_holder *ret_holder,
			       struct rowlock_errinfo *reterr);

	/**
	 * End the present hold of the name against its holder's will.
	 * *@ret_found: there was one. NULL: it takes two connections, see
	 * strategy/row_break.h.
	 */
	enum rlk_fault (*end)(struct rlk_conn *conn, const char *name,
			      bool *ret_found, struct rowlock_errinfo *reterr);
};

/** The slot of @attempt's row. */
static inline unsigned int rlk_strategy_slot(
    const struct rlk_strategy *strategy, uint64_t attempt)
{
	return strategy->slot ? strategy->slot(attempt) : 0;
}

/** Static. NULL if there is no such strategy. */
const struct rlk_strategy *rlk_strategy(enum rowlock_strategy which);

/** RLK_FAILED, with @reterr: nothing was sent. */
enum rlk_fault rlk_fail_memory(struct rowlock_errinfo *reterr);

#endif
