// SPDX-License-Identifier: MIT
/*
 * What the tests of the proxy share: a proxy before the server, plain clients
 * by way of it, and an effect in the server that all can see.
 */
#include "proxy_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql.h"

struct proxy *px_proxy_at(const char *listen_at, const char *control,
			  const char *history)
{
	char server[160];
	char reason[256] = "";
	struct proxy_options options = {
		.listen = listen_at,
		.server = server,
		.control = control,
		.history = history,
		.seed = 7,
	};
	struct proxy *proxy;

	proxy_server_of(test_dsn(), server, sizeof(server));
	proxy = proxy_start(&options, reason, sizeof(reason));
	if (!proxy)
		fail_msg("%s", reason);
	return proxy;
}

struct proxy *px_proxy(void)
{
	return px_proxy_at(NULL, NULL, NULL);
}

void px_tell(struct proxy *proxy, const char *words)
{
	char *problem = proxy_tell(proxy, words);

	if (problem)
		fail_msg("%s: %s", words, problem);
}

/* A plain client by way of the proxy: *@ret_errno is 0 or why not. A silent
 * peer is left after a second, and later on a busy machine. */
MYSQL *px_dial(struct proxy *proxy, unsigned int *ret_errno)
{
	const unsigned int seconds =
	    (unsigned int) (test_slowness() * test_load() + 0.5);
	MYSQL *mysql = mysql_init(NULL);
	char dsn[512];

	proxy_dsn(proxy, test_dsn(), dsn, sizeof(dsn));
	mysql_optionsv(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
	mysql_optionsv(mysql, MYSQL_OPT_READ_TIMEOUT, &seconds);
	*ret_errno = 0;
	if (!mysql_real_connect(mysql, dsn, NULL, NULL, NULL, 0, NULL, 0))
		*ret_errno = mysql_errno(mysql);
	return mysql;
}

MYSQL *px_client(struct proxy *proxy)
{
	unsigned int number;
	MYSQL *mysql = px_dial(proxy, &number);

	if (number)
		fail_msg("connect: %s", mysql_error(mysql));
	return mysql;
}

/* Run @sql: 0, or the errno; the first value of its first row in @value. */
unsigned int px_run(MYSQL *mysql, const char *sql, char *value, size_t size)
{
	MYSQL_RES *result;
	MYSQL_ROW row;

	if (value)
		*value = '\0';
	if (mysql_query(mysql, sql))
		return mysql_errno(mysql);
	result = mysql_store_result(mysql);
	if (!result)
		return mysql_errno(mysql);
	row = mysql_fetch_row(result);
	if (row && row[0] && value)
		snprintf(value, size, "%s", row[0]);
	mysql_free_result(result);
	return 0;
}

/* It has ended: noticed when sending (2006), or when receiving (2013). */
void px_assert_gone(unsigned int number)
{
	if (number != 2006 && number != 2013)
		fail_msg("the connection should be gone: %u", number);
}

void px_assert_answers(MYSQL *mysql)
{
	char value[16];

	assert_int_equal(px_run(mysql, "SELECT 6 * 7", value, sizeof(value)),
			 0);
	assert_string_equal(value, "42");
}

/* An effect that everybody sees: a name in business_lock. */
const char *px_insert(const char *name)
{
	static char sql[512];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO business_lock (name, info, created_at) VALUES "
		 "('%s', NULL, UTC_TIMESTAMP(6))",
		 name);
	return sql;
}

bool px_is_there(const char *name)
{
	struct test_sql *sql = test_sql_open();
	uint64_t count = test_sql_number(
	    sql, "SELECT COUNT(*) FROM business_lock WHERE name = '%s'", name);

	test_sql_end(sql);
	return count == 1;
}

void px_remove_name(const char *name)
{
	TEST_SQL(sql);

	test_sql(sql, "DELETE FROM business_lock WHERE name = '%s'", name);
}
