// SPDX-License-Identifier: MIT
/*
 * KILL QUERY as fast as it goes, by a thread of its own, as long as a call
 * takes.
 *
 * A server that is told to end a statement does so at some places of it, and
 * what it answers is not the same at each: at some MariaDB says "OK, 0 rows" of
 * an UPDATE or a DELETE whose row is there. One KILL in a while hardly meets
 * one of these.
 */
#include "stale.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Of the library's connections, the last ones. */
#define KNOWN 16

static struct {
	atomic_uint port;
	atomic_ulong id;
} known[KNOWN];
static atomic_uint count_known;

struct stale_storm {
	pthread_t thread;
	MYSQL *mysql;
	unsigned long ids[KNOWN];
	size_t count;
	atomic_bool blows;
	atomic_bool over;
	atomic_ulong kills;
};

typedef int (*connect_fn)(MYSQL **ret, MYSQL *mysql, int status);

/* In the driver's place: which connections does the library open, and where? */
__attribute__((visibility("default"))) int mysql_real_connect_cont(MYSQL **ret,
								   MYSQL *mysql,
								   int status)
{
	connect_fn connect;
	int events;

	*(void **) &connect = dlsym(RTLD_NEXT, "mysql_real_connect_cont");
	events = connect(ret, mysql, status);
	if (!events && *ret) {
		unsigned int i = count_known++ % KNOWN;

		known[i].port = mysql->port;
		known[i].id = mysql_thread_id(mysql);
	}
	return events;
}

/* Not those that come later: to open one costs a server much more than to end
 * a statement. */
static void find_librarys(struct stale_storm *storm, unsigned int port)
{
	for (size_t i = 0; i < KNOWN; i++)
		if (known[i].port == port)
			storm->ids[storm->count++] = known[i].id;
}

static void *rage(void *arg)
{
	const struct timespec pause = { 0, 50000 };
	struct stale_storm *storm = arg;
	char text[48];

	while (!storm->over) {
		for (size_t i = 0; i < storm->count && !storm->over; i++) {
			snprintf(text, sizeof(text), "KILL QUERY %lu",
				 storm->ids[i]);
			stale_say(storm->mysql, text);
			storm->kills++;
		}
		storm->blows = true;
		nanosleep(&pause, NULL);
	}
	mysql_thread_end();
	return NULL;
}

static void free_storm(struct stale_storm *storm)
{
	mysql_close(storm->mysql);
	free(storm);
}

void stale_storm_begin(struct stale_worker *worker, bool librarys)
{
	const char *dsn = librarys ? worker->options->dsn : worker->node;
	struct stale_storm *storm = calloc(1, sizeof(*storm));

	if (!storm)
		return;
	storm->mysql = stale_open_softly(dsn);
	if (librarys)
		find_librarys(storm, stale_port(dsn));
	else
		storm->ids[storm->count++] = mysql_thread_id(worker->mysql);
	if (!storm->mysql ||
	    pthread_create(&storm->thread, NULL, rage, storm)) {
		free_storm(storm);
		return;
	}
	worker->storm = storm;
	/* Here it is. */
	while (!storm->blows)
		stale_nap(worker, 100);
	stale_note(worker, librarys ? "storm-on-the-library" : "storm");
}

void stale_storm_end(struct stale_worker *worker)
{
	struct stale_storm *storm = worker->storm;

	if (!storm)
		return;
	storm->over = true;
	pthread_join(storm->thread, NULL);
	stale_note(worker, "(%lu-kills)", storm->kills);
	free_storm(storm);
	worker->storm = NULL;
}
