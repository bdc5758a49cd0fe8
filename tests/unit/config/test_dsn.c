/* SPDX-License-Identifier: MIT */
/*
 * Where the server is: a table of connection strings, option files in a
 * directory of the test's own, and what all of them say together.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macro.h"
#include "config/dsn.h"
#include "namings.h"
#include "test.h"

static void assert_says(const char *message, const char *words)
{
	if (!strstr(message, words))
		fail_msg("'%s' does not say '%s'", message, words);
}

/* A copy on the heap, so that the sanitizers see a step beyond its end. */
static int check(const char *dsn, struct rowlock_errinfo *error)
{
	char *copy = strdup(dsn);
	struct rlk_where where = { 0 };
	int code;

	*error = (struct rowlock_errinfo){ 0 };
	code = rlk_dsn_read(copy, "dsn", &where, error);
	rlk_where_fini(&where);
	assert_string_equal(copy, dsn);
	free(copy);
	return code;
}

static void judge(const char *dsn, const char *words)
{
	struct rowlock_errinfo error;
	int code = check(dsn, &error);

	if (!words && code)
		fail_msg("'%s' is refused: %s", dsn, error.message);
	if (!words)
		return;
	if (code != ROWLOCK_EINVAL)
		fail_msg("'%s' is taken (%d)", dsn, code);
	assert_code(error.code, ROWLOCK_EINVAL, NULL);
	assert_says(error.message, "dsn: ");
	if (!strstr(error.message, words))
		fail_msg("'%s': '%s' does not say '%s'", dsn, error.message,
			 words);
	if (strstr(error.message, "hunter2"))
		fail_msg("'%s' is told with its secret: %s", dsn,
			 error.message);
}

CASE("what is not understood is refused")
{
	each_dsn_case(judge);
}

CASE("a missing string is an empty entry")
{
	struct rowlock_errinfo error;

	assert_code(check("", &error), ROWLOCK_EINVAL, &error);
	assert_says(error.message, "empty entry");
	assert_code(check(" \t", &error), ROWLOCK_EINVAL, &error);
}

/* A generator of its own, so that a failure comes again. */
static unsigned int draw(uint64_t *seed, unsigned int below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int) (*seed >> 33) % below;
}

CASE("any string gets a verdict")
{
	static const char *const pieces[] = {
		"host", "port", "password", "=",        ";", "{",
		"}",    "}}",   " ",        "\n",       "a", "1",
		"_",    "-",    "ssl_ca",   "\xc3\xa9", "'", "\\",
	};
	const size_t count = sizeof(pieces) / sizeof(pieces[0]);
	unsigned int taken = 0;
	uint64_t seed = 17;

	for (unsigned int i = 0; i < 20000; i++) {
		struct rowlock_errinfo error;
		unsigned int length = draw(&seed, 12);
		char dsn[128] = "";
		int code;

		while (length--)
			strcat(dsn, pieces[draw(&seed, (unsigned int) count)]);
		code = check(dsn, &error);
		taken += code == 0;
		if (code != 0 && code != ROWLOCK_EINVAL)
			fail_msg("'%s': %d", dsn, code);
		if (code && strncmp(error.message, "dsn: ", 5) != 0)
			fail_msg("'%s': %s", dsn, error.message);
	}
	assert_true(taken > 5);
}

/* Option files. */

static char directory[64];

__attribute__((format(printf, 2, 3))) static const char *write_file(
    const char *name, const char *format, ...)
{
	static char paths[4][128];
	static unsigned int next;
	char *path = paths[next++ % 4];
	va_list args;
	FILE *file;

	snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	assert_int_equal(fclose(file), 0);
	return path;
}

static int check_files(const char *path, const char *group, const char *suffix,
		       struct rowlock_errinfo *error)
{
	const struct rlk_sources sources = { .file = path,
					     .group = group,
					     .suffix = suffix };
	struct rlk_where where = { 0 };
	int code = rlk_where_read(&sources, &where, error);

	if (!code)
		rlk_where_fini(&where);
	return code;
}

static void judge_file(const char *text, const char *words)
{
	struct rowlock_errinfo error = { 0 };
	const char *path = write_file("some.cnf", "%s", text);
	int code = check_files(path, "rowlock", NULL, &error);

	if (!words && code)
		fail_msg("refused: %s\n%s", error.message, text);
	if (!words)
		return;
	if (code != ROWLOCK_EINVAL)
		fail_msg("taken (%d):\n%s", code, text);
	if (!strstr(error.message, words))
		fail_msg("'%s' does not say '%s'", error.message, words);
	assert_says(error.message, "/some.cnf:");
	assert_null(strstr(error.message, "hunter2"));
}

/* By each name of its keys. */
static void file_is(const char *text, const char *words)
{
	each_naming(&namings_of_file, text, words, judge_file);
}

CASE("our group is read to the letter")
{
	file_is("[rowlock]\nhost=db1\nuser = app\n", NULL);
	file_is("# x\n; y\n\n[rowlock]\nport = 3307 # main\n", NULL);
	file_is("[rowlock]\nport = '3307'\npassword=\"hunter2\"\n", NULL);
	file_is("[rowlock]\nssl_ca = /ca.pem\ninteractive-timeout\n", NULL);
	file_is("[rowlock]\nconnection = host=db1;user=app\n", NULL);
	file_is("[rowlock]\nhost=db1\nhots=db2\n",
		":3: group [rowlock]: unknown key 'hots': did you mean 'host'");
	file_is("\n[rowlock ]\n  port = abc\n", ":3: group [rowlock]: 'port'");
	file_is("[rowlock]\ngarbage\n", ":2: group [rowlock]: unknown key");
	file_is("[rowlock]\nunix_socket=/x\n", "did you mean 'socket'");
	file_is("[rowlock]\nhost=db1\ntls_unverified\n",
		":3: group [rowlock]: unknown key 'tls_unverified': each "
		"program is told that by itself, so give "
		"ROWLOCK_TLS_UNVERIFIED instead");
	file_is("[client]\nhost=db1\ntls-unverified\n", NULL);
	file_is("[rowlock]\npassword\n", "'password' has no value");
	file_is("[rowlock]\ncompress=on\nssl-enforce\nprotocol=TCP\n", NULL);
	file_is("[rowlock]\nssl-enforce=maybe\n", "it must be 0 or 1");
	file_is("[rowlock]\n'port=3\n", ":2: group [rowlock]: unknown key");
	file_is("[rowlock]\nuser=a#b\n", ":2: group [rowlock]: '#' begins a");
	file_is("[rowlock]\nconnection=user=a#b\n", ":2: group [rowlock]: '#'");
	file_is("[rowlock]\nuser=\"a#b\"\npassword='\\'#hunter2'\n", NULL);
	file_is("[rowlock]\nconnection = hots=db1\n",
		":2: group [rowlock]: unknown key 'hots'");
	file_is("[rowlock]\nhost=\n", "'host' is ''; leave it out");
	file_is("[mysqld]\nport=abc\n[rowlock-two]\nhots=db1\n[client]\n",
		NULL);
}

CASE("the client's groups are others too")
{
	file_is("[client]\nhots=db1\nno-auto-rehash\ncompress\n", NULL);
	file_is("[client]\nmax_allowed_packet=16M\nprotocol=socket\n", NULL);
	file_is("[client]\nport=0\nport=3306\t# usual\n", NULL);
	file_is("[client]\nport=abc\n", ":2: group [client]: 'port' is 'abc'");
	file_is("[client-mariadb]\nport=abc\n", ":2: group [client-mariadb]");
	file_is("[client-server]\nport=abc\n", "'port' is 'abc'");
	file_is("[client]\nport=abc\n[rowlock]\nport=3307\n", NULL);
	file_is("[rowlock]\nport=3307\n[client]\nport=abc\n", "'port'");
	file_is("[client]\nprotocol=pipe\n", ":2: group [client]: 'protocol'");
	file_is("[client]\nssl-enforce=maybe\n", "it must be 0 or 1");
	file_is("[client]\nprotocol=pipe\n[rowlock]\nprotocol=tcp\n", NULL);
	file_is("[client]\ndisable-local-infile\npassword\nhost=\n", NULL);
	file_is("[client]\nhost=db2\nconnection = host=db1;user=app\n", NULL);
	file_is("[client]\nconnection = hots=db1\n",
		":2: group [client]: unknown key 'hots'");
}

CASE("a group written much like ours is an error without ours")
{
	file_is("[rowlok]\nhost=db1\n",
		":1: there is no group [rowlock], but [rowlok]: did you");
	file_is("[client]\n[ rowlock ]\nhost=db1\n",
		":2: there is no group [rowlock], but [ rowlock]");
	file_is("[Rowlock]\nhost=db1\n[client]\n", "but [Rowlock]");
	file_is("[rowlok]\nhost=db1\n[rowlock]\n", NULL);
	file_is("[rowlock2]\nhost=db1\n[rowlock-a]\n[client]\n", NULL);
}

CASE("what ends a file early is an error")
{
	file_is("host=db1\n[rowlock]\nuser=app\n",
		":1: a setting before the first [group]");
	file_is("[rowlock\nhost=db1\n", ":1: a group without ']'");
	file_is("!including /etc/my.cnf\n", ":1: write !include FILE or");
	file_is("\n!include\n", ":2: cannot read ''");
}

CASE("includes are followed")
{
	struct rowlock_errinfo error = { 0 };
	const char *path;
	char name[96];

	snprintf(name, sizeof(name), "%s/dir", directory);
	assert_true(mkdir(name, 0700) == 0 || errno == EEXIST);
	write_file("dir/my.cnf", "[rowlock]\nhost=db1\nport=7\n");
	write_file("dir/other.cnf", "[mysqld]\nhost=db1\n");
	path =
	    write_file("top.cnf", "[client]\nport=x\n!includedir %s\n", name);
	assert_code(check_files(path, "rowlock", NULL, &error), 0, &error);
	write_file("dir/my.cnf", "[rowlock]\nhost=db1\n\nprot=7\n");
	assert_code(check_files(path, "rowlock", NULL, &error), ROWLOCK_EINVAL,
		    &error);
	assert_says(error.message, "/dir/my.cnf:4: group [rowlock]: unknown");
	path = write_file("loop.cnf",
			  "!include %s/loop.cnf\n!include %s/dir/"
			  "my.cnf\n",
			  directory, directory);
	assert_code(check_files(path, "rowlock", NULL, &error), ROWLOCK_EINVAL,
		    &error);
	assert_says(error.message, "did you mean 'port'");
	for (int i = 0; i < 2; i++) {
		path = write_file("lost.cnf", "!include%s %s/nowhere.cnf\n",
				  i ? "dir" : "", directory);
		assert_code(check_files(path, "rowlock", NULL, &error),
			    ROWLOCK_EINVAL, &error);
		assert_says(error.message, "/lost.cnf:1: cannot read '");
		assert_says(error.message, "/nowhere.cnf'");
	}
	assert_code(check_files(directory, "rowlock", NULL, &error),
		    ROWLOCK_EINVAL, &error);
	assert_says(error.message, "Is a directory");
}

/* As by MariaDB's own programs, in the order of their names. */
CASE("each *.cnf of a directory is read")
{
	struct rowlock_errinfo error = { 0 };
	struct rlk_where where = { 0 };
	struct rlk_sources sources = { .group = "rowlock" };
	char name[96];

	snprintf(name, sizeof(name), "%s/conf.d", directory);
	assert_true(mkdir(name, 0700) == 0 || errno == EEXIST);
	sources.file = write_file("top.cnf", "!includedir %s\n", name);
	write_file("conf.d/b.cnf", "[rowlock]\nhost=db2\n");
	write_file("conf.d/a.cnf", "[rowlock]\nhost=db1\nuser=app\n");
	write_file("conf.d/c.txt", "[rowlock]\nhost=db3\n");
	assert_code(rlk_where_read(&sources, &where, &error), 0, &error);
	assert_string_equal(where.values[RLK_SETTING_HOST], "db2");
	assert_string_equal(where.values[RLK_SETTING_USER], "app");
	assert_says(where.places[RLK_SETTING_HOST], "/conf.d/b.cnf:2: group");
	rlk_where_fini(&where);
	write_file("conf.d/a.cnf", "\n[rowlock]\nhots=db1\n");
	assert_code(rlk_where_read(&sources, &where, &error), ROWLOCK_EINVAL,
		    &error);
	assert_says(error.message, "/conf.d/a.cnf:3: group [rowlock]: unknown");
}

/* Values as MariaDB's own programs read them. */
static void judge_value(const char *line, const char *password)
{
	struct rowlock_errinfo error = { 0 };
	_cleanup_(rlk_where_fini) struct rlk_where where = { 0 };
	struct rlk_sources sources = { .group = "rowlock" };

	sources.file = write_file("value.cnf", "[client]\n%s\n", line);
	assert_code(rlk_where_read(&sources, &where, &error), 0, &error);
	if (!where.values[RLK_SETTING_PASSWORD])
		fail_msg("no password by: %s", line);
	assert_string_equal(where.values[RLK_SETTING_PASSWORD], password);
}

static void value_is(const char *line, const char *password)
{
	each_naming(&namings_of_file, line, password, judge_value);
}

CASE("quotes, escapes and comments are MariaDB's")
{
	value_is("password=a b ", "a b");
	value_is("  password  =  'a b '", "a b ");
	value_is("password=\"a#b\" # comment", "a#b");
	value_is("password=a#b", "a");
	value_is("password='a\"", "'a\"");
	value_is("password=a\\sb\\\\c\\q", "a b\\c\\q");
	value_is("password='it\\'s #1'", "it's #1");
	value_is("password=a=b;c", "a=b;c");
	value_is("passwd=x # password=y", "x");
}

static void expect(const struct rlk_where *where, size_t number,
		   const char *value)
{
	const char *now =
	    rlk_where_says(where, number) ? where->values[number] : "nothing";

	if (strcmp(now, value) != 0)
		fail_msg("key %zu is '%s', not '%s'", number, now, value);
}

/* Each key from the strongest source that has it. */
CASE("sources are merged key by key")
{
	struct rowlock_errinfo error = { 0 };
	struct rlk_where where = { 0 };
	struct rlk_sources sources = { .group = "rowlock" };

	sources.file = write_file("merge.cnf",
				  "[client]\nhost=db1\nport=1\nuser=file\n"
				  "password=file\ndatabase=file\nprotocol=tcp\n"
				  "connect-timeout=7\nssl-ca=/ca.pem\n");
	sources.dsn = "user=dsn;password=dsn";
	sources.arguments = "user=arguments";
	setenv("ROWLOCK_DSN", "database=env;password=env;port=2", 1);
	assert_code(rlk_where_read(&sources, &where, &error), 0, &error);
	expect(&where, RLK_SETTING_HOST, "db1");
	expect(&where, RLK_SETTING_PORT_NUMBER, "2");
	expect(&where, RLK_SETTING_USER, "arguments");
	expect(&where, RLK_SETTING_PASSWORD, "dsn");
	expect(&where, RLK_SETTING_DATABASE, "env");
	expect(&where, RLK_SETTING_PROTOCOL_NUMBER, "tcp");
	assert_int_equal(rlk_where_number(&where, RLK_SETTING_CONNECT_TIMEOUT),
			 7);
	assert_string_equal(where.places[RLK_SETTING_PASSWORD], "the dsn");
	assert_string_equal(where.places[RLK_SETTING_DATABASE], "ROWLOCK_DSN");
	rlk_where_fini(&where);
	/* A connection goes to one address. */
	setenv("ROWLOCK_DSN", "socket=/s", 1);
	assert_code(rlk_where_read(&sources, &where, &error), 0, &error);
	expect(&where, RLK_SETTING_SOCKET, "/s");
	expect(&where, RLK_SETTING_HOST, "nothing");
	expect(&where, RLK_SETTING_PORT_NUMBER, "nothing");
	expect(&where, RLK_SETTING_PROTOCOL_NUMBER, "nothing");
	rlk_where_fini(&where);
	sources.no_files = true;
	assert_code(rlk_where_read(&sources, &where, &error), 0, &error);
	expect(&where, RLK_SETTING_DATABASE, "nothing");
	rlk_where_fini(&where);
	/* A variable that was not set, most likely. */
	setenv("ROWLOCK_DSN", "", 1);
	sources = (struct rlk_sources){ .no_files = true, .group = "rowlock" };
	assert_code(rlk_where_read(&sources, &where, &error), ROWLOCK_EINVAL,
		    &error);
	assert_says(error.message, "ROWLOCK_DSN is empty");
	unsetenv("ROWLOCK_DSN");
}

/* Leaves this process room for @count more descriptors. */
static void limit_files(int count, struct rlimit *ret_before)
{
	struct rlimit less;
	int next = dup(0);

	assert_true(next >= 0);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, ret_before), 0);
	less = *ret_before;
	less.rlim_cur = (rlim_t) (next + count);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
}

/* Without it the connection would go to the local server. */
CASE("a file that cannot be opened, for want of a descriptor, is an error")
{
	struct rlk_sources sources = { .group = "rowlock" };
	char name[96];

	snprintf(name, sizeof(name), "%s/few.d", directory);
	assert_true(mkdir(name, 0700) == 0 || errno == EEXIST);
	write_file("few.d/a.cnf", "[rowlock]\nhost=db1\n");
	sources.file =
	    write_file("few.cnf", "!includedir %s\n[rowlock]\nuser=a\n", name);
	/* The file, and the directory that it includes. */
	for (int room = 0; room < 3; room++) {
		struct rowlock_errinfo error = { 0 };
		struct rlk_where where = { 0 };
		struct rlimit before;
		int code;

		limit_files(room, &before);
		code = rlk_where_read(&sources, &where, &error);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		if (code)
			assert_says(error.message, "Too many open files");
		else
			expect(&where, RLK_SETTING_HOST, "db1");
		assert_code(code, room < 2 ? ROWLOCK_EINVAL : 0, &error);
		rlk_where_fini(&where);
	}
}

/* Root can read any file, but without two of its capabilities, for good. */
static void read_as_user(void)
{
	const uint32_t any = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH;
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3,
						   0 };
	struct __user_cap_data_struct sets[2];

	assert_int_equal(syscall(SYS_capget, &header, sets), 0);
	sets[0].effective &= ~any;
	sets[0].permitted &= ~any;
	assert_int_equal(syscall(SYS_capset, &header, sets), 0);
}

/* /etc/my.cnf may be another's secret; what it says is not needed here. */
CASE("a file that cannot be read is passed over if all is said")
{
	struct rowlock_errinfo all = { 0 }, less = { 0 };
	struct rlk_where where = { 0 };
	struct rlk_sources sources = { .group = "rowlock" };
	const char *path = write_file("my.cnf", "[client]\n");
	int with_all, with_less;

	setenv("HOME", "/nowhere", 1);
	setenv("MARIADB_HOME", directory, 1);
	assert_int_equal(chmod(path, 0), 0);
	read_as_user();
	sources.dsn = "host=db1;user=app;database=d";
	with_all = rlk_where_read(&sources, &where, &all);
	if (!with_all)
		rlk_where_fini(&where);
	sources.dsn = "host=db1;user=app";
	with_less = rlk_where_read(&sources, &where, &less);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(with_all, 0);
	assert_code(with_less, ROWLOCK_EINVAL, NULL);
	assert_says(less.message, "/my.cnf': Permission denied");
}

CASE("a file that is all for others is an error")
{
	struct rowlock_errinfo error = { 0 };
	const char *path = write_file("app.cnf", "[myapp]\nhost=db1\n");

	assert_code(check_files(path, "rowlock", NULL, &error), ROWLOCK_EINVAL,
		    &error);
	assert_says(error.message,
		    "app.cnf' has groups, but neither [client] nor [rowlock]");
	assert_code(check_files(path, "myapp", NULL, &error), 0, &error);
	/* Of the standard ones nobody said that they are for us; and one
	 * without any group says that there is nothing to be read. */
	write_file("my.cnf", "[mysqld]\nport=1\n");
	setenv("MARIADB_HOME", directory, 1);
	setenv("HOME", "/nowhere", 1);
	assert_code(check_files(NULL, "rowlock", NULL, &error), 0, &error);
	file_is("", NULL);
	file_is("# host=db1\n", NULL);
}

CASE("a suffix reads more")
{
	struct rowlock_errinfo error = { 0 };
	const char *path =
	    write_file("two.cnf", "[rowlock_two]\nhots=db1\n[client_two]\n"
				  "port=abc\n[client]\n");

	assert_code(check_files(path, "rowlock", NULL, &error), 0, &error);
	/* Without it, what is read is another server's. */
	assert_code(check_files(path, "rowlock", "_t", &error), ROWLOCK_EINVAL,
		    &error);
	assert_says(error.message, "no group has the suffix '_t' (read: ");
	assert_says(error.message, "/two.cnf); write [client_t] or "
				   "[rowlock_t], or leave the suffix out");
	assert_code(check_files(path, "rowlock", "_tow", &error),
		    ROWLOCK_EINVAL, &error);
	assert_says(error.message, "/two.cnf:1: no group has the suffix "
				   "'_tow', but there is [rowlock_two]: did "
				   "you mean that?");
	assert_code(check_files(path, "rowlock", "", &error), 0, &error);
	assert_code(check_files(path, "rowlock", "_two", &error),
		    ROWLOCK_EINVAL, &error);
	assert_says(error.message, "group [rowlock_two]: unknown key 'hots'");
	assert_code(check_files(path, "other", "_two", &error), ROWLOCK_EINVAL,
		    &error);
	assert_says(error.message, "group [client_two]: 'port' is 'abc'");
	setenv("MARIADB_GROUP_SUFFIX", "_two", 1);
	assert_code(check_files(path, "other", NULL, &error), ROWLOCK_EINVAL,
		    &error);
	assert_code(check_files(path, "other", "_t", &error), ROWLOCK_EINVAL,
		    &error);
	assert_says(error.message, "no group has the suffix '_t'");
	unsetenv("MARIADB_GROUP_SUFFIX");
	assert_code(check_files(path, "rowlock_two", NULL, &error),
		    ROWLOCK_EINVAL, &error);
}

CASE("the standard files end at home")
{
	struct rowlock_errinfo error = { 0 };

	write_file("my.cnf", "[rowlock]\nport=x1\n");
	write_file(".my.cnf", "[rowlock]\nport=x2\n");
	setenv("MYSQL_HOME", directory, 1);
	setenv("HOME", directory, 1);
	unsetenv("MARIADB_HOME");
	assert_code(check_files(NULL, "rowlock", NULL, &error), ROWLOCK_EINVAL,
		    &error);
	assert_says(error.message, "'x1'");
	setenv("MARIADB_HOME", "/nowhere", 1);
	assert_code(check_files(NULL, "rowlock", NULL, &error), ROWLOCK_EINVAL,
		    &error);
	assert_says(error.message, "'x2'");
}

static int remove_files(void **state)
{
	char line[128];

	(void) state;
	snprintf(line, sizeof(line), "rm -rf '%s'", directory);
	return system(line);
}

static int make_directory(void **state)
{
	const char *base = getenv("TMPDIR");

	(void) state;
	unsetenv("ROWLOCK_DSN");
	unsetenv("MARIADB_GROUP_SUFFIX");
	unsetenv("MYSQL_GROUP_SUFFIX");
	snprintf(directory, sizeof(directory), "%.40s/rowlock-dsn.XXXXXX",
		 base && *base ? base : "/tmp");
	return mkdtemp(directory) ? 0 : -1;
}

int main(void)
{
	return case_run(make_directory, remove_files);
}
