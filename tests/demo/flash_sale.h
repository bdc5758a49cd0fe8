/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_FLASH_SALE_H
#define ROWLOCK_FLASH_SALE_H

#include <stdatomic.h>
#include <stdbool.h>

#include <rowlock.h>

#define SALE_NAME "rowlock-demo/flash-sale"
#define TAKEOVER_NAME "rowlock-demo/takeover"
#define TAKEOVER_TTL_MS 2000
#define STOPPED_NAME "rowlock-demo/stopped"

struct st_mysql;

struct sale {
	const char *dsn;
	const char *word; /* the strategy as it was named */
	bool locked;
	enum rowlock_strategy strategy;
	unsigned int stock;
};

/** A client on the sale's server; prints why not, returns 0 or -1. */
int sale_client(const struct sale *sale, uint64_t ttl_ms,
		struct rowlock_client **ret_client);

/** CLOCK_BOOTTIME in seconds. */
double sale_seconds(void);

/* These three print what failed. */

/** NULL on failure. */
struct st_mysql *sale_connect(const char *dsn);

/** 0 or -1. */
int sale_run(struct st_mysql *mysql, const char *statement);

/** The first number of the answer, -1 on failure. */
long sale_ask(struct st_mysql *mysql, const char *question);

/** Fresh tables; 0 or -1. */
int sale_prepare(const struct sale *sale);

/** Stop a seller for longer than its lock lives; print what is sold then. */
int sale_stopped(const struct sale *sale, bool guarded);

/** Kill a holder while another process waits; print how long it waited on. */
int sale_takeover(const struct sale *sale);

#endif
