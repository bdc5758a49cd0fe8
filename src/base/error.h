/* SPDX-License-Identifier: MIT */
#ifndef RLK_BASE_ERROR_H
#define RLK_BASE_ERROR_H

/*
 * Errors travel as one negative number and a text in the caller's struct
 * rowlock_errinfo, which may be NULL. Expected ones (BUSY, LOST) are handled
 * by the direct caller, all others are passed on untouched to the top; the
 * way up may put a few words before the text, never match on a passed-on code.
 */

#include <rowlock.h>

#include "base/macro.h"

/** Write @code and the text, return @code. */
int rlk_fail(struct rowlock_errinfo *reterr, int code, const char *format, ...)
    RLK_PRINTF(3, 4);

/** The same with the server's or Connector/C's error number. */
int rlk_fail_db(struct rowlock_errinfo *reterr, int code, unsigned int mysql,
		const char *format, ...) RLK_PRINTF(4, 5);

/** "<what> is NULL": ROWLOCK_EINVAL. */
int rlk_fail_null(const char *what, struct rowlock_errinfo *reterr);

/** Put words before the text that is there: "acquire 'x' on db1: ...". */
void rlk_prefix(struct rowlock_errinfo *reterr, const char *format, ...)
    RLK_PRINTF(2, 3);

#endif
