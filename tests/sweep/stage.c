// SPDX-License-Identifier: MIT
/*
 * Where a run plays. The proxy, the rival's client and a connection for
 * statements by hand live as long as the process; the client that is tried
 * lives for one run, and whatever it leaves is counted against it.
 */
#include "sweep.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dsn.h"
#include "handover.h"
#include "pulse.h"
#include "test.h"
#include "timeouts.h"

__attribute__((format(printf, 2, 0))) static void note(struct stage *stage,
						       const char *format,
						       va_list args)
{
	vsnprintf(stage->problem, sizeof(stage->problem), format, args);
}

void stage_wrong(struct stage *stage, const char *format, ...)
{
	va_list args;

	if (*stage->problem && !stage->slow_only)
		return;
	stage->slow_only = false;
	va_start(args, format);
	note(stage, format, args);
	va_end(args);
}

void stage_slow(struct stage *stage, const char *format, ...)
{
	va_list args;

	if (*stage->problem)
		return;
	stage->slow_only = true;
	va_start(args, format);
	note(stage, format, args);
	va_end(args);
}

void stage_tell(struct stage *stage, const char *format, ...)
{
	char *words = NULL;
	char *problem;
	va_list args;

	va_start(args, format);
	if (vasprintf(&words, format, args) < 0)
		abort();
	va_end(args);
	problem = proxy_tell(stage->proxy, words);
	if (problem)
		stage_wrong(stage, "the proxy does not understand '%s': %s",
			    words, problem);
	free(problem);
	free(words);
}

static unsigned int count_in(const char *path)
{
	DIR *dir = opendir(path);
	unsigned int count = 0;
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return count;
}

unsigned int stage_threads(void)
{
	return count_in("/proc/self/task");
}

/* Is @fd connected to another peer than the proxy's clients are? */
static bool is_direct(const struct stage *stage, int fd)
{
	struct sockaddr_in peer = { 0 };
	socklen_t length = sizeof(peer);
	const char *colon = strrchr(proxy_address(stage->proxy), ':');

	return getpeername(fd, (struct sockaddr *) &peer, &length) == 0 &&
	       ntohs(peer.sin_port) != atoi(colon + 1);
}

/* The rival's connections come and go, a socket and an eventfd each; the
 * proxy's are counted by itself. */
unsigned int stage_descriptors(const struct stage *stage)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 1000;
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		count += is_direct(stage, atoi(entry->d_name)) ? -1u : 1u;
	}
	if (dir)
		closedir(dir);
	return count;
}

static void print_log(enum rowlock_log_level level, const char *message,
		      void *arg)
{
	(void) arg;
	fprintf(stderr, "# log %d: %s\n", (int) level, message);
}

static void start_proxy(struct stage *stage)
{
	char server[160];
	char reason[256];
	const struct proxy_options options = {
		.server = server,
		.seed = 1,
	};

	proxy_server_of(test_dsn(), server, sizeof(server));
	stage->proxy = proxy_start(&options, reason, sizeof(reason));
	if (!stage->proxy) {
		fprintf(stderr, "proxy: %s\n", reason);
		exit(99);
	}
	proxy_dsn(stage->proxy, test_dsn(), stage->dsn, sizeof(stage->dsn));
}

static void database_of(char *buffer, size_t size, unsigned int worker)
{
	snprintf(buffer, size, "rowlock_sweep_%d_%u", (int) getppid(), worker);
}

/* A database of this process' own, with the same tables: no other run can be
 * in the way, and a reaper finds nothing of others. */
static void make_database(unsigned int worker)
{
	static const char *const tables[] = {
		"business_lock",    "business_lease",   "lease_session",
		"lock_token",       "lock_token_floor", "lock_permits",
		"lease_revocation", "job_run",          "rowlock_schema"
	};
	static char dsn[512];
	struct test_sql *sql = test_sql_open();
	char *from = test_sql_text(sql, "SELECT DATABASE()");
	char name[64], change[80];

	test_sql_end(sql);
	from[strcspn(from, "\t\n|")] = '\0';
	database_of(name, sizeof(name), worker);
	test_use_dsn(getenv("ROWLOCK_TEST_ADMIN_DSN"));
	sql = test_sql_open();
	test_sql(sql, "CREATE DATABASE IF NOT EXISTS %s", name);
	for (size_t i = 0; i < TEST_SIZE(tables); i++)
		test_sql(sql, "CREATE TABLE IF NOT EXISTS %s.%s LIKE %s.%s",
			 name, tables[i], from, tables[i]);
	test_sql(sql,
		 "INSERT IGNORE INTO %s.rowlock_schema SELECT * FROM "
		 "%s.rowlock_schema",
		 name, from);
	test_sql(sql,
		 "INSERT IGNORE INTO %s.lock_token_floor SELECT * FROM "
		 "%s.lock_token_floor",
		 name, from);
	test_sql_end(sql);
	free(from);
	snprintf(change, sizeof(change), "database=%s", name);
	test_dsn_with(test_dsn(), change, dsn, sizeof(dsn));
	test_use_dsn(dsn);
}

void stage_drop(unsigned int workers)
{
	struct test_sql *sql;
	char name[64];

	test_use_dsn(getenv("ROWLOCK_TEST_ADMIN_DSN"));
	sql = test_sql_open();
	/* A killed worker may have left a lock. */
	test_sql(sql, "SET SESSION lock_wait_timeout = 5");
	for (unsigned int worker = 0; worker < workers; worker++) {
		database_of(name, sizeof(name), worker);
		test_sql_try(sql, "DROP DATABASE IF EXISTS %s", name);
	}
	test_sql_end(sql);
}

void stage_open(struct stage *stage, unsigned int worker)
{
	struct rowlock_client_options options;

	stage->slow = test_slowness();
	/* Our own program: a lock on it ends with the process. */
	stage->turnstile = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	make_database(worker);
	/* However late its beats are, nobody may take its hold from it. */
	options = test_client_options(RIVAL_TTL_MS);
	pulse_start();
	start_proxy(stage);
	options.program = "sweep-rival";
	if (rowlock_client_new(&options, &stage->rival_client, &err)) {
		fprintf(stderr, "rival: %s\n", err.message);
		exit(99);
	}
	stage->sql = test_sql_open();
	test_sql_try(stage->sql, "SET SESSION innodb_lock_wait_timeout = 1");
}

void stage_close(struct stage *stage)
{

	if (rowlock_client_try_free(stage->rival_client, &err))
		fprintf(stderr, "rival: %s\n", err.message);
	test_sql_end(stage->sql);
	proxy_end(stage->proxy);
	close(stage->turnstile);
}

struct rowlock_client_options stage_options(struct stage *stage)
{
	struct rowlock_client_options options = ROWLOCK_CLIENT_OPTIONS_DEFAULT;

	options.dsn = stage->dsn;
	options.program = stage->program;
	options.ttl_ms = TTL_MS * stage->slow;
	options.call_timeout_ms = test_at_most(
	    (stage->patient ? PATIENT_CALL_MS : CALL_MS) * stage->slow,
	    TEST_TIMEOUT_MOST_MS);
	options.connect_timeout_ms =
	    test_at_most(CONNECT_MS * stage->slow, TEST_TIMEOUT_MOST_MS);
	options.row_idle_ms =
	    test_at_most(IDLE_MS * stage->slow, TEST_IDLE_MOST_MS);
	options.flags |= ROWLOCK_NO_REAPER;
	test_handover(&options);
	options.flags |= stage->flags;
	if (stage->verbose) {
		options.log = print_log;
		options.log_level = ROWLOCK_LOG_DEBUG;
	}
	return options;
}

void stage_must(struct stage *stage, int code, const char *what)
{
	if (code)
		stage_slow(stage, "preparation: %s returned %d (%s)", what,
			   code, rowlock_strerror(code));
}

void stage_client(struct stage *stage, unsigned int flags)
{
	struct rowlock_client_options options = stage_options(stage);
	int code = rowlock_client_new(&options, &stage->client, &err);

	if (code) {
		stage_slow(stage, "preparation: %s", err.message);
		return;
	}
	tried_new(stage, flags);
}

void stage_begin(struct stage *stage, enum rowlock_strategy strategy,
		 const char *name)
{
	stage->strategy = strategy;
	snprintf(stage->name, sizeof(stage->name), "%s", name);
	snprintf(stage->other, sizeof(stage->other), "%.60s+", name);
	snprintf(stage->program, sizeof(stage->program), "sweep.%s", name);
	stage->problem[0] = '\0';
	stage->slow_only = false;
	stage->code = 0;
	memset(&stage->err, 0, sizeof(stage->err));
	stage->lost = 0;
	stage->rival_holds = false;
	stage->had = false;
	stage->flags = 0;
	stage->max_hold_ms = 0;
	stage->patient = false;
	stage_tell(stage, "clear\nthaw\nlisten\nreset");
	stage->threads = stage_threads();
	stage->descriptors = stage_descriptors(stage);
	rivals_new(stage);
}

void stage_client_end(struct stage *stage)
{
	int code;

	if (stage_held(stage))
		stage_release(stage, NULL);
	code = stage_free(stage, &err);
	/* A hold that was lost, and not released. */
	if (code == ROWLOCK_EHELD) {
		stage_release(stage, NULL);
		code = stage_free(stage, &err);
	}
	if (code)
		stage_wrong(stage, "rowlock_free: %s", err.message);
	if (stage->client && rowlock_client_try_free(stage->client, &err))
		stage_wrong(stage, "rowlock_client_free: %s", err.message);
	stage->client = NULL;
}

void stage_end(struct stage *stage)
{
	stage_client_end(stage);
	rivals_end(stage);
	stage_tell(stage, "clear\ndeliver\nend rst");
	while (proxy_counts(stage->proxy).links > 0)
		usleep(200);
	test_sql_try(stage->sql,
		     "DELETE FROM lease_session WHERE program = "
		     "'%s'",
		     stage->program);
	test_sql_try(stage->sql,
		     "DELETE FROM business_lease WHERE name IN ('%s', '%s')",
		     stage->name, stage->other);
	test_sql_try(stage->sql, "DELETE FROM business_lock WHERE name = '%s'",
		     stage->name);
	test_sql_try(stage->sql,
		     "DELETE FROM lock_token WHERE name IN ('%s', '%s')",
		     stage->name, stage->other);
}
