/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_SWITCH_H
#define ROWLOCK_SIM_SWITCH_H

/*
 * What a sanitizer has to be told of fibers, so that it knows on whose stack
 * it is; without one, nothing. The order of a switch:
 *
 *   sim_to_fiber() or sim_to_main(), where one leaves
 *   sim_jump()
 *   sim_in_fiber() or sim_in_main(), where one arrives
 *   sim_in_new(), before a function of a thread begins
 *
 * A stack is never given back, and its fiber never ends: it takes the next
 * function. One that is killed leaves its frames marked, so they are unmarked
 * (sim_picture_wipe()); the frames that it had on AddressSanitizer's fake stack
 * are found there to be dead by the one that begins on the same stack.
 *
 * ThreadSanitizer takes each fiber for a thread. Only the library is compiled
 * for it, the scheduler's stack (clocks, network, server) is not looked at, and
 * a switch puts nothing in order: what one thread of the library writes and
 * another reads has to be ordered by the library's mutexes, atomics, threads
 * and sleepers, which say so with sim_publish() and sim_observe(). So a missing
 * mutex is seen in whatever order the seed lets the threads run.
 */

#include <setjmp.h>
#include <stdlib.h>

#include "scheduler.h"

#ifdef SIM_ASAN

#include <dlfcn.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

static const void *sim_main_stack;
static size_t sim_main_size;
static void *sim_main_fake;

static inline void sim_picture_begin(struct sim_picture *picture, void *stack,
				     size_t size)
{
	(void) picture;
	(void) stack;
	(void) size;
}

static inline void sim_picture_close(struct sim_picture *picture)
{
	(void) picture;
}

static inline void sim_picture_wipe(struct sim_picture *picture, void *stack,
				    size_t size)
{
	(void) picture;
	__asan_unpoison_memory_region(stack, size);
}

static inline void sim_to_fiber(struct sim_picture *picture, void *stack,
				size_t size)
{
	(void) picture;
	__sanitizer_start_switch_fiber(&sim_main_fake, stack, size);
}

static inline void sim_in_fiber(struct sim_picture *picture)
{
	__sanitizer_finish_switch_fiber(picture->fake, &sim_main_stack,
					&sim_main_size);
}

static inline void sim_to_main(struct sim_picture *picture)
{
	__sanitizer_start_switch_fiber(&picture->fake, sim_main_stack,
				       sim_main_size);
}

static inline void sim_in_main(void)
{
	__sanitizer_finish_switch_fiber(sim_main_fake, NULL, NULL);
}

/* The sanitizer's own longjmp() unmarks all frames of the stack that it leaves,
 * which is for good where one comes back. */
static inline void sim_jump(jmp_buf context)
{
	static void (*jump)(jmp_buf, int);

	if (!jump) {
		void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
		void *symbol = libc ? dlsym(libc, "_longjmp") : NULL;

		if (!symbol)
			abort();
		*(void **) &jump = symbol;
	}
	jump(context, 1);
}

static inline void sim_in_new(void)
{
}

#elif defined(SIM_TSAN)

#include <sanitizer/tsan_interface.h>

static void *sim_main_thread;

static inline void sim_picture_begin(struct sim_picture *picture, void *stack,
				     size_t size)
{
	(void) stack;
	(void) size;
	picture->thread = __tsan_create_fiber(0);
}

/* Whoever gets the memory of the dead comes after them. */
static inline void sim_picture_close(struct sim_picture *picture)
{
	void *here = __tsan_get_current_fiber();

	__tsan_switch_to_fiber(picture->thread, __tsan_switch_to_fiber_no_sync);
	sim_publish(&sim_main_thread);
	__tsan_switch_to_fiber(here, __tsan_switch_to_fiber_no_sync);
}

static inline void sim_picture_wipe(struct sim_picture *picture, void *stack,
				    size_t size)
{
	sim_picture_close(picture);
	__tsan_destroy_fiber(picture->thread);
	sim_picture_begin(picture, stack, size);
}

static inline void sim_to_fiber(struct sim_picture *picture, void *stack,
				size_t size)
{
	(void) stack;
	(void) size;
	if (!sim_main_thread)
		sim_main_thread = __tsan_get_current_fiber();
	__tsan_switch_to_fiber(picture->thread, __tsan_switch_to_fiber_no_sync);
}

static inline void sim_in_fiber(struct sim_picture *picture)
{
	(void) picture;
}

static inline void sim_in_new(void)
{
	sim_observe(&sim_main_thread);
}

static inline void sim_to_main(struct sim_picture *picture)
{
	(void) picture;
	__tsan_switch_to_fiber(sim_main_thread, __tsan_switch_to_fiber_no_sync);
}

static inline void sim_in_main(void)
{
}

static inline void sim_jump(jmp_buf context)
{
	_longjmp(context, 1);
}

#else

/* Valgrind sees a switch by itself, if it knows where the stacks are. */
#ifdef SIM_VALGRIND
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(from, to)
#endif

static inline void sim_picture_begin(struct sim_picture *picture, void *stack,
				     size_t size)
{
	(void) picture;
	(void) stack;
	(void) size;
	VALGRIND_STACK_REGISTER(stack, (char *) stack + size);
}

static inline void sim_in_new(void)
{
}

static inline void sim_picture_close(struct sim_picture *picture)
{
	(void) picture;
}

static inline void sim_picture_wipe(struct sim_picture *picture, void *stack,
				    size_t size)
{
	(void) picture;
	(void) stack;
	(void) size;
}

static inline void sim_to_fiber(struct sim_picture *picture, void *stack,
				size_t size)
{
	(void) picture;
	(void) stack;
	(void) size;
}

static inline void sim_in_fiber(struct sim_picture *picture)
{
	(void) picture;
}

static inline void sim_to_main(struct sim_picture *picture)
{
	(void) picture;
}

static inline void sim_in_main(void)
{
}

static inline void sim_jump(jmp_buf context)
{
	_longjmp(context, 1);
}

#endif

#endif
