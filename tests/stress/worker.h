/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_STRESS_WORKER_H
#define ROWLOCK_STRESS_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rowlock.h>

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
	uint64_t ttl_ms;
	bool token; /* draw one in every hold */
	bool token_with_grant;
	unsigned int kills; /* processes killed and replaced */
	unsigned int stops; /* processes stopped for two TTLs */
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

#endif
