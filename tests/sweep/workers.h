/* SPDX-License-Identifier: MIT */
#ifndef SWEEP_WORKERS_H
#define SWEEP_WORKERS_H

/*
 * Processes that share work. Each has a stage of its own.
 */

#include "sweep.h"

/** Do the @number-th piece. */
typedef void (*work_fn)(struct stage *stage, size_t number);

/** In the parent: the worker that did the @number-th piece died. */
typedef void (*death_fn)(size_t number, int status);

/** So many at a time; 0: by the number of processors. */
void workers_init(unsigned int count, bool talkative);

/** Memory that all workers share. */
void *workers_share(size_t size);

/** Let @fn run for 0 to @count - 1, side by side. Ends the program if it is
 *  interrupted. */
void workers_run(const char *what, size_t count, work_fn fn, death_fn death);

/** Remove what they left in the server. */
void workers_clean(void);

/** What a worker's @status means, as a sentence. */
void workers_died_of(int status, char *problem, size_t size);
/** It crashed inside Connector/C. */
bool workers_died_in_driver(int status);

#endif
