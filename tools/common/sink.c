/* SPDX-License-Identifier: MIT */
/*
 * Write without waiting for a reader: see sink.h.
 *
 * A pipe or a terminal is opened anew by its name in /proc, non-blocking; a
 * socket takes a flag with each piece; other files have no reader. Failure
 * mode: a pipe that cannot be opened again (another user's, or without /proc)
 * is asked for room before each piece. A piece can wait there if another
 * process takes the room in between.
 */
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* The master of a pseudo-terminal would be another one if opened anew. */
static bool can_be_opened(int fd, const struct stat *st)
{
	char name[64];

	return S_ISFIFO(st->st_mode) || (S_ISCHR(st->st_mode) && isatty(fd) &&
					 ptsname_r(fd, name, sizeof(name)));
}

void sink_init(struct sink *sink, int fd)
{
	char path[32];
	struct stat st;

	*sink = (struct sink){ .fd = fd, .own = -1 };
	if (fstat(fd, &st) < 0)
		return;
	sink->socket = S_ISSOCK(st.st_mode);
	if (!can_be_opened(fd, &st))
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	sink->own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

void sink_fini(struct sink *sink)
{
	if (sink->own >= 0)
		close(sink->own);
	sink->own = -1;
}

/* There is room for PIPE_BUF bytes if poll() says that there is room. */
static ssize_t put_if_asked(int fd, const char *text, size_t size)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };

	if (poll(&room, 1, 0) != 1) {
		errno = EAGAIN;
		return -1;
	}
	return write(fd, text, size < PIPE_BUF ? size : PIPE_BUF);
}

static ssize_t put_some(const struct sink *sink, const char *text, size_t size)
{
	if (sink->socket)
		return send(sink->fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sink->own >= 0)
		return write(sink->own, text, size);
	return put_if_asked(sink->fd, text, size);
}

ssize_t sink_put(const struct sink *sink, const char *text, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = put_some(sink, text + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return -1;
		if (n <= 0)
			break;
		done += (size_t) n;
	}
	return (ssize_t) done;
}
