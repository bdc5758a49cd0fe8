/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_SCHEMA_H
#define RLK_DB_SCHEMA_H

#include "base/keyed.h"
#include "db/conn.h"

/** The version of sql/schema that this library was written for. */
#define RLK_SCHEMA_VERSION 7

/**
 * Are the tables as they must be? Version, engine (InnoDB), columns, types and
 * collation of names, primary keys. Reads information_schema only, needs no
 * privilege beyond those on the tables.
 *
 * @ret_key  of the secret that only who can read the tables can know, the same
 * for all of their clients
 *
 * Returns 0, or ROWLOCK_ESCHEMA with a sentence that names the table or column
 * and the command to run ("rowlock-migrate"), or the server errors.
 */
int rlk_schema_check(struct rlk_conn *conn, struct rlk_key *ret_key,
		     struct rowlock_errinfo *reterr);

#endif
