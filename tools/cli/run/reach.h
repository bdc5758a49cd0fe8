/* SPDX-License-Identifier: MIT */
#ifndef CLI_REACH_H
#define CLI_REACH_H

/*
 * May we signal the command? A program that makes itself another user's, as
 * sudo(8) does, cannot be ended by us when the lock is lost. A set-user-ID
 * program that keeps its real user, as fusermount3(1) does, can be (kill(2)).
 */

#include <sys/types.h>

/** A process of @group that we may not signal, or 0; if none can be found, but
 *  we may signal none of them, @group. */
pid_t reach_stranger(pid_t group);

#endif
