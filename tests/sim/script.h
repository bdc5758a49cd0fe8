/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_SCRIPT_H
#define ROWLOCK_SIM_SCRIPT_H

/*
 * What is said on a connection of the application's: texts of one statement or
 * several, with their values in them, in transactions that stay open from one
 * text to the next.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sql.h"

struct sim_lease;
struct sim_resource;
struct sim_session;

/** The most statements of a text. */
#define SIM_SAID 12

/** What a WHERE says; it is one or several of these. */
enum sim_by {
	SIM_BY_NAME = 1 << 0,
	SIM_BY_SLOT = 1 << 1,
	SIM_BY_ATTEMPT = 1 << 2,
	SIM_BY_GUARDS = 1 << 3,
};

/** The application's counters: those that are written under a lease's guard,
 *  under a row lock of the same transaction, and behind a fence, by tokens of
 *  leases and of row locks. */
enum sim_book {
	SIM_BOOK_GUARDED,
	SIM_BOOK_INSIDE,
	SIM_BOOK_FENCED_LEASE,
	SIM_BOOK_FENCED_ROW,
	SIM_BOOKS,
};

/** The table that it is. */
const char *sim_book_table(enum sim_book book);

/** One statement. */
struct sim_said {
	const struct sim_op *op;
	unsigned int by; /* of enum sim_by */
	unsigned int name;
	uint64_t slot;
	uint64_t attempt;
	uint64_t guards;
	bool elsewhere;     /* it asks for another server */
	bool shares;        /* LOCK IN SHARE MODE */
	bool numbers;       /* ... and tells whether its thread is .value */
	bool texts;         /* it counts as who has the guard as text */
	bool if_one;        /* its value is this if ROW_COUNT() is 1, */
	uint64_t value;     /* of a variable, or of a counter */
	uint64_t otherwise; /* and else that */
	enum sim_book book; /* which counter, or whose tokens */
	uint64_t work;      /* whose counter it is: the judge's number */
	bool locks;         /* FOR UPDATE */
	bool greatest;      /* a draw that never goes back, */
	bool floor;         /* and begins above the floor */
	bool compares;      /* a pass for no smaller token */
	bool releases;      /* the guard gives its lease back */
	uint64_t tag;       /* by which it is found while it waits */
	char savepoint[40];
};

/** A text, and how far it has got. */
struct sim_script {
	struct sim_said said[SIM_SAID];
	unsigned int count;
	unsigned int answered; /* so many of them were no errors */
	uint64_t numbers[SIM_SAID];
	bool drawn;            /* the fate of the next step is, */
	unsigned int last;     /* which ends with this one, */
	unsigned int fails_at; /* or here, if it is refused */
	unsigned int lies_at;  /* this one is answered without being done */
	bool aborted;          /* by another node, between two of them */
	bool autocommits;      /* as its last answer says, */
	bool in_transaction;   /* too */
};

/** A transaction, and what comes before it. */
struct sim_work {
	bool open;
	bool begun;    /* by a statement of its own: so none commits by itself
			  in it, whatever autocommit is */
	bool snapshot; /* of it, or of the next one */
	bool seen;     /* it has its snapshot */
	uint64_t counts[SIM_BOOKS][8]; /* in that */
	char savepoints[4][40];
	unsigned int savepoint_count;
	int64_t rows;             /* ROW_COUNT() */
	struct sim_lease *locked; /* until its end; locks.c */
	/* What is done at its COMMIT. */
	struct sim_lease *guard;
	bool releases;   /* the guard, and leaves a receipt */
	uint64_t guards; /* what it is counted to */
	uint64_t work;   /* 0: it has written nothing */
	enum sim_book book;
	unsigned int name;
	uint64_t number;
	uint64_t token; /* of a row lock, drawn in it; 0: none */
	unsigned int token_name;
	int64_t drawn_us;
	bool floor;                    /* that is locked, in share mode */
	struct sim_resource *resource; /* locked until its end, */
	uint64_t pass;                 /* and passed with this; 0: not */
};

/** Read @text into @script; the end of the run if it is not known. */
void sim_script_read(struct sim_script *script, const char *text);
/** What the verb is called; NULL: it is none of these. */
const char *sim_said_label(enum sim_verb verb);

/** The tag that @text has in it; 0: none. */
uint64_t sim_tag_of(const char *text);

/** Execute the text of @session, or go on with it. */
void sim_script_execute(struct sim_session *session);
/** What its statement waited for is there, or will not come (@error). */
void sim_script_go_on(struct sim_session *session, unsigned int error);
/** KILL QUERY, while it is under way. */
void sim_script_interrupt(struct sim_session *session);
/** The transaction is rolled back. */
void sim_work_roll_back(struct sim_session *session);

/*
 * Between those that execute the texts of the application's connections:
 * script.c says which does what.
 */

/** Its statement is on a table: that begins a transaction. */
void sim_script_touch(struct sim_session *session);
/** It answers with @number. */
void sim_script_tell(struct sim_session *session, uint64_t number);

/* inside_rows.c; the first four execute @said, and return the error. */
unsigned int sim_inside_lock(struct sim_session *session,
			     const struct sim_said *said);
unsigned int sim_inside_draw(struct sim_session *session,
			     const struct sim_said *said);
unsigned int sim_resource_pass(struct sim_session *session,
			       const struct sim_said *said);
unsigned int sim_resource_look(struct sim_session *session,
			       const struct sim_said *said);
/** Does the transaction have what @said is about, a row or a resource? */
bool sim_inside_has(const struct sim_session *session,
		    const struct sim_said *said);
/** Does @said wait? If not it may have been refused: request.refuse. */
bool sim_inside_holds_up(struct sim_session *session,
			 const struct sim_said *said);
/** The transaction is committed: its token, and its pass. */
void sim_inside_apply(struct sim_session *session);
/** The transaction is over: its row, token, floor and resource are free. */
void sim_inside_release(struct sim_session *session);

#endif
