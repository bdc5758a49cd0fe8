/* SPDX-License-Identifier: MIT */
#ifndef CLI_ENVIRONMENT_H
#define CLI_ENVIRONMENT_H

#include <rowlock.h>

/** Our environment with ROWLOCK_NAME, ROWLOCK_TOKEN and ROWLOCK_STRATEGY set
 *  for the command. NULL: out of memory. Owned by the caller:
 *  environment_freep(). */
char **environment_new(const char *name, uint64_t token,
		       enum rowlock_strategy strategy);

void environment_freep(char ***environment);

#endif
