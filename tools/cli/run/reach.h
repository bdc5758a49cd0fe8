/* SPDX-License-Identifier: MIT */
#ifndef CLI_REACH_H
#define CLI_REACH_H

/*
 * May we signal the command? A set-user-ID program, as sudo(8), becomes
 * another user's process, which we cannot end when the lock is lost.
 */

#include <stdbool.h>
#include <sys/types.h>

/** Is @program, found as execvp() finds it, one that runs as another user, to
 *  whom we may send no signal? */
bool reach_is_beyond(const char *program);

/** A process of @group that we may not signal, or 0. */
pid_t reach_stranger(pid_t group);

#endif
