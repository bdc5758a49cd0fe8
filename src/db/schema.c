/* SPDX-License-Identifier: MIT */
/*
 * Are the tables what this library was written for?
 *
 * First the version that rowlock-migrate has recorded, then the facts: engine,
 * columns with type and collation, keys. The facts find a table that was made
 * by hand, or changed afterwards.
 *
 * The first statement also asks which server and which session answers.
 *
 * Failure modes: a missing or foreign table is a sentence that names it. All
 * facts come from information_schema, which shows an account the tables on
 * which it has any right: one that it does not show is asked for itself.
 * While a table is rebuilt or swapped (OPTIMIZE, RENAME) information_schema
 * leaves it out, or calls it a view without an engine, for a moment. So tables
 * are not as they must be only if each look in LOOK_MS says so. A check that is
 * interrupted begins anew.
 */
#include "db/schema.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "db/conn_private.h"
#include "db/stmt_private.h"

#define RUN "run 'rowlock-migrate'"
#define ANEW "DELETE FROM rowlock_schema WHERE version = 0, and " RUN
#define BY_HAND "make it as sql/schema has it"
#define SECRET_LEAST 16

/* How long the same look is repeated, and the pause between two. */
#define LOOK_MS 1500
#define PAUSE_MS 50

#define NAME "utf8mb4_bin"
#define ASCII "ascii_bin"

struct column {
	const char *table;
	const char *name;
	const char *type;      /* as COLUMN_TYPE begins, without widths */
	const char *collation; /* NULL: any */
	unsigned int key;      /* place in the primary key, 0: none */
};

static const struct column wanted[] = {
	{ "business_lock", "name", "varchar(100)", NAME, 1 },
	{ "business_lock", "info", "varchar(255)", NULL, 0 },
	{ "business_lock", "created_at", "datetime", NULL, 0 },
	{ "business_lease", "name", "varchar(100)", NAME, 1 },
	{ "business_lease", "slot", "int unsigned", NULL, 2 },
	{ "business_lease", "session", "bigint unsigned", NULL, 0 },
	{ "business_lease", "attempt", "bigint unsigned", NULL, 0 },
	{ "business_lease", "acquired_at", "datetime(6)", NULL, 0 },
	{ "business_lease", "expires_at", "datetime(6)", NULL, 0 },
	{ "business_lease", "info", "varchar(255)", NULL, 0 },
	{ "business_lease", "guards", "int unsigned", NULL, 0 },
	{ "lease_session", "id", "bigint unsigned", NULL, 1 },
	{ "lease_session", "ttl", "int unsigned", NULL, 0 },
	{ "lease_session", "expires_at", "datetime(6)", NULL, 0 },
	{ "lease_session", "beat", "bigint unsigned", NULL, 0 },
	{ "lease_session", "breaks", "bigint unsigned", NULL, 0 },
	{ "lease_session", "host", "varchar(255)", NULL, 0 },
	{ "lease_session", "pid", "int unsigned", NULL, 0 },
	{ "lease_session", "program", "varchar(255)", NULL, 0 },
	{ "lease_session", "started_at", "datetime(6)", NULL, 0 },
	{ "lock_token", "strategy", "varchar(8)", ASCII, 1 },
	{ "lock_token", "name", "varchar(100)", NAME, 2 },
	{ "lock_token", "token", "bigint unsigned", NULL, 0 },
	{ "lock_token", "drawn_at", "datetime(6)", NULL, 0 },
	{ "lock_token", "attempt", "bigint unsigned", NULL, 0 },
	{ "lock_token_floor", "id", "tinyint unsigned", NULL, 1 },
	{ "lock_token_floor", "token", "bigint unsigned", NULL, 0 },
	{ "lock_token_floor", "raised_at", "datetime(6)", NULL, 0 },
	{ "lock_permits", "name", "varchar(100)", NAME, 1 },
	{ "lock_permits", "permits", "int unsigned", NULL, 0 },
	{ "job_run", "name", "varchar(100)", NAME, 1 },
	{ "job_run", "run", "bigint unsigned", NULL, 2 },
	{ "job_run", "number", "bigint unsigned", NULL, 0 },
	{ "job_run", "attempt", "bigint unsigned", NULL, 0 },
	{ "job_run", "from_at", "datetime(6)", NULL, 0 },
	{ "job_run", "until_at", "datetime(6)", NULL, 0 },
	{ "job_run", "nth", "int unsigned", NULL, 0 },
	{ "job_run", "began_at", "datetime(6)", NULL, 0 },
	{ "job_run", "ended_at", "datetime(6)", NULL, 0 },
	{ "job_run", "code", "int", NULL, 0 },
	{ "job_run", "succeeded", "tinyint unsigned", NULL, 0 },
	{ "job_run", "host", "varchar(255)", NULL, 0 },
	{ "job_run", "pid", "int unsigned", NULL, 0 },
	{ "job_run", "program", "varchar(255)", NULL, 0 },
	{ "lease_revocation", "name", "varchar(100)", NAME, 1 },
	{ "lease_revocation", "attempt", "bigint unsigned", NULL, 2 },
	{ "lease_revocation", "request", "bigint unsigned", NULL, 0 },
	{ "lease_revocation", "answer", "tinyint unsigned", NULL, 0 },
	{ "lease_revocation", "host", "varchar(255)", NULL, 0 },
	{ "lease_revocation", "pid", "int unsigned", NULL, 0 },
	{ "lease_revocation", "program", "varchar(255)", NULL, 0 },
	{ "lease_revocation", "reason", "varchar(255)", NULL, 0 },
	{ "lease_revocation", "asked_at", "datetime(6)", NULL, 0 },
};

enum { WANTED = sizeof(wanted) / sizeof(wanted[0]) };

static const char *const tables[] = {
	"business_lock",    "business_lease", "lease_session", "lock_token",
	"lock_token_floor", "lock_permits",   RLK_JOB_RUN,     RLK_REVOCATION,
};

enum { TABLES_COUNT = sizeof(tables) / sizeof(tables[0]) };

#define TABLES                                                                 \
	"TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ('business_lock', "       \
	"'business_lease', 'lease_session', 'lock_token', "                    \
	"'lock_token_floor', 'lock_permits', '" RLK_JOB_RUN                    \
	"', '" RLK_REVOCATION "')"

static const struct rlk_stmt_def read_secret = {
	"schema",
	"SELECT secret FROM rowlock_schema WHERE version = 0",
};

static const struct rlk_stmt_def read_tables = {
	"schema",
	"SELECT TABLE_NAME, COALESCE(ENGINE, ''), TABLE_TYPE "
	"FROM information_schema.TABLES WHERE " TABLES,
};

static const struct rlk_stmt_def read_columns = {
	"schema",
	"SELECT TABLE_NAME, COLUMN_NAME, SUBSTRING(COLUMN_TYPE, 1, 100), "
	"COALESCE(COLLATION_NAME, '') "
	"FROM information_schema.COLUMNS WHERE " TABLES,
};

static const struct rlk_stmt_def read_keys = {
	"schema",
	"SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME, "
	"CAST(SEQ_IN_INDEX AS UNSIGNED), COALESCE(SUB_PART, 0) "
	"FROM information_schema.STATISTICS WHERE NON_UNIQUE = 0 AND " TABLES,
};

/* The schema as found, filled row by row; the first problem is kept. */
struct found {
	bool tables[TABLES_COUNT];
	bool columns[WANTED];
	bool keys[WANTED];
	char problem[256];
	char next[128]; /* what repairs it */
};

/* Note the first problem, and what repairs it. rowlock-migrate adopts a
 * business_lock as it is, or alters it, and repairs no other table. */
static void note(struct found *found, const char *table, const char *repair,
		 const char *format, ...) RLK_PRINTF(4, 5);

static void note(struct found *found, const char *table, const char *repair,
		 const char *format, ...)
{
	va_list args;

	if (found->problem[0])
		return;
	va_start(args, format);
	vsnprintf(found->problem, sizeof(found->problem), format, args);
	va_end(args);
	if (strcasecmp(table, "business_lock") == 0)
		snprintf(found->next, sizeof(found->next), RUN);
	else
		snprintf(found->next, sizeof(found->next),
			 "%s (rowlock-migrate repairs no table)", repair);
}

static bool is_there(const struct found *found, const char *table)
{
	for (size_t i = 0; i < TABLES_COUNT; i++)
		if (strcmp(table, tables[i]) == 0)
			return found->tables[i];
	return false;
}

static void see_table(const struct rlk_value *row, void *arg)
{
	struct found *found = arg;
	char alter[64];

	for (size_t i = 0; i < TABLES_COUNT; i++) {
		if (strcasecmp(row[0].text, tables[i]) != 0)
			continue;
		found->tables[i] = true;
		if (strcasecmp(row[1].text, "InnoDB") == 0)
			continue;
		snprintf(alter, sizeof(alter), "ALTER TABLE %s ENGINE = InnoDB",
			 tables[i]);
		note(found, tables[i], row[1].text[0] ? alter : BY_HAND,
		     "table %s is %s, not InnoDB", tables[i],
		     row[1].text[0] ? row[1].text : "a view");
	}
}

static const struct column *find_column(const struct rlk_value *table,
					const struct rlk_value *name)
{
	for (size_t i = 0; i < WANTED; i++) {
		if (strcasecmp(table->text, wanted[i].table) == 0 &&
		    strcasecmp(name->text, wanted[i].name) == 0)
			return &wanted[i];
	}
	return NULL;
}

/* MariaDB says "int(10) unsigned", MySQL "int unsigned". */
static bool same_type(const char *got, const char *expected)
{
	size_t length = strcspn(expected, "( ");

	if (strncasecmp(got, expected, length) != 0)
		return false;
	if (expected[length] == '(')
		return strncasecmp(got, expected, strlen(expected)) == 0;
	if (expected[length] == ' ')
		return strcasestr(got, "unsigned") != NULL;
	return got[length] == '\0' || got[length] == '(';
}

static void see_column(const struct rlk_value *row, void *arg)
{
	struct found *found = arg;
	const struct column *column = find_column(&row[0], &row[1]);

	if (!column)
		return;
	found->columns[column - wanted] = true;
	if (!same_type(row[2].text, column->type))
		note(found, column->table, BY_HAND,
		     "column %s.%s is %s, not %s", column->table, column->name,
		     row[2].text, column->type);
	else if (column->collation &&
		 strcasecmp(row[3].text, column->collation) != 0)
		note(found, column->table, BY_HAND,
		     "column %s.%s has the collation %s, not %s: it would "
		     "take different names for one",
		     column->table, column->name, row[3].text,
		     column->collation);
}

static void see_key(const struct rlk_value *row, void *arg)
{
	struct found *found = arg;
	const struct column *column = find_column(&row[0], &row[2]);

	if (strcmp(row[1].text, "PRIMARY") != 0) {
		note(found, row[0].text, BY_HAND,
		     "table %s has a unique key of its own, %s", row[0].text,
		     row[1].text);
		return;
	}
	if (row[4].u64)
		note(found, row[0].text, BY_HAND,
		     "the primary key of table %s has only the first "
		     "characters of column %s: it would take different "
		     "names for one",
		     row[0].text, row[2].text);
	else if (column && row[3].u64 == column->key)
		found->keys[column - wanted] = true;
	else
		note(found, row[0].text, BY_HAND,
		     "table %s has another primary key than it must have",
		     row[0].text);
}

static int refuse(struct rlk_conn *conn, const char *problem, const char *next,
		  struct rowlock_errinfo *reterr)
{
	return rlk_fail(reterr, ROWLOCK_ESCHEMA, "schema of %s: %s; %s",
			rlk_conn_server(conn)->name, problem, next);
}

/* This only reads, so whatever gives reads to one server and writes to another
 * gives it to the former; what the connection was opened with has locked
 * (conn_setup.c). Both have to be one session of one server. */
static int check_route(const struct rlk_conn *conn, const char *server,
		       const char *id, struct rowlock_errinfo *reterr)
{
	uint64_t number = id ? strtoull(id, NULL, 10) : 0;

	if (!server || !rlk_server_same(conn->server.identity, server))
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"%s: reads come from another server than "
				"locks, so something in between splits reads "
				"from writes; connect to the primary itself, "
				"or by a port that leads to nothing else",
				conn->server.name);
	if (number == conn->session.id)
		return 0;
	return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
			"%s: two statements of one connection were run by two "
			"sessions, %" PRIu64 " and %" PRIu64 ", so something "
			"in between shares sessions; turn that off "
			"(multiplexing, connection sharing), or connect to the "
			"server itself",
			conn->server.name, conn->session.id, number);
}

static int read_version(struct rlk_conn *conn, uint64_t *ret_version,
			struct rowlock_errinfo *reterr)
{
	MYSQL_RES *result = NULL;
	char text[200];
	MYSQL_ROW row;
	int code;

	snprintf(text, sizeof(text),
		 "SELECT MAX(version), %s, CONNECTION_ID() FROM rowlock_schema",
		 rlk_server_identity_sql(&conn->server));
	if (rlk_stmt_give_up(
		conn, rlk_stmt_query(conn, text, "schema", &result, reterr),
		reterr))
		return reterr->code;
	row = result && mysql_num_fields(result) == 3 ? mysql_fetch_row(result)
						      : NULL;
	code =
	    check_route(conn, row ? row[1] : NULL, row ? row[2] : NULL, reterr);
	if (!code && row[0])
		*ret_version = strtoull(row[0], NULL, 10);
	mysql_free_result(result);
	return code;
}

static int check_version(struct rlk_conn *conn, struct rowlock_errinfo *reterr)
{
	uint64_t version = 0;
	char problem[128];
	int code = read_version(conn, &version, reterr);

	if (code || (version >= RLK_SCHEMA_LEAST && version <= RLK_SCHEMA_MOST))
		return code;
	snprintf(problem, sizeof(problem),
		 "the tables have version %llu, this library works with %d to "
		 "%d",
		 (unsigned long long) version, RLK_SCHEMA_LEAST,
		 RLK_SCHEMA_MOST);
	return refuse(
	    conn, problem,
	    version < RLK_SCHEMA_LEAST ? RUN : "use a newer version of rowlock",
	    reterr);
}

/* Without one the names of bells would be anybody's to know. */
static int get_key(struct rlk_conn *conn, struct rlk_key *ret_key,
		   struct rowlock_errinfo *reterr)
{
	struct rlk_reply reply;

	if (rlk_stmt_give_up(
		conn, rlk_stmt_run(conn, &read_secret, NULL, &reply, reterr),
		reterr))
		return reterr->code;
	if (!reply.has_row || reply.columns[0].length < SECRET_LEAST)
		return refuse(conn,
			      "row 0 of table rowlock_schema has no secret",
			      reply.has_row ? ANEW : RUN, reterr);
	*ret_key = rlk_key_of(reply.columns[0].text);
	return 0;
}

/* The server refuses an account without a right by other words than a missing
 * table. */
static int fail_unseen(struct rlk_conn *conn, const char *table,
		       struct rowlock_errinfo *reterr)
{
	MYSQL_RES *result = NULL;
	char text[100];
	enum rlk_fault fault;

	snprintf(text, sizeof(text), "SELECT 1 FROM %s LIMIT 0", table);
	fault = rlk_stmt_query(conn, text, "schema", &result, reterr);
	mysql_free_result(result);
	if (fault && rlk_stmt_give_up(conn, fault, reterr) &&
	    reterr->code != ROWLOCK_ESCHEMA)
		return reterr->code;
	snprintf(text, sizeof(text), "table %s is not there", table);
	return refuse(conn, text, RUN, reterr);
}

static bool may_be_missing(const char *table)
{
	return strcmp(table, RLK_JOB_RUN) == 0 ||
	       strcmp(table, RLK_REVOCATION) == 0;
}

static int check_found(struct rlk_conn *conn, struct found *found,
		       struct rowlock_errinfo *reterr)
{
	for (size_t i = 0; i < TABLES_COUNT; i++)
		if (!found->tables[i] && !may_be_missing(tables[i]))
			return fail_unseen(conn, tables[i], reterr);
	for (size_t i = 0; i < WANTED; i++) {
		if (!is_there(found, wanted[i].table))
			continue;
		if (!found->columns[i])
			note(found, wanted[i].table, BY_HAND,
			     "column %s.%s is not there", wanted[i].table,
			     wanted[i].name);
		else if (wanted[i].key && !found->keys[i])
			note(found, wanted[i].table, BY_HAND,
			     "column %s.%s is not in the primary key",
			     wanted[i].table, wanted[i].name);
	}
	return found->problem[0]
		   ? refuse(conn, found->problem, found->next, reterr)
		   : 0;
}

static int check_once(struct rlk_conn *conn, struct rlk_key *ret_key,
		      struct rowlock_errinfo *reterr)
{
	static const struct {
		const struct rlk_stmt_def *def;
		rlk_row_fn fn;
	} looks[] = {
		{ &read_tables, see_table },
		{ &read_columns, see_column },
		{ &read_keys, see_key },
	};
	struct found found = { { false } };
	int code = check_version(conn, reterr);

	if (!code)
		code = get_key(conn, ret_key, reterr);
	if (code)
		return code;
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		if (rlk_stmt_each(conn, looks[i].def, NULL, looks[i].fn, &found,
				  reterr))
			return reterr->code;
	}
	return check_found(conn, &found, reterr);
}

static int check_uninterrupted(struct rlk_conn *conn, struct rlk_key *ret_key,
			       struct rowlock_errinfo *reterr)
{
	int tries = 0;
	int code;

	while ((code = check_once(conn, ret_key, reterr)) &&
	       rlk_fault_passes(rlk_fault_class(reterr->mysql))) {
		if (++tries < RLK_STMT_TRIES)
			continue;
		rlk_prefix(reterr,
			   "interrupted %d times in a row: ", RLK_STMT_TRIES);
		reterr->code = ROWLOCK_ECONNECT;
		return reterr->code;
	}
	return code;
}

/* Returns false if there is no time for another look. */
static bool pause_until(const struct rlk_conn *conn, int64_t until_ms)
{
	struct rlk_sleeper sleeper;
	int64_t next = rlk_conn_now(conn) + PAUSE_MS;

	if (next >= until_ms || next >= conn->until_ms ||
	    rlk_sleeper_init(&sleeper, conn->target->clock))
		return false;
	rlk_sleeper_wait(&sleeper, next, -1);
	rlk_sleeper_fini(&sleeper);
	return true;
}

int rlk_schema_check(struct rlk_conn *conn, struct rlk_key *ret_key,
		     struct rowlock_errinfo *reterr)
{
	int64_t until = rlk_conn_now(conn) + LOOK_MS;
	struct rowlock_errinfo own;
	int code;

	if (!reterr)
		reterr = &own;
	do
		code = check_uninterrupted(conn, ret_key, reterr);
	while (code == ROWLOCK_ESCHEMA && pause_until(conn, until));
	if (!code)
		rlk_refusal_begin(conn->target->refusal);
	return code;
}
