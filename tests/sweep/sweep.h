/* SPDX-License-Identifier: MIT */
#ifndef SWEEP_H
#define SWEEP_H

/*
 * Each call of the library, at each of its round trips, with each kind of
 * fault: one fault per run. What a run is made of:
 *
 *   scenario   what is prepared, the call, and what may come out of it
 *   target     a round trip of that call, as a run without a fault showed it
 *   kind       what is done to it by the proxy
 *   stage      where it plays: the proxy, the client that is tried, a rival
 *              that talks to the server directly
 *   judge      what has to hold after it
 */

#include <rowlock/admin.h>
#include <rowlock/adoption.h>
#include <rowlock/election.h>
#include <rowlock/multilock.h>
#include <rowlock/once.h>
#include <rowlock/rwlock.h>
#include <rowlock/semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "proxy.h"
#include "sql.h"

/** What a fault does to a call, as far as the call can see. */
enum effect {
	EFFECT_NONE,    /* nothing is lost: the result is as without it */
	EFFECT_TWICE,   /* the same, but it was executed twice */
	EFFECT_ENDED,   /* the connection ended; no answer */
	EFFECT_QUIET,   /* no answer, or one that comes too late */
	EFFECT_REFUSED, /* the server said no, and it is no */
	EFFECT_BUSY,    /* the server said "not now": a lock, a deadlock */
	EFFECT_LIED,    /* bytes were changed: no result proves anything */
	EFFECTS,
};

/** When a request that was held is delivered. */
enum delivery {
	DELIVER_NEVER,
	DELIVER_AFTER_CALL,
	DELIVER_AFTER_RIVAL, /* somebody else had the lock meanwhile */
};

struct kind {
	const char *name;
	const char *place; /* "request", "reply", "connect" */
	const char *act;   /* the rule behind "do"; %LATE%, a time-out and
			      more */
	enum effect effect;
	enum delivery delivery;
	bool main;      /* also for a scenario that runs alone */
	bool half_open; /* the server never hears of the end */
	bool full;      /* only with --full */
};

extern const struct kind kinds[];
extern const size_t kind_count;

/** A round trip. */
struct target {
	char command[16];
	char pattern[64];    /* of its SQL, for a rule */
	unsigned int turn;   /* how many like it came before, and itself */
	bool connects;       /* the login of a new connection */
	bool sets_up;        /* is said on each new connection */
	bool ours_to_garble; /* its reply may be changed: it names nobody */
};

enum { MAX_TARGETS = 64 };

/** What a suite is about; all but the first for leases only. */
enum tried {
	TRIED_LOCK,
	TRIED_SET,
	TRIED_READER,
	TRIED_WRITER,
	TRIED_PERMITS,  /* all of a semaphore's; that is no lock */
	TRIED_ELECTION, /* a candidate; its rival has the name as a lock */
	TRIED_KEPT,     /* a lock whose name is kept for a while */
};

struct stage {
	struct proxy *proxy;
	char dsn[512]; /* by way of the proxy */
	struct rowlock_client *rival_client;
	struct test_sql *sql;
	unsigned int slow;
	unsigned int seed;
	int turnstile; /* locked by who runs alone */
	bool verbose;

	/* Of the run. */
	enum rowlock_strategy strategy;
	char name[64];
	char other[64]; /* a second name, that sets have, too */
	char program[64];
	struct rowlock *rival;
	struct rowlock *rival_writer; /* of a reader or a writer */
	struct rowlock *other_rival;  /* on the second name */
	struct rowlock_client *client;
	struct rowlock *lock; /* what the client tries; of a read/write lock */
	struct rowlock *other_side; /* the one that it had first, and this */
	uint64_t term;              /* in which the candidate led last */
	struct rowlock_run job;     /* that it runs once in a window */
	char exported[ROWLOCK_EXPORT_SIZE]; /* the rival's hold */
	_Atomic unsigned int lost;
	unsigned int threads; /* before the client was there */
	unsigned int descriptors;
	bool rival_holds;
	enum tried tried;
	bool rival_writes;    /* by rival_writer */
	bool patient;         /* its calls take PATIENT_CALL_MS */
	unsigned int flags;   /* of the client */
	uint64_t max_hold_ms; /* of its lock; 0: none */
	bool had;             /* the client held it before the call */
	int code;
	struct rowlock_errinfo err;
	uint64_t called; /* when, in ns */
	double took_ms;
	char problem[512]; /* "" as long as all is well */
	bool slow_only;    /* it may be the machine's */
	unsigned int repeated;
	bool missed; /* what the fault was for was not said */
};

/** What was measured, for the figures. */
struct measure {
	double late_ms;  /* behind the call's deadline */
	double rival_ms; /* until the rival got the lock */
	double links_ms; /* until the connections were gone */
};

/* With what a call is tried. */
enum {
	WITH_LEASE = 1,
	WITH_SETS = 2,  /* a multi-lock */
	WITH_SIDES = 4, /* each side of a read/write lock */
	WITH_PERMITS = 8,
	WITH_ELECTION = 16, /* a candidate */
	WITH_LEASES = 31,   /* all of these */
	WITH_ROW = 32,
	WITH_KEPT = 64, /* a lock whose name is kept */
};

/** Which codes are right, besides the normal one. */
struct scenario {
	const char *name;
	unsigned int with; /* WITH_* */
	enum tried only;   /* or, if it is not TRIED_LOCK, with nothing else */
	bool deep;         /* also the round trips that set a connection up */
	bool asks;         /* the call is an acquire: 0 means held */
	/** One at a time, and few kinds: the server's copy of its lock tables
	 *  is not renewed as long as somebody else reads it. */
	bool alone;
	/** Few kinds and places: a run takes seconds. */
	bool few;
	/** Prepare, with no fault yet. Fails by stage_wrong(). */
	void (*prepare)(struct stage *stage);
	/** The call; its code. */
	int (*call)(struct stage *stage);
	uint64_t bound_ms; /* how long it may take; times stage->slow */
	int normal;
	int normal_row; /* 0: as normal */
	/** By effect, 0-terminated; the normal one is right as well, if
	 *  @must is not set for the effect. */
	const int *codes[EFFECTS];
};

extern const struct scenario scenarios[];
extern const size_t scenario_count;

/* The client's times, all of them times stage->slow. */
enum {
	TTL_MS = 2000,
	RIVAL_TTL_MS = 3600000, /* of who is not tried, at any load */
	CALL_MS = 400,
	PATIENT_CALL_MS = 1500,
	CONNECT_MS = 400,
	IDLE_MS = 2000,
	WAIT_MS = 1500,
	SHORT_WAIT_MS = 300,
	/* An observer looks for a TTL of the dead and a margin. */
	OBSERVING_MS = 4000,
	MAX_HOLD_MS = 1000,
	KEPT_MS = 200,
	/* What is not bounded by a promise is a hang after so long. */
	GUARD_MS = 20000,
};

/* stage.c */

/** For the @worker-th process, which gets a database of its own. */
void stage_open(struct stage *stage, unsigned int worker);
void stage_close(struct stage *stage);
/** Remove the databases of so many workers: by a child of their parent. */
void stage_drop(unsigned int workers);

/** A new name, a rival's handle; everything at its beginning. */
void stage_begin(struct stage *stage, enum rowlock_strategy strategy,
		 const char *name);
/** After the run, whatever became of it. */
void stage_end(struct stage *stage);

/** Note what is wrong; the first counts. stage_slow(): what a machine that is
 *  too busy brings about as well, so the run is repeated. */
void stage_slow(struct stage *stage, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void stage_wrong(struct stage *stage, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void stage_tell(struct stage *stage, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** The client's options. */
struct rowlock_client_options stage_options(struct stage *stage);
/** Make the client and a lock with @flags. */
void stage_client(struct stage *stage, unsigned int flags);
/* tried.c */

/** Make what the client tries; a lock with @flags. */
void tried_new(struct stage *stage, unsigned int flags);
/** The call on it. */
int stage_acquire(struct stage *stage, uint64_t wait_ms,
		  struct rowlock_errinfo *reterr);
int stage_release(struct stage *stage, struct rowlock_errinfo *reterr);
int stage_token(struct stage *stage, struct rowlock_errinfo *reterr);
bool stage_held(const struct stage *stage);
/** An upgrade, or a downgrade, returned @code; returns it. */
int stage_changed(struct stage *stage, int code);
/** Give it back, if it is not held; 0 if there is none. */
int stage_free(struct stage *stage, struct rowlock_errinfo *reterr);

/** Who wants the same name. */
void rivals_new(struct stage *stage);
void rivals_end(struct stage *stage);
int rival_acquire(struct stage *stage, uint64_t wait_ms,
		  struct rowlock_errinfo *reterr);
int rival_release(struct stage *stage, struct rowlock_errinfo *reterr);
int rival_verify(struct stage *stage, struct rowlock_errinfo *reterr);
/** Where its row is; of attempt 7. */
unsigned int rival_slot(const struct stage *stage);

/* stage.c */

/** A call of preparation that must return 0. */
void stage_must(struct stage *stage, int code, const char *what);

/** Release, free, end the client, as far as they are there. */
void stage_client_end(struct stage *stage);

/** Of this process. */
unsigned int stage_threads(void);
unsigned int stage_descriptors(const struct stage *stage);

/* judge.c */

void judge(struct stage *stage, const struct scenario *scenario,
	   const struct target *target, const struct kind *kind,
	   struct measure *measure);

/* run.c */

/** Find the round trips of @scenario; returns how many. */
size_t run_without_fault(struct stage *stage, const struct scenario *scenario,
			 enum rowlock_strategy strategy,
			 struct target *targets);

/** One run. False: stage->problem. */
bool run_with_fault(struct stage *stage, const struct scenario *scenario,
		    enum rowlock_strategy strategy, const struct target *target,
		    const struct kind *kind, struct measure *measure);

/** Is there a run of @scenario at @target with @kind? */
bool run_is_meant(const struct scenario *scenario, const struct target *target,
		  const struct kind *kind, bool full);

#endif
