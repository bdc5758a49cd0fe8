/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_WORLD_H
#define ROWLOCK_TEST_WORLD_H

/*
 * What the parts of the fake share. One mutex for all of it, a leaf; whoever
 * changes something tells all who wait.
 */

#include "fake.h"

#include <pthread.h>

#include "base/list.h"
#include "db/pool.h"
#include "strategy/revocation.h"

#define WORLD_CONNS 64
#define WORLD_OTHER UINT64_MAX

struct rlk_conn {
	bool open;
	bool lent;
	bool dead;
	bool outstanding; /* a reply is still to come, of: */
	enum fake_op asked;
	struct fake_answer answer;
	bool transacts; /* a transaction of ours was left open on it */
	bool read_only; /* it was told that its server is */
	bool retired;
	bool interrupted;
	uint64_t id;
	int bay;
	int fd;   /* ours */
	int peer; /* the server's end */
	int64_t until_ms;
	uint64_t note; /* core's */
	int64_t idle_since_ms;
	struct rlk_conn_profile profile;
	struct world_bell *bell; /* that was last waited for on it */
	bool stands;             /* in that one's line, */
	struct rlk_list place;   /* here, */
	int64_t stands_until_ms; /* by the server's time */
	bool pleads;             /* releases look for its plea, */
	bool heard;              /* and one has found it */
	bool killed;             /* its statement was ended by KILL QUERY */
};

struct world_bell {
	char name[512];       /* "": an empty place */
	uint64_t conn;        /* 0: free */
	unsigned int depth;   /* how often it has it */
	struct rlk_list line; /* those who wait, in their order */
};

struct world_lease {
	char name[512];
	uint64_t attempt; /* 0: an empty place */
	uint64_t session;
	int64_t max_until_ms; /* RLK_NEVER: none */
};

struct world_session {
	uint64_t id; /* 0: an empty place */
	uint64_t beat;
	uint64_t breaks;
	uint64_t ttl_ms;
	int64_t opened_ms;
	uint64_t ahead_ms; /* its end was written by a clock so far ahead */
	bool expired;
};

int64_t world_left_us(const struct world_session *session);

struct world_row {
	char name[512]; /* "": an empty place */
	uint64_t conn;  /* 0: free */
};

struct world_known {
	char name[128]; /* "": an empty place */
	enum rowlock_state state;
	uint64_t attempt;
	uint64_t token;
	uint64_t last_token;
};

struct world_tables {
	struct world_known known[8];
	struct world_lease leases[256];
	struct world_session sessions[64];
	struct world_row rows[16];
	struct world_bell bells[128];
	uint64_t token;
	unsigned int heaviest; /* the weight of who stands */
	unsigned int old_tokens;
	uint64_t collected;
	uint64_t duty; /* the number of the duty to reap; 0: nobody has it */
	int64_t duty_ms;
	bool duty_kept;                   /* by another, all the time */
	struct rlk_revocation revocation; /* its request is 0: none */
};

struct world {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	uint64_t changes;
	struct world_tables tables;
	struct rlk_conn conns[WORLD_CONNS];
};

extern struct world world;

void world_lock(void);
void world_unlock(void);
/** Under the mutex. */
void world_changed(void);
/** Wait for a change; false: none came for test_patience_ms(). The caller looks
 *  at the clock, too, for @until_ms. */
bool world_wait(int64_t until_ms);

/** When the first timer rings that is set; under the mutex. */
int64_t world_next_timer(void);

struct world_lease *world_lease(const char *name);
struct world_session *world_session(uint64_t id);
/** By hand; its keep goes with it. */
void world_break(struct world_lease *lease);
struct world_row *world_row(const char *name);
void world_insert_lease(const char *name, uint64_t attempt, uint64_t session);
void world_insert_session(uint64_t id, uint64_t ttl_ms);
/** Under the mutex. */
void world_leave_line(struct rlk_conn *conn);
/** What is outstanding of @op may come: the sockets say so. */
void world_ready(enum fake_op op);

/** The transaction on @conn is over. */
void world_end_transaction(uint64_t conn);

/** @conn takes the bell of @name, once more if it has it; false: another has
 *  it. */
bool world_bell_take(const char *name, uint64_t conn);
/** Nothing if @conn has not got it. */
void world_bell_ring(const char *name, uint64_t conn);
/** All that @conn has. */
void world_end_bells(uint64_t conn);

/** A call that is under way. */
struct world_op {
	enum fake_op op;
	struct rlk_conn *conn;
	struct fake_answer answer;
	bool dead;    /* on a dead connection: nothing is executed */
	bool pending; /* interrupted, or its deadline came, while it waited */
};

/** Note a call and do what its answer says before it is executed. Locks the
 *  world; returns whether it is to be executed. */
bool world_begin(struct world_op *op, const struct fake_call *call);
/** Go on with what is outstanding on @conn. */
enum rlk_fault world_resume(struct rlk_conn *conn,
			    struct rowlock_errinfo *reterr);
/** The world is locked, and the call was pending: hold it back once more. */
void world_hold_back(struct world_op *op);
/** Unlocks the world. Returns the fault of the call: @fault if nothing else
 *  was said. */
enum rlk_fault world_fault(struct world_op *op, enum rlk_fault fault,
			   struct rowlock_errinfo *reterr);
/** The same for a verdict. */
enum rlk_fault world_verdict(struct world_op *op, enum rlk_fault verdict,
			     struct rowlock_errinfo *reterr);

/* The parts that start anew with each test. */
void world_script_reset(void);
void world_clock_reset(void);
void world_db_reset(void);

/** Does this thread just look whether something has happened? */
bool world_is_looking(void);

/** Does this thread hold a mutex of the library? Then it must not call us. */
bool world_holds_mutex(void);

#endif
