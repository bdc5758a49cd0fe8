/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_ONE_RELAY_H
#define ROWLOCK_TEST_ONE_RELAY_H

/*
 * Between one connection and its server: it passes all on, until it is told
 * what becomes of the next question, or of its answer.
 */
#include <pthread.h>
#include <semaphore.h>

enum one_relay_fate {
	PASSES,
	ANSWER_IS_LOST,    /* and the client's connection with it */
	ANSWER_STAYS_AWAY, /* the connection stays */
	QUESTION_IS_LATE,  /* the connection is lost; it is delivered when
			      somebody says so */
	SECOND_IS_LOST,    /* the first one passes, with its answer; then the
			      connection is lost */
};

struct one_relay {
	int listener;
	unsigned int server_port; /* on 127.0.0.1 */
	pthread_t thread;
	_Atomic int fate;
	int asked; /* since the second one was to be lost */
	sem_t deliver;
	sem_t delivered;
};

/** Take one client; returns the port on 127.0.0.1. Ends the process if that
 *  cannot be done. */
unsigned int one_relay_start(struct one_relay *relay, unsigned int server_port);

/** After its client has closed. What is late is delivered now. */
void one_relay_end(struct one_relay *relay);

#endif
