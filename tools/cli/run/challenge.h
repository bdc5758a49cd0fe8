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

/** What is remembered of whom it gave way to, from one lead to the next. One
 *  that was there then and still waits beats, and does not take the lead: it is
 *  given way to again after a pause only, which is twice as long each time, or
 *  nobody would lead for most of the time. */
struct challenge_past {
	uint64_t gave_way_at; /* 0: never */
	uint64_t pause_ms;
};

struct challenge {
	struct rowlock *lock;
	uint64_t after_ms; /* that it has to have waited */
	struct challenge_past *past;
	pthread_t thread;
	int fd;      /* readable: there is one; -1: nobody asks */
	int stop_fd; /* readable: ask no more */
	_Atomic unsigned int weight; /* of whoever there is */
};

/** Ask from now on, with what is set of @challenge. @name is for messages.
 *  False, with a report: it cannot be. */
bool challenge_start(struct challenge *challenge, const char *name);
/** Waits for a question that is under way. Nothing if nobody asks. */
void challenge_stop(struct challenge *challenge);

#endif
