/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_STRESS_HISTORY_H
#define ROWLOCK_STRESS_HISTORY_H

/*
 * What the workers of a stress run write down, and what the checker reads.
 *
 * Each process appends records to a file of its own with one write() each, so
 * that a record is whole or absent, and survives a SIGKILL of the process.
 * A hold is written OPEN when it was granted and whenever it was seen to stand,
 * DONE when it is over; of a holder that was killed only OPEN is there. All
 * times are nanoseconds of CLOCK_BOOTTIME, which all processes of a host share;
 * 0: has not happened.
 */

#include <stdint.h>

enum history_kind {
	HISTORY_THREAD = 1, /* a thread has started; counted for fairness */
	HISTORY_OPEN = 2,   /* an acquire was granted */
	HISTORY_DONE = 3,   /* a hold is over */
	HISTORY_MISS = 4,   /* an acquire ended without a grant */
};

struct history_record {
	uint32_t kind;    /* enum history_kind */
	uint32_t process; /* serial number of the process in this run */
	uint32_t thread;  /* number of the thread in its process */
	uint32_t name;    /* number of the name */
	uint64_t serial;  /* number of the acquire in its thread */

	uint64_t acquire_call;
	uint64_t acquire_return;
	uint64_t token_call;
	uint64_t token_return;
	uint64_t held_call; /* the last rowlock_held() that said yes */
	uint64_t release_call;
	uint64_t release_return;

	uint64_t token; /* 0: not drawn */
	int32_t acquire_code;
	int32_t token_code;
	int32_t release_code;
	uint32_t mysql; /* the server's errno of the failure, if any */
};

#endif
