/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_PROC_H
#define ROWLOCK_SIM_PROC_H

/*
 * A simulated process: fibers, memory, a clock of its own, sockets. When it is
 * killed all of it is gone at once, and the server hears of it as it would.
 */

#include <rowlock/admin.h>

#include "base/clock.h"
#include "base/thread.h"
#include "scheduler.h"

struct sim_arena {
	struct rlk_list chunks;
	struct rlk_list big;
	void *free[256]; /* by size, in steps of 16 bytes */
	char *next;
	char *end;
	size_t live; /* blocks that are not freed */
};

struct sim_clock {
	struct rlk_clock clock; /* first: the library's is ours */
	int64_t offset_us;
	int64_t ppm; /* how much faster than true time it runs */
};

struct sim_proc {
	struct rlk_list node;
	unsigned int number; /* in the run, from 1 */
	int pid;
	bool paused;
	bool ending; /* in rowlock_client_free(), or past it */
	struct sim_event resume;
	unsigned int hindered; /* it, or threads of it, are not let run */
	int64_t hindered_us;   /* since then */
	int64_t delay_us;      /* in all, before that */
	int64_t cut_until;     /* no packet passes until then */
	int64_t far_us;        /* each takes so much longer */
	struct sim_clock clock;
	struct sim_arena arena;
	struct rlk_list fibers;
	uint64_t fiber_serial;
	struct rlk_mutex ends; /* thread_end.c */
	struct rlk_list watches;
	struct rlk_list sockets; /* struct sim_conn */
	int64_t broke_us; /* when it last called rowlock_break(); 0: never */
	void *app;        /* struct sim_app, NULL for the last visitor */
};

extern struct rlk_list sim_procs;

struct sim_proc *sim_proc_new(void (*main_fn)(void *arg), void *arg);
/** Gone, all at once. @silent: the whole host is; nobody says goodbye. */
void sim_proc_kill(struct sim_proc *proc, bool silent);
/** After its last fiber has ended, or from its last fiber. Returns how many
 *  blocks of memory it left. */
void sim_proc_end(struct sim_proc *proc);
void sim_proc_pause(struct sim_proc *proc, int64_t us);

void sim_proc_hinder(struct sim_proc *proc);
void sim_proc_unhinder(struct sim_proc *proc);
/** For how long, in all, it was not let run: what it promises to do in a time
 *  may come later by so much. */
int64_t sim_proc_delay(const struct sim_proc *proc);

/** Its clock, in milliseconds, as the library sees it. */
int64_t sim_proc_ms(const struct sim_proc *proc);
/** When its clock will show @ms. */
int64_t sim_proc_when(const struct sim_proc *proc, int64_t ms);

/* memory.c: what the library's malloc() and its kin become */
void sim_arena_init(struct sim_arena *arena);
void sim_arena_fini(struct sim_arena *arena);

/* clock.c */
const struct rlk_clock_ops *sim_clock_ops(void);
/** The sleepers that the process did not give back. */
void sim_sleepers_forget(const struct sim_proc *proc);
/** Something to wait for: @fd became readable. */
void sim_poke(int fd);
bool sim_is_readable(int fd);
/** Sleep until @until, or until somebody wakes the fiber or pokes @fd; -1: no
 *  such. */
void sim_sleep_by(int fd, int64_t until);

#endif
