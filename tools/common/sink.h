/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_SINK_H
#define TOOLS_SINK_H

/*
 * A standard descriptor that is written to without waiting for its reader.
 *
 * Others share its open file, so it must not be made non-blocking itself: the
 * command that runs beside us would get EAGAIN.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct sink {
	int fd;
	int own; /* the same file, opened anew and non-blocking; -1: none */
	bool socket;
};

/** For @fd, which stays the caller's. */
void sink_init(struct sink *sink, int fd);

/** Close what is ours. */
void sink_fini(struct sink *sink);

/**
 * Write as much of @text as there is room for. Async-signal-safe.
 *
 * Returns the number of bytes written, or -1 and errno if the reader is gone or
 * the file refuses. A text of at most PIPE_BUF bytes goes into a pipe whole.
 */
ssize_t sink_put(const struct sink *sink, const char *text, size_t size);

#endif
