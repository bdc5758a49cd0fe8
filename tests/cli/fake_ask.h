/* SPDX-License-Identifier: MIT */
#ifndef FAKE_ASK_H
#define FAKE_ASK_H

/* For the files of the fake librowlock. */

#include <rowlock/admin.h>

/** Tell the test of a call, as a line, and return the code that it answers; a
 *  cancel of @lock (may be NULL) ends the wait. */
__attribute__((format(printf, 3, 4))) int fake_ask(
    struct rowlock *lock, struct rowlock_errinfo *reterr, const char *format,
    ...);

/** Tell it of a list's call, and call @put with each line of "entry ..." that
 *  the test answers, without that word, until @put returns not 0. */
int fake_ask_list(const char *call, const struct rowlock_list_options *options,
		  int (*put)(char *line, void *arg), void *arg,
		  struct rowlock_errinfo *reterr);

/** The text of the last list's end. */
extern char fake_listed_text[512];

/** @text in hexadecimal, as far as it fits. */
const char *fake_hex(const char *text, char *buffer, size_t size);

/** A request to give the lock back, as the test tells it. */
void fake_request(const char *line);
const struct rowlock_revocation *fake_requested(void);

/** It is not held any more. */
void fake_let_go(struct rowlock *lock);

/** The text of the last answer. */
extern char fake_reply_text[512];

#endif
