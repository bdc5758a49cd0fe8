// SPDX-License-Identifier: MIT
/*
 * The common part of every test that needs a server: where it is, names that
 * nobody else uses, codes checked with the library's own words.
 *
 * A program takes ROWLOCK_TEST_DSN, runs its tests, and removes the rows whose
 * names it made. Without a server it ends with 77 before the first test.
 */
#include "test.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "handover.h"
#include "server.h"
#include "timeouts.h"

static const char *own_dsn;
static char prefix[32];
static char *names[512]; /* made by test_name(); their index is their number */

const char *test_dsn(void)
{
	const char *dsn = own_dsn;

	if (!dsn || !*dsn)
		dsn = getenv("ROWLOCK_TEST_DSN");
	if (!dsn || !*dsn)
		dsn = getenv("ROWLOCK_DSN");
	return dsn && *dsn ? dsn : NULL;
}

void test_use_dsn(const char *dsn)
{
	own_dsn = dsn;
}

static void remove_names(void)
{
	static const char *const tables[] = { "business_lease", "business_lock",
					      "lock_token" };
	struct test_sql *sql = test_sql_open();
	size_t i;

	/* A failed test may have left a holder behind: its row stays. */
	test_sql_try(sql, "SET SESSION innodb_lock_wait_timeout = 1");
	for (i = 0; i < TEST_SIZE(tables); i++)
		test_sql_try(sql, "DELETE FROM %s WHERE name LIKE '%s%%'",
			     tables[i], prefix);
	test_sql_end(sql);
}

int test_skip_all(const char *reason)
{
	const char *output = getenv("CMOCKA_MESSAGE_OUTPUT");

	printf("1..0 # SKIP %s\n", reason);
	/* TAP has said it; by exit status it is 77. */
	return output && !strcasecmp(output, "TAP") ? 0 : 77;
}

bool test_descriptors(unsigned int count)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return false;
	if (limit.rlim_cur >= count)
		return true;
	limit.rlim_cur = count;
	return limit.rlim_max >= count && !setrlimit(RLIMIT_NOFILE, &limit);
}

/* Behind the plan, as TAP 13 wants its version in the first line. */
static int tell_server(void **state)
{
	(void) state;
	if (own_dsn)
		test_tell_own_server();
	else
		printf("# server: given\n");
	return 0;
}

int test_main(void)
{
	int failed;
	size_t i;

	if (!own_dsn && test_wants_tls())
		return test_main_own_server();
	if (!test_dsn())
		return test_skip_all("no server: set ROWLOCK_TEST_DSN, or run "
				     "tools/check");
	failed = case_run(tell_server, NULL);
	if (*prefix && !own_dsn)
		remove_names();
	for (i = 0; i < TEST_SIZE(names); i++)
		free(names[i]);
	return failed;
}

const char *test_name(const char *word)
{
	static unsigned int serial;
	char *name;

	if (!*prefix)
		snprintf(prefix, sizeof(prefix), "test-%d-%x.", (int) getpid(),
			 (unsigned int) test_now_ns());
	if (asprintf(&name, "%s%s.%u", prefix, word, ++serial) < 0)
		abort();
	assert_true(serial < TEST_SIZE(names));
	names[serial] = name;
	return name;
}

uint64_t test_ttl_ms(uint64_t ttl_ms)
{
	return (uint64_t) ((double) ttl_ms * test_load());
}

struct rowlock_client_options test_client_options(uint64_t ttl_ms)
{
	struct rowlock_client_options options = ROWLOCK_CLIENT_OPTIONS_DEFAULT;

	options.dsn = test_dsn();
	options.ttl_ms = ttl_ms;
	options.flags |= ROWLOCK_NO_REAPER;
	test_timeouts(&options);
	test_handover(&options);
	if (getenv("ROWLOCK_TEST_GROUP"))
		options.batch_size =
		    (unsigned int) atoi(getenv("ROWLOCK_TEST_GROUP"));
	return options;
}

struct rowlock_client *test_client_with(
    const struct rowlock_client_options *options)
{
	struct rowlock_client *client = NULL;

	assert_ok(rowlock_client_new(options, &client, &err));
	return client;
}

struct rowlock_client *test_client(uint64_t ttl_ms)
{
	struct rowlock_client_options options = test_client_options(ttl_ms);

	return test_client_with(&options);
}

void test_client_end(struct rowlock_client *client)
{
	assert_ok(rowlock_client_try_free(client, &err));
}

struct rowlock *test_lock(struct rowlock_client *client,
			  enum rowlock_strategy strategy, unsigned int flags,
			  const char *name)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock *lock = NULL;

	options.strategy = strategy;
	options.flags = flags;
	assert_ok(rowlock_new(client, name, &options, &lock, &err));
	return lock;
}

void test_lock_end(struct rowlock *lock)
{
	assert_ok(rowlock_try_free(lock, &err));
}

uint64_t test_term(struct rowlock *lock)
{
	uint64_t term;

	return rowlock_held(lock) && rowlock_token(lock, &term, NULL) == 0
		   ? term
		   : 0;
}

void test_end(struct rowlock *lock, struct rowlock_client *client)
{
	test_lock_end(lock);
	test_client_end(client);
}

uint64_t test_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

double test_ms(uint64_t since, uint64_t until)
{
	return (double) ((int64_t) (until - since)) / 1e6;
}

void test_figure(double value, const char *unit, const char *what, ...)
{
	const char *path = getenv("ROWLOCK_TEST_REPORT");
	FILE *file = path && *path ? fopen(path, "ae") : NULL;
	va_list args;

	if (!file)
		return;
	fprintf(file, "%10.2f %-4s ", value, unit);
	va_start(args, what);
	vfprintf(file, what, args);
	va_end(args);
	fputc('\n', file);
	fclose(file);
}

struct test_event test_event_new(void)
{
	struct test_event event = { .fd = eventfd(0, EFD_CLOEXEC) };

	assert_true(event.fd >= 0);
	return event;
}

void test_event_end(struct test_event *event)
{
	close(event->fd);
	event->fd = -1;
}

void test_event_set(struct test_event *event)
{
	uint64_t one = 1;

	if (write(event->fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

bool test_readable(int fd)
{
	uint64_t since = test_now_ns();
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	/* The load may have grown meanwhile. */
	while (poll(&wait, 1, test_patience_ms()) != 1)
		if (test_ms(since, test_now_ns()) >= test_patience_ms())
			return false;
	return true;
}

bool test_event_wait(struct test_event *event)
{
	uint64_t count;

	return test_readable(event->fd) &&
	       read(event->fd, &count, sizeof(count)) == sizeof(count);
}

static void say_waited(uint64_t since_ns, const char *what, va_list args)
    __attribute__((format(printf, 2, 0)));

static void say_waited(uint64_t since_ns, const char *what, va_list args)
{
	char text[256];

	vsnprintf(text, sizeof(text), what, args);
	print_error("waited %.0f s for %s\n",
		    test_ms(since_ns, test_now_ns()) / 1000, text);
}

void test_no_event(uint64_t since_ns, const char *file, int line,
		   const char *what, ...)
{
	va_list args;

	va_start(args, what);
	say_waited(since_ns, what, args);
	va_end(args);
	_fail(file, line);
}

void test_keep_waiting(uint64_t since_ns, const char *what, ...)
{
	va_list args;

	if (test_ms(since_ns, test_now_ns()) < test_patience_ms())
		return;
	va_start(args, what);
	say_waited(since_ns, what, args);
	va_end(args);
	fail();
}
