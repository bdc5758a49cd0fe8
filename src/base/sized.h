/* SPDX-License-Identifier: MIT */
#ifndef RLK_BASE_SIZED_H
#define RLK_BASE_SIZED_H

/*
 * Public structs that begin with their own size, so that a program and a
 * library of different versions understand each other. New members go to the
 * end, 0 or NULL is their default, and no struct has padding at its end, where
 * an older program would have left anything (tests/unit/base/test_sized.c).
 */

#include <rowlock.h>

#include <stddef.h>

/**
 * Read the caller's options into @ret_options, of @size bytes. Members that a
 * shorter struct lacks are 0; what a longer one has more must be 0. @given may
 * be NULL: then all are.
 *
 * @what  such as "client", for the message
 *
 * Returns 0 or ROWLOCK_EINVAL.
 */
int rlk_options_read(const char *what, const void *given, void *ret_options,
		     size_t size, struct rowlock_errinfo *reterr);

/** Write what is known, of @size bytes, into the caller's @ret_result, as far
 *  as that reaches; the rest of it is 0. Its size stays. */
void rlk_result_write(const void *known, size_t size, void *ret_result);

/** Is this the size of a struct that rlk_result_write() may fill? */
int rlk_result_check(const char *what, const void *result,
		     struct rowlock_errinfo *reterr);

#endif
