/* SPDX-License-Identifier: MIT */
/*
 * counter NAME ROUNDS: count up under holds of the library, of which some are
 * lost meanwhile. Beside those in other languages, whose rows have to exclude
 * these.
 */
#include <err.h>
#include <mysql.h>
#include <rowlock/admin.h>
#include <rowlock/mysql.h>
#include <stdio.h>
#include <stdlib.h>

static void say(MYSQL *mysql, const char *text)
{
	if (mysql_query(mysql, text))
		errx(1, "%s: %s", text, mysql_error(mysql));
}

static int next(MYSQL *mysql)
{
	MYSQL_RES *result;
	int n;

	say(mysql, "SELECT n FROM shop_counter");
	result = mysql_store_result(mysql);
	n = atoi(mysql_fetch_row(result)[0]) + 1;
	mysql_free_result(result);
	return n;
}

/* Returns 1 if it is committed. */
static int count(struct rowlock_client *client, struct rowlock *lock,
		 MYSQL *mysql)
{
	struct rowlock_errinfo error;
	char text[64];
	int code = rowlock_acquire(lock, ROWLOCK_FOREVER, &error);

	if (code)
		errx(1, "%s", error.message);
	code = rowlock_begin(lock, mysql, 0, &error);
	/* Another may have broken it already. */
	if (code == ROWLOCK_ELOST) {
		rowlock_release(lock, NULL);
		return 0;
	}
	if (code)
		errx(1, "%s", error.message);
	snprintf(text, sizeof(text), "UPDATE shop_counter SET n = %d",
		 next(mysql));
	if (rand() % 10 == 0)
		code = rowlock_break(client, ROWLOCK_LEASE, rowlock_name(lock),
				     NULL);
	say(mysql, text);
	code = rowlock_commit(lock, mysql, &error);
	if (code && code != ROWLOCK_ELOST)
		errx(1, "%s", error.message);
	rowlock_release(lock, NULL);
	return code == 0;
}

int main(int argc, char **argv)
{
	struct rowlock_client_options options = ROWLOCK_CLIENT_OPTIONS_DEFAULT;
	struct rowlock_errinfo error;
	struct rowlock_client *client;
	struct rowlock *lock;
	MYSQL *mysql = mysql_init(NULL);
	int committed = 0;

	if (argc != 3)
		return 2;
	options.ttl_ms = 1000;
	mysql_options(mysql, MYSQL_READ_DEFAULT_FILE, "shop.cnf");
	if (!mysql_real_connect(mysql, NULL, NULL, NULL, NULL, 0, NULL,
				CLIENT_MULTI_STATEMENTS))
		errx(1, "%s", mysql_error(mysql));
	if (rowlock_client_new(&options, &client, &error) ||
	    rowlock_new(client, argv[1], NULL, &lock, &error))
		errx(1, "%s", error.message);
	for (int i = 0; i < atoi(argv[2]); i++)
		committed += count(client, lock, mysql);
	printf("%d\n", committed);
	rowlock_free(lock);
	rowlock_client_free(client);
	mysql_close(mysql);
	return 0;
}
