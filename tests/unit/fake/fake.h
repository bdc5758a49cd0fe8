/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_FAKE_H
#define ROWLOCK_TEST_FAKE_H

/*
 * The world below core, without a server: a clock that stands still until a
 * test moves it, and a small model of the tables behind the functions that
 * core calls of db/ and strategy/. Linked in their place.
 *
 * Left alone, the model answers as a server would. A test can say beforehand
 * what becomes of the next call of an operation: refused, executed without an
 * answer, late, or held back until the test lets it go on.
 *
 * Tests never sleep: they wait for a call (fake_await()) or for a state
 * (fake_until()). Every change in the library wakes them; what stays away for
 * test_patience_ms() fails the test.
 */

#include <rowlock/admin.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/macro.h"
#include "strategy/strategy.h"

/** Everything that core asks of what is below it. */
enum fake_op {
	FAKE_GET, /* a connection of the pool; .bay */
	FAKE_ACQUIRE,
	FAKE_RESUME,
	FAKE_MAKE,
	FAKE_RELEASE,
	FAKE_CONFIRM,
	FAKE_DRAW,
	FAKE_RAISE,
	FAKE_BATCH, /* .id is the number of its parts, .name of the first */
	FAKE_LOOK,
	FAKE_END,
	FAKE_OPEN,
	FAKE_BEAT,
	FAKE_CLOSE,
	FAKE_EVICT_EXPIRED,
	FAKE_EVICT_SILENT,
	FAKE_SWEEP_DEAD,
	FAKE_SWEEP_EXPIRED,
	FAKE_EVICT_MANY, /* one statement, of .id sessions */
	FAKE_SWEEP_MANY, /* of .id leases, .name is one of them */
	FAKE_LEASES_OF,
	FAKE_LEASES_THERE,
	FAKE_SESSION_LOOK,
	FAKE_SESSION_BREAKS,
	FAKE_FENCE, /* .id is the connection that is ended */
	FAKE_KILL_QUERY,
	FAKE_TIME,
	FAKE_PING,
	FAKE_TEXT,
	FAKE_SCHEMA,
	FAKE_SESSIONS,   /* a page of all sessions */
	FAKE_DEAD,       /* a page of dead leases */
	FAKE_TOKENS,     /* a page of old tokens */
	FAKE_DROP_TOKEN, /* .name */
	FAKE_LIST,       /* leases; .name is the pattern */
	FAKE_NAMES,      /* what is watched; .id of them, .name is the first */
	FAKE_LIST_ROWS,
	FAKE_PROBE,
	FAKE_BELL_WAIT,   /* .name, .id is how long */
	FAKE_BELL_RESUME, /* .half: it was got before it was taken back */
	FAKE_BELL_OWNER,  /* .name */
	FAKE_KILL,        /* a connection, .id */
	FAKE_RING,        /* by itself; .name */
	FAKE_RING_OPEN,   /* ring, and open the gate meanwhile; .name */
	FAKE_LEAVE_LANE,  /* .name; .id is the lane */
	FAKE_PLEA_MAKE,
	FAKE_PLEA_LOOK,
	FAKE_PLEA_COUNT, /* is there room? */
	FAKE_PLEA_END,
	FAKE_BREAK_ROW,
	FAKE_DUTY_LOOK, /* who has the duty to reap */
	FAKE_DUTY_TAKE,
	FAKE_DUTY_KEEP,       /* .id is its number */
	FAKE_STAND,           /* a candidate with a weight; .name is its info */
	FAKE_LEAVE,           /* likewise */
	FAKE_KEEP_TAKE,       /* .name; .id is the keep */
	FAKE_KEEP_RELEASE,    /* likewise */
	FAKE_KEEPS_BEAT,      /* .id of them */
	FAKE_ADOPT,           /* .name, .attempt; .id is the exporter's */
	FAKE_OFFER_HOLDER,    /* .name, .attempt of the exporter */
	FAKE_JOB_CLAIM,       /* .name; .id is the run */
	FAKE_JOB_SUCCEED,     /* likewise */
	FAKE_JOB_FAIL,        /* likewise */
	FAKE_JOB_UNDO,        /* likewise */
	FAKE_JOB_FORGET,      /* .name; .id is how many are kept */
	FAKE_JOB_LIST,        /* a page of runs; .name is the pattern */
	FAKE_REVOCATION_LOOK, /* .name */
	FAKE_REVOCATION_ASK,  /* .name, .attempt */
	FAKE_REVOCATIONS_OF,  /* .id is the session */
	FAKE_REVOCATION_ANSWER, /* .name, .attempt; .id is the answer */
	FAKE_REVOCATIONS_DROP,
	FAKE_HEAVIEST, /* who stands; .name, .id is above which weight */
	FAKE_OPS,
};

/** What becomes of one call. All zeros: what the model says. */
struct fake_answer {
	bool skip;          /* the server does not execute it */
	bool given;         /* the answer is .result, whatever the server did */
	int result;         /* enum rlk_fault; FAKE_GET: ROWLOCK_E* */
	int code;           /* in the error; 0: what fits .result */
	unsigned int mysql; /* in the error; 0: 1 */
	unsigned int half;  /* FAKE_BATCH: so many parts, by name, are executed
			       and answered, and the others are neither */
	unsigned int lane;  /* FAKE_BELL_WAIT, _RESUME: it lets the bell go by,
			       and is in this lane */
	uint64_t ms;        /* passes before the answer comes */
	uint64_t creep_ms;  /* the same, but no thread is woken by it */
	bool wait;          /* until fake_let(), the deadline or an interrupt */
};

struct fake_call {
	char name[128];
	uint64_t attempt;
	uint64_t id; /* session, connection (FAKE_FENCE), or a count */
	uint64_t conn;
	int bay;
	enum rlk_ask ask;
	bool bell;          /* FAKE_ACQUIRE: its bell is to be taken, too */
	bool observes;      /* FAKE_ACQUIRE: any holder is to be told of */
	unsigned int order; /* among the calls of all operations */
};

/** A test of this world, and the sentence that it proves. */
#define FAKE(sentence) CASE_WITH(sentence, fake_setup, fake_teardown)

/** Before and after each test. */
int fake_setup(void **state);
int fake_teardown(void **state);

/* ------------------------------------------------------------- script */

/** What becomes of the next call of @op that has no answer yet. */
void fake_next(enum fake_op op, struct fake_answer answer);
/** What becomes of all calls of @op for which nothing else was said. */
void fake_always(enum fake_op op, struct fake_answer answer);
/** Let the calls of @op that wait, or will, go on. Once each. */
void fake_let(enum fake_op op);

unsigned int fake_count(enum fake_op op);
/** The call of @op with this number, from 0; fails the test without it. */
struct fake_call fake_call(enum fake_op op, unsigned int number);

/** Wait until @op was called @count times, since the beginning. */
#define fake_await(op, count)                                                  \
	fake_await_call(op, count, "call of " #op, __FILE__, __LINE__)
void fake_await_call(enum fake_op op, unsigned int count, const char *what,
		     const char *file, int line);
/** How many threads sleep on a condition of the library now. */
unsigned int fake_sleepers(void);
/** Wait until @state(@arg) is true. The argument is what is left: it may have
 *  commas. */
#define fake_until(state, ...)                                                 \
	fake_until_so(state, __VA_ARGS__, "state " #state, __FILE__, __LINE__)
void fake_until_so(bool (*state)(void *arg), void *arg, const char *what,
		   const char *file, int line);
/** The same while time goes by: to the next timer, or the end of somebody's
 *  time, as soon as all threads sleep; else as fast as it really does. */
#define fake_pass_until(state, ...)                                            \
	fake_pass_until_so(state, __VA_ARGS__, "state " #state, __FILE__,      \
			   __LINE__)
void fake_pass_until_so(bool (*state)(void *arg), void *arg, const char *what,
			const char *file, int line);
void fake_pass_await(enum fake_op op, unsigned int count);
/** For rowlock_on_lost() and fake_until(), with an _Atomic int as @arg: count
 *  the calls; is it one? */
void fake_count_loss(struct rowlock *lock, void *arg);
bool fake_is_one(void *arg);

/* -------------------------------------------------------------- clock */

int64_t fake_now(void);
/** Time passes: who sleeps until then is woken. */
void fake_advance(uint64_t ms);
/** Time passes, but no thread gets to run for it: none that sleeps. */
void fake_creep(uint64_t ms);
/** The same just before the calling thread's look at the clock with this
 *  number, from 1; 0: not at all any more. */
void fake_creep_at_look(unsigned int look, uint64_t ms);
/** Wait until a thread of the library sleeps until so long from now. */
void fake_await_sleep(uint64_t ms);
/** Or shorter, as some time may have passed since it went to sleep. */
void fake_await_sleep_within(uint64_t ms);

/* -------------------------------------------------- the model's tables */

void fake_session_add(uint64_t id);
/** It is expired by the server's clock. */
void fake_session_expire(uint64_t id);
void fake_session_beat(uint64_t id);
/** It has so much more than its TTL left, as the server's clock went back. */
void fake_session_prolong(uint64_t id, uint64_t ms);
void fake_session_remove(uint64_t id);
bool fake_session_there(uint64_t id);
unsigned int fake_sessions(void);

/** A lease that somebody else has. */
void fake_lease_add(const char *name, uint64_t attempt, uint64_t session);
/** Its maximum is over in so many ms. */
void fake_lease_maximum(const char *name, uint64_t ms);
/** The attempt that has the name, 0 if it is free. */
uint64_t fake_lease(const char *name);
void fake_lease_remove(const char *name);
/** Taken by hand: the row goes, and its session's count of breaks grows. */
void fake_lease_break(const char *name);

/** Another has the duty to reap, and goes on; or it has ended now. */
void fake_duty_elsewhere(bool goes_on);
/** A request to give a lease back is stored. */
bool fake_revoked(void);

/** The only job, and its only window. */
extern struct fake_job {
	uint64_t id; /* of its last run */
	uint64_t runs;
	bool succeeded;      /* that one did */
	int code;            /* that the last one ended with */
	bool away;           /* the time is not in the window */
	unsigned int listed; /* runs that are left to list */
} fake_job;

/** Nobody has drawn a token. */
void fake_tokens_forget(void);

/** So many tokens that nobody has drawn for a long time. */
void fake_tokens_old(unsigned int count);
unsigned int fake_tokens_left(void);

/** So many rows are told of besides those of a session, where its leases are
 *  looked at. */
extern unsigned int fake_leases_lied;

/** How many a list tells, with numbers in their names; 0: one, whose name is
 *  the pattern. */
extern unsigned int fake_leases_listed;
extern unsigned int fake_rows_listed;

/** What FAKE_NAMES tells of @name from now on; other names are free. */
void fake_know(const char *name, enum rowlock_state state, uint64_t attempt,
	       uint64_t token, uint64_t last_token);

/** Tokens up to this one may have been collected. */
void fake_collect(uint64_t token);

/** Another candidate of this weight stands for all names; 0: nobody. */
void fake_stand(unsigned int weight);

/** Somebody else locks, or unlocks, the name's row. */
void fake_row_lock(const char *name);
void fake_row_unlock(const char *name);
/** The number of the connection that has it locked; 0: free; UINT64_MAX:
 *  somebody else. */
uint64_t fake_row(const char *name);
/** The server closes the connection that has the name's row. */
void fake_row_hang_up(const char *name);

/** The number of the connection that has the name's bell; 0: nobody;
 *  UINT64_MAX: somebody else. */
uint64_t fake_bell(const char *name);
/** Somebody else takes it, which must be free, or lets it go. */
void fake_bell_take(const char *name);
void fake_bell_ring(const char *name);
/** The server ends the connection that has it. */
void fake_bell_hang_up(const char *name);
/** A release hears each plea. */
void fake_plea_hear(void);
/** How many the client has. */
unsigned int fake_pleading(void);
/** How many bells the client has. */
unsigned int fake_bells(void);
/** Wait until so many stand in line for it. */
unsigned int fake_bell_line(const char *name);
void fake_await_bell_line(const char *name, unsigned int count);

/** How many connections of @bay are lent now. */
unsigned int fake_lent(int bay);
/** A connection is being opened, for as long as a test says so. */
extern _Atomic bool fake_opens;
/** The server knows the password's hash for now, and is not verified. */
extern _Atomic bool fake_by_hash;
/** The pool was told to interrupt all. */
extern _Atomic bool fake_all_interrupted;
/** Wait until somebody waits for a connection of @bay. */
void fake_await_wanted(int bay);

/* What the server is, before a client is made. */
extern struct rlk_server fake_server;
/* How far the server's clock is ahead. */
extern _Atomic int64_t fake_skew_us;

/* ---------------------------------------------------- for all of them */

/** A client with a TTL of 30 s and a row bound of 9 s, without a reaper. */
struct rowlock_client_options fake_options(void);
struct rowlock_client *fake_client(void);
struct rowlock_client *fake_client_with(
    const struct rowlock_client_options *options);
void fake_client_end(struct rowlock_client *client);
/** The same, but the call of @op that waits is let go on in the middle of it.
 *  No time passes. */
void fake_client_end_during(struct rowlock_client *client, enum fake_op op);
struct rowlock *fake_lock(struct rowlock_client *client,
			  enum rowlock_strategy strategy, unsigned int flags,
			  const char *name);
void fake_lock_end(struct rowlock *lock);
void fake_end(struct rowlock *lock, struct rowlock_client *client);

static inline void fake_client_endp(struct rowlock_client **client)
{
	fake_client_end(*client);
}

static inline void fake_lock_endp(struct rowlock **lock)
{
	fake_lock_end(*lock);
}

/** Declarations of what ends with its block, the last one first. */
#define FAKE_CLIENT_AS(name, made)                                             \
	_cleanup_(fake_client_endp) struct rowlock_client *name = made
#define FAKE_LOCK_AS(name, made)                                               \
	_cleanup_(fake_lock_endp) struct rowlock *name = made
#define FAKE_LOCK(name, ...) FAKE_LOCK_AS(name, fake_lock(__VA_ARGS__))
#define FAKE_PERSON(name)                                                      \
	_cleanup_(fake_person_endp) struct fake_person *name = fake_person()
/** As most cases begin: @client, and @lock, its handle of "job". */
#define FAKE_CLIENT() FAKE_CLIENT_AS(client, fake_client())
#define FAKE_JOB(strategy, flags)                                              \
	FAKE_CLIENT();                                                         \
	FAKE_LOCK(lock, client, strategy, flags, "job")

/** Wait until @count threads stand in line for the lock's name. */
void fake_await_line(struct rowlock *lock, unsigned int count);

/** A thread that does what it is told. */
struct fake_person;
enum fake_verb {
	FAKE_DO_ACQUIRE,
	FAKE_DO_ACQUIRE_ONE, /* permit, or two */
	FAKE_DO_ACQUIRE_TWO,
	FAKE_DO_ACQUIRE_OF_NINE, /* one, of a semaphore that is said to have so
				    many */
	FAKE_DO_RELEASE,
	FAKE_DO_TOKEN,
	FAKE_DO_VERIFY,
	FAKE_DO_FREE,
	FAKE_DO_QUIT,
};
struct fake_person *fake_person(void);
void fake_tell(struct fake_person *person, enum fake_verb verb,
	       struct rowlock *lock, uint64_t wait_ms);
/** The code of what was told; waits for its end. */
int fake_hear(struct fake_person *person, struct rowlock_errinfo *reterr);
/** The same while time goes by. */
int fake_pass_hear(struct fake_person *person, struct rowlock_errinfo *reterr);
/** Has it not ended yet? */
bool fake_busy(struct fake_person *person);
int fake_ask(struct fake_person *person, enum fake_verb verb,
	     struct rowlock *lock, uint64_t wait_ms);
void fake_person_end(struct fake_person *person);

static inline void fake_person_endp(struct fake_person **person)
{
	fake_person_end(*person);
}

/** Text after which a test fails at its end; first one counts. */
void fake_problem(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

#endif
