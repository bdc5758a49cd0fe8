// SPDX-License-Identifier: MIT
/*
 * A seller reads what is left, and is stopped for longer than its lock lives;
 * another one has the lock meanwhile, and sells. Then the first one goes on: it
 * writes what is left as far as it knows, and commits, by itself or by
 * rowlock_commit().
 */
#include <mysql.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rowlock/mysql.h>

#include "flash_sale.h"

#define TTL_MS 2000

#define SOLD_MEANWHILE 3

struct seller {
	const struct sale *sale;
	bool guarded;
	struct rowlock_client *client;
	struct rowlock *lock;
	MYSQL *mysql;
};

static int fail(const struct rowlock_errinfo *err)
{
	fprintf(stderr, "flash-sale: %s\n", err->message);
	return 1;
}

static int open_seller(struct seller *seller)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_errinfo err;

	seller->mysql = sale_connect(seller->sale->dsn);
	if (!seller->mysql ||
	    sale_client(seller->sale, TTL_MS, &seller->client))
		return 1;
	options.strategy = ROWLOCK_LEASE;
	if (rowlock_new(seller->client, STOPPED_NAME, &options, &seller->lock,
			&err) ||
	    rowlock_acquire(seller->lock, 60000, &err))
		return fail(&err);
	return 0;
}

static void close_seller(struct seller *seller)
{
	rowlock_freep(&seller->lock);
	rowlock_client_free(seller->client);
	mysql_close(seller->mysql);
}

static int write_left(struct seller *seller, long left)
{
	char update[80];

	snprintf(update, sizeof(update),
		 "UPDATE rowlock_demo_stock SET left_items = %ld", left - 1);
	return sale_run(seller->mysql, update) ||
	       sale_run(seller->mysql,
			"INSERT INTO rowlock_demo_sale VALUES ()");
}

/* 0: it was committed; 1: the lock is lost, and nothing was. */
static int commit(struct seller *seller)
{
	struct rowlock_errinfo err;
	int code;

	if (!seller->guarded)
		return sale_run(seller->mysql, "COMMIT");
	code = rowlock_commit(seller->lock, seller->mysql, &err);
	if (code && code != ROWLOCK_ELOST)
		return fail(&err) + 1;
	return code ? 1 : 0;
}

/* Under REPEATABLE READ MariaDB from 11.6 on refuses a write behind others'. */
static int begin_plain(struct seller *seller)
{
	return sale_run(seller->mysql,
			"SET TRANSACTION ISOLATION LEVEL READ COMMITTED") ||
	       sale_run(seller->mysql, "START TRANSACTION");
}

/* The one that is stopped; its exit status is what commit() says, or 2. */
static int sell_late(struct seller *seller)
{
	struct rowlock_errinfo err;
	long left;
	int end;

	if (open_seller(seller))
		return 2;
	if (seller->guarded
		? rowlock_begin(seller->lock, seller->mysql, 0, &err)
		: begin_plain(seller))
		return 2;
	left = sale_ask(seller->mysql,
			"SELECT left_items FROM rowlock_demo_stock");
	raise(SIGSTOP);
	if (left < 0 || write_left(seller, left))
		return 2;
	end = commit(seller);
	close_seller(seller);
	return end;
}

/* The other one, when the lock is free. */
static int sell_meanwhile(const struct sale *sale)
{
	struct seller seller = { .sale = sale };
	int failed = open_seller(&seller);

	for (int i = 0; i < SOLD_MEANWHILE && !failed; i++)
		failed = write_left(
		    &seller,
		    sale_ask(seller.mysql,
			     "SELECT left_items FROM rowlock_demo_stock"));
	if (!failed)
		close_seller(&seller);
	return failed;
}

static int print_result(const struct sale *sale, int end)
{
	MYSQL *mysql = sale_connect(sale->dsn);
	long sold;
	long left;

	if (!mysql)
		return 1;
	sold = sale_ask(mysql, "SELECT COUNT(*) FROM rowlock_demo_sale");
	left = sale_ask(mysql, "SELECT left_items FROM rowlock_demo_stock");
	mysql_close(mysql);
	printf("%ld %ld %s\n", sold, (long) sale->stock - left,
	       end ? "lost" : "committed");
	return sold < 0 || left < 0;
}

int sale_stopped(const struct sale *sale, bool guarded)
{
	struct seller seller = { .sale = sale, .guarded = guarded };
	int failed = 0;
	int status = 0;
	pid_t pid;

	if (sale_prepare(sale))
		return 1;
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(sell_late(&seller));
	if (pid < 0 || waitpid(pid, &status, WUNTRACED) < 0)
		return 1;
	if (WIFSTOPPED(status)) {
		failed = sell_meanwhile(sale);
		kill(pid, SIGCONT);
		waitpid(pid, &status, 0);
	}
	if (failed || !WIFEXITED(status) || WEXITSTATUS(status) > 1)
		return 1;
	return print_result(sale, WEXITSTATUS(status));
}
