/* SPDX-License-Identifier: MIT */
#ifndef RLK_BASE_LOG_H
#define RLK_BASE_LOG_H

/*
 * The client's log function. The library is silent unless the application
 * gave one. Never called with a mutex held.
 */

#include <rowlock.h>

#include "base/macro.h"

struct rlk_log {
	rowlock_log_fn fn; /* NULL: silent */
	void *arg;
	enum rowlock_log_level level;
};

/** One line; control characters in it are escaped. @log may be NULL. */
void rlk_log(const struct rlk_log *log, enum rowlock_log_level level,
	     const char *format, ...) RLK_PRINTF(3, 4);

#endif
