/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_STRESS_WORKER_H
#define ROWLOCK_STRESS_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rowlock.h>

#include "grip.h"
#include "history.h"

/** What all workers of a run are told. */
struct plan {
	const char *dsn;
	const char *dir;    /* where histories go */
	const char *prefix; /* of the names */
	enum rowlock_strategy strategy;
	unsigned int processes;
	unsigned int threads;
	unsigned int names;
	unsigned int seconds;
	unsigned int think_us; /* at most; drawn anew for each hold */
	uint64_t ttl_ms;       /* and the idle bound */
	uint64_t call_ms;      /* call_timeout_ms, connect_timeout_ms */
	uint64_t reap_ms;
	uint64_t seed;
	bool token; /* draw one in every hold */
	bool token_with_grant;
	bool observe; /* ROWLOCK_OBSERVE_BEATS */
	bool tls_unverified;
	bool mixed;          /* all kinds of calls, by lot */
	bool patient;        /* ask for a client until there is one */
	unsigned int kills;  /* processes killed and replaced */
	unsigned int stops;  /* processes stopped for two TTLs */
	unsigned int number; /* be this process of another's run; 0: do not */
};

/** In memory that all processes of a run share. */
struct signs {
	atomic_int stop;     /* come to an end */
	atomic_uint ready;   /* clients that are open */
	atomic_int go;       /* begin */
	atomic_ullong holds; /* so far, for people */
};

/** Be process number @number of the run; returns its exit status. */
int worker_process(const struct plan *plan, struct signs *signs,
		   unsigned int number);

/* -------------------------------------------- between worker.c and cycle.c */

/** What there is in mixed runs with leases: names that are read and written,
 *  semaphores, sets of the names that others lock one by one, an election. */
#define WORKER_RWLOCKS 2
#define WORKER_SEMAPHORES 2
#define WORKER_SETS 2

struct worker {
	const struct plan *plan;
	struct signs *signs;
	struct history *history;
	struct rowlock_client *client;
	struct rowlock_client
	    *heir; /* adopts from it, in mixed runs of leases */
	struct rowlock_options options; /* of its locks */
	struct grip *grips;
	struct grip rwlocks[WORKER_RWLOCKS];
	struct grip semaphores[WORKER_SEMAPHORES];
	struct grip sets[WORKER_SETS];
	struct grip election;
	unsigned int process;
	unsigned int thread;
	unsigned int seed;
	uint64_t serial;
	pthread_t id;
};

/** Acquire a name drawn by lot, use it, release it; write all down. */
void worker_cycle(struct worker *worker);
/** Is there more than locks in this run? */
bool worker_has_recipes(const struct plan *plan);
/** Below @n, by lot. */
unsigned int worker_lot(struct worker *worker, unsigned int n);
void worker_nap(unsigned int us);

#endif
