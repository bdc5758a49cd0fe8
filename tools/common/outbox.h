/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_OUTBOX_H
#define TOOLS_OUTBOX_H

/*
 * Lines on their way to stderr.
 *
 * A line is written at once if there is room for it, else kept, in order, and
 * tried again each second, and when the next one comes or the program ends. No
 * caller ever waits for a reader: it may be the thread that has to end a
 * command.
 */

#include <stdbool.h>
#include <stddef.h>

/** Call this first. */
void outbox_init(void);

/** Write or keep @text. Any thread. Returns false if there is no room left to
 *  keep it: it is dropped. */
bool outbox_put(const char *text, size_t size);

/** Write what can be written, and drop the rest. Signal handlers and the child
 *  of a fork() may call it. */
void outbox_put_now(const char *text, size_t size);

/** Is no line kept? */
bool outbox_is_empty(void);

/** Write what is kept; wait for @ms if there is no room. To be called when
 *  nothing is held any more. */
void outbox_flush(unsigned int ms);

#endif
