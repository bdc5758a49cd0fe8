// SPDX-License-Identifier: MIT
/*
 * flash-sale: several processes with several threads sell a limited stock, as
 * web servers do: read what is left, think, write what is left then. Without a
 * lock around these steps two buyers read the same number, and more is sold
 * than there is.
 *
 * The program is an application like any other: tables and connections of its
 * own for its business, rowlock by its public header for the lock. The first
 * failure of any kind is printed and ends it with 1.
 */
#include "flash_sale.h"

#include <mysql.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES 4
#define THREADS 8
#define THINK_MS 2

/* Shared by all processes of a sale. */
struct shop {
	atomic_uint ready;
	atomic_int open;
	atomic_uint holds;
	atomic_uint sold;
	atomic_int failed;
};

struct buyer {
	struct shop *shop;
	struct rowlock *lock; /* NULL: buys without one */
	MYSQL *mysql;
	pthread_t thread;
};

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "flash-sale: %s: %s\n", what, why);
	return -1;
}

MYSQL *sale_connect(const char *dsn)
{
	MYSQL *mysql = mysql_init(NULL);

	if (!mysql_real_connect(mysql, dsn, NULL, NULL, NULL, 0, NULL, 0)) {
		fail("connect", mysql_error(mysql));
		mysql_close(mysql);
		return NULL;
	}
	return mysql;
}

int sale_run(MYSQL *mysql, const char *statement)
{
	if (!mysql_query(mysql, statement))
		return 0;
	return fail(statement, mysql_error(mysql));
}

long sale_ask(MYSQL *mysql, const char *question)
{
	MYSQL_RES *result;
	MYSQL_ROW row;
	long number = -1;

	if (sale_run(mysql, question))
		return -1;
	result = mysql_store_result(mysql);
	row = result ? mysql_fetch_row(result) : NULL;
	if (row && row[0])
		number = strtol(row[0], NULL, 10);
	mysql_free_result(result);
	return number;
}

static void think(void)
{
	nanosleep(&(struct timespec){ 0, THINK_MS * 1000000L }, NULL);
}

/* Read, think, write: returns 1 if something was sold, 0 if nothing is left. */
static int buy(struct buyer *buyer)
{
	long left =
	    sale_ask(buyer->mysql, "SELECT left_items FROM rowlock_demo_stock");
	char update[80];

	if (left <= 0)
		return (int) left;
	think();
	snprintf(update, sizeof(update),
		 "UPDATE rowlock_demo_stock SET left_items = %ld", left - 1);
	if (sale_run(buyer->mysql, update))
		return -1;
	if (sale_run(buyer->mysql, "INSERT INTO rowlock_demo_sale VALUES ()"))
		return -1;
	atomic_fetch_add(&buyer->shop->sold, 1);
	return 1;
}

/* The same, one buyer at a time. */
static int buy_alone(struct buyer *buyer)
{
	struct rowlock_errinfo err;
	int bought;

	if (rowlock_acquire(buyer->lock, ROWLOCK_FOREVER, &err))
		return fail("acquire", err.message);
	bought = buy(buyer);
	atomic_fetch_add(&buyer->shop->holds, 1);
	if (rowlock_release(buyer->lock, &err))
		return fail("release", err.message);
	return bought;
}

static void *buy_all(void *arg)
{
	struct buyer *buyer = arg;
	int bought;

	do {
		bought = buyer->lock ? buy_alone(buyer) : buy(buyer);
	} while (bought > 0);
	if (bought < 0)
		atomic_store(&buyer->shop->failed, 1);
	return NULL;
}

static int equip(struct buyer *buyer, struct rowlock_client *client,
		 const struct sale *sale)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_errinfo err;

	buyer->mysql = sale_connect(sale->dsn);
	if (!buyer->mysql)
		return -1;
	options.strategy = sale->strategy;
	options.info = "rowlock's demo";
	if (sale->locked &&
	    rowlock_new(client, SALE_NAME, &options, &buyer->lock, &err))
		return fail("lock", err.message);
	return 0;
}

static void await_opening(struct shop *shop)
{
	atomic_fetch_add(&shop->ready, 1);
	while (!atomic_load(&shop->open))
		think();
}

/* One process of the shop. */
static int serve(struct shop *shop, const struct sale *sale)
{
	struct rowlock_client *client = NULL;
	struct buyer buyers[THREADS];
	struct rowlock_errinfo err;
	int i;

	if (sale->locked && sale_client(sale, 30000, &client))
		return 1;
	for (i = 0; i < THREADS; i++) {
		buyers[i] = (struct buyer){ .shop = shop };
		if (equip(&buyers[i], client, sale))
			return 1;
	}
	await_opening(shop);
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&buyers[i].thread, NULL, buy_all,
				   &buyers[i]))
			return 1;
	for (i = 0; i < THREADS; i++) {
		pthread_join(buyers[i].thread, NULL);
		mysql_close(buyers[i].mysql);
		rowlock_free(buyers[i].lock);
	}
	if (rowlock_client_try_free(client, &err)) {
		fail("end", err.message);
		return 1;
	}
	return 0;
}

static void show_progress(const struct shop *shop, const struct sale *sale)
{
	if (isatty(2))
		fprintf(stderr, "\r  %-12s sold %5u of %u ", sale->word,
			atomic_load(&shop->sold), sale->stock);
}

/* Open the shop when all are ready, wait for all, showing progress; 0 if all
 * ended well. */
static int await_end(struct shop *shop, const struct sale *sale,
		     double *ret_began)
{
	int status, left = PROCESSES, failed = 0;

	while (left) {
		if (waitpid(-1, &status, WNOHANG) > 0) {
			failed |= !WIFEXITED(status) || WEXITSTATUS(status);
			atomic_store(&shop->open, 1); /* nobody waits for it */
			left--;
			continue;
		}
		if (!atomic_load(&shop->open) &&
		    atomic_load(&shop->ready) == PROCESSES) {
			*ret_began = sale_seconds();
			atomic_store(&shop->open, 1);
		}
		show_progress(shop, sale);
		nanosleep(&(struct timespec){ 0, 10000000L }, NULL);
	}
	if (isatty(2))
		fprintf(stderr, "\r%40s\r", "");
	return failed || atomic_load(&shop->failed);
}

int sale_prepare(const struct sale *sale)
{
	MYSQL *mysql = sale_connect(sale->dsn);
	char insert[80];
	int failed;

	if (!mysql)
		return -1;
	snprintf(insert, sizeof(insert),
		 "INSERT INTO rowlock_demo_stock VALUES (1, %u)", sale->stock);
	failed =
	    sale_run(mysql, "DROP TABLE IF EXISTS rowlock_demo_stock, "
			    "rowlock_demo_sale") ||
	    sale_run(mysql, "CREATE TABLE rowlock_demo_stock (id INT PRIMARY "
			    "KEY, left_items INT NOT NULL) ENGINE=InnoDB") ||
	    sale_run(mysql, "CREATE TABLE rowlock_demo_sale (id INT PRIMARY "
			    "KEY AUTO_INCREMENT) ENGINE=InnoDB") ||
	    sale_run(mysql, insert);
	mysql_close(mysql);
	return failed ? -1 : 0;
}

static int clean(const struct sale *sale)
{
	MYSQL *mysql = sale_connect(sale->dsn);
	int failed;

	if (!mysql)
		return 1;
	failed = sale_run(mysql, "DROP TABLE IF EXISTS rowlock_demo_stock, "
				 "rowlock_demo_sale") ||
		 sale_run(mysql, "DELETE FROM business_lock WHERE name IN "
				 "('" SALE_NAME "', '" TAKEOVER_NAME "')");
	mysql_close(mysql);
	return failed ? 1 : 0;
}

/* What the tables say was sold. */
static long count_sold(const struct sale *sale)
{
	MYSQL *mysql = sale_connect(sale->dsn);
	long sold;

	if (!mysql)
		return -1;
	sold = sale_ask(mysql, "SELECT COUNT(*) FROM rowlock_demo_sale");
	mysql_close(mysql);
	return sold;
}

/* Prints: sold, oversold, seconds, holds per second. */
static int sell(const struct sale *sale)
{
	struct shop *shop = mmap(NULL, sizeof(*shop), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double began = sale_seconds(), seconds;
	long sold;
	int i;

	if (shop == MAP_FAILED || sale_prepare(sale))
		return 1;
	fflush(stdout);
	for (i = 0; i < PROCESSES; i++)
		if (!fork())
			_exit(serve(shop, sale));
	if (await_end(shop, sale, &began))
		return 1;
	seconds = sale_seconds() - began;
	sold = count_sold(sale);
	if (sold < 0)
		return 1;
	printf("%ld %ld %.2f %.0f\n", sold,
	       sold > (long) sale->stock ? sold - (long) sale->stock : 0,
	       seconds, atomic_load(&shop->holds) / seconds);
	return 0;
}

int sale_client(const struct sale *sale, uint64_t ttl_ms,
		struct rowlock_client **ret_client)
{
	struct rowlock_client_options options = ROWLOCK_CLIENT_OPTIONS_DEFAULT;
	struct rowlock_errinfo err;

	options.dsn = sale->dsn;
	options.ttl_ms = ttl_ms;
	options.program = "flash-sale";
	/* The most: a sale on a busy machine is a slow one, no failed one. */
	options.connect_timeout_ms = 60000;
	options.call_timeout_ms = 60000;
	if (rowlock_client_new(&options, ret_client, &err))
		return fail("client", err.message);
	return 0;
}

double sale_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

static const char usage[] =
    "Usage: flash-sale COMMAND [none|row|lease|guarded] [STOCK]\n"
    "  sell      prints: sold, oversold, seconds, holds per second\n"
    "  takeover  prints: milliseconds from a holder's SIGKILL to the next "
    "hold\n"
    "  stopped   a seller that was stopped for longer than its lock lives, and "
    "commits:\n"
    "            by itself, or (guarded) by rowlock_commit(); prints: sold, "
    "taken from\n"
    "            the stock, what it was told\n"
    "  clean     removes what it made\n"
    "The server is that of ROWLOCK_DSN.\n";

int main(int argc, char **argv)
{
	struct sale sale = { .dsn = getenv("ROWLOCK_DSN"),
			     .word = argc > 2 ? argv[2] : "none",
			     .stock = 100 };

	if (argc < 2 || argc > 4 || !sale.dsn || !*sale.dsn) {
		fputs(usage, stderr);
		return 2;
	}
	sale.locked = strcmp(sale.word, "none") != 0;
	sale.strategy = strcmp(sale.word, "row") ? ROWLOCK_LEASE : ROWLOCK_ROW;
	if (argc > 3)
		sale.stock = (unsigned int) strtoul(argv[3], NULL, 10);
	if (!strcmp(argv[1], "sell"))
		return sell(&sale);
	if (!strcmp(argv[1], "takeover") && sale.locked)
		return sale_takeover(&sale);
	if (!strcmp(argv[1], "stopped"))
		return sale_stopped(&sale, !strcmp(sale.word, "guarded"));
	if (!strcmp(argv[1], "clean"))
		return clean(&sale);
	fputs(usage, stderr);
	return 2;
}
