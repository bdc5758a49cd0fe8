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

#include "dsn.h"

static char dir[64];
static char replica_dir[80]; /* "": there is none */

static int sandbox_in(const char *place, const char *command)
{
	const char *program = getenv("ROWLOCK_SANDBOX");
	char line[512];
	int status;

	if (!program)
		return -1;
	snprintf(line, sizeof(line), "'%s' %s --dir='%s' >&2", program, command,
		 place);
	fflush(stdout);
	status = system(line);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int sandbox(const char *command)
{
	return sandbox_in(dir, command);
}

static void read_dsn(const char *place, const char *account, char *dsn,
		     size_t size)
{
	char line[512];
	FILE *out;

	snprintf(line, sizeof(line), "'%s' dsn %s --dir='%s'",
		 getenv("ROWLOCK_SANDBOX"), account, place);
	out = popen(line, "re");
	assert_non_null(out);
	assert_non_null(fgets(dsn, (int) size, out));
	assert_int_equal(pclose(out), 0);
	dsn[strcspn(dsn, "\n")] = '\0';
}

const char *test_server_dsn(const char *account)
{
	static struct {
		char account[16];
		char dsn[512];
	} known[8];
	size_t i;

	for (i = 0; *known[i].dsn; i++)
		if (!strcmp(known[i].account, account))
			return known[i].dsn;
	assert_true(i < TEST_SIZE(known) - 1);
	read_dsn(dir, account, known[i].dsn, sizeof(known[i].dsn));
	snprintf(known[i].account, sizeof(known[i].account), "%s", account);
	return known[i].dsn;
}

static struct test_sql *open_by(const char *dsn)
{
	const char *before = test_dsn();
	struct test_sql *sql;

	test_use_dsn(dsn);
	sql = test_sql_open();
	test_use_dsn(before);
	return sql;
}

struct test_sql *test_server_root(void)
{
	return open_by(test_server_dsn("--root"));
}

/* How far the primary's binary log is. */
static void position(char *at, size_t size)
{
	struct test_sql *primary = test_server_root();
	char *line = test_sql_text(primary, "SELECT @@GLOBAL.gtid_binlog_pos");

	snprintf(at, size, "%.*s", (int) strcspn(line, "\n"), line);
	free(line);
	test_sql_end(primary);
}

/* It has the same tables and accounts already; what comes from now on is
 * replicated. */
static void follow(struct test_sql *replica)
{
	const char *dsn = test_server_dsn("--root");
	char password[64];
	char port[16];
	char at[128];

	position(at, sizeof(at));
	assert_true(test_dsn_value(dsn, "port", port, sizeof(port)));
	assert_true(
	    test_dsn_value(dsn, "password", password, sizeof(password)));
	test_sql(replica, "SET GLOBAL server_id = 2");
	test_sql(replica, "SET GLOBAL gtid_slave_pos = '%s'", at);
	test_sql(replica,
		 "CHANGE MASTER TO master_host = '127.0.0.1', master_port = "
		 "%s, master_user = 'root', master_password = '%s', "
		 "master_use_gtid = slave_pos",
		 port, password);
	test_sql(replica, "START SLAVE");
}

struct test_sql *test_replica_start(void)
{
	struct test_sql *replica;
	char start[64];
	char dsn[512];

	snprintf(replica_dir, sizeof(replica_dir), "%s-replica", dir);
	snprintf(start, sizeof(start), "start --owner=%d", (int) getpid());
	assert_int_equal(sandbox_in(replica_dir, start), 0);
	read_dsn(replica_dir, "--root", dsn, sizeof(dsn));
	replica = open_by(dsn);
	follow(replica);
	return replica;
}

void test_replica_dsn(const char *account, char *dsn, size_t size)
{
	read_dsn(replica_dir, account, dsn, size);
}

void test_replica_catch_up(struct test_sql *replica)
{
	char at[128];

	position(at, sizeof(at));
	assert_int_equal(test_sql_number(replica,
					 "SELECT MASTER_GTID_WAIT('%s', %d)",
					 at, test_patience_ms() / 1000),
			 0);
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

static int run_own(const char *options)
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
	snprintf(start, sizeof(start), "start --owner=%d%s%s", (int) getpid(),
		 tls ? " --tls" : "", options);
	if (sandbox(start))
		return 99;
	test_use_dsn(test_server_dsn(""));
	failed = test_main();
	if (*replica_dir)
		sandbox_in(replica_dir, "stop");
	sandbox("stop");
	return failed;
}

int test_main_own_server(void)
{
	return run_own("");
}

int test_main_own_primary(void)
{
	return run_own(" --log-bin");
}
