/* SPDX-License-Identifier: MIT */
#ifndef CLI_CHALLENGE_H
#define CLI_CHALLENGE_H

/*
 * A leader asks once a second whether a heavier candidate waits, on a thread of
 * its own, as the library's calls block.
 */

#include <pthread.h>
#include <rowlock/election.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** The memory of giving way, from one lead to the next. A candidate that stood
 *  then and still waits sends heartbeats, but does not take the lead: the
 *  leader gives way to it again only after a pause, which doubles each time, or
 *  there would be no leader for most of the time. */
struct challenge_past {
	uint64_t gave_way_at; /* 0: never */
	uint64_t pause_ms;
};

struct challenge {
	struct rowlock *lock;
	uint64_t after_ms; /* that it has to have waited */
	struct challenge_past *past;
	pthread_t thread;
	int fd;      /* readable: there is one; -1: not started */
	int stop_fd; /* readable: ask no more */
	_Atomic unsigned int weight; /* of the challenger */
};

/** Ask from now on, by the set fields of @challenge. @name is for messages.
 *  Returns false, with a report, on failure. */
bool challenge_start(struct challenge *challenge, const char *name);
/** Waits for a question that is under way. Does nothing if not started. */
void challenge_stop(struct challenge *challenge);

#endif
