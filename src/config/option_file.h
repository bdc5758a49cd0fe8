/* SPDX-License-Identifier: MIT */
#ifndef RLK_CONFIG_OPTION_FILE_H
#define RLK_CONFIG_OPTION_FILE_H

#include <rowlock.h>

#include "config/setting.h"

/** Whose option files: those that are read, and what of them. */
struct rlk_option_files {
	const char *file;   /* NULL: the standard ones */
	const char *group;  /* ours; NULL: none */
	const char *suffix; /* NULL: none */
	/* What a stronger source says of enum rlk_whom, a bit each, and its
	 * host: what the files say of these does not count. */
	unsigned int told;
	const char *told_host;                 /* NULL: none is told */
	const struct rlk_setting_taker *taker; /* NULL: nobody */
};

/**
 * Read the option files that Connector/C is about to read, in its order, and
 * look for what it would not understand. Nothing is connected.
 *
 * In our group that is any key, and any value. The client's groups belong to
 * other programs, too: there it is what would lead to another server, a port
 * that is no number, or the protocol "tcp" to the local host. Our group must
 * not be missing where one is there that is written much like it. A file that
 * is named must have a group that is read, if it has any; a suffix, a group
 * with it.
 *
 * The taker is told what counts, in the order of the files: of our group all,
 * of the client's what Connector/C understands.
 *
 * With a suffix each group is read with it as well, and of a directory every
 * *.cnf, as my_print_defaults(1) does; Connector/C knows no suffix and reads
 * my.cnf only.
 *
 * @ret_named  what they say of enum rlk_whom (setting.h), a bit each
 *
 * Returns 0, ROWLOCK_EINVAL (with the file and the line), ROWLOCK_ENOMEM.
 */
int rlk_option_files_check(const struct rlk_option_files *files,
			   unsigned int *ret_named,
			   struct rowlock_errinfo *reterr);

#endif
