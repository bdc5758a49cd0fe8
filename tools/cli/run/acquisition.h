/* SPDX-License-Identifier: MIT */
#ifndef CLI_ACQUISITION_H
#define CLI_ACQUISITION_H

/*
 * An acquire that a signal can end.
 *
 * The library's calls block and know no signals. They are made on a thread of
 * their own, while the caller's thread waits for its end and for signals.
 */

#include <pthread.h>
#include <rowlock.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/connection.h"
#include "run/hold.h"
#include "run/job.h"
#include "run/signals.h"
#include "show/onlooker.h"

struct acquisition {
	/* The request, set by the caller. */
	const struct connection *connection;
	struct rowlock_client_options client_options;
	struct rowlock_options lock_options;
	const char *const *names; /* of name_count locks, held together */
	size_t name_count;
	struct hold_manner manner;
	struct job *job; /* its run is begun with the grant; NULL: none */
	uint64_t wait_ms;
	uint64_t retry_ms; /* how long to try to reach a server; 0: once */
	int quit_signal;   /* give up as by this signal, or 0: canceled, */
	int quit_fd;       /* of this one; 0: none, */
	short
	    quit_events; /* as soon as poll() tells one of these, or its end */
	const char *title; /* of the subcommand, for the onlooker */
	bool verbose;

	/* The result, once acquisition_run() has returned; later that of the
	 * release (task.h). */
	int result; /* 0: held */
	struct rowlock_errinfo error;
	struct rowlock_client *client;
	struct hold hold;
	uint64_t waited_ms;
	/* Why a lock that is held still is not released, but ends by itself
	 * with its TTL; or NULL. */
	const char *stays;
	bool runs_on; /* the lock was lost, and its command was not ended */

	/* Private. */
	struct onlooker onlooker;
	pthread_mutex_t mutex; /* guards hold (until done) and cancelled */
	bool acquiring; /* rowlock_acquire() is about to begin, or under way */
	bool cancelled;
	pthread_cond_t changed; /* it was cancelled */
	int done_fd;
};

/**
 * Open a client and acquire the lock; the owner is the handle.
 *
 * Returns the signal that ended it, or 0. With a signal, and without the lock,
 * @result is ROWLOCK_ECANCELED. Does not return if a signal comes while there
 * is nothing to be cancelled, or a second one: it ends the process by that
 * signal (signals_die()). With quit_signal 0 the end by quit_fd is
 * ROWLOCK_ECANCELED and no signal, also while it connects; or, if the grant
 * came first, the lock.
 */
int acquisition_run(struct acquisition *acquisition, struct signals *signals);

/** It was not acquired: describe the holder, as sight_say() does. */
void acquisition_sight(struct acquisition *acquisition, char *ret_text);

/**
 * The lock was lost, or stays: end the process with @code. A lock that does not
 * stay is freed, and the client, if that is quick, as it is if the server
 * answers.
 */
void acquisition_leave(struct acquisition *acquisition, int code)
    __attribute__((noreturn));

/** Free the handle and the client. The lock must have been released. */
void acquisition_fini(struct acquisition *acquisition);

#endif
