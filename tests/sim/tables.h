/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_TABLES_H
#define ROWLOCK_SIM_TABLES_H

/*
 * What is in the database. There is nothing hidden here: the judge looks at it
 * as nobody else can.
 */

#include "server.h"
#include "strategy/sides.h"

struct sim_lease {
	bool there;
	unsigned int name;
	unsigned int slot;
	uint64_t attempt;
	uint64_t session;
	int64_t acquired_us;
	int64_t began_us;   /* that in true time */
	int64_t expires_us; /* 0: no maximum */
	uint64_t serial;    /* counts the rows that this place has had; of a
			       reader the writer's so far */
	int64_t born_us;    /* when others could see it, in true time */
	int64_t gone_us;    /* likewise, if it is not there */
	unsigned int proc;  /* who made it */
	uint64_t guards;    /* commits of the application's by it */
	/* Whose transactions have it locked, there or not: */
	struct sim_session *writer; /* alone, */
	unsigned int sharers;       /* or so many */
	char info[16];              /* of a candidate */
};

struct sim_session_row {
	uint64_t id; /* 0: no row */
	uint64_t ttl_ms;
	int64_t expires_us;
	uint64_t beat;
	uint64_t breaks; /* of a keep: the session of its client */
	bool delays;     /* of a keep: a loss is to delay the next holder */
	int64_t started_us;
	int64_t born_us; /* started_us in true time */
	unsigned int proc;
	int64_t beaten_us; /* in true time */
};

struct sim_row {
	unsigned int name;
	bool there;
	struct sim_session *owner;
	struct rlk_list line;
	uint64_t serial; /* counts the locks of it */
};

/** A resource, in the application's database. */
struct sim_resource {
	uint64_t token;             /* the largest that has passed; 0: no row */
	struct sim_session *writer; /* whose transaction has it locked */
};

#define SIM_SESSION_ROWS 4096

/** Rows of leases, there or not: slot 0 of each name, its writer's slot, and
 *  from SIM_SINGLES on readers and permits. */
#define SIM_SINGLES (2 * 8)
#define SIM_OTHERS 512
#define SIM_LEASES (SIM_SINGLES + SIM_OTHERS)

struct sim_tables {
	struct sim_lease leases[SIM_LEASES];
	unsigned int lease_places; /* that were ever used */
	struct sim_session_row sessions[SIM_SESSION_ROWS];
	unsigned int session_places; /* that were ever used */
	struct sim_row rows[8];
	uint64_t tokens[2][8]; /* 0: no row */
	int64_t drawn_us[2][8];
	uint64_t drawn_by[8]; /* which attempt has drawn a lease's token */
	uint64_t floor;
	struct sim_session *drawer[8]; /* whose transaction has drawn a row
					  lock's token, */
	unsigned int floor_sharers;    /* and so many have the floor locked */
	uint64_t counts[SIM_BOOKS][8]; /* the application's own: a row each */
	struct sim_resource resources[2][8]; /* of leases, and of row locks */
	unsigned int permits[8];             /* of a semaphore; 0: no row */
	int64_t permits_us[8]; /* when it or its rows changed, in true time */
	uint64_t permits_made[8]; /* rows */
	struct {
		uint64_t number; /* 0: no row */
		int64_t at_us;
		unsigned int proc;
	} duty;          /* to reap */
	bool pleaded[8]; /* of those first in line for permits */
};

extern struct sim_tables sim_tables;

void sim_tables_begin(void);

/** Execute the request of @session, write its answer; false: it waits. */
bool sim_execute(struct sim_session *session);

/** What may be locked by a name. */
enum sim_kind {
	SIM_KIND_LEASE,
	SIM_KIND_ROW,
	SIM_KIND_RWLOCK,
	SIM_KIND_PERMITS,
	SIM_KIND_CANDIDATE, /* excludes nobody */
	SIM_KINDS,
};

/** Does it belong to a keep whose client is gone, or has left it? */
bool sim_is_kept(const struct sim_lease *lease);
/** Its hold was lost, and has delayed the next. It is dead by now, and lies
 *  there until somebody wants the name. */
bool sim_has_delayed(const struct sim_lease *lease);

/** The writer's row of @name, there or not. */
struct sim_lease *sim_writer_of(unsigned int name);
/** Where those of candidates begin. */
#define SIM_SLOT_CANDIDATE 1073741824u

/** Of a lock, of a read/write lock, of a semaphore, or of a candidate. */
static inline enum sim_kind sim_kind_of(const struct sim_lease *lease)
{
	if (!lease->slot)
		return SIM_KIND_LEASE;
	if (lease->slot < SIM_SLOT_CANDIDATE)
		return SIM_KIND_PERMITS;
	return lease->slot < RLK_SLOT_WRITER ? SIM_KIND_CANDIDATE
					     : SIM_KIND_RWLOCK;
}

/** How many of the permits of @name are in use, and by @attempt; 0: by anybody.
 */
unsigned int sim_permits_used(unsigned int name, uint64_t attempt);

/** A row that @attempt has; NULL: none. */
const struct sim_lease *sim_lease_by(enum sim_kind kind, unsigned int name,
				     uint64_t attempt);
/** Which of its name's rows @attempt made last, 0 if none. */
uint64_t sim_lease_serial(enum sim_kind kind, unsigned int name,
			  uint64_t attempt);
struct sim_session_row *sim_session_row(uint64_t id);
/** Which name a parameter of a request is. */
unsigned int sim_param_name(const struct sim_request *request,
			    unsigned int param);

/* Receipts, which transactions leave that give a lease back; outcome.c. */
void sim_receipts_begin(void);
void sim_receipt_leave(const struct sim_lease *lease);
/** The attempt whose receipt has the name @text, or 0 for another name. */
uint64_t sim_receipt_of(const char *text);
/** Such a name as a parameter, which outlives its caller: the attempt is
 * another one. */
#define SIM_RECEIPT "\1f"

/* Row locks. */
bool sim_rows_wait(struct sim_session *session, struct sim_row *row);
bool sim_rows_take(struct sim_session *session, struct sim_row *row);
/** Its locking read is interrupted, perhaps when it has the lock. */
void sim_rows_slip(struct sim_session *session);
/** The transaction is over. */
void sim_rows_release(struct sim_session *session);
/** It does not wait any more. */
void sim_rows_give_up(struct sim_session *session);
/** The session is over. */
void sim_rows_leave(struct sim_session *session);

/** Does the statement of @session wait for a token, or the floor, that a
 *  transaction of the application's has locked? If not it may have been
 * refused: answer.error. */
bool sim_tokens_hold_up(struct sim_session *session);
/** Has any transaction of the application's a row lock, or a resource? */
bool sim_inside_any(void);

/* Bells; see bells.c. */
void sim_bells_begin(void);
/** The server's own copy of a bell's name; NULL: it is no such name. */
const char *sim_bell_text(const char *text);

/** How many connections of vanished clients have a bell, or stand in line. */
unsigned int sim_bell_ghosts(void);
/** The session stands in line no more, and is told so; false: it did not. */
bool sim_bell_give_up(struct sim_session *session);
/** Its statement fails, perhaps when it has the bell. */
void sim_bells_slip(struct sim_session *session);
void sim_bells_leave(struct sim_session *session);
/** In the end: nobody has one who will not ring. */
void sim_bells_check(void);

#endif
