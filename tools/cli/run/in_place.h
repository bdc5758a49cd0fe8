/* SPDX-License-Identifier: MIT */
#ifndef CLI_IN_PLACE_H
#define CLI_IN_PLACE_H

/*
 * A command that takes the place of this process, as flock -F has it: for who
 * looks after its process himself.
 */

#include "run/request.h"

/**
 * Acquire, and execute the command in this process, while another one, the
 * keeper, holds the lock until this process has ended. Nobody ends the command
 * if the lock is lost; the keeper says so. To be called before any thread
 * starts or connection is opened. Returns the exit code if the command was not
 * executed.
 */
int in_place_run(struct request *request);

#endif
