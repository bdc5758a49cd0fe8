/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_APP_H
#define ROWLOCK_SIM_APP_H

/*
 * The applications: processes with some threads that lock names, do something,
 * and let them go, in all the ways that the library offers.
 */

#include <stdbool.h>
#include <stdint.h>

struct sim_proc;

/** Start the processes of this world. */
void sim_app_begin(void);
/** Kill @proc; another comes in its place after a while. */
void sim_app_kill(struct sim_proc *proc, bool silent);
/** A random one that may be harmed; NULL: none. */
struct sim_proc *sim_app_any(void);

/** The threads have come to their end, all clients still being there. */
bool sim_app_done(void);
/** Let the processes end; true when they have. */
void sim_app_close(void);
bool sim_app_closed(void);

/** Make a client that suits this world; as rowlock_client_new(). */
struct rowlock_client;
struct rowlock_errinfo;
int sim_app_client(struct rowlock_client **ret_client,
		   struct rowlock_errinfo *reterr);
/** The end of the process that runs: free the client, look what it left. */
void sim_app_leave(struct rowlock_client *client);

/** How often a call returned what. */
enum { SIM_CODES = 24, SIM_CALLS = 12 };
extern uint64_t sim_app_codes[SIM_CALLS][SIM_CODES];

/** Transactions that have kept their hold, and were committed when it was lost
 *  by the client's clock. */
extern uint64_t sim_app_late_commits;

/** Cycles in all worlds. */
extern uint64_t sim_cycles;
extern uint64_t sim_cycles_by[2];

#endif
