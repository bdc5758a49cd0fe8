/* SPDX-License-Identifier: MIT */
#ifndef REAPER_WORKER_H
#define REAPER_WORKER_H

/*
 * The thread that reaps. The main thread only waits for signals, so that a
 * silent server cannot keep the daemon from stopping.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/connection.h"
#include "host.h"
#include "metrics/classes.h"

/** The options of the command line. */
struct worker_config {
	struct connection connection;
	uint64_t interval_ms;
	unsigned int batch;
	bool verbose;
	const char *metrics; /* where they are served; NULL: nowhere */
	struct classes classes;
	struct hosts hosts; /* by which its page may be asked for */
};

/** The work of all passes so far. */
struct worker_passes {
	uint64_t done, failed;
	uint64_t evicted, swept, tokens; /* rows that were removed */
	uint64_t ended_ms; /* the last that went well, by pace_now_ms() */
	uint64_t took_ms;
};

/** Room for worker_server(). */
#define WORKER_SERVER_SIZE 300

struct worker {
	const struct worker_config *config;
	pthread_t thread;
	pthread_mutex_t mutex; /* guards stop, reload, server and
				  passes */
	pthread_cond_t changed;
	bool stop;
	bool reload;
	char server[WORKER_SERVER_SIZE]; /* "": none has answered yet */
	struct worker_passes passes;
	int done_fd;   /* readable once the thread is about to end */
	bool unusable; /* it ended because retrying is useless */
};

/** Start the thread. Returns 0 or a negative errno. */
int worker_start(struct worker *worker, const struct worker_config *config);

/** Ask for an end after the statement that is under way; see done_fd. */
void worker_ask_stop(struct worker *worker);

/** Ask for a new client, made from option files that are read again. */
void worker_ask_reload(struct worker *worker);

/** The name of its server in messages. */
void worker_server(struct worker *worker, char *ret_text);

/** The work of its passes so far. */
void worker_tell(struct worker *worker, struct worker_passes *ret_passes);

/** Await the thread's end and free what it used. */
void worker_join(struct worker *worker);

enum worker_end {
	WORKER_DONE,
	WORKER_FAILED,
	WORKER_UNUSABLE, /* it fails until somebody acts */
};

/** One pass on the calling thread, with a report. */
enum worker_end worker_once(const struct worker_config *config);

#endif
