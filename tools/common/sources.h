/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_SOURCES_H
#define TOOLS_SOURCES_H

/*
 * Where it is said which server is meant, made into one connection string.
 */

#include <rowlock.h>
#include <stdbool.h>

/** The strongest first. */
struct sources {
	const char *argument;    /* --dsn; NULL: none */
	const char *environment; /* ROWLOCK_DSN; NULL: none */
	const char *file;        /* NULL: the standard option files */
	const char *suffix;      /* of their groups; NULL: none */
};

/**
 * Read them all and merge them key by key: what a stronger one says of a key
 * counts. A connection goes to one address, so a socket file of a stronger one
 * also takes the place of the host, port and protocol of the weaker ones.
 *
 * @ret_dsn  a connection string, which may contain a password; the caller
 *           wipes and frees it
 *
 * Returns 0, ROWLOCK_EINVAL (what is wrong, and where that stands),
 * ROWLOCK_ENOMEM.
 */
int sources_read(const struct sources *sources, char **ret_dsn,
		 struct rowlock_errinfo *reterr);

/** Does none of the sources say which host, account or database? False, too, if
 *  they cannot be read: that was told. */
bool sources_say_nothing(const struct sources *sources);

#endif
