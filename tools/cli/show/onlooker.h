/* SPDX-License-Identifier: MIT */
#ifndef CLI_ONLOOKER_H
#define CLI_ONLOOKER_H

/*
 * During a wait for a lock: report its holder, and the time waited; if asked to
 * be verbose, also the place in line.
 *
 * On a terminal, if it is ours, on one line that is gone when the wait is over;
 * elsewhere, if asked to be verbose, on a line every ten seconds. A thread of
 * its own asks the server, so that a signal is not kept waiting by a server
 * that does not answer.
 */

#include <pthread.h>
#include <rowlock.h>
#include <stdbool.h>
#include <stdint.h>

#include "show/in_line.h"
#include "show/sight.h"

struct onlooker {
	/* Set by the caller. */
	const char *title; /* of the subcommand */
	const char *name;
	struct sight_of of;
	bool verbose;
	bool stands; /* we wait in the server's line for the name */

	/* Private. */
	uint64_t began_ms;
	uint64_t due_ms;  /* when to report or ask next */
	uint64_t late_ms; /* when to stop waiting for an answer; 0: not asked */
	bool started;     /* there is a thread */
	struct rowlock_client *client;
	struct in_line shown; /* the place that is reported, */
	bool told_unseen;     /* and what it leaves out */
	bool wanted;          /* an answer; mutex guards this, */
	bool over;            /* this, */
	struct sight sight;   /* and these, the last one */
	struct in_line in_line;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
};

/** The wait begins. */
void onlooker_begin(struct onlooker *onlooker);

/** For poll(): milliseconds until onlooker_look(); -1: never. */
int onlooker_timeout(const struct onlooker *onlooker);

/** Report what is due. @client is for asking; NULL before there is a client. */
void onlooker_look(struct onlooker *onlooker, struct rowlock_client *client);

/** As onlooker_look(), for a caller that asks itself: @sight was seen now. */
void onlooker_saw(struct onlooker *onlooker, const struct sight *sight);

/** The wait is over: report no more. Does not wait for an answer. Returns how
 *  long the wait was, in milliseconds. */
uint64_t onlooker_end(struct onlooker *onlooker);

/** Before the client is freed: wait for a question under way. */
void onlooker_fini(struct onlooker *onlooker);

#endif
