/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SYSTEM_ROWLOCK_H
#define BENCH_SYSTEM_ROWLOCK_H

#include <rowlock.h>

#include "bench.h"

/** The process's client, between the system's start and stop. */
struct rowlock_client *bench_rowlock_client(void);

/** Make it, and end it. */
void bench_rowlock_start(const struct bench_options *options);
void bench_rowlock_stop(void);

struct rowlock *bench_rowlock_new(const char *name,
				  enum rowlock_strategy strategy,
				  unsigned int flags);
void bench_rowlock_acquire(struct rowlock *lock);
void bench_rowlock_release(struct rowlock *lock);

#endif
