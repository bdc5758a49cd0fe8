/* SPDX-License-Identifier: MIT */
/*
 * Every option's limits: the last value that is allowed, and the first that is
 * not, which is refused with a sentence that names the option and changes
 * nothing.
 */
#include "fake/fake.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/client.h"
#include "test.h"

static void refuse(const struct rowlock_client_options *options,
		   const char *words)
{
	struct rowlock_client *client = NULL;

	assert_code(rowlock_client_new(options, &client, &err), ROWLOCK_EINVAL,
		    &err);
	assert_null(client);
	assert_non_null(strstr(err.message, words));
	/* Nothing was asked for. */
	assert_int_equal(fake_count(FAKE_GET), 0);
}

static void allow(const struct rowlock_client_options *options)
{
	fake_client_end(fake_client_with(options));
}

struct limit {
	const char *name;
	size_t offset;
	uint64_t least;
	uint64_t most;
};

static const char *host_name = "host"; /* NULL: the system does not tell */

int __wrap_gethostname(char *name, size_t size);

int __wrap_gethostname(char *name, size_t size)
{
	if (!host_name)
		return -1;
	snprintf(name, size, "%s", host_name);
	return 0;
}

FAKE("a client names its server")
{
	FAKE_CLIENT();

	assert_string_equal(rowlock_client_server(client), "fake:3306");
}

/* It goes to the server, where people read it. */
FAKE("the host's name is made printable")
{
	static const struct {
		const char *name;
		const char *is;
	} hosts[] = {
		{ "db1.example", "db1.example" },
		{ "m\xfcnchen\n~ ", "m?nchen?~ " },
		{ "m\xc3\xbcnchen", "m\xc3\xbcnchen" },
		{ NULL, "unknown" },
	};

	for (size_t i = 0; i < TEST_SIZE(hosts); i++) {

		host_name = hosts[i].name;
		FAKE_CLIENT();
		assert_string_equal(client->host, hosts[i].is);
	}
	host_name = "host";
}

/* The user of the program chose its name; the server's column has an end. */
FAKE("the name of the program is cut to what fits")
{
	char *before = program_invocation_short_name;
	struct rowlock_client *client;
	char name[400];

	memset(name, 'p', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	program_invocation_short_name = name;
	client = fake_client();
	assert_int_equal(strlen(client->program), 255);
	fake_client_end(client);
	program_invocation_short_name = name + sizeof(name) - 1;
	client = fake_client();
	assert_string_equal(client->program, "");
	fake_client_end(client);
	program_invocation_short_name = before;
}

static unsigned int first_free_descriptor(void)
{
	int fd = dup(0);

	close(fd);
	return (unsigned int) fd;
}

FAKE("a client without descriptors says so")
{
	struct rowlock_client_options options = fake_options();
	unsigned int lowest = first_free_descriptor();
	FAKE_CLIENT_AS(client, NULL);
	unsigned int refused = 0;
	struct rlimit before;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (unsigned int more = 0; !client && more < 64; more++) {
		struct rlimit few = before;
		int code;

		few.rlim_cur = lowest + more;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		code = rowlock_client_new(&options, &client, &err);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		if (!code)
			break;
		assert_null(client);
		refused += code == ROWLOCK_ESYSTEM;
		assert_true(err.message[0]);
		assert_int_equal(first_free_descriptor(), lowest);
	}
	/* One for the sockets' ends, two for each thread that sleeps. */
	assert_true(refused > 5);
}

FAKE("numbers outside their range are refused")
{
	static const struct limit limits[] = {
		{ "ttl_ms", offsetof(struct rowlock_client_options, ttl_ms),
		  1000, 86400000 },
		{ "connect_timeout_ms",
		  offsetof(struct rowlock_client_options, connect_timeout_ms),
		  100, 60000 },
		{ "call_timeout_ms",
		  offsetof(struct rowlock_client_options, call_timeout_ms), 100,
		  60000 },
		{ "row_idle_ms",
		  offsetof(struct rowlock_client_options, row_idle_ms), 2000,
		  3600000 },
		{ "refusal_timeout_ms",
		  offsetof(struct rowlock_client_options, refusal_timeout_ms),
		  1000, 86400000 },
	};

	for (size_t i = 0; i < TEST_SIZE(limits); i++) {
		const uint64_t bad[] = { limits[i].least - 1,
					 limits[i].most + 1, UINT64_MAX };
		struct rowlock_client_options options = fake_options();
		uint64_t *value = (uint64_t *) (void *) ((char *) &options +
							 limits[i].offset);

		fake_setup(state);
		for (size_t j = 0; j < TEST_SIZE(bad); j++) {
			*value = bad[j];
			refuse(&options, limits[i].name);
		}
		*value = limits[i].least;
		allow(&options);
		*value = limits[i].most;
		allow(&options);
	}
}

FAKE("the bounds of a turn may be 0 and have limits")
{
	struct rowlock_client_options options = fake_options();

	options.handover_ms = 60001;
	refuse(&options, "handover_ms");
	options.handover_ms = 60000;
	options.handover_passes = 1000001;
	refuse(&options, "handover_passes");
	options.handover_passes = 1000000;
	allow(&options);
	options.flags |= ROWLOCK_NO_HANDOVER;
	allow(&options);
}

FAKE("the size of a group has limits")
{
	struct rowlock_client_options options = fake_options();

	options.batch_size = RLK_GROUP_MOST + 1;
	refuse(&options, "batch_size");
	options.batch_size = RLK_GROUP_MOST;
	allow(&options);
	options.batch_size = 1;
	allow(&options);
}

FAKE("the reap interval is never, or not too often")
{
	struct rowlock_client_options options = fake_options();

	options.reap_interval_ms = 99;
	refuse(&options, "reap_interval_ms");
	options.reap_interval_ms = 100;
	allow(&options);
}

FAKE("what does not fit together is refused")
{
	struct rowlock_client_options options = fake_options();
	char program[300];

	options.size--;
	refuse(&options, "sizeof the struct");
	options = fake_options();
	options.flags = 1u << 30;
	refuse(&options, "unknown flags 0x40000000");
	options = fake_options();
	options.program = "bad\nname";
	refuse(&options, "program");
	memset(program, 'p', sizeof(program));
	program[256] = '\0';
	options.program = program;
	refuse(&options, "program");
	program[255] = '\0';
	allow(&options);
}

FAKE("plugins are listed by their names")
{
	static const char *const bad[] = { "",     ",",   "a,",  ",a",
					   "a,,b", "a b", "a;b", "a/b" };
	struct rowlock_client_options options = fake_options();

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		options.unverified_auth = bad[i];
		refuse(&options, "unverified_auth");
	}
	options.unverified_auth = "mysql_clear_password";
	allow(&options);
	options.unverified_auth = "dialog,auth_gssapi-client2";
	allow(&options);
}

FAKE("strings and sizes are copied")
{
	char dsn[] = "host=fake";
	char program[] = "worker";
	struct rowlock_client_options options = fake_options();

	options.dsn = dsn;
	options.program = program;
	options.row_idle_ms = 2001;
	FAKE_CLIENT_AS(client, fake_client_with(&options));
	memset(dsn, 'x', sizeof(dsn) - 1);
	memset(program, 'x', sizeof(program) - 1);
	assert_string_equal(client->target.sources.dsn, "host=fake");
	assert_string_equal(client->program, "worker");
	/* The server counts in whole seconds. */
	assert_int_equal(client->row_idle_ms, 3000);
	assert_int_equal(client->bays[RLK_BAY_ROW].profile.idle_s, 3);
	assert_int_equal(client->bays[RLK_BAY_ROW].profile.lock_wait_s, 1);
	assert_int_equal(client->bays[RLK_BAY_ROW].profile.exact_wait_s, 2);
	assert_false(client->bays[RLK_BAY_ROW].profile.autocommit);
	assert_true(client->bays[RLK_BAY_COMMIT].profile.autocommit);
}

/* Else each of its waits would be taken back. */
FAKE("wait for a row ends within a call's time")
{
	struct rowlock_client_options options = fake_options();

	options.call_timeout_ms = 1999;
	FAKE_CLIENT_AS(client, fake_client_with(&options));
	assert_int_equal(client->bays[RLK_BAY_ROW].profile.exact_wait_s, 1);
}

FAKE("a server that cannot serve is refused at once")
{
	const struct rowlock_client_options options = fake_options();
	struct rowlock_client *client = NULL;

	fake_server.read_only = true;
	assert_code(rowlock_client_new(&options, &client, &err),
		    ROWLOCK_EREADONLY, &err);
	fake_server.read_only = false;
	fake_next(FAKE_SCHEMA, (struct fake_answer){ .given = true,
						     .result = RLK_REFUSED,
						     .code = ROWLOCK_ESCHEMA });
	assert_code(rowlock_client_new(&options, &client, &err),
		    ROWLOCK_ESCHEMA, &err);
	fake_next(FAKE_GET, (struct fake_answer){ .given = true,
						  .result = ROWLOCK_EAUTH });
	assert_code(rowlock_client_new(&options, &client, &err), ROWLOCK_EAUTH,
		    &err);
	assert_null(client);
}

CASE("an option file is found from another directory")
{
	char directory[] = "/tmp/rowlock-options-XXXXXX";
	struct rowlock_client_options options = fake_options();
	struct rowlock_client *client;
	FILE *file;

	assert_non_null(mkdtemp(directory));
	assert_int_equal(chdir(directory), 0);
	file = fopen("my.cnf", "w");
	assert_non_null(file);
	assert_true(fputs("[rowlock]\n", file) >= 0);
	assert_int_equal(fclose(file), 0);
	options.flags &= ~(unsigned int) ROWLOCK_NO_DEFAULTS;
	options.defaults_file = "my.cnf";
	client = fake_client_with(&options);
	assert_memory_equal(client->target.sources.file, directory,
			    strlen(directory));
	fake_client_end(client);
	assert_int_equal(unlink("my.cnf"), 0);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(directory), 0);
}

static unsigned int warnings;

static void count_warnings(enum rowlock_log_level level, const char *message,
			   void *arg)
{
	(void) arg;
	if (level == ROWLOCK_LOG_WARNING &&
	    strncmp(message, "fake:3306 knows the password's hash for now",
		    strlen("fake:3306 knows the password's hash for now")) == 0)
		warnings++;
}

CASE("a login that may not come back is reported once")
{
	struct rowlock_client_options options = fake_options();

	options.log = count_warnings;
	fake_client_end(fake_client_with(&options));
	assert_int_equal(warnings, 0);
	fake_by_hash = true;
	fake_client_end(fake_client_with(&options));
	fake_by_hash = false;
	assert_int_equal(warnings, 1);
}

FAKE("a lock's options have limits")
{
	FAKE_CLIENT();
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock *lock = NULL;
	char info[300];

#define refuse_lock(words)                                                     \
	do {                                                                   \
		assert_code(rowlock_new(client, "job", &options, &lock, &err), \
			    ROWLOCK_EINVAL, &err);                             \
		assert_null(lock);                                             \
		assert_non_null(strstr(err.message, words));                   \
	} while (0)
#define allow_lock()                                                           \
	do {                                                                   \
		assert_ok(rowlock_new(client, "job", &options, &lock, &err));  \
		fake_lock_end(lock);                                           \
		lock = NULL;                                                   \
	} while (0)

	options.max_hold_ms = 999;
	refuse_lock("max_hold_ms");
	options.max_hold_ms = 2592000001u;
	refuse_lock("max_hold_ms");
	options.max_hold_ms = 2592000000u;
	allow_lock();
	options.max_hold_ms = 1000;
	allow_lock();
	options = (struct rowlock_options) ROWLOCK_OPTIONS_DEFAULT;
	options.size++;
	refuse_lock("sizeof the struct");
	options = (struct rowlock_options) ROWLOCK_OPTIONS_DEFAULT;
	options.flags = 1u << 4;
	refuse_lock("unknown flags 0x10");
	options.flags = ROWLOCK_OWNER_THREAD | ROWLOCK_OWNER_HANDLE;
	refuse_lock("not both");
	options = (struct rowlock_options) ROWLOCK_OPTIONS_DEFAULT;
	options.strategy = (enum rowlock_strategy) 2;
	refuse_lock("no strategy 2");
	options = (struct rowlock_options) ROWLOCK_OPTIONS_DEFAULT;
	memset(info, 'i', sizeof(info));
	info[256] = '\0';
	options.info = info;
	refuse_lock("the info");
	info[255] = '\0';
	allow_lock();
	options.info = "two\nlines";
	refuse_lock("; give at most 255 characters of UTF-8");
	options.info = "";
	allow_lock();
}

FAKE("bad names are refused by name")
{
	FAKE_CLIENT();
	static const char *const names[] = { "", "a ", "a\nb", "\xff",
					     "\xed\xa0\x80" };
	struct rowlock *lock = NULL;

	for (size_t i = 0; i < TEST_SIZE(names); i++) {
		assert_code(rowlock_new(client, names[i], NULL, &lock, &err),
			    ROWLOCK_ENAME, &err);
		assert_non_null(strstr(err.message, "fake:3306"));
		assert_null(strpbrk(err.message, "\n\xff\xed"));
	}
	assert_code(rowlock_break(client, ROWLOCK_LEASE, "a\nb", &err),
		    ROWLOCK_ENAME, &err);
	assert_non_null(strstr(err.message, "the name 'a\\x0ab' for"));
	assert_code(rowlock_new(client, NULL, NULL, &lock, &err), ROWLOCK_ENAME,
		    &err);
	assert_code(rowlock_break(client, ROWLOCK_LEASE, "a ", &err),
		    ROWLOCK_ENAME, &err);
	assert_code(rowlock_break(client, ROWLOCK_LEASE, NULL, &err),
		    ROWLOCK_ENAME, &err);
	assert_code(rowlock_break(client, (enum rowlock_strategy) 7, "a", &err),
		    ROWLOCK_EINVAL, &err);
	assert_null(lock);
}

FAKE("row is refused where there are several writers")
{
	struct rowlock_options row = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_client_options options = fake_options();
	struct rowlock_client *client;
	struct rowlock *lock = NULL;

	row.strategy = ROWLOCK_ROW;
	for (int i = 0; i < 2; i++) {
		fake_server.galera = i == 0;
		fake_server.multi_primary = i == 1;
		client = fake_client();
		assert_code(rowlock_new(client, "job", &row, &lock, &err),
			    ROWLOCK_EUNSUPPORTED, &err);
		fake_end(fake_lock(client, ROWLOCK_LEASE, 0, "job"), client);
	}
	options.flags |= ROWLOCK_SINGLE_WRITER;
	client = fake_client_with(&options);
	fake_end(fake_lock(client, ROWLOCK_ROW, 0, "job"), client);
}

static int count_entry(const struct rowlock_entry *entry, void *arg)
{
	(void) entry;
	(*(int *) arg)++;
	return 0;
}

FAKE("listing and reaping check their options")
{
	FAKE_CLIENT();
	struct rowlock_list_options list = ROWLOCK_LIST_OPTIONS_DEFAULT;
	struct rowlock_reap_options reap = ROWLOCK_REAP_OPTIONS_DEFAULT;
	struct rowlock_reap_result result = { .size = sizeof(result) };
	int count = 0;

	assert_ok(rowlock_list(client, NULL, count_entry, &count, &err));
	assert_int_equal(count, 2);
	list.flags = ROWLOCK_LIST_PROBE;
	assert_ok(rowlock_list(client, &list, count_entry, &count, &err));
	assert_int_equal(count, 4);
	list.pattern = "a";
	list.name = "b";
	assert_code(rowlock_list(client, &list, count_entry, &count, &err),
		    ROWLOCK_EINVAL, &err);
	assert_code(rowlock_list(client, NULL, NULL, NULL, &err),
		    ROWLOCK_EINVAL, &err);
	assert_ok(rowlock_reap(client, NULL, NULL, &err));
	reap.batch = 501;
	assert_code(rowlock_reap(client, &reap, &result, &err), ROWLOCK_EINVAL,
		    &err);
	reap.batch = 500;
	assert_ok(rowlock_reap(client, &reap, &result, &err));
	result.size--;
	assert_code(rowlock_reap(client, &reap, &result, &err), ROWLOCK_EINVAL,
		    &err);
}

CASE_MAIN(case_main)
