/* SPDX-License-Identifier: MIT */
/*
 * Asks the server why it refuses, for an advice that is true there.
 *
 * The number of an error alone leads astray: rights may be missing because they
 * come from a role that is not active, and tables because they are in another
 * database of the same server.
 *
 * Failure modes: a server that does not answer, or has no such table of
 * information_schema (MySQL before 8.0.19), leaves the advice as it was.
 */
#include "db/advice.h"

#include <mysql.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/macro.h"
#include "db/conn.h"
#include "db/stmt_private.h"

static const char idle_role[] =
    "SELECT MIN(ROLE_NAME) FROM information_schema.APPLICABLE_ROLES "
    "WHERE ROLE_NAME NOT IN (SELECT ROLE_NAME FROM "
    "information_schema.ENABLED_ROLES WHERE ROLE_NAME IS NOT NULL)";

static const char other_database[] =
    "SELECT MIN(TABLE_SCHEMA) FROM information_schema.TABLES "
    "WHERE TABLE_NAME = 'rowlock_schema' AND NOT TABLE_SCHEMA <=> DATABASE()";

static const char this_database[] = "SELECT DATABASE()";

struct answer {
	char text[200];
};

/* False: no answer, or NULL. */
static bool ask(struct rlk_conn *conn, const char *sql,
		struct answer *ret_answer)
{
	struct rowlock_errinfo ignored;
	MYSQL_RES *result = NULL;
	MYSQL_ROW row = NULL;
	bool found;

	if (!rlk_conn_usable(conn) ||
	    rlk_stmt_query(conn, sql, "advice", &result, &ignored))
		return false;
	if (result && mysql_num_fields(result) == 1)
		row = mysql_fetch_row(result);
	found = row && row[0];
	if (found)
		snprintf(ret_answer->text, sizeof(ret_answer->text), "%s",
			 row[0]);
	mysql_free_result(result);
	return found;
}

bool rlk_is_servers_database(const char *name)
{
	static const char *const names[] = { "mysql", "sys",
					     "information_schema",
					     "performance_schema" };

	for (size_t i = 0; i < RLK_ARRAY_SIZE(names); i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	return false;
}

/* In the place of the advice that the number has led to, behind "; ". */
static void replace(struct rowlock_errinfo *reterr, const char *format, ...)
    RLK_PRINTF(2, 3);

static void replace(struct rowlock_errinfo *reterr, const char *format, ...)
{
	char *message = reterr->message, *end = NULL;
	size_t used;
	va_list args;

	for (char *at = message; (at = strstr(at, "; ")); at++)
		end = at;
	if (!end)
		end = message + strlen(message);
	used = (size_t) (end - message);
	used += (size_t) snprintf(end, sizeof(reterr->message) - used, "; ");
	if (used >= sizeof(reterr->message))
		return;
	va_start(args, format);
	vsnprintf(message + used, sizeof(reterr->message) - used, format, args);
	va_end(args);
}

static bool is_refused_table(unsigned int number)
{
	return number == 1044 || /* no right on the database */
	       number == 1142;   /* no right on it, or it is not there */
}

static bool is_no_table(unsigned int number)
{
	return is_refused_table(number) ||
	       number == 1109 || /* unknown in information_schema */
	       number == 1146;   /* an account without rights gets 1142 */
}

static void advise_database(struct rlk_conn *conn, int code,
			    struct rowlock_errinfo *reterr)
{
	struct answer other, this;
	bool servers = ask(conn, this_database, &this) &&
		       rlk_is_servers_database(this.text);

	if (ask(conn, other_database, &other))
		replace(reterr,
			"name the database '%s' of this server, which has the "
			"tables, in the dsn or the option file%s",
			other.text,
			code == ROWLOCK_ESCHEMA && !servers
			    ? ", or run 'rowlock-migrate' for this one"
			    : "");
	else if (servers)
		replace(reterr,
			"'%s' is the server's own: name another database in "
			"the dsn or the option file",
			this.text);
}

bool rlk_idle_role(struct rlk_conn *conn, char *role, size_t size)
{
	struct answer answer;
	bool found = ask(conn, idle_role, &answer);

	if (found)
		snprintf(role, size, "%s", answer.text);
	return found;
}

int rlk_advise(struct rlk_conn *conn, int code, struct rowlock_errinfo *reterr)
{
	struct answer role;

	if (!reterr || (code != ROWLOCK_EAUTH && code != ROWLOCK_ESCHEMA &&
			!is_no_table(reterr->mysql)))
		return code;
	if ((code == ROWLOCK_EAUTH || is_refused_table(reterr->mysql)) &&
	    ask(conn, idle_role, &role))
		replace(reterr,
			"the account has the role '%s', which is not active, "
			"and may lack what that may do: make it its default "
			"(SET DEFAULT ROLE)",
			role.text);
	/* Else the tables are there, and not as they must be. */
	else if (is_no_table(reterr->mysql))
		advise_database(conn, code, reterr);
	return code;
}
