/* SPDX-License-Identifier: MIT */
/*
 * Calls of the system that the library makes, under the names that meson.build
 * gives them; and what is too small for a file of its own.
 */
#include <stdint.h>

#include "base/clock.h"
#include "base/process.h"
#include "proc.h"
#include "sim.h"

int sim_getpid(void);
int sim_close(int fd);
int sim_epoll_create1(int flags);

int sim_getpid(void)
{
	return sim_self->proc->pid;
}

/* As in base/process.c. */
uint64_t rlk_process(void)
{
	return sim_self->proc->number;
}

int sim_close(int fd)
{
	sim_epoll_free(fd);
	return 0;
}

int sim_epoll_create1(int flags)
{
	(void) flags;
	return sim_epoll_new();
}

/* As in base/clock.c. */
int64_t rlk_after(int64_t now, uint64_t duration_ms)
{
	if (duration_ms > (uint64_t) RLK_NEVER - (uint64_t) now)
		return RLK_NEVER;
	return now + (int64_t) duration_ms;
}
