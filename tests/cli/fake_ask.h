/* SPDX-License-Identifier: MIT */
#ifndef FAKE_ASK_H
#define FAKE_ASK_H

/* For the files of the fake librowlock. */

#include <rowlock.h>

/** Tell the test of a call, as a line, and return the code that it answers; a
 *  cancel of @lock (may be NULL) ends the wait. */
__attribute__((format(printf, 3, 4))) int fake_ask(
    struct rowlock *lock, struct rowlock_errinfo *reterr, const char *format,
    ...);

/** It is not held any more. */
void fake_let_go(struct rowlock *lock);

/** The text of the last answer. */
extern char fake_reply_text[512];

#endif
