/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_GALERA_RAW_H
#define ROWLOCK_GALERA_RAW_H

/*
 * Between raw.c, which has the modes and counts, and raw_worker.c, which says
 * the statements and judges the answers. Every function ends the program if the
 * server refuses what it has to do.
 */

#include <mysql.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MOST_THREADS 200
#define MOST_STATEMENTS 4

/** How the statements are said. */
enum way {
	TRANSACTION, /* BEGIN, DELETE, INSERT, COMMIT: one text */
	STATEMENTS,  /* DELETE, INSERT, autocommitted: one text */
	TRIPS,       /* the same, a round trip each */
	RETURNING,   /* the same, and the INSERT brings the row back */
	PREPARED,    /* the same as a prepared statement */
};

struct mode {
	const char *name;
	enum way way;
	int retry; /* wsrep_retry_autocommit; the server's default is 1 */
	bool lies; /* is known to */
};

struct plan {
	char **dsns;
	unsigned int nodes;
	unsigned int threads;
	unsigned int names;
	unsigned int seconds; /* for each mode */
	unsigned int sync_wait;
	const char *only;
};

struct counts {
	uint64_t grants;
	uint64_t conflicts;
	uint64_t absent; /* granted, and nobody has it */
	uint64_t others; /* granted, and another has it */
	uint64_t left;   /* given back, or never had, and it is there */
	uint64_t ghosts; /* there in spite of a conflict */
	uint64_t silent; /* questions that got no answer */
};

struct run {
	const struct plan *plan;
	const struct mode *mode;
	atomic_bool stop;
	/* The last attempt of each thread that it is done with. */
	_Atomic uint64_t done[MOST_THREADS];
};

struct worker {
	struct run *run;
	unsigned int number;
	unsigned int seed;
	pthread_t id;
	MYSQL *acts;
	MYSQL *looks;
	MYSQL_STMT *insert;
	uint64_t serial;
	unsigned int held_name;
	uint64_t held; /* the attempt; 0: nothing */
	struct counts counts;
};

/* What was answered to one text, or statement. */
struct answer {
	unsigned int error;
	unsigned int count;
	uint64_t affected[MOST_STATEMENTS];
	uint64_t returned; /* the first row's attempt, 0 if there is no row */
};

void raw_give_up(const char *what, const char *why) __attribute__((noreturn));

/** A connection to a node of the plan, counted round and round. */
MYSQL *raw_open_node(const struct plan *plan, unsigned int node);

/** Run a text; a conflict is an answer, and so is none. */
struct answer raw_query(MYSQL *mysql, const char *text);

/** Run a statement that is about the test, and not tested. */
void raw_do(MYSQL *mysql, const char *text);

void raw_open_worker(struct worker *worker);
void raw_close_worker(struct worker *worker);

/** A thread: acquire and judge until the run stops, then let go. */
void *raw_work(void *worker);

#endif
