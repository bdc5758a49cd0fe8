/* SPDX-License-Identifier: MIT */
#ifndef CLI_IN_PLACE_H
#define CLI_IN_PLACE_H

/*
 * A command that takes the place of this process, like flock -F: for callers
 * that supervise the process themselves.
 */

#include "run/request.h"

/**
 * Acquire, and execute the command in this process, while another one, the
 * keeper, holds the lock until this process has ended. The command goes on if
 * the lock is lost; the keeper reports it. To be called before any thread
 * starts or connection is opened. Returns the exit code if the command was not
 * executed.
 */
int in_place_run(struct request *request);

#endif
