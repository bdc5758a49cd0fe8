/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_SCHEMA_H
#define RLK_DB_SCHEMA_H

#include "base/keyed.h"
#include "db/conn.h"

/**
 * The versions of sql/schema that this library works with: the one that it was
 * written for, the one before, and the next one. A migration that programs of
 * the version before cannot work with takes two numbers, so that it is out of
 * their reach (sql/README.md).
 */
#define RLK_SCHEMA_LEAST 7
#define RLK_SCHEMA_VERSION 8
#define RLK_SCHEMA_MOST (RLK_SCHEMA_VERSION + 1)

/** Tables that may be missing, as those of version 7 lack them: only jobs, and
 *  requests to give a lease back, need them. */
#define RLK_JOB_RUN "job_run"
#define RLK_REVOCATION "lease_revocation"

/**
 * Are the tables as they must be? Version, engine (InnoDB), columns, types and
 * collation of names, primary keys. Reads information_schema only, needs no
 * privilege beyond those on the tables. Tables that are not so are looked at
 * for a second and a half, as DDL hides a table for a moment.
 *
 * @ret_key  of the secret that only who can read the tables can know, the same
 * for all of their clients
 *
 * Returns 0, or ROWLOCK_ESCHEMA with a sentence that names the table or column
 * and what to do: run "rowlock-migrate", or repair the table by hand; or the
 * server errors.
 */
int rlk_schema_check(struct rlk_conn *conn, struct rlk_key *ret_key,
		     struct rowlock_errinfo *reterr);

#endif
