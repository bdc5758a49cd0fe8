/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_MEMORY_H
#define ROWLOCK_TEST_MEMORY_H

#include <stdbool.h>

/** Let the allocation with this number, from 1, fail; 0: none. */
void fake_memory_fail(unsigned int number);
/** Between true and false none fails and none is counted as a step. */
void fake_memory_hold(bool hold);
/** Has it failed? If not, there were not so many. None fails from now on. */
bool fake_memory_failed(void);
/** Allocations that were not given back. */
long fake_memory_live(void);
/** What they take, with the allocator's own word for each. */
long fake_memory_bytes(void);
/** Allocations so far. */
long fake_memory_made(void);

#endif
