/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_SIM_H
#define ROWLOCK_SIM_SIM_H

/*
 * What all parts of the simulation share: the world that is being played, and
 * the end of it.
 */

#include <rowlock/admin.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"

struct sim_proc;

#define SIM_NAMES 8

/** The most permits that a semaphore has. */
#define SIM_PERMITS_MOST 5

/** The longest maximum that a hold has. */
#define SIM_MAXIMUM_MS 3000
/* The longest time that a name is kept. */
#define SIM_KEPT_MS 4000

/** One world: a server, some processes, some names, some kinds of faults. */
#define SIM_DAY_US (24 * 60 * 60 * 1000000ll)

struct sim_world {
	uint64_t number; /* in the run */
	unsigned int procs;
	unsigned int names; /* that are fought for */
	bool lease;         /* which strategies are used */
	bool row;
	bool observe;         /* nobody trusts the server's clock */
	bool mysql;           /* the server's flavour */
	bool no_marks;        /* it has no GET_LOCK() */
	bool no_kill;         /* and KILL is refused */
	bool nodes;           /* each connection is to some node of a cluster */
	bool calm;            /* nothing goes wrong, so nothing may be lost */
	bool breaks;          /* holds are broken by hand, sometimes */
	bool sets;            /* some want several leases at once */
	bool rwlocks;         /* some read and write */
	bool semaphores;      /* some take permits */
	bool elections;       /* some stand for election */
	bool guards;          /* some have transactions of their own, */
	bool early;           /* and keep their hold by them, */
	bool texts;           /* or say their guard themselves */
	bool insides;         /* some have row locks in their transactions */
	bool fences;          /* some pass a fence with their token */
	bool keeps;           /* names of some leases are kept (at_least_ms) */
	bool runs;            /* some run a job, once per window */
	bool adopts;          /* leases are exported and adopted */
	bool resizes;         /* whose number is changed */
	bool ending;          /* the threads come to their end */
	unsigned int threads; /* of one process, at most */
	unsigned int group;   /* requests that may share a packet */
	unsigned int permits[SIM_NAMES]; /* of each semaphore, at first */
	uint64_t ttl_ms;
	uint64_t idle_ms;
	uint64_t call_ms;
	uint64_t connect_ms;
	int64_t window_us; /* the shortest of a job */
	bool triggers;     /* on the tables: they hide insert ids */
	bool days;         /* the server's clock jumps by days */
	uint64_t cycles;   /* done in this world */
	uint64_t target;
};

extern struct sim_world sim_world;

/** The names; also the texts that the server keeps. */
extern const char *const sim_names[SIM_NAMES];

/** Print what was promised and did not hold, the last events and how to see it
 *  again; exit 1. */
_Noreturn void sim_violation(const char *format, ...) RLK_PRINTF(1, 2);

/* What calls of the system become in the library; see meson.build. */
int sim_epoll_new(void);
void sim_epoll_free(int fd);
void sim_epoll_clear(int fd);
int sim_descriptors(const struct sim_proc *proc);

#endif
