/* SPDX-License-Identifier: MIT */
/*
 * Log lines: made only if somebody wants them. What came from the database or
 * the network may hold anything; control characters are written as \xNN, so
 * that nobody can forge a line or steer a terminal.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static void escape(const char *in, char *out, size_t size)
{
	size_t used = 0;

	for (; *in && used + 5 < size; in++) {
		unsigned char c = (unsigned char) *in;

		if (c < 0x20 || c == 0x7f)
			used += (size_t) snprintf(out + used, size - used,
						  "\\x%02x", c);
		else
			out[used++] = *in;
	}
	out[used] = '\0';
}

void rlk_log(const struct rlk_log *log, enum rowlock_log_level level,
	     const char *format, ...)
{
	char raw[1024];
	char line[2048];
	va_list args;

	if (!log || !log->fn || level > log->level)
		return;
	va_start(args, format);
	vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	escape(raw, line, sizeof(line));
	log->fn(level, line, log->arg);
}
