/* SPDX-License-Identifier: MIT */
#ifndef CLI_ENVIRONMENT_H
#define CLI_ENVIRONMENT_H

#include <rowlock.h>
#include <stddef.h>
#include <stdint.h>

/** The locks that are held for a command. */
struct environment_of {
	const char *const *names;
	const uint64_t *tokens;
	size_t count;
	enum rowlock_strategy strategy;
	uint64_t attempt;    /* by which it is known, as a reader's token may
				not be the last of its name; 0: the token */
	const char *guard;   /* SQL; NULL: none */
	const char *command; /* argv[0] */
};

/** Our environment with ROWLOCK_GUARD_SQL, if there is a guard, and with
 * ROWLOCK_NAME, ROWLOCK_TOKEN and ROWLOCK_STRATEGY set for the command: those
 * of the first name; with ROWLOCK_TOKENS, a line "TOKEN NAME" for each name;
 * and with ROWLOCK_HELD, a line "STRATEGY TOKEN COMMAND NAME" for each, or
 * "attempt ATTEMPT COMMAND NAME", and what it had before. NULL: out of memory.
 * Owned by the caller: environment_freep(). */
char **environment_new(const struct environment_of *of);

void environment_freep(char ***environment);

#endif
