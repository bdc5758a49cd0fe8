/* SPDX-License-Identifier: MIT */
#ifndef RLK_BASE_PROCESS_H
#define RLK_BASE_PROCESS_H

#include <stdint.h>

/**
 * A number of this process, not 0, that no child of fork() has: not even one
 * with this process's number of the system, which comes round, and which
 * process 1 of each container has. Any thread; does not block.
 */
uint64_t rlk_process(void);

#endif
