/* SPDX-License-Identifier: MIT */
#ifndef CLI_HOLDING_H
#define CLI_HOLDING_H

/*
 * The time in which 'rowlock hold' has its lock, and what it tells of it on
 * standard output: tokens, or with --json the lines of protocol.h.
 */

#include "run/deadline.h"
#include "run/guard.h"
#include "run/output.h"
#include "run/protocol.h"

struct holding {
	/* Set by the caller, with a timer_fd of -1. */
	struct task *task;
	struct acquisition *acquisition;
	struct signals *signals;
	struct guard *guard; /* with --json */
	struct output output;

	/* Private. */
	struct protocol_input input;
	struct deadline deadline;
	int lost_fd;
	int timer_fd;  /* with --json */
	bool told;     /* the program knows how it ended */
	bool exported; /* it is not held, and not released either */
};

/** It was acquired: hold it until that ends, and release it. Returns the exit
 *  code; task->lost says whether it was lost. */
int holding_run(struct holding *holding);

/** Tell by --json that acquisition->error is why it is not held. */
void holding_fail(struct holding *holding);

#endif
