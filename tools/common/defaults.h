/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_DEFAULTS_H
#define TOOLS_DEFAULTS_H

/*
 * Option files with a group suffix, which Connector/C cannot read by itself.
 */

#include <rowlock.h>

/**
 * The suffix that MariaDB's programs take from the environment
 * (MARIADB_GROUP_SUFFIX, MYSQL_GROUP_SUFFIX); NULL if none.
 */
const char *defaults_suffix(void);

/**
 * Have my_print_defaults(1) read the groups that Connector/C reads and
 * [rowlock], each with and without @suffix.
 *
 * @file     NULL: the standard option files
 * @ret_dsn  a connection string, which may contain a password; the caller
 *           wipes and frees it
 *
 * Returns 0, ROWLOCK_EINVAL, ROWLOCK_ENOMEM, ROWLOCK_ESYSTEM.
 */
int defaults_read(const char *file, const char *suffix, char **ret_dsn,
		  struct rowlock_errinfo *reterr);

#endif
