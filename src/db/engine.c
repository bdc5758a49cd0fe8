/* SPDX-License-Identifier: MIT */
/*
 * Engines that speak MySQL's protocol, call themselves MySQL 8, and are not.
 *
 * Rowlock depends on more than the protocol: locks of rows that last, KILL of
 * the session that CONNECTION_ID() names, user-level locks, an id that tells
 * one server from another. Where one of these is missing a lock is granted
 * twice, or a stranger's session is killed, and no statement fails. So these
 * engines are refused by name, by what they say of themselves:
 *
 *   TiDB         VERSION() 8.0.11-TiDB-v8.5.3, version_comment "TiDB Server
 *                (Apache License 2.0) ..."
 *                (pingcap/tidb, vardef.VersionComment)
 *   Vitess       8.0.43-Vitess. An option (mysql-server-version) renames it;
 *                the version_comment stays: "Version: ... (Git revision ...)
 *                built on ..." (vitessio/vitess, servenv.AppVersion)
 *   Dolt         8.0.33, version_comment "Dolt" (dolthub/go-mysql-server)
 *   MatrixOne    8.0.30-MatrixOne-v2.1.0, version_comment "MatrixOne"
 *   OceanBase    5.7.25-OceanBase_CE-v4.4.2.1, "OceanBase_CE 4.4.2.1 (r...)"
 *   PolarDB-X    5.7.25-TDDL-5.4.19 (its edition of one server says X-Cluster,
 *                and is a MySQL)
 *   SingleStore  5.7.32, "SingleStoreDB source distribution ..."
 *   StarRocks    8.0.33, "StarRocks version 3.3.2"; Doris: 5.7.99, "Doris
 *                version doris-3.0.3"; Databend, ClickHouse: their names
 *   ReadySet     8.0.26-readyset: a cache in front of a MySQL
 *
 * Failure modes: an engine that hides its name behind that of MySQL is taken
 * for it.
 */
#include "db/engine.h"

#include <string.h>

#include "base/error.h"
#include "base/macro.h"

static const struct engine {
	const char *word; /* in VERSION() or version_comment */
	const char *name;
	const char *lacks;
} engines[] = {
	{ "TiDB", "TiDB",
	  "it has no shared locks of rows, and its nodes share one "
	  "server_uuid" },
	{ "Vitess", "Vitess",
	  "it ignores settings of the session, and numbers sessions itself" },
	{ "(Git revision", "Vitess",
	  "it ignores settings of the session, and numbers sessions itself" },
	{ "Dolt", "Dolt", "it locks no rows" },
	{ "MatrixOne", "MatrixOne",
	  "its sessions and user-level locks are not those of MySQL" },
	{ "OceanBase", "OceanBase",
	  "it ends transactions by time-outs of its own" },
	{ "TDDL", "PolarDB-X", "its rows and sessions are on many servers" },
	{ "SingleStore", "SingleStore",
	  "its rows and sessions are on many servers" },
	{ "MemSQL", "SingleStore",
	  "its rows and sessions are on many servers" },
	{ "Xpand", "Xpand", "its rows and sessions are on many servers" },
	{ "StarRocks", "StarRocks", "it locks no rows" },
	{ "Doris", "Doris", "it locks no rows" },
	{ "ClickHouse", "ClickHouse", "it locks no rows" },
	{ "Databend", "Databend", "it locks no rows" },
	{ "ReadySet", "ReadySet", "it answers what is read from a cache" },
};

static const struct engine *find(const char *said)
{
	for (size_t i = 0; said && i < RLK_ARRAY_SIZE(engines); i++)
		if (strcasestr(said, engines[i].word))
			return &engines[i];
	return NULL;
}

int rlk_engine_check(const char *version, const char *comment,
		     const char *where, struct rowlock_errinfo *reterr)
{
	const struct engine *engine = find(version);

	if (!engine)
		engine = find(comment);
	if (!engine)
		return 0;
	return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
			"%s is %s, which speaks MySQL's protocol, but %s; "
			"rowlock needs MariaDB 10.6 or MySQL 8.0, or later",
			where, engine->name, engine->lacks);
}
