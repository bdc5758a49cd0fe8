/* SPDX-License-Identifier: MIT */
#ifndef CLI_PROTOCOL_H
#define CLI_PROTOCOL_H

/*
 * 'rowlock hold --json' and the program that runs it tell each other lines: of
 * JSON, and of one word. rowlock-hold(7) is its manual.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/task.h"

/** Each line has it. A line that its readers could not read has another one. */
#define PROTOCOL_VERSION 1

struct protocol_held {
	const struct task *task;
	const char *server;
	const uint64_t *tokens; /* of each name of the task */
	uint64_t attempt;       /* 0 under row */
	uint64_t ttl_ms;
	uint64_t deadline_ms; /* from now on */
	const char *guard;    /* statements with "; " between; NULL: none */
};

/*
 * Each returns a line, which is the caller's to free; NULL without memory.
 * Messages may be the library's: they are put in the command line's words.
 */

char *protocol_held(const struct protocol_held *held);

/** It is for whoever has @string, and lasts for @deadline_ms at least. */
char *protocol_exported(const struct task *task, const char *string,
			uint64_t deadline_ms);

/** It could not be exported, or not again: @held is as before. */
char *protocol_not_exported(const struct task *task, int code,
			    const char *message, bool held);

/** It was exported, and is adopted; or is left to whoever adopts it: @event. */
char *protocol_handed(const struct task *task, const char *event,
		      const char *message);

/** @reason is one of the manual's words. */
char *protocol_lost(const struct task *task, const char *reason,
		    const char *message);

/** It is asked for; @answer was given. */
char *protocol_asked(const struct task *task,
		     const struct rowlock_revocation *asked,
		     enum rowlock_answer answer);

/** @message tells why it may have been lost before; NULL if it was not. */
char *protocol_released(const struct task *task, const char *message);

/** The lock was not acquired, or has gone: @code and @message are the
 *  library's. */
char *protocol_failed(const struct task *task, int code, const char *message);

/** Lines that a program has sent. */
struct protocol_input {
	char line[64];
	size_t size;
	bool too_long;
	bool ended; /* the next byte begins another one */
};

enum protocol_word {
	PROTOCOL_NONE, /* no line has ended */
	PROTOCOL_UNKNOWN,
	PROTOCOL_RELEASE,
	PROTOCOL_EXPORT,
};

/** Take bytes of @size up to the end of a line: *@ret_word. Returns how many.
 */
size_t protocol_take(struct protocol_input *input, const char *text,
		     size_t size, enum protocol_word *ret_word);

/** The answer to the line that was taken last. */
char *protocol_unknown(const struct protocol_input *input,
		       const struct task *task, bool held);

#endif
