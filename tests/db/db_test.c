/* SPDX-License-Identifier: MIT */
/*
 * The common part of the db layer's tests: where the server is, connections
 * that must open, a sandbox of a program's own.
 */
#include "db_test.h"
#include "db/connect.h"
#include "db/pool_private.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

const struct rlk_conn_profile db_lease = { "lease", true, 1, 30 };
const struct rlk_conn_profile db_row = { "row", false, 20, 30 };

static const char *dsn;
static const char *root_dsn;
static char dir[64];

const char *db_dsn(void)
{
	return dsn;
}

const char *db_root_dsn(void)
{
	return root_dsn;
}

const char *db_dsn_with(const char *options)
{
	static char texts[16][512];
	static unsigned int used;
	char *text = texts[used++ % 16];

	test_dsn_with(dsn, options, text, sizeof(texts[0]));
	return text;
}

struct rlk_conn_target db_target(const char *other)
{
	return (struct rlk_conn_target){
		.sources = { .dsn = other ? other : dsn,
			     .no_files = true,
			     .group = "rowlock" },
		.program = "db-test",
		.clock = rlk_clock_real(),
	};
}

int64_t db_in(int64_t ms)
{
	return rlk_now(rlk_clock_real()) + ms;
}

struct rlk_conn *db_open(const char *other,
			 const struct rlk_conn_profile *profile)
{
	static struct rlk_conn_target targets[64];
	static unsigned int used;
	struct rlk_conn_target *target = &targets[used++ % 64];
	struct rowlock_errinfo error = { 0 };
	struct rlk_conn *conn = NULL;

	*target = db_target(other);
	if (rlk_conn_open(target, profile, db_in(test_patience_ms()), &conn,
			  &error))
		print_error("%s\n", error.message);
	assert_non_null(conn);
	return conn;
}

int db_refused(const char *other, unsigned int flags,
	       struct rowlock_errinfo *ret_error)
{
	struct rlk_conn_target target = db_target(other);
	struct rlk_conn *conn = NULL;
	int code;

	target.flags = flags;
	*ret_error = (struct rowlock_errinfo){ 0 };
	code = rlk_conn_open(&target, &db_lease, db_in(test_patience_ms()),
			     &conn, ret_error);
	assert_null(conn);
	assert_int_not_equal(code, 0);
	assert_int_equal(code, ret_error->code);
	print_message("# %s\n", ret_error->message);
	return code;
}

unsigned int db_pool_count(struct rlk_pool *pool, size_t bay)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&pool->mutex);

	return pool->bays[bay].lent + pool->bays[bay].kept;
}

unsigned int db_pool_waiting(struct rlk_pool *pool, size_t bay)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&pool->mutex);

	return rlk_bay_waiting(&pool->bays[bay]);
}

void db_exec(struct rlk_conn *conn, const char *sql)
{
	assert_done(rlk_stmt_text(conn, sql, &err));
}

void db_root(const char *sql)
{
	DB_CONN(conn, db_open(root_dsn, &db_lease));

	db_exec(conn, sql);
}

static void see_number(const struct rlk_value *columns, void *arg)
{
	if (columns[0].type == RLK_TEXT)
		*(uint64_t *) arg = strtoull(columns[0].text, NULL, 10);
	else if (columns[0].type != RLK_NULL)
		*(uint64_t *) arg = columns[0].u64;
}

/* A connection knows a statement by its definition's address: each text has
 * one of its own for as long as the program runs. Freed, the address would be
 * the next text's, and the answer the former's. */
static const struct rlk_stmt_def *number_def(const char *sql)
{
	static struct rlk_stmt_def defs[64];
	static unsigned int used;

	for (unsigned int i = 0; i < used; i++)
		if (strcmp(defs[i].sql, sql) == 0)
			return &defs[i];
	assert_true(used < 64);
	defs[used] = (struct rlk_stmt_def){ "number", sql };
	return &defs[used++];
}

uint64_t db_number(struct rlk_conn *conn, const char *sql)
{
	uint64_t number = 0;

	assert_done(rlk_stmt_each(conn, number_def(sql), NULL, see_number,
				  &number, &err));
	return number;
}

void db_done(enum rlk_fault fault, const struct rowlock_errinfo *error,
	     const char *file, int line)
{
	if (fault == RLK_DONE)
		return;
	print_error("fault %d: %s\n", (int) fault, error->message);
	_fail(file, line);
}

void db_says(const char *text, const char *part, const char *file, int line)
{
	if (strstr(text, part))
		return;
	print_error("'%s' does not say '%s'\n", text, part);
	_fail(file, line);
}

uint64_t db_status(struct rlk_conn *conn, const char *variable, bool global)
{
#define STATUS(table)                                                          \
	{                                                                      \
		"status",                                                      \
		    "SELECT CAST(VARIABLE_VALUE AS UNSIGNED) FROM " table      \
		    " WHERE VARIABLE_NAME = ?"                                 \
	}
	static const struct rlk_stmt_def defs[2][2] = {
		[RLK_MARIADB] = { STATUS("information_schema.SESSION_STATUS"),
				  STATUS("information_schema.GLOBAL_STATUS") },
		[RLK_MYSQL] = { STATUS("performance_schema.session_status"),
				STATUS("performance_schema.global_status") },
	};
#undef STATUS
	const struct rlk_value params[] = { rlk_text(variable) };
	enum rlk_flavour flavour = rlk_conn_server(conn)->flavour;
	struct rlk_reply reply;

	assert_done(
	    rlk_stmt_run(conn, &defs[flavour][global], params, &reply, &err));
	assert_true(reply.has_row);
	return reply.columns[0].u64;
}

void db_keep_waiting(int64_t since_ms, const char *what)
{
	int64_t ms = db_in(-since_ms);

	if (ms >= test_patience_ms())
		fail_msg("waited %lld s for %s", (long long) ms / 1000, what);
}

void db_await_lock_wait(struct rlk_conn *conn)
{
	int64_t since = db_in(0);

	while (!db_status(conn, "INNODB_ROW_LOCK_CURRENT_WAITS", true))
		db_keep_waiting(since, "somebody to wait for a row lock");
}

void db_address(char *buffer, size_t size)
{
	struct ifaddrs *list = NULL;

	*buffer = '\0';
	if (getifaddrs(&list))
		return;
	for (struct ifaddrs *at = list; at && !*buffer; at = at->ifa_next) {
		struct sockaddr_in in;

		if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET ||
		    !(at->ifa_flags & IFF_UP))
			continue;
		memcpy(&in, at->ifa_addr, sizeof(in));
		if (ntohl(in.sin_addr.s_addr) >> 24 != 127)
			inet_ntop(AF_INET, &in.sin_addr, buffer,
				  (socklen_t) size);
	}
	freeifaddrs(list);
}

static bool have_address(void)
{
	char address[64];

	db_address(address, sizeof(address));
	return *address;
}

static bool have_ipv6(void)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6,
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool have = fd >= 0 && !bind(fd, (struct sockaddr *) &at, sizeof(at));

	if (fd >= 0)
		close(fd);
	return have;
}

struct db_need db_need_address = { have_address,
				   "an address other than loopback" };
struct db_need db_need_ipv6 = { have_ipv6, "IPv6" };

/* The end of a program that cannot run here. */
static int skip_all(const char *reason)
{
	const char *output = getenv("CMOCKA_MESSAGE_OUTPUT");

	printf("1..0 # SKIP %s\n", reason);
	/* TAP has said it; by exit status it is 77. */
	return output && strcasecmp(output, "TAP") == 0 ? 0 : 77;
}

/* What stands before the first case: behind the plan, as TAP 13 wants its
 * version in the first line. */
static bool is_able(const struct CMUnitTest *test)
{
	const struct db_need *need = test->initial_state;

	return !need || need->met();
}

static void tell_before(void)
{
	size_t count;
	const struct CMUnitTest *tests = case_all(&count);

	if (!root_dsn)
		printf("# server: given\n");
	fflush(stdout);
	if (root_dsn && system("PATH=$PATH:/usr/sbin:/sbin; echo \"# server: "
			       "own, $(mariadbd --version)\""))
		abort();
	for (size_t i = 0; i < count; i++)
		if (!is_able(&tests[i]))
			printf("# left out, as this machine has not %s: %s\n",
			       ((const struct db_need *) tests[i].initial_state)
				   ->what,
			       tests[i].name);
}

/* These tests use fixed names: one program at a time has the server. */
static struct rlk_conn *turn;

static int take_turn(void **state)
{
	static char sql[80]; /* db_number() keeps it */
	int64_t ms = 10 * (int64_t) test_patience_ms();

	(void) state;
	tell_before();
	turn = db_open(NULL, &db_lease);
	rlk_conn_set_until(turn, db_in(ms + test_patience_ms()));
	snprintf(sql, sizeof(sql), "SELECT GET_LOCK('rowlock db-test', %lld)",
		 (long long) ms / 1000);
	if (db_number(turn, sql) == 1)
		return 0;
	print_error("waited %lld s for the other programs of the db ring\n",
		    (long long) ms / 1000);
	return 1;
}

static int give_turn(void **state)
{
	(void) state;
	turn = rlk_conn_close(turn);
	return 0;
}

static int sandbox(const char *command)
{
	char line[512];
	int status;

	snprintf(line, sizeof(line), "'%s' %s --dir='%s' >&2",
		 getenv("ROWLOCK_SANDBOX"), command, dir);
	fflush(stdout);
	status = system(line);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *sandbox_dsn(const char *account, char *text, size_t size)
{
	char line[512];
	FILE *out;

	snprintf(line, sizeof(line), "'%s' dsn %s --dir='%s'",
		 getenv("ROWLOCK_SANDBOX"), account, dir);
	out = popen(line, "re");
	if (!out || !fgets(text, (int) size, out))
		abort();
	pclose(out);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static int run_all(void)
{
	size_t count;
	const struct CMUnitTest *tests = case_all(&count);
	struct CMUnitTest *here = calloc(count, sizeof(*here));
	size_t able = 0;
	int failed;

	if (!here)
		abort();
	for (size_t i = 0; i < count; i++) {
		if (!is_able(&tests[i]))
			continue;
		here[able] = tests[i];
		here[able++].initial_state = NULL;
	}
	failed =
	    _cmocka_run_group_tests("tests", here, able, take_turn, give_turn);
	free(here);
	return failed;
}

static int run_own(const char *start)
{
	static char app[512];
	static char root[512];
	const char *base = getenv("TMPDIR");
	char words[64];
	int failed;

	if (!getenv("ROWLOCK_SANDBOX"))
		return skip_all("needs tools/sandbox: run it by meson test");
	if (system("PATH=$PATH:/usr/sbin:/sbin command -v mariadbd >/dev/null"))
		return skip_all("needs a server of its own: no mariadbd here");
	snprintf(dir, sizeof(dir), "%.30s/rowlock-db-%d",
		 base && *base ? base : "/tmp", (int) getpid());
	/* It ends with us, also if we are killed. */
	snprintf(words, sizeof(words), "%s --owner=%d", start, (int) getpid());
	if (sandbox(words))
		return 99;
	dsn = sandbox_dsn("--app", app, sizeof(app));
	root_dsn = sandbox_dsn("--root", root, sizeof(root));
	failed = run_all();
	sandbox("stop");
	return failed;
}

int db_main_own(void)
{
	return run_own("start");
}

int db_main_tls(void)
{
	if (system("command -v openssl >/dev/null"))
		return skip_all("needs a certificate: no openssl here");
	return run_own("start --tls");
}

int db_main(void)
{
	const char *tls = getenv("ROWLOCK_TEST_TLS");

	if (tls && *tls)
		return db_main_tls();
	dsn = getenv("ROWLOCK_TEST_DSN");
	if (!dsn || !*dsn)
		return skip_all("no server: set ROWLOCK_TEST_DSN");
	return run_all();
}
