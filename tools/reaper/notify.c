/* SPDX-License-Identifier: MIT */
/*
 * sd_notify(3), if the build has it.
 *
 * Failure modes: none; if a message does not reach systemd, its own timeouts
 * act.
 */
#include "notify.h"

#if HAVE_LIBSYSTEMD

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <systemd/sd-daemon.h>
#include <time.h>

void notify_ready(void)
{
	sd_notify(0, "READY=1");
}

void notify_reloading(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		   (uint64_t) now.tv_sec * 1000000 +
		       (uint64_t) now.tv_nsec / 1000);
}

void notify_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}

void notify_status(const char *format, ...)
{
	char text[640];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* A line feed would begin another assignment. */
	for (char *p = text; *p; p++) {
		if (*p == '\n')
			*p = ' ';
	}
	sd_notifyf(0, "STATUS=%s", text);
}

void notify_alive(void)
{
	sd_notify(0, "WATCHDOG=1");
}

uint64_t notify_alive_interval_ms(void)
{
	uint64_t us;

	if (sd_watchdog_enabled(0, &us) <= 0)
		return 0;
	/* Half of what it allows, as sd_watchdog_enabled(3) advises. */
	return us / 2000 > 0 ? us / 2000 : 1;
}

#else

void notify_ready(void)
{
}

void notify_reloading(void)
{
}

void notify_stopping(void)
{
}

void notify_status(const char *format, ...)
{
	(void) format;
}

void notify_alive(void)
{
}

uint64_t notify_alive_interval_ms(void)
{
	return 0;
}

#endif
