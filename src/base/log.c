/* SPDX-License-Identifier: MIT */
/*
 * Log lines: made only if somebody wants them. What came from the database or
 * the network may hold anything; the bytes of control characters, and what is
 * not UTF-8, are written as \xNN, so that nobody can forge a line or steer a
 * terminal.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define ESCAPE_SIZE 4 /* \xNN */
#define CHARACTER_MOST 4

static void escape(const char *in, char *out, size_t size)
{
	const unsigned char *at = (const unsigned char *) in;
	char *end = out;

	while (*at && end + CHARACTER_MOST * ESCAPE_SIZE < out + size) {
		size_t length;
		uint32_t code = rlk_text_decode(at, &length);

		if (length && !rlk_text_is_control(code)) {
			memcpy(end, at, length);
			end += length;
			at += length;
			continue;
		}
		for (length += !length; length; length--) {
			snprintf(end, ESCAPE_SIZE + 1, "\\x%02x", *at++);
			end += ESCAPE_SIZE;
		}
	}
	*end = '\0';
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
