/* SPDX-License-Identifier: MIT */
/*
 * Error numbers, sorted into what they mean for us.
 *
 * The errors that pass by themselves are in away.c. Two tables have others: the
 * class (the statement's outcome) and the code (reported to the caller). Only
 * the words of 1290 and 1047 tell which it is. A number in no table is "the
 * server refused", which is right for all the server's errors that do not
 * report a broken connection: an error packet on an autocommitted statement
 * means that it did nothing.
 *
 * Numbers: MariaDB Server Documentation, "MariaDB Error Code Reference"; MySQL
 * 8.4 Error Message Reference. Connector/C itself makes 2000 to 2999 and 5000
 * to 5999.
 */
#include "db/fault.h"

#include <string.h>

#include "base/macro.h"
#include "db/away.h"

struct entry {
	unsigned int number;
	int meaning;
};

static const struct entry classes[] = {
	{ 1205, RLK_BUSY }, /* lock wait timeout; NOWAIT on MariaDB */
	{ 3572, RLK_BUSY }, /* NOWAIT on MySQL */

	{ 1213, RLK_CONFLICT }, /* deadlock, or certification on Galera */
	{ 1020, RLK_CONFLICT }, /* row changed since the snapshot */
	{ 1412, RLK_CONFLICT }, /* the table's definition has changed */
	{ 3058, RLK_CONFLICT }, /* deadlock of GET_LOCK() */
	{ 3101, RLK_CONFLICT }, /* certification in Group Replication */

	{ 1317, RLK_KILLED }, /* KILL QUERY */
	{ 1969, RLK_KILLED }, /* max_statement_time */
	{ 3024, RLK_KILLED }, /* max_execution_time */

	/* Found by Connector/C before it sends anything. */
	{ 2029, RLK_FAILED }, /* null pointer */
	{ 2030, RLK_FAILED }, /* statement not prepared */
	{ 2031, RLK_FAILED }, /* no data for parameters */
	{ 2033, RLK_FAILED }, /* no parameters */
	{ 2034, RLK_FAILED }, /* invalid parameter number */
	{ 2036, RLK_FAILED }, /* unsupported parameter type */
};

static const struct entry codes[] = {
	{ 1044, ROWLOCK_EAUTH }, /* no access to this database */
	{ 1045, ROWLOCK_EAUTH }, /* wrong user or password */
	{ 1130, ROWLOCK_EAUTH }, /* host not allowed */
	{ 1142, ROWLOCK_EAUTH }, /* no right on a table */
	{ 1143, ROWLOCK_EAUTH }, /* no right on a column */
	{ 1227, ROWLOCK_EAUTH }, /* needs a privilege */
	{ 1251, ROWLOCK_EAUTH }, /* authentication protocol not supported */
	{ 1524, ROWLOCK_EAUTH }, /* the account's plugin is not loaded */
	{ 1698, ROWLOCK_EAUTH }, /* access denied, no password asked */
	{ 1820, ROWLOCK_EAUTH }, /* the password must be changed first */
	{ 1862, ROWLOCK_EAUTH }, /* the password has expired */
	{ 1873, ROWLOCK_EAUTH }, /* change of the user denied */
	{ 3118, ROWLOCK_EAUTH }, /* account locked (MySQL) */
	{ 3955, ROWLOCK_EAUTH }, /* too many failed logins (MySQL) */
	{ 4150, ROWLOCK_EAUTH }, /* too many failed logins (MariaDB) */
	{ 4151, ROWLOCK_EAUTH }, /* account locked (MariaDB) */
	{ 2059, ROWLOCK_EAUTH }, /* authentication plugin not loaded */
	{ 2061, ROWLOCK_EAUTH }, /* authentication plugin failed */

	{ 1046, ROWLOCK_ESCHEMA }, /* no database selected */
	{ 1049, ROWLOCK_ESCHEMA }, /* unknown database */
	{ 1054, ROWLOCK_ESCHEMA }, /* unknown column */
	{ 1136, ROWLOCK_ESCHEMA }, /* wrong number of columns */
	{ 1146, ROWLOCK_ESCHEMA }, /* no such table */
	{ 1176, ROWLOCK_ESCHEMA }, /* no such key */
	{ 1305, ROWLOCK_ESCHEMA }, /* no such routine */
	{ 1364, ROWLOCK_ESCHEMA }, /* a column that we do not know */

	{ 1064, ROWLOCK_EUNSUPPORTED }, /* does not know our syntax */
	{ 1235, ROWLOCK_EUNSUPPORTED }, /* not supported (yet) */
	{ 1661, ROWLOCK_EUNSUPPORTED }, /* logging: engines differ */
	{ 1662, ROWLOCK_EUNSUPPORTED }, /* logging: BINLOG_FORMAT = ROW */
	{ 1663, ROWLOCK_EUNSUPPORTED }, /* logging: only STATEMENT */
	{ 1665, ROWLOCK_EUNSUPPORTED }, /* logging: BINLOG_FORMAT STATEMENT */

	{ 2008, ROWLOCK_ENOMEM },
};

static const struct entry *find(const struct entry *entries, size_t count,
				unsigned int number)
{
	for (size_t i = 0; i < count; i++) {
		if (entries[i].number == number)
			return &entries[i];
	}
	return NULL;
}

bool rlk_fault_by_connector(unsigned int number)
{
	return (number >= 2000 && number < 3000) ||
	       (number >= 5000 && number < 6000);
}

enum rlk_fault rlk_fault_class(unsigned int mysql_errno)
{
	const struct entry *entry =
	    find(classes, RLK_ARRAY_SIZE(classes), mysql_errno);
	enum rlk_fault fault;
	int code;

	if (rlk_away(mysql_errno, &fault, &code))
		return fault;
	if (entry)
		return (enum rlk_fault) entry->meaning;
	return rlk_fault_by_connector(mysql_errno) ? RLK_UNKNOWN : RLK_REFUSED;
}

/* "The MariaDB server is running with the %s option so it cannot execute this
 * statement", in the language that lc_messages says; the option is the same in
 * all of them: sql/share/errmsg-utf8.txt (ER_OPTION_PREVENTS_STATEMENT). */
#define PREVENTED_BY_OPTION 1290

const char *rlk_fault_option(const char *text, size_t *ret_length)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
	const char *option = strstr(text, "--");

	if (!option || strspn(option, letters) < strlen("--x"))
		return NULL;
	*ret_length = strspn(option, letters);
	return option;
}

/* --read-only, --super-read-only, --innodb-read-only; where none is named, as
 * by something in between, it is most likely one of them. */
static bool is_read_only(const char *text)
{
	static const char ends[] = "read-only";
	const size_t count = strlen(ends);
	size_t length;
	const char *option = rlk_fault_option(text, &length);

	if (!option)
		return true;
	if (length < count)
		return false;
	option += length - count;
	return strncmp(option, "read", 4) == 0 &&
	       strncmp(option + 5, "only", 4) == 0;
}

/* "WSREP has not yet prepared node for application use", always in English
 * (MariaDB: sql/sql_parse.cc). Servers and proxies without Galera use the
 * number for a command that they do not know. */
#define NOT_READY 1047

bool rlk_fault_not_ready(unsigned int mysql_errno, const char *text)
{
	return mysql_errno == NOT_READY && strstr(text, "WSREP");
}

int rlk_fault_code(unsigned int mysql_errno, const char *text)
{
	const struct entry *entry =
	    find(codes, RLK_ARRAY_SIZE(codes), mysql_errno);
	enum rlk_fault fault;
	int code;

	if (rlk_away(mysql_errno, &fault, &code))
		return code;
	if (mysql_errno == PREVENTED_BY_OPTION)
		return is_read_only(text) ? ROWLOCK_EREADONLY : ROWLOCK_EDB;
	if (rlk_fault_not_ready(mysql_errno, text))
		return ROWLOCK_ECONNECT;
	if (entry)
		return entry->meaning;
	if (rlk_fault_class(mysql_errno) == RLK_UNKNOWN)
		return ROWLOCK_ECONNECT;
	return ROWLOCK_EDB;
}
