/* SPDX-License-Identifier: MIT */
#ifndef RLK_CONFIG_OPTION_FILE_H
#define RLK_CONFIG_OPTION_FILE_H

#include "config/where.h"

/**
 * Read the option files of @sources.
 *
 * @complete  stronger sources say host, user and database: a standard file that
 *            this process may not read is passed over
 *
 * Returns 0; ROWLOCK_EINVAL: a file cannot be read, or says what is not
 * understood (the message has place and remedy, and no secret); ROWLOCK_ENOMEM.
 */
int rlk_option_files_read(const struct rlk_sources *sources, bool complete,
			  struct rlk_where *where,
			  struct rowlock_errinfo *reterr);

#endif
