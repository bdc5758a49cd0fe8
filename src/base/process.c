/* SPDX-License-Identifier: MIT */
/*
 * A mark in memory that fork() itself clears in the child (madvise(2),
 * MADV_WIPEONFORK, Linux 4.14): also where no handler of pthread_atfork() runs,
 * as after a raw clone(). Where the kernel has no such memory, such a handler
 * clears it.
 */
#include "base/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/random.h"

static _Atomic uint64_t plain;
static _Atomic uint64_t *mark = &plain;

static void clear(void)
{
	atomic_store(mark, 0);
}

static void make_mark(void)
{
	size_t size = (size_t) sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page != MAP_FAILED && madvise(page, size, MADV_WIPEONFORK) == 0) {
		mark = page;
		return;
	}
	if (page != MAP_FAILED)
		munmap(page, size);
	pthread_atfork(NULL, NULL, clear);
}

uint64_t rlk_process(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint64_t number;

	pthread_once(&once, make_mark);
	number = atomic_load(mark);
	if (number == 0) {
		uint64_t mine = rlk_random();

		/* If two threads come here, the first one's number counts. */
		if (atomic_compare_exchange_strong(mark, &number, mine))
			number = mine;
	}
	return number;
}
