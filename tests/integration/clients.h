/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_INTEGRATION_CLIENTS_H
#define ROWLOCK_TEST_INTEGRATION_CLIENTS_H

/*
 * Clients that are processes, of which every second one is killed, and another
 * comes in its place.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#define CLIENTS_MOST 64
#define CLIENTS_NUMBERS 4096

/** In memory that all of them share. */
struct clients {
	_Atomic bool over; /* they shall end */
	/* Of each number, which are from 1: it is killed, or is about to be. */
	_Atomic bool killed[CLIENTS_NUMBERS];

	/* Of their parent alone. */
	unsigned int count;
	int (*live)(unsigned int place, unsigned int number);
	unsigned int last; /* number */
	unsigned int kills;
	uint64_t began_ns;
	struct {
		pid_t pid;
		unsigned int number;
	} places[CLIENTS_MOST];
};

static inline void clients_start_one(struct clients *clients,
				     unsigned int place)
{
	pid_t parent = getpid();
	unsigned int number = ++clients->last;
	pid_t pid;

	assert_true(number < CLIENTS_NUMBERS);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(getppid() == parent ? clients->live(place, number) : 1);
	}
	clients->places[place].pid = pid;
	clients->places[place].number = number;
}

/** The connection string of the client of @place; ROWLOCK_TEST_NODES has those
 * of the nodes of a cluster, a blank between two: one for each in turn. */
static inline const char *clients_dsn(unsigned int place)
{
	const char *all = getenv("ROWLOCK_TEST_NODES");
	static char text[2048];
	char *nodes[8];
	char *rest = text;
	size_t count = 0;

	if (!all)
		return test_dsn();
	snprintf(text, sizeof(text), "%s", all);
	while (count < TEST_SIZE(nodes) && (nodes[count] = strsep(&rest, " ")))
		count++;
	return nodes[place % count];
}

/** @live is a client's life, until clients->over; it returns its exit status.
 */
static inline void clients_start(struct clients *clients, unsigned int count,
				 int (*live)(unsigned int place,
					     unsigned int number))
{
	clients->count = count;
	clients->live = live;
	clients->began_ns = test_now_ns();
	for (unsigned int i = 0; i < count; i++)
		clients_start_one(clients, i);
}

/** Another comes in its place. It has not ended by itself: that is for errors
 * only. */
static inline void clients_kill_one(struct clients *clients, unsigned int place)
{
	pid_t pid = clients->places[place].pid;
	int status = 0;

	clients->kills++;
	clients->killed[clients->places[place].number] = true;
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status))
		fail_msg("client %u ended with %d",
			 clients->places[place].number, WEXITSTATUS(status));
	clients_start_one(clients, place);
}

/** If one's second has come; in turn. */
static inline void clients_kill(struct clients *clients)
{
	if (test_ms(clients->began_ns, test_now_ns()) >
	    (clients->kills + 1) * 1000.0)
		clients_kill_one(clients, clients->kills % clients->count);
}

/** Those that are left end, and none of them had an error. */
static inline void clients_end(struct clients *clients)
{
	clients->over = true;
	for (unsigned int i = 0; i < clients->count; i++) {
		pid_t pid = clients->places[i].pid;
		int status;

		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

#endif
