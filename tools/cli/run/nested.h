/* SPDX-License-Identifier: MIT */
#ifndef CLI_NESTED_H
#define CLI_NESTED_H

/*
 * Would we wait for ourselves? A command that runs under a lock may ask for it
 * again: in a script that calls itself, or by two that share a name.
 * ROWLOCK_HELD tells what is held for those that run us, and the server whether
 * it still is.
 */

#include <rowlock.h>
#include <stdbool.h>
#include <stddef.h>

struct nested {
	const char *const *names;
	size_t count;
	enum rowlock_strategy strategy;
	unsigned int kinds;   /* those that keep us out, 1 << ROWLOCK_KIND_* */
	bool reads;           /* we do not wait for readers, but for a writer
				 that waits for them */
	unsigned int permits; /* of a semaphore: how many there are, */
	unsigned int take;    /* and how many are wanted; else 0 */
	const char *program;  /* ours */
};

/** Returns 0, or ROWLOCK_EDEADLOCK. A server that does not answer is no reason:
 *  the acquire tells of it. */
int nested_check(const struct nested *nested, struct rowlock_client *client,
		 struct rowlock_errinfo *reterr);

#endif
