/* SPDX-License-Identifier: MIT */
/*
 * The session's state: set it, then believe only what is read back.
 *
 * A server's global settings, init_connect, a proxy or the user's init-command
 * may have left anything: autocommit off (our INSERT would never commit), a
 * sql_mode that cuts names, a frozen clock. So one SET sets all we rely on, and
 * one SELECT reads it back together with what we need to know of the server.
 * Two round trips; none of it needs a privilege.
 *
 * Failure modes: the message names a variable that is not as set. A statement
 * that is interrupted, by a KILL QUERY or a limit of time, is sent again.
 */
#include "db/conn_setup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "db/engine.h"
#include "db/peer.h"
#include "db/server_private.h"
#include "db/stmt_private.h"

/* MariaDB Server Documentation, "Server System Variables"; MySQL Reference
 * Manual, "Server System Variables". A NULL name: this server has none. */
struct setting {
	const char *mariadb;
	const char *mysql;
	const char *value; /* as written in SET; %u: see number */
	const char *read;  /* as read back; NULL: the same */
	unsigned int number;
};

enum { SETTINGS = 23 };

/* If a batch's client falls silent after one of its statements has failed,
 * leases stay locked this long; shorter than any session lives. */
#define PACKET_TRANSACTION_S 1

/* A row is waited for in slices, the table for a moment only: DDL may have
 * it, or may keep others from it while it waits for somebody's hold to end. */
#define TABLE_WAIT_S 1

static void list_settings(const struct rlk_conn *conn,
			  struct setting *ret_settings)
{
	const struct rlk_conn_profile *profile = &conn->profile;
	const bool snapshot = rlk_server_has_snapshot(&conn->server);
	const unsigned int table_wait_s =
	    profile->autocommit ? profile->lock_wait_s : TABLE_WAIT_S;
	const unsigned int exact_s =
	    conn->server.flavour == RLK_MARIADB ? profile->exact_wait_s : 0;
	const struct setting settings[SETTINGS] = {
		{ "autocommit", "autocommit", "%u", NULL, profile->autocommit },
		{ "tx_isolation", "transaction_isolation", "'READ-COMMITTED'",
		  "READ-COMMITTED" },
		{ "tx_read_only", "transaction_read_only", "0" },
		{ "sql_mode", "sql_mode",
		  "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
		  "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION" },
		{ "time_zone", "time_zone", "'+00:00'", "+00:00" },
		{ "innodb_lock_wait_timeout", "innodb_lock_wait_timeout", "%u",
		  NULL, exact_s ? exact_s : profile->lock_wait_s },
		{ "lock_wait_timeout", "lock_wait_timeout", "%u", NULL,
		  table_wait_s },
		{ "wait_timeout", "wait_timeout", "%u", NULL, profile->idle_s },
		/* wait_timeout bounds a silent holder; nothing else may. But a
		 * packet's transaction has no business to outlive it. */
		{ "idle_transaction_timeout", NULL, "%u", NULL,
		  profile->packets ? PACKET_TRANSACTION_S : 0 },
		{ "idle_write_transaction_timeout", NULL, "0" },
		{ "idle_readonly_transaction_timeout", NULL, "0" },
		{ "completion_type", "completion_type", "'NO_CHAIN'",
		  "NO_CHAIN" },
		{ "sql_safe_updates", "sql_safe_updates", "0" },
		{ "sql_auto_is_null", "sql_auto_is_null", "0" },
		{ "sql_big_selects", "sql_big_selects", "1" },
		{ "sql_select_limit", "sql_select_limit",
		  "18446744073709551615" },
		{ "unique_checks", "unique_checks", "1" },
		{ "foreign_key_checks", "foreign_key_checks", "1" },
		{ "max_statement_time", NULL, "0", "0.000000" },
		{ NULL, "max_execution_time", "0" },
		{ "net_read_timeout", "net_read_timeout", "%u", NULL,
		  RLK_NET_READ_S },
		{ "net_write_timeout", "net_write_timeout", "60" },
		{ snapshot ? "innodb_snapshot_isolation" : NULL, NULL, "0" },
	};

	memcpy(ret_settings, settings, sizeof(settings));
}

/* How far the time of a statement's start is from the time now, in
 * microseconds: far, if the session's clock stands still. */
#define DRIFT "ABS(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), SYSDATE(6)))"

/* The SELECT's columns after the settings. */
enum fact {
	FACT_CLIENT_CHARSET,
	FACT_DATABASE,
	FACT_ID,
	FACT_MARK,
	FACT_VERSION,
	FACT_SERVER,
	FACT_GALERA,
	FACT_MULTI,
	FACT_READ_ONLY,
	FACT_PORT,
	FACT_DRIFT,
	FACT_COMMENT,
	FACT_START, /* the last one: see was_cut_short() */
	FACTS,
};

/* Uptime counts from the server's start to this statement's start, by the same
 * clock: the difference is the start, to the second, however the clock jumps.
 * Both tables of status can be read by every account. The %s is GET_LOCK().
 *
 * No table is locked: FOR UPDATE is for what is in between, and gives reads to
 * one server and writes to another. It takes this for a write, so the server
 * that answers is the one that locks; the schema's check, which only reads,
 * compares (schema.c). */
#define LOCKS " FOR UPDATE"

/* clang-format off */
static const char facts_mariadb[] =
	", CONCAT(@@character_set_client, ' ', @@collation_connection)"
	", DATABASE(), CONNECTION_ID(), %s, VERSION()"
	", CONCAT(COALESCE((SELECT VARIABLE_VALUE"
	" FROM information_schema.SESSION_VARIABLES"
	" WHERE VARIABLE_NAME = 'SERVER_UID'),"
	" CONCAT(@@hostname, ':', @@port)), " RLK_SERVER_IDS ")"
	", (SELECT VARIABLE_VALUE FROM information_schema.SESSION_VARIABLES"
	" WHERE VARIABLE_NAME = 'WSREP_ON')"
	", NULL"
	", CONCAT_WS(' ', @@read_only, @@innodb_read_only)"
	", @@port"
	", " DRIFT ", @@version_comment"
	", (SELECT CAST(UNIX_TIMESTAMP() - VARIABLE_VALUE AS SIGNED)"
	" FROM information_schema.GLOBAL_STATUS"
	" WHERE VARIABLE_NAME = 'UPTIME')" LOCKS;

#define MYSQL_VARIABLE                                                         \
	"(SELECT VARIABLE_VALUE FROM performance_schema.global_variables"      \
	" WHERE VARIABLE_NAME = "

static const char facts_mysql[] =
	", CONCAT(@@character_set_client, ' ', @@collation_connection)"
	", DATABASE(), CONNECTION_ID(), %s, VERSION(), @@server_uuid"
	", " MYSQL_VARIABLE "'wsrep_on')"
	", IF(COALESCE(" MYSQL_VARIABLE "'group_replication_group_name'), '')"
	" <> '', " MYSQL_VARIABLE "'group_replication_single_primary_mode'),"
	" NULL)"
	", CONCAT_WS(' ', @@read_only, @@innodb_read_only, @@super_read_only)"
	", @@port"
	", " DRIFT ", @@version_comment"
	", (SELECT CAST(UNIX_TIMESTAMP() - VARIABLE_VALUE AS SIGNED)"
	" FROM performance_schema.global_status"
	" WHERE VARIABLE_NAME = 'Uptime')" LOCKS;
/* clang-format on */

#define CHARSET "utf8mb4 utf8mb4_bin"

/* A session with init_connect = 'SET timestamp = ...' has a frozen clock. */
#define DRIFT_MAX_US 60000000.0

static const char *name_of(const struct rlk_conn *conn,
			   const struct setting *setting)
{
	return conn->server.flavour == RLK_MARIADB ? setting->mariadb
						   : setting->mysql;
}

static void value_of(const struct setting *setting, char *buffer, size_t size)
{
	if (strcmp(setting->value, "%u") == 0)
		snprintf(buffer, size, "%u", setting->number);
	else
		snprintf(buffer, size, "%s", setting->value);
}

/* SET NAMES ..., a = 1, b = 2; with @clock also the session's clock, which a
 * server with secure_timestamp does not let us touch. */
static void write_set(struct rlk_conn *conn, const struct setting *settings,
		      bool clock, FILE *sql)
{
	fputs("SET NAMES utf8mb4 COLLATE utf8mb4_bin", sql);
	if (clock)
		fputs(", timestamp = DEFAULT", sql);
	for (size_t i = 0; i < SETTINGS; i++) {
		const char *name = name_of(conn, &settings[i]);
		char value[64];

		value_of(&settings[i], value, sizeof(value));
		if (name)
			fprintf(sql, ", SESSION %s = %s", name, value);
	}
}

static void write_read(struct rlk_conn *conn, const struct setting *settings,
		       bool mark, FILE *sql)
{
	char get_lock[96] = "NULL";

	if (mark)
		snprintf(get_lock, sizeof(get_lock), "GET_LOCK('%s', 0)",
			 conn->session.mark);
	fputs("SELECT 0", sql);
	for (size_t i = 0; i < SETTINGS; i++) {
		const char *name = name_of(conn, &settings[i]);

		if (name)
			fprintf(sql, ", @@SESSION.%s", name);
		else
			fputs(", NULL", sql);
	}
	fprintf(sql,
		conn->server.flavour == RLK_MARIADB ? facts_mariadb
						    : facts_mysql,
		get_lock);
}

static enum rlk_fault query_nothing(struct rlk_conn *conn, const char *sql,
				    struct rowlock_errinfo *reterr)
{
	MYSQL_RES *result = NULL;
	enum rlk_fault fault =
	    rlk_stmt_insist(conn, sql, "session", &result, reterr);

	if (fault == RLK_DONE)
		mysql_free_result(result);
	return fault;
}

typedef void (*write_fn)(struct rlk_conn *conn, const struct setting *settings,
			 bool all, FILE *sql);

/* The statement that @write makes; without @all of what some refuse. */
static enum rlk_fault say(struct rlk_conn *conn, write_fn write,
			  const struct setting *settings, bool all,
			  MYSQL_RES **ret_result,
			  struct rowlock_errinfo *reterr)
{
	char text[4096] = "";
	FILE *sql = fmemopen(text, sizeof(text), "w");

	if (!sql) {
		rlk_fail(reterr, ROWLOCK_ENOMEM, "session: out of memory");
		return RLK_FAILED;
	}
	write(conn, settings, all, sql);
	fclose(sql);
	return rlk_stmt_insist(conn, text, "session", ret_result, reterr);
}

static int check_state(struct rlk_conn *conn, const struct setting *settings,
		       const char *const *cells, struct rowlock_errinfo *reterr)
{
	for (size_t i = 0; i < SETTINGS; i++) {
		const struct setting *setting = &settings[i];
		const char *name = name_of(conn, setting);
		const char *got = cells[i] ? cells[i] : "NULL";
		char expected[64];

		value_of(setting, expected, sizeof(expected));
		if (!name ||
		    strcmp(setting->read ? setting->read : expected, got) == 0)
			continue;
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"session: %s of %s is '%s' after it was set to "
				"%s; is there a proxy in between?",
				name, conn->where, got, expected);
	}
	return 0;
}

static bool is_on(const char *cell)
{
	return cell && (strstr(cell, "1") || strstr(cell, "ON"));
}

/* Connector/C goes to the socket file if no host or "localhost" is named, and
 * forgets the port, so a second server on this machine is not the one meant. */
static int check_port(const struct rlk_conn *conn, const char *port,
		      struct rowlock_errinfo *reterr)
{
	unsigned int named = conn->mysql->options.port;

	if (!conn->port_named || !rlk_peer_is_file(conn) ||
	    (port && strtoul(port, NULL, 10) == named))
		return 0;
	return rlk_fail(reterr, ROWLOCK_EINVAL,
			"connect to %s: port %u is asked for, and the server "
			"behind this socket file listens on port %s; a port "
			"counts over TCP only: write host=127.0.0.1, or leave "
			"the port out",
			conn->where, named, port ? port : "NULL");
}

static int check_facts(struct rlk_conn *conn, const char *const *facts,
		       struct rowlock_errinfo *reterr)
{
	const char *charset = facts[FACT_CLIENT_CHARSET];

	if (!charset || strcmp(charset, CHARSET) != 0)
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"session: character set and collation of %s "
				"are '%s' after they were set to '%s'",
				conn->where, charset ? charset : "NULL",
				CHARSET);
	if (!facts[FACT_DATABASE])
		return rlk_fail(reterr, ROWLOCK_ESCHEMA,
				"session: no database is selected on %s; name "
				"it in the dsn (database=...) or the option "
				"file",
				conn->where);
	return check_port(conn, facts[FACT_PORT], reterr);
}

static bool clock_moves(const char *drift)
{
	return drift && strtod(drift, NULL) <= DRIFT_MAX_US;
}

static void learn(struct rlk_conn *conn, const char *const *facts)
{
	struct rlk_server *server = &conn->server;

	conn->session.id =
	    facts[FACT_ID] ? strtoull(facts[FACT_ID], NULL, 10) : 0;
	/* The greeting has 32 bits of it. */
	conn->session.renumbered = (uint32_t) conn->session.id !=
				   (uint32_t) mysql_thread_id(conn->mysql);
	server->galera = is_on(facts[FACT_GALERA]);
	server->multi_primary = facts[FACT_MULTI] && !is_on(facts[FACT_MULTI]);
	server->read_only = is_on(facts[FACT_READ_ONLY]);
	snprintf(server->identity, sizeof(server->identity), "%s@%s",
		 facts[FACT_SERVER] ? facts[FACT_SERVER] : "",
		 facts[FACT_START] ? facts[FACT_START] : "");
	/* On Galera it would ring on this node only. */
	if (server->galera || !is_on(facts[FACT_MARK]))
		conn->session.mark[0] = '\0';
}

static int read_back(struct rlk_conn *conn, const struct setting *settings,
		     MYSQL_RES *result, bool *ret_moves,
		     struct rowlock_errinfo *reterr)
{
	MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
	const char *const *cells = (const char *const *) row;
	int error;

	if (!row || mysql_num_fields(result) != 1 + SETTINGS + FACTS)
		return rlk_fail(reterr, ROWLOCK_EDB,
				"session: %s did not tell its state",
				conn->where);
	cells++; /* the 0 that the list begins with */
	error = rlk_engine_check(cells[SETTINGS + FACT_VERSION],
				 cells[SETTINGS + FACT_COMMENT], conn->where,
				 reterr);
	if (!error)
		error = check_state(conn, settings, cells, reterr);
	if (!error)
		error = check_facts(conn, cells + SETTINGS, reterr);
	if (error)
		return error;
	*ret_moves = clock_moves(cells[SETTINGS + FACT_DRIFT]);
	learn(conn, cells + SETTINGS);
	return rlk_server_learn(&conn->server, cells[SETTINGS + FACT_VERSION],
				conn->where, reterr);
}

/* MySQL does not refuse this, so the server may be no MySQL. */
static int who_refuses(struct rlk_conn *conn, struct rowlock_errinfo *reterr)
{
	static const char ask[] = "SELECT VERSION(), @@version_comment";
	struct rowlock_errinfo why;
	MYSQL_RES *result = NULL;
	MYSQL_ROW row;
	int code = 0;

	if (rlk_stmt_insist(conn, ask, "session", &result, &why) != RLK_DONE)
		return 0;
	row = result ? mysql_fetch_row(result) : NULL;
	if (row && mysql_num_fields(result) == 2)
		code = rlk_engine_check(row[0], row[1], conn->where, reterr);
	mysql_free_result(result);
	return code;
}

/* A connection may be given to us inside a transaction (init_connect, a proxy),
 * in which nothing that we say is committed. */
static enum rlk_fault end_transaction(struct rlk_conn *conn,
				      struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault;

	if (!(conn->mysql->server_status & SERVER_STATUS_IN_TRANS))
		return RLK_DONE;
	fault = query_nothing(conn, "ROLLBACK", reterr);
	if (fault || !(conn->mysql->server_status & SERVER_STATUS_IN_TRANS))
		return fault;
	rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
		 "session: a transaction is open on a new connection to %s, "
		 "and again after ROLLBACK; is there a proxy in between that "
		 "begins one?",
		 conn->where);
	return RLK_REFUSED;
}

/* MariaDB may answer a killed SELECT by a row whose later subqueries are NULL:
 * it would be taken for another server, or a node of Galera for none. */
static bool was_cut_short(MYSQL_RES *result)
{
	MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
	bool cut = !row || (mysql_num_fields(result) == 1 + SETTINGS + FACTS &&
			    !row[SETTINGS + FACTS]);

	if (result)
		mysql_data_seek(result, 0);
	return cut;
}

/* A MySQL without its performance_schema never tells the last one. */
static enum rlk_fault read_whole(struct rlk_conn *conn,
				 const struct setting *settings, bool mark,
				 MYSQL_RES **ret_result,
				 struct rowlock_errinfo *reterr)
{
	for (int tries = 0; tries < RLK_STMT_TRIES; tries++) {
		enum rlk_fault fault;

		mysql_free_result(TAKE_PTR(*ret_result));
		fault =
		    say(conn, write_read, settings, mark, ret_result, reterr);
		if (fault || !was_cut_short(*ret_result))
			return fault;
	}
	if (conn->server.flavour == RLK_MYSQL || !*ret_result ||
	    !mysql_num_rows(*ret_result))
		return RLK_DONE;
	mysql_free_result(TAKE_PTR(*ret_result));
	rlk_fail_db(reterr, ROWLOCK_EDB, 1317, "session: its state is cut");
	return RLK_KILLED;
}

/* The two statements, each with what is left out where it is not allowed. */
static enum rlk_fault set_and_read(struct rlk_conn *conn,
				   const struct setting *settings,
				   MYSQL_RES **ret_result,
				   struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault =
	    say(conn, write_set, settings, true, ret_result, reterr);

	if (fault == RLK_REFUSED)
		fault =
		    say(conn, write_set, settings, false, ret_result, reterr);
	if (fault == RLK_DONE)
		fault = end_transaction(conn, reterr);
	if (fault != RLK_DONE)
		return fault;
	fault = read_whole(conn, settings, true, ret_result, reterr);
	/* Some servers and proxies have no GET_LOCK(). */
	if (fault == RLK_REFUSED)
		fault = read_whole(conn, settings, false, ret_result, reterr);
	return fault;
}

static int fail_state(struct rlk_conn *conn, enum rlk_fault fault,
		      const struct rowlock_errinfo *error,
		      struct rowlock_errinfo *reterr)
{
	if (fault == RLK_PENDING)
		return rlk_fail_db(reterr, ROWLOCK_ECONNECT, 2013,
				   "connect to %s: no answer in time",
				   conn->where);
	if (rlk_fault_passes(fault))
		return rlk_fail_db(reterr, ROWLOCK_ECONNECT, error->mysql,
				   "connect to %s: interrupted %d times in a "
				   "row: %s",
				   conn->where, RLK_STMT_TRIES, error->message);
	if (reterr)
		*reterr = *error;
	return error->code;
}

/* On Galera another node may not have applied yet what this client wrote, and
 * its own session's row would look evicted: each statement waits until all
 * that is committed in the cluster has arrived (MariaDB Server Documentation,
 * "wsrep_sync_wait"). And a node that runs a statement again after a conflict
 * answers an INSERT ... RETURNING with the rows of both runs, so that one looks
 * made that is not there (tests/galera): the conflict comes to us instead
 * ("wsrep_retry_autocommit"). */
static enum rlk_fault say_galera(struct rlk_conn *conn,
				 struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault =
	    query_nothing(conn,
			  "SET SESSION wsrep_sync_wait = 7, SESSION "
			  "wsrep_retry_autocommit = 0",
			  reterr);

	/* Percona XtraDB Cluster has the second for all sessions (its manual,
	 * "Index of wsrep system variables": global, not dynamic). */
	if (fault == RLK_REFUSED && conn->server.flavour == RLK_MYSQL)
		fault = query_nothing(conn, "SET SESSION wsrep_sync_wait = 7",
				      reterr);
	return fault;
}

static int set_galera(struct rlk_conn *conn, struct rowlock_errinfo *reterr)
{
	static const char read[] = "SELECT CONCAT(@@wsrep_sync_wait, ' ', "
				   "@@wsrep_retry_autocommit)";
	struct rowlock_errinfo why = { 0 };
	MYSQL_RES *result = NULL;
	enum rlk_fault fault;
	MYSQL_ROW row;
	int code = 0;
	/* MySQL answers with counts, which are of the last run only. */
	size_t most = conn->server.flavour == RLK_MYSQL ? 2 : 4;

	if (!conn->server.galera)
		return 0;
	fault = say_galera(conn, &why);
	if (fault == RLK_DONE)
		fault = rlk_stmt_insist(conn, read, "session", &result, &why);
	if (fault != RLK_DONE)
		return fail_state(conn, fault, &why, reterr);
	row = result ? mysql_fetch_row(result) : NULL;
	if (!row || !row[0] || strncmp(row[0], "7 0", most) != 0)
		code = rlk_fail(
		    reterr, ROWLOCK_EUNSUPPORTED,
		    "session: wsrep_sync_wait and wsrep_retry_autocommit of %s "
		    "are '%s' after they were set to '7 0'; is there a proxy "
		    "in between?",
		    conn->where, row && row[0] ? row[0] : "NULL");
	mysql_free_result(result);
	return code;
}

/* The server's clock may have jumped between the two times that the first
 * statement compared. One that stands still does so again. */
static int look_at_clock_again(struct rlk_conn *conn,
			       struct rowlock_errinfo *reterr)
{
	struct rowlock_errinfo why = { 0 };
	MYSQL_RES *result = NULL;
	enum rlk_fault fault;
	MYSQL_ROW row;
	bool moves;

	fault =
	    rlk_stmt_insist(conn, "SELECT " DRIFT, "session", &result, &why);
	if (fault != RLK_DONE)
		return fail_state(conn, fault, &why, reterr);
	row = result ? mysql_fetch_row(result) : NULL;
	moves = row && clock_moves(row[0]);
	mysql_free_result(result);
	if (moves)
		return 0;
	return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
			"session: the clock of %s stands still for this "
			"session; look for 'SET timestamp' in init_connect",
			conn->where);
}

int rlk_session_setup(struct rlk_conn *conn, struct rowlock_errinfo *reterr)
{
	struct rowlock_errinfo why = { 0 };
	struct setting settings[SETTINGS];
	MYSQL_RES *result = NULL;
	bool moves = false;
	enum rlk_fault fault;
	int error =
	    rlk_server_learn(&conn->server, mysql_get_server_info(conn->mysql),
			     conn->where, reterr);

	if (error)
		return error;
	list_settings(conn, settings);
	snprintf(conn->session.mark, sizeof(conn->session.mark),
		 "rl:%016" PRIx64, rlk_random());
	fault = set_and_read(conn, settings, &result, &why);
	if (fault == RLK_REFUSED && (error = who_refuses(conn, reterr)))
		return error;
	if (fault != RLK_DONE)
		return fail_state(conn, fault, &why, reterr);
	error = read_back(conn, settings, result, &moves, reterr);
	mysql_free_result(result);
	if (!error && !moves)
		error = look_at_clock_again(conn, reterr);
	return error ? error : set_galera(conn, reterr);
}
