// SPDX-License-Identifier: MIT
/*
 * A sandbox of the test's own: start, run the tests, stop.
 *
 * The sandbox is a script; it is run by the shell and its words go to the
 * test's log. It is stopped also when tests failed, and it stops by itself if
 * the test program is killed.
 */
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];

static int sandbox(const char *command)
{
	const char *program = getenv("ROWLOCK_SANDBOX");
	char line[512];
	int status;

	if (!program)
		return -1;
	snprintf(line, sizeof(line), "'%s' %s --dir='%s' >&2", program, command,
		 dir);
	fflush(stdout);
	status = system(line);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const char *test_server_dsn(const char *account)
{
	static struct {
		char account[16];
		char dsn[512];
	} known[8];
	char line[512];
	size_t i;
	FILE *out;

	for (i = 0; *known[i].dsn; i++)
		if (!strcmp(known[i].account, account))
			return known[i].dsn;
	assert_true(i < TEST_SIZE(known) - 1);
	snprintf(line, sizeof(line), "'%s' dsn %s --dir='%s'",
		 getenv("ROWLOCK_SANDBOX"), account, dir);
	out = popen(line, "re");
	assert_non_null(out);
	assert_non_null(fgets(known[i].dsn, sizeof(known[i].dsn), out));
	assert_int_equal(pclose(out), 0);
	known[i].dsn[strcspn(known[i].dsn, "\n")] = '\0';
	snprintf(known[i].account, sizeof(known[i].account), "%s", account);
	return known[i].dsn;
}

struct test_sql *test_server_root(void)
{
	const char *before = test_dsn();
	struct test_sql *sql;

	test_use_dsn(test_server_dsn("--root"));
	sql = test_sql_open();
	test_use_dsn(before);
	return sql;
}

void test_server_cut(struct test_sql *root, int count)
{
	while (count > 0) {
		uint64_t id = test_sql_number(
		    root, "SELECT COALESCE(MIN(ID), 0) FROM "
			  "information_schema.PROCESSLIST WHERE USER <> 'root' "
			  "AND INFO LIKE '%%business_lease%%'");

		if (id && !test_sql_try(root, "KILL CONNECTION %llu",
					(unsigned long long) id))
			count--;
	}
}

void test_server_kill(void)
{
	assert_int_equal(sandbox("kill"), 0);
}

void test_server_restart(void)
{
	assert_int_equal(sandbox("restart"), 0);
}

void test_server_freeze(void)
{
	assert_int_equal(sandbox("freeze"), 0);
}

void test_server_thaw(void)
{
	assert_int_equal(sandbox("thaw"), 0);
}

bool test_wants_tls(void)
{
	const char *tls = getenv("ROWLOCK_TEST_TLS");

	return tls && *tls;
}

void test_tell_own_server(void)
{
	fflush(stdout);
	assert_int_equal(system("PATH=$PATH:/usr/sbin:/sbin; echo \"# server: "
				"own, $(mariadbd --version)\""),
			 0);
}

int test_run_own_server(const char *group, const struct CMUnitTest *tests,
			size_t n)
{
	const char *base = getenv("TMPDIR");
	bool tls = test_wants_tls();
	char start[64];
	int failed;

	if (!getenv("ROWLOCK_SANDBOX"))
		return test_skip_all(
		    "needs tools/sandbox: run it by meson test");
	if (system("PATH=$PATH:/usr/sbin:/sbin command -v mariadbd >/dev/null"))
		return test_skip_all(
		    "needs a server of its own: no mariadbd here");
	if (tls && system("command -v openssl >/dev/null"))
		return test_skip_all("needs a certificate: no openssl here");
	snprintf(dir, sizeof(dir), "%.30s/rowlock-test-%d",
		 base && *base ? base : "/tmp", (int) getpid());
	/* It ends with us, also if we are killed. */
	snprintf(start, sizeof(start), "start --owner=%d%s", (int) getpid(),
		 tls ? " --tls" : "");
	if (sandbox(start))
		return 99;
	test_use_dsn(test_server_dsn(""));
	failed = test_run(group, tests, n);
	sandbox("stop");
	return failed;
}
