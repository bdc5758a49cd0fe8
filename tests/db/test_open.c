/* SPDX-License-Identifier: MIT */
/* Opening a connection: what is set, what is refused, in which words. */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/conn_private.h"
#include "db/connect.h"
#include "db_test.h"

CASE("good options open a connection")
{
	DB_CONN(conn, db_open(NULL, &db_lease));
	const struct rlk_server *server = rlk_conn_server(conn);
	struct rlk_mark mark;

	assert_true(rlk_conn_usable(conn));
	assert_true(server->version >= 80000);
	assert_non_null(strchr(server->name, '('));
	rlk_conn_mark(conn, &mark);
	assert_int_equal(mark.id, db_number(conn, "SELECT CONNECTION_ID()"));
	assert_string_equal(mark.identity, server->identity);
	assert_int_equal(strncmp(mark.lock, "rl:", 3), 0);
}

CASE("the descriptor is closed on exec")
{
	DB_CONN(conn, db_open(NULL, &db_lease));

	assert_true(fcntl(rlk_conn_fd(conn), F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(rlk_conn_fd(conn), F_GETFL) & O_NONBLOCK);
}

static int option_of(int fd, int level, int name)
{
	socklen_t size = sizeof(int);
	int value = -1;

	assert_int_equal(getsockopt(fd, level, name, &value, &size), 0);
	return value;
}

/* The server's end may vanish without a word. */
CASE("a silent peer is noticed by the kernel")
{
	DB_RELAY(relay, relay_start(RELAY_STRAIGHT, NULL));
	DB_CONN(conn, db_open(relay_dsn(relay), &db_lease));
	int fd = rlk_conn_fd(conn);

	assert_int_equal(db_lease.idle_s, 30);
	assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), 10);
	assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL), 10);
	assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPCNT), 3);
	assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 30000);
}

/* Connector/C refuses an attribute without a value. A program may have been
 * started without a name. */
CASE("a program without a name opens")
{
	struct rlk_conn_target target = db_target(NULL);
	struct rowlock_errinfo error = { 0 };
	DB_CONN(conn, NULL);

	target.program = "";
	rlk_conn_open(&target, &db_lease, db_in(test_patience_ms()), &conn,
		      &error);
	assert_string_equal(error.message, "");
}

CASE("a wrong password is said, with the user, without it")
{
	assert_code(
	    db_refused(db_dsn_with("password=secret17;user=nobody17"), 0, &err),
	    ROWLOCK_EAUTH, &err);
	assert_says(err.message, "nobody17");
	assert_null(strstr(err.message, "secret17"));
	assert_true(err.mysql == 1045 || err.mysql == 1698);
}

CASE("a user that nobody named is told so")
{
	const char *weaker = getenv("ROWLOCK_DSN");
	char *kept = weaker ? strdup(weaker) : NULL;
	char dsn[512];

	test_dsn_without(db_dsn_with("password=secret17"), "user", dsn,
			 sizeof(dsn));
	unsetenv("ROWLOCK_DSN");
	assert_code(db_refused(dsn, 0, &err), ROWLOCK_EAUTH, &err);
	if (kept)
		setenv("ROWLOCK_DSN", kept, 1);
	free(kept);
	assert_says(err.message, "no user was named");
	assert_null(strstr(err.message, "secret17"));
}

CASE("a refused port is said")
{
	assert_code(
	    db_refused("host=127.0.0.1;port=1;user=u;password=p", 0, &err),
	    ROWLOCK_ECONNECT, &err);
	assert_says(err.message, "127.0.0.1:1");
	assert_says(err.message, "bind-address");
	assert_int_equal(err.mysql, 2002);
	assert_code(db_refused("socket=/no/such/socket;user=u", 0, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_says(err.message, "/no/such/socket");
	assert_says(err.message, "is that its socket?");
}

CASE("an unknown host is said")
{
	assert_code(db_refused("host=no.such.host.invalid;user=u", 0, &err),
		    ROWLOCK_ECONNECT, &err);
	assert_says(err.message, "no.such.host.invalid");
	assert_int_equal(err.mysql, 2005);
}

CASE("an unknown database is said")
{
	int code = db_refused(db_dsn_with("database=no_such_db17"), 0, &err);

	/* 1044 if the account may not see whether it is there. */
	assert_true(code == ROWLOCK_ESCHEMA || code == ROWLOCK_EAUTH);
	assert_says(err.message, "no_such_db17");
}

CASE("an option file that is not there is an error")
{
	struct rlk_conn_target target = db_target(NULL);
	struct rlk_conn *conn = NULL;
	char missing[] = "/nonexistent/my17.cnf";

	target.sources =
	    (struct rlk_sources){ .file = missing, .group = "rowlock" };
	assert_code(rlk_conn_open(&target, &db_lease, db_in(test_patience_ms()),
				  &conn, &err),
		    ROWLOCK_EINVAL, &err);
	assert_says(err.message, missing);
	assert_null(conn);
}

/* The connection string as an option file: its keys are the same. */
static void write_options(FILE *file)
{
	char *copy = strdup(db_dsn());
	char *rest = copy;
	char *pair;

	assert_non_null(copy);
	while ((pair = strsep(&rest, ";")))
		fprintf(file, "%s\n", pair);
	free(copy);
}

/* Open by an option file of a group of its own, behind @before. */
static int open_by_file(const char *before, mode_t mode,
			struct rlk_conn **ret_conn,
			struct rowlock_errinfo *ret_error)
{
	struct rlk_conn_target target = db_target(NULL);
	char path[] = "/tmp/rowlock-options-XXXXXX";
	char group[] = "rowlock17";
	FILE *file = fdopen(mkstemp(path), "w");
	int code;

	assert_non_null(file);
	fprintf(file, "%s[%s]\n", before, group);
	write_options(file);
	assert_int_equal(fchmod(fileno(file), mode), 0);
	fclose(file);
	target.sources = (struct rlk_sources){ .file = path, .group = group };
	code = rlk_conn_open(&target, &db_lease, db_in(test_patience_ms()),
			     ret_conn, ret_error);
	unlink(path);
	if (code)
		assert_says(ret_error->message, path);
	return code;
}

CASE("option file and group are read")
{
	struct rowlock_errinfo error = { 0 };
	DB_CONN(conn, NULL);

	open_by_file("[client]\nuser=wrong\n", 0600, &conn, &error);
	assert_string_equal(error.message, "");
	assert_non_null(conn);
}

/* Of what is at @path, of some kind; 0 or what it was refused with. */
static int open_by_path(char *path, struct rowlock_errinfo *ret_error)
{
	struct rlk_conn_target target = db_target(NULL);
	struct rlk_conn *conn = NULL;
	int code;

	target.sources =
	    (struct rlk_sources){ .file = path, .group = "rowlock" };
	code = rlk_conn_open(&target, &db_lease, db_in(test_patience_ms()),
			     &conn, ret_error);
	assert_int_equal(conn == NULL, code != 0);
	if (conn)
		rlk_conn_close(conn);
	return code;
}

/* Nobody writes to it, so it would be waited for. */
CASE("a pipe is no option file")
{
	char path[64];
	int code;

	snprintf(path, sizeof(path), "/tmp/rowlock-pipe-%d", (int) getpid());
	assert_int_equal(mkfifo(path, 0600), 0);
	code = open_by_path(path, &err);
	unlink(path);
	assert_code(code, ROWLOCK_EINVAL, NULL);
	assert_says(err.message, path);
	assert_says(err.message, "is a pipe");
}

/* Nor has one of these an end; /dev/null has, and says nothing. */
CASE("nor is a device, but /dev/null")
{
	struct rowlock_errinfo error = { 0 };
	char zero[] = "/dev/zero", none[] = "/dev/null";

	assert_code(open_by_path(zero, &error), ROWLOCK_EINVAL, &error);
	assert_says(error.message, "'/dev/zero' is a device");
	error.message[0] = '\0';
	/* Perhaps there is a server here, which takes us. */
	open_by_path(none, &error);
	assert_null(strstr(error.message, "device"));
}

CASE("a file that everybody can write is refused")
{
	struct rlk_conn *conn = NULL;

	assert_code(open_by_file("", 0602, &conn, &err), ROWLOCK_EINVAL, &err);
	assert_says(err.message, "everybody can write");
	assert_null(conn);
}

CASE("return-found-rows is refused")
{
	assert_code(db_refused(db_dsn_with("return-found-rows=1"), 0, &err),
		    ROWLOCK_EINVAL, &err);
	assert_says(err.message, "return-found-rows");
}

CASE("reconnect and LOCAL INFILE stay off")
{
	DB_CONN(conn,
		db_open(db_dsn_with("reconnect=1;local-infile=1"), &db_lease));
	DB_CONN(other, db_open(NULL, &db_lease));
	char sql[64];

	assert_false(conn->mysql->client_flag & CLIENT_LOCAL_FILES);
	assert_false(conn->mysql->options.client_flag & CLIENT_LOCAL_FILES);
	snprintf(sql, sizeof(sql), "KILL %llu",
		 (unsigned long long) rlk_conn_id(conn));
	db_exec(other, sql);
	assert_int_equal(rlk_stmt_text(conn, "DO 1", &err), RLK_UNKNOWN);
	assert_int_equal(rlk_stmt_text(conn, "DO 1", &err), RLK_FAILED);
}

static void refused_unconnected(const char *change, const char *says)
{
	DB_RELAY(relay, relay_start(RELAY_STRAIGHT, NULL));
	struct rowlock_errinfo error = { 0 };
	char dsn[512];

	test_dsn_with(relay_dsn(relay), change, dsn, sizeof(dsn));
	assert_code(db_refused(dsn, 0, &error), ROWLOCK_EINVAL, &error);
	assert_says(error.message, says);
	assert_int_equal(relay_heard(relay), 0);
}

CASE("a misspelt key is told before a connect")
{
	refused_unconnected("hots=db1", "did you mean 'host'?");
	refused_unconnected("connect-timeout=5s", "'connect-timeout' is '5s'");
	refused_unconnected("user=a;user=b", "'user' is there twice");
}

/* Connector/C would read the last letter twice, that of the port or of the
 * database. */
CASE("a doubled brace moves nothing")
{
	char dsn[600];

	snprintf(dsn, sizeof(dsn), "init-command={SET @rlk = '}}'};%s",
		 db_dsn());
	DB_CONN(conn, db_open(dsn, &db_lease));
	assert_int_equal(db_number(conn, "SELECT @rlk = '}'"), 1);
}

CASE("a broken connection string is refused")
{
	assert_code(db_refused("host=127.0.0.1;=;{", 0, &err), ROWLOCK_EINVAL,
		    &err);
	assert_says(err.message, "dsn");
}

CASE("a connection string may have one option only")
{
	/* Without its semicolon it would be taken for the host's name. */
	db_refused("port=1", 0, &err);
	assert_int_not_equal(err.mysql, 2005);
}

CASE_NEEDS("another host without verified TLS hears nothing secret",
	   db_need_address)
{
	struct rlk_conn_target target;
	struct rlk_conn *conn = NULL;
	struct relay *relay;
	char address[64];

	db_address(address, sizeof(address));
	relay = relay_start(RELAY_STRAIGHT, address);
	/* A server with a certificate for this very address may be there. */
	target = db_target(relay_dsn(relay));
	if (!rlk_conn_open(&target, &db_lease, db_in(test_patience_ms()), &conn,
			   &err)) {
		assert_true(conn->peer.tls);
		rlk_conn_close(conn);
		relay_end(relay);
		return;
	}
	print_message("# %s\n", err.message);
	assert_code(err.code, ROWLOCK_ECONNECT, NULL);
	/* A server without TLS hears nothing, one with TLS the wish for it;
	 * in no case the name of the account. */
	assert_true(relay_heard(relay) == 0 || err.mysql == 2026);
	relay_end(relay);
}

/* A certificate would have to name each of them. */
static void expect_local(const char *address, const char *host)
{
	DB_RELAY(relay, relay_start(RELAY_STRAIGHT, address));
	const char *port;
	char changes[200], dsn[512];

	assert_non_null(relay);
	port = strrchr(relay_dsn(relay), '=') + 1;
	if (*host == '/')
		snprintf(changes, sizeof(changes), "ssl_verify_server_cert=0");
	else
		snprintf(changes, sizeof(changes),
			 "host=%s;port=%s;ssl_verify_server_cert=0", host,
			 port);
	test_dsn_with(relay_dsn(relay), changes, dsn, sizeof(dsn));
	DB_CONN(conn, db_open(dsn, &db_lease));
	assert_true(relay_heard(relay) > 0);
	assert_int_equal(db_number(conn, "SELECT 7"), 7);
}

CASE("a socket file is local")
{
	const char *base = getenv("TMPDIR");
	char path[100];

	snprintf(path, sizeof(path), "%.60s/rowlock-open-%d",
		 base && *base ? base : "/tmp", (int) getpid());
	expect_local(path, path);
	unlink(path);
}

/* Connector/C forgets the port there, so another server than the one meant
 * would be locked. */
CASE("a port counts on a socket file, too")
{
	const char *base = getenv("TMPDIR");
	struct rlk_conn *conn = db_open(NULL, &db_lease);
	unsigned int port = (unsigned int) db_number(conn, "SELECT @@port");
	struct relay *relay;
	char path[100];
	char change[60];
	char dsn[600];

	rlk_conn_close(conn);
	snprintf(path, sizeof(path), "%.60s/rowlock-port-%d",
		 base && *base ? base : "/tmp", (int) getpid());
	relay = relay_start(RELAY_STRAIGHT, path);
	assert_non_null(relay);
	/* No certificate is for a path. */
	snprintf(change, sizeof(change), "port=%u;ssl_verify_server_cert=0",
		 port);
	test_dsn_with(relay_dsn(relay), change, dsn, sizeof(dsn));
	rlk_conn_close(db_open(dsn, &db_lease));
	test_dsn_with(relay_dsn(relay), "port=1;ssl_verify_server_cert=0", dsn,
		      sizeof(dsn));
	assert_code(db_refused(dsn, 0, &err), ROWLOCK_EINVAL, &err);
	assert_says(err.message, "port 1 is asked for");
	assert_says(err.message, "write host=127.0.0.1, or leave");
	relay_end(relay);
	unlink(path);
}

CASE_NEEDS("the loopback of IPv6 is local", db_need_ipv6)
{
	expect_local("::1", "::1");
}

CASE_NEEDS("the loopback within IPv6 is local", db_need_ipv6)
{
	expect_local("127.0.0.1", "::ffff:127.0.0.1");
}

/* The machine's own address within IPv6 is as foreign as it is by itself. */
CASE_NEEDS("an address within IPv6 is another host", db_need_address)
{
	struct rlk_conn_target target;
	struct rlk_conn *conn = NULL;
	struct relay *relay;
	char address[64];
	char changes[96], dsn[512];

	db_address(address, sizeof(address));
	relay = relay_start(RELAY_STRAIGHT, address);
	snprintf(changes, sizeof(changes), "host=::ffff:%s", address);
	test_dsn_with(relay_dsn(relay), changes, dsn, sizeof(dsn));
	target = db_target(dsn);
	rlk_conn_open(&target, &db_lease, db_in(test_patience_ms()), &conn,
		      &err);
	print_message("# %s\n", err.message);
	assert_null(conn);
	assert_code(err.code, ROWLOCK_ECONNECT, NULL);
	assert_true(relay_heard(relay) == 0 || err.mysql == 2026);
	relay_end(relay);
}

CASE_NEEDS("another host is reached in clear text when told so",
	   db_need_address)
{
	struct rowlock_errinfo error = { 0 };
	struct rlk_conn_target target;
	struct rlk_conn *conn = NULL;
	struct relay *relay;
	char address[64];

	db_address(address, sizeof(address));
	relay = relay_start(RELAY_STRAIGHT, address);
	target = db_target(relay_dsn(relay));
	target.flags = ROWLOCK_TLS_UNVERIFIED;
	rlk_conn_open(&target, &db_lease, db_in(test_patience_ms()), &conn,
		      &error);
	assert_string_equal(error.message, "");
	assert_non_null(conn);
	rlk_conn_close(conn);
	relay_end(relay);
}

CASE_MAIN(db_main)
