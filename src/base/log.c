/* SPDX-License-Identifier: MIT */
/*
 * Log lines, formatted only if they are wanted. Text from the database or the
 * network may hold anything: control characters, and bytes that are not UTF-8,
 * are written as \xNN, so that nobody can forge a line or steer a terminal.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

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
	rlk_text_escape(raw, line, sizeof(line));
	log->fn(level, line, log->arg);
}
