/* SPDX-License-Identifier: MIT */
#ifndef CLI_ADOPTION_H
#define CLI_ADOPTION_H

/*
 * 'rowlock hold --adopt': the string of an export, by which a lease is taken
 * over (rowlock/adoption.h). It is a secret, so no argument has it: all users
 * of the host can read those.
 */

#include "run/task.h"

/** Longer than each string; one that is longer still is none. */
#define ADOPTION_SIZE 128

/** Refuse options that exclude it. Returns -1 or the exit code. */
int adoption_check(const struct task *task);

/** Read the string, of ADOPTION_SIZE bytes: that of ROWLOCK_ADOPT, or else the
 *  first line of standard input, behind which nothing is read. Returns -1 or
 *  the exit code: reported. Blocks until the line has come. */
int adoption_read(const struct task *task, char *ret_text);

#endif
