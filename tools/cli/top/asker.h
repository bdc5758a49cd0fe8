/* SPDX-License-Identifier: MIT */
#ifndef CLI_ASKER_H
#define CLI_ASKER_H

/*
 * Asks the server on a thread of its own, so that a server that does not answer
 * keeps no key waiting.
 */

#include <pthread.h>
#include <rowlock/admin.h>
#include <stdbool.h>

#include "command.h"
#include "top/rows.h"

/** A hold, to be known again. */
struct target {
	char name[512]; /* longer ones are no names */
	enum rowlock_strategy strategy;
	unsigned int slot;
	uint64_t session, attempt, connection;
};

struct answer {
	struct reading *reading; /* NULL if there is an error */
	struct rowlock_errinfo error;
	char server[256]; /* "": not known yet */
	char told[600];   /* the outcome of the break; "" without one */
};

struct asker {
	const struct common *common;
	struct rowlock_list_options what;
	struct rowlock_client *client; /* the thread's */
	pthread_t thread;
	int fd; /* an eventfd: there is an answer */
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	/* mutex guards these. */
	bool wanted, over;
	bool all;      /* see struct reading */
	bool breaking; /* the target, before the look */
	struct target target;
	struct answer answer;
};

struct target target_of(const struct rowlock_entry *entry);
bool target_is(const struct target *target, const struct rowlock_entry *entry);

/** @common and @what must stay. Returns false, and reports, on failure. */
bool asker_start(struct asker *asker, const struct common *common,
		 const struct rowlock_list_options *what);

/** Ask, and before that break @target if that is not NULL. Not while it asks
 *  already. */
void asker_ask(struct asker *asker, bool all, const struct target *target);

/** Take an answer. Returns false if there is none. */
bool asker_take(struct asker *asker, struct answer *ret_answer);

/** Returns false if the server does not answer: then the thread goes on, and
 *  the process has to end by _exit(). */
bool asker_stop(struct asker *asker);

#endif
