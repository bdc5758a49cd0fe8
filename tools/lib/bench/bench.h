/* SPDX-License-Identifier: MIT */
#ifndef BENCH_H
#define BENCH_H

/*
 * One process of a benchmark: its threads, one lock each, on one system.
 *
 * The driver (driver/) starts the processes, tells them by a line on their
 * standard input when to do what, and reads what they counted from their
 * standard output. README.md beside this file has the words.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "histogram.h"

#define BENCH_NAME_SIZE 80

struct bench_system;

/** What this process was told when it was started. */
struct bench_options {
	const struct bench_system *system;
	const char *act;
	const char *prefix; /* of the names */
	const char *dsn;    /* of the database, for those that use one */
	unsigned int redis_port;
	unsigned int zookeeper_port;
	unsigned int threads;
	unsigned int names;
	unsigned int count;   /* many: of locks; pairs: of each thread, 0: no
				 limit */
	unsigned int hold_us; /* how long each hold is kept */
	unsigned int ttl_ms;  /* of what a system calls so */
};

/** A thread, and the one name that it locks. */
struct bench_worker {
	const struct bench_options *options;
	unsigned int number;
	char name[BENCH_NAME_SIZE];
	void *state; /* the system's */
	atomic_bool
	    *inside; /* is somebody, of this process, who has the name? */

	/* Counted by the act, read when the thread has ended. */
	uint64_t pairs;
	uint64_t held_ns; /* from a grant to the end of its release */
	struct histogram latency;
};

/**
 * A way to lock names. All of it ends the process if something is wrong: a
 * figure of a run with errors is no figure.
 *
 * start and stop are called once per process, before and after all others, and
 * may be NULL; the others by any thread, for its own worker. acquire returns
 * when the name is held, however long that takes.
 */
struct bench_system {
	const char *name;
	bool shares; /* several may have a name at once */
	void (*start)(const struct bench_options *options);
	void (*stop)(void);
	void (*open)(struct bench_worker *worker);
	void (*acquire)(struct bench_worker *worker);
	void (*release)(struct bench_worker *worker);
	void (*close)(struct bench_worker *worker);
};

extern const struct bench_system bench_row;
extern const struct bench_system bench_lease;
extern const struct bench_system bench_lease_token;
extern const struct bench_system bench_multilock;
extern const struct bench_system bench_readers;
extern const struct bench_system bench_semaphore;
extern const struct bench_system bench_observer;
extern const struct bench_system bench_raw_row;
extern const struct bench_system bench_raw_lease;
extern const struct bench_system bench_get_lock;
extern const struct bench_system bench_redis;
extern const struct bench_system bench_zookeeper;
extern const struct bench_system bench_mutex;
extern const struct bench_system bench_transfer;
extern const struct bench_system bench_transfer_guarded;
extern const struct bench_system bench_transfer_early;
extern const struct bench_system bench_transfer_release;
extern const struct bench_system bench_transfer_commit_release;

/** CLOCK_MONOTONIC, which the driver reads as well. */
uint64_t bench_now(void);

/** Until CLOCK_MONOTONIC is @ns. */
void bench_sleep_until(uint64_t ns);

/** Bytes of this process in memory. */
uint64_t bench_rss(void);

/** A number that no other caller, in any process, gets: for identities. */
uint64_t bench_random(void);

/** Say what is wrong on standard error and end the process. */
__attribute__((noreturn, format(printf, 1, 2))) void bench_die(
    const char *format, ...);

/** malloc that does not fail; zeroed. */
void *bench_alloc(size_t size);

/** Tell the driver one line, and hear one; false at the end of its words. */
__attribute__((format(printf, 1, 2))) void bench_tell(const char *format, ...);
bool bench_hear(char *line, size_t size);

/** Wait for the line that is just @word. */
void bench_await(const char *word);

void bench_worker_init(struct bench_worker *worker,
		       const struct bench_options *options,
		       unsigned int number);

/* The acts: what main() runs after start, and before stop. */
void bench_act_pairs(const struct bench_options *options);
void bench_act_hold(const struct bench_options *options);
void bench_act_many(const struct bench_options *options);
void bench_act_meanwhile(const struct bench_options *options);
void bench_act_try(const struct bench_options *options);

#endif
