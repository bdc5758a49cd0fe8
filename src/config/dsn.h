/* SPDX-License-Identifier: MIT */
#ifndef RLK_CONFIG_DSN_H
#define RLK_CONFIG_DSN_H

#include <rowlock.h>

#include "config/setting.h"

/**
 * Is @dsn a connection string of which Connector/C understands every word as
 * its writer does? Nothing is connected.
 *
 * @from   where it stands, for the message: "dsn", or a file and a line
 * @named  what it says of enum rlk_whom is noted here, a bit each
 *
 * Returns 0, ROWLOCK_EINVAL (what is wrong, and what to write instead; never a
 * secret), ROWLOCK_ENOMEM.
 */
int rlk_dsn_check(const char *dsn, const char *from, unsigned int *named,
		  struct rowlock_errinfo *reterr);

/** The same, and @taker is told what it says, up to what is wrong. */
int rlk_dsn_read(const char *dsn, const char *from, unsigned int *named,
		 const struct rlk_setting_taker *taker,
		 struct rowlock_errinfo *reterr);

#endif
