/* SPDX-License-Identifier: MIT */
#ifndef CLI_CHALLENGE_H
#define CLI_CHALLENGE_H

/*
 * A leader's question, once a second, whether a heavier candidate waits: asked
 * on a thread of its own, as the library's calls block.
 */

#include <pthread.h>
#include <rowlock/election.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct challenge {
	struct rowlock_election *election;
	uint64_t after_ms; /* that it has to have waited */
	pthread_t thread;
	int fd;      /* readable: there is one; -1: nobody asks */
	int stop_fd; /* readable: ask no more */
	_Atomic unsigned int weight; /* of whoever there is */
};

/** Ask from now on. @name is for messages. False, with a report: it cannot be.
 */
bool challenge_start(struct challenge *challenge,
		     struct rowlock_election *election, const char *name,
		     uint64_t after_ms);
/** Waits for a question that is under way. Nothing if nobody asks. */
void challenge_stop(struct challenge *challenge);

#endif
