/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_SCHED_H
#define ROWLOCK_SIM_SCHED_H

/*
 * Time, chance and threads of the simulated world.
 *
 * Everything happens on one thread of the real machine. The time is a number
 * (microseconds) that jumps to the next event when nobody can run. Every
 * thread, the library's and the application's, is a fiber with a stack of its
 * own; which of those that can run does run next is drawn from the seed. So a
 * seed is a run, and the same seed is the same run again.
 */

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct rowlock;
struct sim_proc;

/* ------------------------------------------------------------- chance */

void sim_seed(uint64_t seed);
uint64_t sim_random(void);
/** 0 to @n - 1; @n is not 0. */
uint64_t sim_below(uint64_t n);
/** @from to @to, both included. */
int64_t sim_between(int64_t from, int64_t to);
/** True so many times in a million. */
bool sim_chance(uint32_t per_million);

/* --------------------------------------------------------------- time */

/** Microseconds since the world began. */
extern int64_t sim_now;

/** Something that happens at a time; embedded where it belongs. All zeros is
 *  one that is not set. */
struct sim_event {
	int64_t at;
	uint32_t tie;  /* who comes first at the same time is chance */
	uint32_t slot; /* its place in the heap, counted from 1; 0: not set */
	void (*fire)(struct sim_event *event);
};

/** Set, or move. */
void sim_event_set(struct sim_event *event, int64_t at_us);
void sim_event_clear(struct sim_event *event);
/** The next one; NULL: nothing will happen. */
struct sim_event *sim_event_first(void);

static inline bool sim_event_is_set(const struct sim_event *event)
{
	return event->slot != 0;
}

/* ------------------------------------------------------------- fibers */

/** What a sanitizer knows of a fiber: switch.h. */
struct sim_picture {
	void *fake;
	void *thread;
};

struct sim_fiber {
	jmp_buf context;
	char *stack;
	void (*fn)(void *arg);
	void *arg;
	struct sim_proc *proc; /* NULL: the world's own */
	struct rlk_list node;  /* of the process, or of those to use again */
	uint64_t serial;       /* in its process, from 1 */
	unsigned int number;   /* of an application's thread; 0: another */
	unsigned int place;    /* among those that can run, from 1; 0: cannot */
	bool started;
	bool ended;
	bool detached;
	bool woken;   /* by somebody, not by its timer */
	bool stalled; /* can run, but the machine does not let it */
	unsigned int mutexes;
	int64_t owed; /* at its end: thread_end.c */
	struct sim_event timer;
	struct rlk_list in_wait; /* of a mutex or condition */
	struct sim_fiber *joiner;
	struct rowlock *acquiring;    /* its rowlock_acquire() is under way */
	unsigned int acquiring_names; /* a bit each */
	unsigned int acquiring_count; /* of permits */
	uint64_t acquiring_attempt;   /* that was seen to be granted, */
	uint64_t acquiring_pass;      /* and how often handed over by then */
	struct sim_picture picture;
};

/** The fiber that runs; NULL in events. */
extern struct sim_fiber *sim_self;

/** The running fiber is at its end; what it still does, does its thread. */
void sim_thread_ends(void);

struct sim_fiber *sim_fiber_new(struct sim_proc *proc, void (*fn)(void *arg),
				void *arg);
/** It never runs again; its stack is used for another. Not for oneself. */
void sim_fiber_kill(struct sim_fiber *fiber);
/** After its end, when nobody will ask for it any more. */
void sim_fiber_drop(struct sim_fiber *fiber);
void sim_fiber_join(struct sim_fiber *fiber);

/** Let others run first, perhaps. */
void sim_yield(void);
/** Sleep until sim_fiber_wake(). */
void sim_block(void);
/** The same, at most until @at_us; true if woken. */
bool sim_block_until(int64_t at_us);
void sim_sleep(int64_t us);
void sim_fiber_wake(struct sim_fiber *fiber);

/** All fibers of @proc that wait for its pause to end may run. */
void sim_unpark(struct sim_proc *proc);

/** Run until sim_stop(). @each is called after each step of a fiber. */
void sim_run(void (*each)(void));
void sim_stop(void);
/** Forget all fibers and events: the end of a world. */
void sim_reset(void);

extern uint64_t sim_steps;

/* For ThreadSanitizer (switch.h): what was written before @about was published
 * is seen by who observes it; who peeks has no need of that. */
#ifdef SIM_TSAN
#include <sanitizer/tsan_interface.h>
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);
static inline void sim_publish(void *about)
{
	__tsan_release(about);
}
static inline void sim_observe(void *about)
{
	__tsan_acquire(about);
}
static inline void sim_peek_begin(void)
{
	__tsan_ignore_thread_begin();
}
static inline void sim_peek_end(void)
{
	__tsan_ignore_thread_end();
}
#else
static inline void sim_publish(void *about)
{
	(void) about;
}
static inline void sim_observe(void *about)
{
	(void) about;
}
static inline void sim_peek_begin(void)
{
}
static inline void sim_peek_end(void)
{
}
#endif

/** Chances in a million: a thread loses the processor where it locks a
 *  mutex; is not let run for long; wakes from a condition for no reason. */
struct sim_pace {
	uint32_t preempt;
	uint32_t stall;
	uint32_t spurious;
	int64_t stall_us; /* the longest */
};

extern struct sim_pace sim_pace;

#endif
