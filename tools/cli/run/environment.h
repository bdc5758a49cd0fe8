/* SPDX-License-Identifier: MIT */
#ifndef CLI_ENVIRONMENT_H
#define CLI_ENVIRONMENT_H

#include <rowlock.h>
#include <stddef.h>

/** Our environment with ROWLOCK_GUARD_SQL, if @guard is not NULL, and with
 * ROWLOCK_NAME, ROWLOCK_TOKEN and ROWLOCK_STRATEGY set for the command: those
 * of the first name; and with ROWLOCK_TOKENS, a line "TOKEN NAME" for each
 * name. NULL: out of memory. Owned by the caller: environment_freep(). */
char **environment_new(const char *const *names, const uint64_t *tokens,
		       size_t count, enum rowlock_strategy strategy,
		       const char *guard);

void environment_freep(char ***environment);

#endif
