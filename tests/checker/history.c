// SPDX-License-Identifier: MIT
/*
 * Writing a history: one write() per line, no buffer, so that what was written
 * is there whatever happens to the writer.
 */
#include "history.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024

struct history {
	int fd;
	unsigned int process;
};

uint64_t history_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

struct history *history_open(const char *dir, unsigned int process)
{
	struct history *history = malloc(sizeof(*history));
	char path[4096];

	if (!history)
		abort();
	snprintf(path, sizeof(path), "%s/process-%u.history", dir, process);
	history->process = process;
	history->fd =
	    open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (history->fd >= 0)
		return history;
	perror(path);
	free(history);
	return NULL;
}

void history_close(struct history *history)
{
	if (!history)
		return;
	close(history->fd);
	free(history);
}

void history_write(struct history *history, uint64_t time, unsigned int thread,
		   const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	va_list args;
	size_t length;
	int n;

	n = snprintf(line, sizeof(line), "%" PRIu64 " %u.%u ", time,
		     history->process, thread);
	length = (size_t) n;
	va_start(args, format);
	n = vsnprintf(line + length, sizeof(line) - length - 1, format, args);
	va_end(args);
	length += (size_t) n;
	if (length > sizeof(line) - 2) {
		fprintf(stderr, "history: a line is too long: %s\n", line);
		_exit(3);
	}
	line[length++] = '\n';
	if (write(history->fd, line, length) != (ssize_t) length) {
		perror("history");
		_exit(3);
	}
}

const char *history_encode(char *into, size_t room, const char *text)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t n = 0;

	for (; *text && n + 4 <= room; text++) {
		unsigned char c = (unsigned char) *text;

		if (c > ' ' && c != '%' && c != 0x7f) {
			into[n++] = (char) c;
			continue;
		}
		into[n++] = '%';
		into[n++] = digits[c >> 4];
		into[n++] = digits[c & 15];
	}
	into[n] = '\0';
	return into;
}
