/* SPDX-License-Identifier: MIT */
#ifndef RLK_CONFIG_WHERE_H
#define RLK_CONFIG_WHERE_H

/*
 * Where the server is: what connection strings and option files say together.
 * Each key counts as the strongest source has it: arguments, then the dsn, then
 * ROWLOCK_DSN, then the option files, of which a later line is stronger.
 */

#include <rowlock.h>
#include <stdbool.h>

#include "config/setting.h"

/**
 * The sources that a program names. Besides, ROWLOCK_DSN in the environment is
 * read, and MARIADB_GROUP_SUFFIX or else MYSQL_GROUP_SUFFIX where there is no
 * suffix.
 */
struct rlk_sources {
	const char *arguments;  /* a connection string; NULL: none */
	const char *dsn;        /* another one; NULL: none */
	bool no_files;          /* read no option file */
	const char *file;       /* NULL: the standard option files */
	const char *extra_file; /* read before ~/.my.cnf; NULL: none */
	const char *group;      /* the group besides [client] */
	const char *suffix;     /* groups with it are read, too; NULL: none */
};

/** A text that may have a password. Its size is kept, as it is taken apart by
 *  NULs. */
struct rlk_secret {
	char *text;
	size_t size;
};

/** Wipes and frees it. */
void rlk_secret_fini(struct rlk_secret *secret);

/** Copy all of them. False: out of memory, and *@ret_copy has a part. */
bool rlk_sources_copy(const struct rlk_sources *sources,
		      struct rlk_sources *ret_copy);
/** Wipes and frees a copy. */
void rlk_sources_fini(struct rlk_sources *copy);

/** The values that count, by rlk_setting_number(). */
struct rlk_where {
	char *values[RLK_SETTINGS]; /* NULL: nothing */
	char *places[RLK_SETTINGS]; /* where that is said: "dsn", "my.cnf:7:
				       ..." */
};

/**
 * Read all of @sources. A socket in one source replaces the host, port and
 * protocol of weaker ones, as a connection goes to one address.
 *
 * Returns 0; ROWLOCK_EINVAL if a source cannot be read, or says something that
 * is not understood (the message has place and remedy, and no secret);
 * ROWLOCK_ENOMEM.
 */
int rlk_where_read(const struct rlk_sources *sources,
		   struct rlk_where *ret_where, struct rowlock_errinfo *reterr);
void rlk_where_fini(struct rlk_where *where);

static inline bool rlk_where_says(const struct rlk_where *where, size_t number)
{
	return where->values[number] && *where->values[number];
}

/** The value of a key that is a number; 0 if no source has it. */
static inline unsigned int rlk_where_number(const struct rlk_where *where,
					    size_t number)
{
	return rlk_where_says(where, number)
		   ? rlk_setting_value(rlk_setting_at(number),
				       where->values[number])
		   : 0;
}

/** For the readers of strings and files: keep @value (NULL: the key stands
 *  alone) for @key, said at @place. False: out of memory. */
bool rlk_where_set(struct rlk_where *where, const struct rlk_setting *key,
		   const char *value, const char *place);

/** Lay @stronger over @where; its values move. */
void rlk_where_lay_over(struct rlk_where *where, struct rlk_where *stronger);

#endif
