// SPDX-License-Identifier: MIT
/*
 * What comes from outside: holds are broken, so that somebody else has them
 * while their holder goes on; connections and statements are ended; a node is
 * kept behind the others. Each is printed, with the time, for those who read
 * afterwards what was done to a transaction.
 */
#include <rowlock/admin.h>

#include "stale.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Of a node that is kept behind. Most leases outlive that. */
#define AHEAD_MOST_MS 15000
#define BEHIND_MOST_MS 600
#define FAR_BEHIND_MOST_MS 3000

#define SECONDS_FOR_A_TABLE 1

/* Any of this account's on the server, but the spoiler's own. */
static unsigned long somebody(MYSQL *mysql)
{
	unsigned long id = 0;
	MYSQL_RES *result;
	MYSQL_ROW row;

	if (mysql_query(mysql, "SELECT ID FROM information_schema.PROCESSLIST "
			       "WHERE ID <> CONNECTION_ID() AND USER = "
			       "SUBSTRING_INDEX(USER(), '@', 1) "
			       "ORDER BY RAND() LIMIT 1"))
		return 0;
	result = mysql_store_result(mysql);
	row = result ? mysql_fetch_row(result) : NULL;
	if (row)
		id = strtoul(row[0], NULL, 10);
	mysql_free_result(result);
	return id;
}

static void end_somebody(struct stale_worker *spoiler)
{
	unsigned long id = somebody(spoiler->aside);
	char text[64];

	snprintf(text, sizeof(text), "KILL %s %lu",
		 stale_lot(spoiler, 2) ? "CONNECTION" : "QUERY", id);
	if (id && !stale_say(spoiler->aside, text))
		printf("%" PRIu64 " %u %s\n", stale_now_ms(),
		       stale_port(spoiler->options->dsn), text);
}

static void break_one(struct stale_worker *spoiler)
{
	struct rowlock_errinfo error;
	char name[32];
	int code;

	snprintf(name, sizeof(name), "stale-%u",
		 stale_draw(spoiler, spoiler->options->registers));
	/* Nobody may have it; and a server may be short of time. */
	code = rowlock_break(spoiler->client, ROWLOCK_LEASE, name, &error);
	if (code == ROWLOCK_EINVAL || code == ROWLOCK_ENAME)
		stale_die("%s", error.message);
	if (!code)
		printf("%" PRIu64 " %u broke %s\n", stale_now_ms(),
		       stale_port(spoiler->options->dsn), name);
}

static bool go_on(unsigned int after_ms)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&fd, 1, (int) after_ms) == 0;
}

void stale_spoil(const struct stale_options *options)
{
	struct rowlock_client_options wanted = ROWLOCK_CLIENT_OPTIONS_DEFAULT;
	struct stale_worker spoiler = { .options = options,
					.lots = options->seed + 1 };

	wanted.dsn = options->dsn;
	wanted.program = "spoiler";
	spoiler.client = stale_open_client(options, &wanted);
	spoiler.aside = stale_open(options);
	while (go_on(stale_draw(&spoiler, options->pace_ms)))
		if (stale_lot(&spoiler, 3))
			end_somebody(&spoiler);
		else
			break_one(&spoiler);
	mysql_close(spoiler.aside);
	rowlock_client_free(spoiler.client);
}

/* ------------------------------------------------------------------- behind */

bool stale_lock_behind(MYSQL *mysql)
{
	char text[64];

	snprintf(text, sizeof(text), "SET SESSION lock_wait_timeout = %d",
		 SECONDS_FOR_A_TABLE);
	return !stale_say(mysql, text) &&
	       !stale_say(mysql, "LOCK TABLES stale_behind READ");
}

static void hold_back_once(struct stale_worker *spoiler)
{
	const bool far = stale_lot(spoiler, 8);
	const unsigned int for_ms =
	    stale_draw(spoiler, far ? FAR_BEHIND_MOST_MS : BEHIND_MOST_MS);
	MYSQL *mysql = stale_open_softly(spoiler->options->dsn);

	if (mysql && stale_lock_behind(mysql)) {
		printf("%" PRIu64 " %u is kept behind for %u ms\n",
		       stale_now_ms(), stale_port(spoiler->options->dsn),
		       for_ms);
		go_on(for_ms);
	}
	/* With the connection goes the lock. */
	mysql_close(mysql);
}

void stale_hold_back(const struct stale_options *options)
{
	struct stale_worker spoiler = { .options = options,
					.lots = options->seed + 2 };

	while (go_on(stale_draw(&spoiler, AHEAD_MOST_MS)))
		hold_back_once(&spoiler);
}
