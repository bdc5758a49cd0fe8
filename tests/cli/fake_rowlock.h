/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_FAKE_ROWLOCK_H
#define ROWLOCK_TEST_FAKE_ROWLOCK_H

/*
 * What the files of the fake library share.
 */
#include <rowlock.h>

/** Tell the test a call and await its answer; @lock's cancel, if it is not
 * NULL, ends the wait. */
int fake_ask(struct rowlock *lock, struct rowlock_errinfo *reterr,
	     const char *format, ...) __attribute__((format(printf, 3, 4)));

/** @text as the test reads it: in hexadecimal digits, in @buffer; NULL: NULL.
 */
const char *fake_hex(const char *text, char *buffer, size_t size);

#endif
