/* SPDX-License-Identifier: MIT */
/*
 * The kind of a server, and the statements that differ.
 *
 * Supported: MariaDB from 10.6 and MySQL from 8.0, the first of each with SKIP
 * LOCKED. Any server with "MariaDB" in its version is MariaDB.
 */
#include "db/server_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/macro.h"
#include "db/engine.h"
#include "db/sql.h"
#include "db/token_sql.h"

#define MARIADB_MIN 100600
#define MYSQL_MIN 80001

/* MariaDB hides behind this prefix from old replicas, and MaxScale, which may
 * leave out the name ("5.5.5-10.6.12 23.02.2-maxscale"), with it. */
#define PREFIX "5.5.5-"

/* As the control plane of Amazon Aurora spells it, "8.0.mysql_aurora.3.08.0",
 * has its own release in place of the patch; the first one of 3 is of 8.0.23
 * (Aurora User Guide, "Aurora MySQL version numbers and special versions"). */
#define AURORA ".mysql_aurora."
#define AURORA_PATCH 23

static unsigned int parse_version(const char *text)
{
	unsigned int major = 0;
	unsigned int minor = 0;
	unsigned int patch = 0;

	if (sscanf(text, "%3u.%3u.%3u", &major, &minor, &patch) < 2)
		return 0;
	if (strstr(text, AURORA))
		patch = AURORA_PATCH;
	return major * 10000 + minor * 100 + patch;
}

int rlk_server_learn(struct rlk_server *server, const char *version,
		     const char *where, struct rowlock_errinfo *reterr)
{
	const char *text = version ? version : "";
	bool hidden = strncmp(text, PREFIX, strlen(PREFIX)) == 0;
	bool mariadb = hidden || strstr(text, "MariaDB");
	unsigned int least = mariadb ? MARIADB_MIN : MYSQL_MIN;
	const char *flavour = mariadb ? "MariaDB" : "MySQL";
	int code = rlk_engine_check(version, NULL, where, reterr);

	if (code)
		return code;
	if (hidden)
		text += strlen(PREFIX);
	server->flavour = mariadb ? RLK_MARIADB : RLK_MYSQL;
	server->version = parse_version(text);
	snprintf(server->name, sizeof(server->name), "%.240s (%s %u.%u.%u)",
		 where, flavour, server->version / 10000,
		 server->version / 100 % 100, server->version % 100);
	if (server->version >= least)
		return 0;
	return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
			"%s is too old; rowlock needs MariaDB 10.6 or MySQL "
			"8.0, or later",
			server->name);
}

bool rlk_server_has_snapshot(const struct rlk_server *server)
{
	/* It came late into some series: the first patch of each. */
	static const struct {
		unsigned int series;
		unsigned int patch;
	} since[] = {
		{ 1006, 18 }, { 1011, 8 }, { 1100, 6 },
		{ 1101, 5 },  { 1102, 4 }, { 1104, 2 },
	};

	if (server->flavour != RLK_MARIADB)
		return false;
	if (server->version >= 110500)
		return true;
	for (size_t i = 0; i < RLK_ARRAY_SIZE(since); i++) {
		if (server->version / 100 == since[i].series)
			return server->version % 100 >= since[i].patch;
	}
	return false;
}

/* A row that is held, but not locked at this moment, is touched and left as it
 * is; one that another transaction has locked delays nobody. MariaDB manual,
 * "innodb_lock_wait_timeout": 0 is no wait. */
#define NO_WAIT "SET STATEMENT innodb_lock_wait_timeout = 0 FOR "

/* MariaDB manual, "INSERT...RETURNING": with ON DUPLICATE KEY UPDATE the row
 * that was there comes back. How long its holder still has is a question of its
 * own, asked only if the name is held: as a subquery in here it made every
 * acquire a quarter slower, and locked the holder's session row in share mode
 * for the statement's life. */
#define ACQUIRE_MARIADB                                                        \
	NO_WAIT "INSERT INTO business_lease (name, slot, session, attempt, "   \
		"acquired_at, expires_at, info) VALUES (?, ?, ?, ?, "          \
		"UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL ? "             \
		"MICROSECOND, ?) "                                             \
		"ON DUPLICATE KEY UPDATE name = name "                         \
		"RETURNING attempt"

static const struct rlk_stmt_def acquire_mariadb = {
	"acquire",
	ACQUIRE_MARIADB,
};

/* And the bell, if it is free and the row is ours: GET_LOCK() comes last, when
 * the row is there and not committed yet. As a condition of an INSERT ...
 * SELECT it cost 8 us more of 48, and the bell of a name that another holds had
 * to be let go again. */
static const struct rlk_stmt_def acquire_ringing_mariadb = {
	"acquire",
	ACQUIRE_MARIADB ", IF(attempt = ?, GET_LOCK(?, 0), 0)",
};

/* The NOT EXISTS is a consistent read under READ COMMITTED: it sees a held row
 * without touching its lock. MySQL has no RETURNING, and its plain INSERT would
 * wait behind a guard, so there this is the first try too. The casts give NULL
 * parameters a type. */
#define LOOK_AND_ACQUIRE(slot, more)                                           \
	"INSERT INTO business_lease (name, slot, session, attempt, "           \
	"acquired_at, expires_at, info) "                                      \
	"SELECT p.n, p.s" slot ", p.c, p.a, UTC_TIMESTAMP(6), "                \
	"UTC_TIMESTAMP(6) + INTERVAL p.m MICROSECOND, p.i FROM ("              \
	"SELECT CAST(? AS CHAR(100)) COLLATE utf8mb4_bin AS n, "               \
	"CAST(? AS UNSIGNED) AS s, CAST(? AS UNSIGNED) AS c, "                 \
	"CAST(? AS UNSIGNED) AS a, CAST(? AS UNSIGNED) AS m, "                 \
	"CAST(? AS CHAR(255)) AS i" more ") p "                                \
	"WHERE NOT EXISTS (SELECT 1 FROM business_lease l "                    \
	"WHERE l.name = p.n AND l.slot = p.s) "                                \
	"ON DUPLICATE KEY UPDATE name = name"

static const struct rlk_stmt_def look_and_acquire = {
	"acquire",
	LOOK_AND_ACQUIRE("", ""),
};

/* And who has the bell, as the insert id. Where the name is held no row is
 * made, and nothing evaluated. */
#define BELL_OWNER " + 0 * LAST_INSERT_ID(COALESCE(IS_USED_LOCK(p.b), 0))"

static const struct rlk_stmt_def look_and_acquire_seeing_line = {
	"acquire",
	LOOK_AND_ACQUIRE(BELL_OWNER, ", CAST(? AS CHAR(64)) AS b"),
};

static const struct rlk_many_def acquire_one_seeing_line = {
	"acquire",
	"INSERT INTO business_lease (name, slot, session, attempt, "
	"acquired_at, expires_at, info) "
	"SELECT p.n, 0" BELL_OWNER ", p.c, p.a, UTC_TIMESTAMP(6), "
	"UTC_TIMESTAMP(6) + INTERVAL p.m MICROSECOND, p.i FROM ("
	"{SELECT ?0 COLLATE utf8mb4_bin AS n, ?1 AS c, ?2 AS a, ?3 AS m, "
	"?4 AS i, ?5 AS b|}) p "
	"WHERE NOT EXISTS (SELECT 1 FROM business_lease l "
	"WHERE l.name = p.n AND l.slot = 0) "
	"ON DUPLICATE KEY UPDATE name = name",
};

/* No attempt is ever another name's: so two lists find what pairs would. Where
 * a table has few rows, both servers would rather read it as a whole than by
 * its key, and wait for locks on any of its rows. A hint forbids that on MySQL
 * (Reference Manual, "Index-Level Optimizer Hints", since 8.0.20); on MariaDB
 * sql_safe_updates does, with which it uses a key wherever it can
 * (force_quick_range in SQL_SELECT::test_quick_select()). */
#define RELEASE_MANY                                                           \
	"FROM business_lease WHERE name IN ({?0|, }) AND slot = 0 "            \
	"AND attempt IN ({?1|, })"

static const struct rlk_many_def release_many_mariadb = {
	"release",
	"SET STATEMENT sql_safe_updates = 1 FOR "
	"DELETE " RELEASE_MANY " RETURNING attempt",
};

static const struct rlk_many_def release_many_mysql = {
	"release",
	"DELETE /*+ INDEX(business_lease PRIMARY) */ " RELEASE_MANY,
};

#define ACQUIRE_MANY                                                           \
	NO_WAIT "INSERT INTO business_lease (name, slot, session, attempt, "   \
		"acquired_at, expires_at, info) VALUES "                       \
		"{(?0, 0, ?1, ?2, UTC_TIMESTAMP(6), "                          \
		"UTC_TIMESTAMP(6) + INTERVAL ?3 MICROSECOND, ?4)|, } "         \
		"ON DUPLICATE KEY UPDATE name = name"

static const struct rlk_many_def acquire_many_mariadb = {
	"acquire",
	ACQUIRE_MANY,
};

static const struct rlk_many_def acquire_one_ringing_mariadb = {
	"acquire",
	ACQUIRE_MANY " RETURNING attempt, "
		     "{IF(attempt = ?2, GET_LOCK(?5, 0), 0)|}",
};

/* As the draw of one lease (strategy/lease.c). Without the hint a table of few
 * rows would be read, and so locked, as a whole. */
static const struct rlk_many_def draw_many_mariadb = {
	"token",
	"INSERT INTO lock_token (strategy, name, token, drawn_at, attempt) "
	"SELECT 'lease', name, " RLK_TOKEN_OF_NEW ", UTC_TIMESTAMP(6), attempt "
	"FROM business_lease FORCE INDEX (PRIMARY) WHERE name IN ({?0|, }) "
	"AND slot = 0 AND attempt IN ({?1|, }) LOCK IN SHARE MODE "
	"ON DUPLICATE KEY UPDATE token = " RLK_TOKEN_OF_NEXT ", "
	"drawn_at = VALUES(drawn_at), attempt = VALUES(attempt) "
	"RETURNING name, token",
};

static const struct rlk_many_def present_many = {
	"release",
	"SELECT attempt FROM business_lease WHERE name IN ({?0|, }) "
	"AND slot = 0 AND attempt IN ({?1|, })",
};

static const struct rlk_stmt_def release_ringing_mariadb = {
	"release",
	"DELETE FROM business_lease WHERE name = ? AND slot = ? "
	"AND attempt = ? RETURNING RELEASE_LOCK(?)",
};

/* The last condition is true: both servers are given the same parameters. */
static const struct rlk_stmt_def release_ringing_mysql = {
	"release",
	"DELETE FROM business_lease WHERE name = ? AND slot = ? "
	"AND attempt = ? AND ? IS NOT NULL",
};

/* Answers 1205 on MariaDB, 3572 on MySQL: RLK_BUSY in both. */
static const struct rlk_stmt_def row_try = {
	"try",
	"SELECT name FROM business_lock WHERE name = ? FOR UPDATE NOWAIT",
};

static const struct rlk_stmt_def row_wait = {
	"acquire",
	"SELECT name FROM business_lock WHERE name = ? FOR UPDATE",
	.waits = true,
};

static const struct rlk_stmt_def row_probe = {
	"probe",
	"SELECT name FROM business_lock WHERE name LIKE ? ESCAPE '!' "
	"AND (name > ? OR ? = 1) AND name <= ? ORDER BY name LIMIT ? "
	"FOR UPDATE SKIP LOCKED",
};

/* Transactions b in the way of r, that of the connection whose number follows.
 */
#define IN_THE_WAY_MARIADB                                                     \
	" FROM information_schema.INNODB_LOCK_WAITS w "                        \
	"JOIN information_schema.INNODB_TRX r "                                \
	"ON r.trx_id = w.requesting_trx_id "                                   \
	"JOIN information_schema.INNODB_TRX b "                                \
	"ON b.trx_id = w.blocking_trx_id "                                     \
	"WHERE b.trx_state <> 'LOCK WAIT' AND r.trx_mysql_thread_id = "

#define IN_THE_WAY_MYSQL                                                       \
	" FROM performance_schema.data_lock_waits w "                          \
	"JOIN performance_schema.threads r "                                   \
	"ON r.THREAD_ID = w.REQUESTING_THREAD_ID "                             \
	"JOIN performance_schema.threads b "                                   \
	"ON b.THREAD_ID = w.BLOCKING_THREAD_ID "                               \
	"JOIN performance_schema.data_locks l "                                \
	"ON l.ENGINE_LOCK_ID = w.BLOCKING_ENGINE_LOCK_ID "                     \
	"WHERE l.LOCK_STATUS = 'GRANTED' AND r.PROCESSLIST_ID = "

static const struct rlk_stmt_def blocker_mariadb = {
	"look who holds it",
	"SELECT b.trx_mysql_thread_id" IN_THE_WAY_MARIADB "?",
};

static const struct rlk_stmt_def blocker_mysql = {
	"look who holds it",
	"SELECT b.PROCESSLIST_ID" IN_THE_WAY_MYSQL "?",
};

/* MariaDB reads these tables from a copy that is up to 100 ms old, but not the
 * list of connections. */
static const struct rlk_many_def choose_blocker_mariadb = {
	"look who holds it",
	"SET @rowlock_holder = ({"
	"SELECT MAX(b.trx_mysql_thread_id)" IN_THE_WAY_MARIADB "?0"
	" AND b.trx_mysql_thread_id = ?1 AND EXISTS (SELECT 1 "
	"FROM information_schema.PROCESSLIST p "
	"WHERE p.ID = ?0 AND p.COMMAND <> 'Sleep')|})",
};

static const struct rlk_many_def choose_blocker_mysql = {
	"look who holds it",
	"SET @rowlock_holder = ({"
	"SELECT MAX(b.PROCESSLIST_ID)" IN_THE_WAY_MYSQL "?0"
	" AND b.PROCESSLIST_ID = ?1|})",
};

/* A waiter for a row also blocks those behind it, but does not hold it. InnoDB
 * shows times in the server's own time zone. */
static const struct rlk_stmt_def holders_mariadb = {
	"look who holds what",
	"SELECT l.lock_data, MAX(b.trx_mysql_thread_id), MAX(p.HOST), "
	"MAX(CONVERT_TZ(b.trx_started, 'SYSTEM', '+00:00')), "
	"MAX(TIMESTAMPDIFF(MICROSECOND, b.trx_started, "
	"CONVERT_TZ(UTC_TIMESTAMP(6), '+00:00', 'SYSTEM'))) "
	"FROM information_schema.INNODB_LOCK_WAITS w "
	"JOIN information_schema.INNODB_TRX b "
	"ON b.trx_id = w.blocking_trx_id "
	"JOIN information_schema.INNODB_LOCKS l "
	"ON l.lock_id = w.blocking_lock_id "
	"LEFT JOIN information_schema.PROCESSLIST p "
	"ON p.ID = b.trx_mysql_thread_id "
	"WHERE l.lock_table = CONCAT('`', REPLACE(DATABASE(), '`', '``'), "
	"'`.`business_lock`') AND COALESCE(b.trx_requested_lock_id, '') "
	"<> w.blocking_lock_id GROUP BY l.lock_data",
	.once = true,
};

/* A prepared transaction has no thread any more (MySQL Reference Manual, "XA
 * Transactions"). */
static const struct rlk_stmt_def holders_mysql = {
	"look who holds what",
	"SELECT l.LOCK_DATA, t.PROCESSLIST_ID, t.PROCESSLIST_HOST, "
	"UTC_TIMESTAMP(6) - INTERVAL e.TIMER_WAIT DIV 1000000 MICROSECOND, "
	"e.TIMER_WAIT DIV 1000000 "
	"FROM performance_schema.data_locks l "
	"LEFT JOIN performance_schema.threads t ON t.THREAD_ID = l.THREAD_ID "
	"LEFT JOIN performance_schema.events_transactions_current e "
	"ON e.THREAD_ID = l.THREAD_ID AND e.STATE = 'ACTIVE' "
	"WHERE l.OBJECT_SCHEMA = DATABASE() "
	"AND l.OBJECT_NAME = 'business_lock' AND l.LOCK_TYPE = 'RECORD' "
	"AND l.LOCK_STATUS = 'GRANTED' AND l.LOCK_MODE NOT LIKE '%,GAP%'",
	.once = true,
};

/* Where it is off its tables are empty. */
static const struct rlk_stmt_def holders_all_mysql = {
	"look who holds what",
	"SELECT CAST(@@performance_schema AS SIGNED)",
	.once = true,
};

/* MariaDB does not renew what it shows of InnoDB's locks before nobody has read
 * it for 100 ms: who looks more often sees old waits for rows. */

/* The connection of MariaDB's list p: how long it does what it does. QUERY_ID
 * counts statements in the order in which they came. A text is cut, as others
 * may have any: the comment with RLK_SQL_WHO is at the end of ours. */
#define WAITS_MARIADB                                                          \
	" p.ID, p.HOST,"                                                       \
	" UTC_TIMESTAMP(6) - INTERVAL p.TIME_MS * 1000 MICROSECOND,"           \
	" CAST(p.TIME_MS * 1000 AS SIGNED), RIGHT(p.INFO, 800), 0"

static const struct rlk_stmt_def waits_for_rows_mariadb = {
	"look who waits",
	"SELECT l.lock_data," WAITS_MARIADB
	" FROM information_schema.INNODB_TRX r"
	" JOIN information_schema.INNODB_LOCKS l"
	" ON l.lock_id = r.trx_requested_lock_id"
	" JOIN information_schema.PROCESSLIST p"
	" ON p.ID = r.trx_mysql_thread_id WHERE r.trx_state = 'LOCK WAIT'"
	" AND l.lock_table = CONCAT('`', REPLACE(DATABASE(), '`', '``'),"
	" '`.`business_lock`') ORDER BY p.QUERY_ID",
	.once = true,
};

/* MariaDB has no table of those who wait for a user-level lock, but the text of
 * their statement (strategy/bell.c): the first literal in it is the lock. */
static const struct rlk_stmt_def waits_in_line_mariadb = {
	"look who waits",
	"SELECT CONVERT(UNHEX(SUBSTRING_INDEX(SUBSTRING_INDEX("
	"LEFT(p.INFO, 100), '''', 2), '''', -1)) USING utf8mb4)," WAITS_MARIADB
	" FROM information_schema.PROCESSLIST p WHERE p.STATE = 'User lock'"
	" AND p.INFO LIKE 'SELECT CAST(GET!_LOCK(!_utf8mb4 X''726C623A%'"
	" ESCAPE '!' ORDER BY p.QUERY_ID",
	.once = true,
};

static const struct rlk_stmt_def line_owner_mariadb = {
	"look who waits",
	"SELECT p.ID, p.HOST FROM information_schema.PROCESSLIST p"
	" WHERE p.ID = IS_USED_LOCK(?)",
	.once = true,
};

/* MySQL Reference Manual, "The threads Table", "The events_statements_current
 * Table" (picoseconds), "The session_connect_attrs Table". */
#define WAITS_MYSQL                                                            \
	" t.PROCESSLIST_ID, CONCAT(t.PROCESSLIST_HOST, ':'),"                  \
	" UTC_TIMESTAMP(6) - INTERVAL e.TIMER_WAIT DIV 1000000 MICROSECOND,"   \
	" CAST(e.TIMER_WAIT DIV 1000000 AS SIGNED),"                           \
	" COALESCE(a.ATTR_VALUE, RIGHT(t.PROCESSLIST_INFO, 800)),"             \
	" l.LOCK_STATUS = 'GRANTED'"

#define WAITING_MYSQL                                                          \
	" LEFT JOIN performance_schema.events_statements_current e"            \
	" ON e.THREAD_ID = t.THREAD_ID AND e.NESTING_EVENT_LEVEL = 0"          \
	" LEFT JOIN performance_schema.session_connect_attrs a"                \
	" ON a.PROCESSLIST_ID = t.PROCESSLIST_ID"                              \
	" AND a.ATTR_NAME = '" RLK_SQL_WHO "'"

static const struct rlk_stmt_def waits_for_rows_mysql = {
	"look who waits",
	"SELECT l.LOCK_DATA," WAITS_MYSQL
	" FROM performance_schema.data_locks l"
	" JOIN performance_schema.threads t ON t.THREAD_ID = "
	"l.THREAD_ID" WAITING_MYSQL " WHERE l.OBJECT_SCHEMA = DATABASE()"
	" AND l.OBJECT_NAME = 'business_lock' AND l.LOCK_TYPE = 'RECORD'"
	" AND l.LOCK_STATUS = 'WAITING' ORDER BY e.TIMER_START",
	.once = true,
};

/* "The metadata_locks Table". Its rows are in no order. */
static const struct rlk_stmt_def waits_in_line_mysql = {
	"look who waits",
	"SELECT l.OBJECT_NAME," WAITS_MYSQL
	" FROM performance_schema.metadata_locks l"
	" JOIN performance_schema.threads t ON t.THREAD_ID = "
	"l.OWNER_THREAD_ID" WAITING_MYSQL
	" WHERE l.OBJECT_TYPE = 'USER LEVEL LOCK'"
	" AND l.OBJECT_NAME LIKE 'rlb:%' ORDER BY e.TIMER_START",
	.once = true,
};

static const struct rlk_stmt_def line_recorded_mysql = {
	"look who waits",
	"SELECT COUNT(*) FROM performance_schema.setup_instruments i"
	" JOIN performance_schema.setup_consumers c"
	" ON c.NAME = 'events_statements_current' AND c.ENABLED = 'YES'"
	" WHERE i.NAME = 'wait/lock/metadata/sql/mdl' AND i.ENABLED = 'YES'",
	.once = true,
};

/* Older MariaDBs have no id of their own (conn_setup.c): only then is there a
 * colon, which base64 does not have. */
const char *rlk_server_identity_sql(const struct rlk_server *server)
{
	if (server->flavour == RLK_MYSQL)
		return "@@server_uuid";
	return strchr(server->identity, ':')
		   ? "CONCAT(@@hostname, ':', @@port, " RLK_SERVER_IDS ")"
		   : "CONCAT(@@server_uid, " RLK_SERVER_IDS ")";
}

/* MariaDB Server Documentation, "wsrep_sync_wait": 1 is for what reads. MySQL
 * 8.4 Reference Manual, "group_replication_consistency": a variable of the
 * session that counts where a transaction begins, and cannot be set in one. */
const struct rlk_catch_up *rlk_server_catch_up(const struct rlk_server *server)
{
	static const struct rlk_catch_up galera = {
		.select = "SET STATEMENT wsrep_sync_wait = 1 FOR ",
	};
	static const struct rlk_catch_up group = {
		.select = "",
		.first = "SET @rowlock_consistency = "
			 "@@SESSION.group_replication_consistency, "
			 "SESSION group_replication_consistency = 'BEFORE'",
		.last = "SET SESSION group_replication_consistency = "
			"@rowlock_consistency",
	};
	/* There is no SET STATEMENT; to begin with, a word for the next
	 * transaction only, which is refused (1568) where one is open. */
	static const struct rlk_catch_up percona = {
		.select = "",
		.first = "SET @rowlock_sync_wait = @@SESSION.wsrep_sync_wait, "
			 "@@transaction_read_only = 0, "
			 "SESSION wsrep_sync_wait = 1",
		.last = "SET SESSION wsrep_sync_wait = @rowlock_sync_wait",
	};
	static const struct rlk_catch_up none = { .select = "" };

	if (server->flavour == RLK_MYSQL && server->galera)
		return &percona;
	if (server->flavour == RLK_MARIADB)
		return server->galera ? &galera : &none;
	return server->multi_primary ? &group : &none;
}

const struct rlk_dialect *rlk_server_dialect(const struct rlk_server *server)
{
	static const struct rlk_dialect mariadb = {
		.lease_acquire = &acquire_mariadb,
		.lease_acquire_returns_row = true,
		.lease_again = &look_and_acquire,
		.lease_release_many = &release_many_mariadb,
		.lease_acquire_many = &acquire_many_mariadb,
		.lease_acquire_one_ringing = &acquire_one_ringing_mariadb,
		.lease_draw_many = &draw_many_mariadb,
		.lease_acquire_ringing = &acquire_ringing_mariadb,
		.lease_release_ringing = &release_ringing_mariadb,
		.bell_fractions = true,
		.row_try = &row_try,
		.row_wait = &row_wait,
		.row_blocker = &blocker_mariadb,
		.row_choose_blocker = &choose_blocker_mariadb,
		.row_holders = &holders_mariadb,
		.waits_for_rows = &waits_for_rows_mariadb,
		.waits_in_line = &waits_in_line_mariadb,
		.line_owner = &line_owner_mariadb,
		.waits_privilege = "PROCESS ON *.*",
		.row_probe = &row_probe,
	};
	static const struct rlk_dialect mysql = {
		.lease_acquire = &look_and_acquire,
		.lease_acquire_returns_row = false,
		.lease_again = &look_and_acquire,
		.lease_acquire_seeing_line = &look_and_acquire_seeing_line,
		.lease_acquire_one_seeing_line = &acquire_one_seeing_line,
		.lease_release_many = &release_many_mysql,
		.lease_release_ringing = &release_ringing_mysql,
		.lease_present_many = &present_many,
		.row_try = &row_try,
		.row_wait = &row_wait,
		.row_blocker = &blocker_mysql,
		.row_choose_blocker = &choose_blocker_mysql,
		.row_holders = &holders_mysql,
		.row_holders_all = &holders_all_mysql,
		.waits_for_rows = &waits_for_rows_mysql,
		.waits_in_line = &waits_in_line_mysql,
		.line_recorded = &line_recorded_mysql,
		.waits_privilege = "SELECT ON performance_schema.*",
		.row_probe = &row_probe,
	};

	return server->flavour == RLK_MARIADB ? &mariadb : &mysql;
}
