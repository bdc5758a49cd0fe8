/* SPDX-License-Identifier: MIT */
/*
 * Opening a connection.
 *
 * Connection strings and option files are read (where.c), and Connector/C is
 * given each value as an option: it reads neither itself. Then the session's
 * state is set (conn_setup.c).
 *
 * Failure modes: everything between "no such host" and "your password is
 * wrong" becomes one sentence that says to whom we talked and what to do.
 */
#include "db/connect.h"

#include "db/conn_private.h"

#include <errmsg.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "config/where.h"
#include "db/advice.h"
#include "db/conn_setup.h"
#include "db/intake.h"
#include "db/io.h"
#include "db/login.h"
#include "db/peer.h"
#include "db/peer_user.h"
#include "db/sql.h"
#include "db/tls.h"
#include "db/tls_advice.h"

/* Room for the coroutine: name resolution and OpenSSL run in it. Twice what
 * Connector/C takes by default, and still little enough for malloc() to take
 * it from its heap: a mapping of its own may come to lie beside a thread's
 * stack, where valgrind takes one for the other. */
#define STACK_SIZE ((size_t) 120 * 1024)

/* ER_DBACCESS_DENIED_ERROR */
#define NO_RIGHT_ON_DATABASE 1044

static void library_init(void)
{
	struct sigaction pipe;

	/* It must not run in two threads at once, and has the process ignore
	 * SIGPIPE, which is not ours to say. */
	sigaction(SIGPIPE, NULL, &pipe);
	mysql_library_init(0, NULL, NULL);
	sigaction(SIGPIPE, &pipe, NULL);
	rlk_io_init();
	rlk_tls_init();
	rlk_intake_init();
	rlk_peer_user_init();
}

static bool set_option(MYSQL *mysql, enum mysql_option option, const void *arg)
{
	return mysql_optionsv(mysql, option, arg) == 0;
}

/* An empty one is refused. False: out of memory. */
static bool add_attribute(MYSQL *mysql, const char *key, const char *value)
{
	return !value || !*value ||
	       mysql_optionsv(mysql, MYSQL_OPT_CONNECT_ATTR_ADD, key, value) ==
		   0;
}

/* False: out of memory. */
static bool set_options(struct rlk_conn *conn)
{
	const struct rlk_conn_target *target = conn->target;
	const size_t stack = STACK_SIZE;
	const my_bool on = 1;
	const my_bool off = 0;
	const unsigned int no = 0;
	MYSQL *mysql = conn->mysql;

	if (!set_option(mysql, MYSQL_OPT_NONBLOCK, &stack) ||
	    !set_option(mysql, MYSQL_OPT_RECONNECT, &off) ||
	    !set_option(mysql, MYSQL_OPT_LOCAL_INFILE, &no) ||
	    !set_option(mysql, MYSQL_REPORT_DATA_TRUNCATION, &on) ||
	    !set_option(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4") ||
	    !rlk_io_hook(mysql))
		return false;
	/* Connector/C 3.4 verifies certificates unless it is told otherwise,
	 * which would look like the user's wish. */
	set_option(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &off);
	return add_attribute(mysql, "program_name", target->program) &&
	       add_attribute(mysql, RLK_SQL_WHO, target->who);
}

/* Without memory for a text Connector/C goes on without it: without a host, to
 * the local server. */
static bool has_all(const MYSQL *mysql, const struct rlk_where *where)
{
	const struct st_mysql_options *options = &mysql->options;
	const char *const kept[] = {
		[RLK_SETTING_HOST] = options->host,
		[RLK_SETTING_USER] = options->user,
		[RLK_SETTING_PASSWORD] = options->password,
		[RLK_SETTING_DATABASE] = options->db,
		[RLK_SETTING_SOCKET] = options->unix_socket,
	};

	for (size_t i = 0; i < RLK_ARRAY_SIZE(kept); i++)
		if (i != RLK_SETTING_PORT_NUMBER && rlk_where_says(where, i) &&
		    !kept[i])
			return false;
	return true;
}

static bool set_where(MYSQL *mysql, const struct rlk_where *where)
{
	for (size_t i = 0; i < RLK_SETTINGS; i++) {
		const struct rlk_setting *key = rlk_setting_at(i);
		const char *value = where->values[i];
		unsigned int number;
		my_bool flag;
		bool done;

		if (!value || !*value)
			continue;
		number = rlk_setting_value(key, value);
		flag = number != 0;
		if (key->kind < RLK_SETTING_NUMBER)
			done = set_option(mysql, key->option, value);
		else if (key->kind == RLK_SETTING_BOOLEAN)
			done = set_option(mysql, key->option, &flag);
		else
			done =
			    !number || set_option(mysql, key->option, &number);
		if (!done)
			return false;
	}
	return has_all(mysql, where);
}

/* Not for us: it bounds how long Connector/C asks a resolver that is out of
 * order again, which is nowhere near the socket. */
static void bound_resolver(struct rlk_conn *conn)
{
	int64_t left = conn->until_ms - rlk_now(conn->target->clock);
	unsigned int seconds = 60;

	if (left < 60 * 1000)
		seconds = left < 1000 ? 1 : (unsigned int) (left / 1000);
	set_option(conn->mysql, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
}

static void note_asked(struct rlk_asked *asked, const char *where)
{
	if (!asked)
		return;
	rlk_mutex_lock(&asked->mutex);
	snprintf(asked->where, sizeof(asked->where), "%s", where);
	rlk_mutex_unlock(&asked->mutex);
}

/* The server as the options name it, until one has identified itself. */
static void describe(struct rlk_conn *conn)
{
	const struct st_mysql_options *options = &conn->mysql->options;
	const char *host = options->host;
	bool local = !host || strcmp(host, "localhost") == 0;

	if (local && options->protocol != MYSQL_PROTOCOL_TCP)
		snprintf(conn->where, sizeof(conn->where), "%s",
			 options->unix_socket ? options->unix_socket
					      : "the local server's socket");
	else
		snprintf(conn->where, sizeof(conn->where), "%s:%u",
			 local ? "localhost" : host,
			 options->port ? options->port : 3306);
	note_asked(conn->target->asked, conn->where);
}

static const char *advice(MYSQL *mysql, unsigned int number)
{
	switch (number) {
	case 1044:
	case 1049:
		return "; check the database's name, or make it, and the "
		       "account's rights on it";
	case 1130:
	case 1045:
	case 1698:
		return "; check user, password and the host that the account "
		       "is for";
	case 1820:
	case 1862:
		return "; give the account a new password (ALTER USER)";
	case 3118:
	case 4151:
		return "; unlock it (ALTER USER ... ACCOUNT UNLOCK)";
	case 1040:
	case 1203:
	case 1226:
		return "; raise the limit or use fewer connections";
	case 2002:
	case 2003:
		if (strstr(mysql_error(mysql), "socket '"))
			return "; is the server running, and is that its "
			       "socket?";
		return "; is the server running, and does it listen at that "
		       "address (bind-address)?";
	case 2005:
		return "; check the host's name";
	default:
		return "";
	}
}

/* Connector/C 3.3.20 has one error number for all errors before TLS, as anybody
 * may have sent them; the server's number is within the text. */
static unsigned int number_for_advice(MYSQL *mysql)
{
	static const char words[] = "error cannot be verified: ";
	const char *said = strstr(mysql_error(mysql), words);

	return said ? (unsigned int) strtoul(said + strlen(words), NULL, 10)
		    : mysql_errno(mysql);
}

/* A login that a KILL QUERY has met says nothing about the server. */
static int code_of_login(MYSQL *mysql)
{
	unsigned int number = mysql_errno(mysql);

	return rlk_fault_passes(rlk_fault_class(number))
		   ? ROWLOCK_ECONNECT
		   : rlk_fault_code(number, mysql_error(mysql));
}

static int fail_deadline(struct rlk_conn *conn, struct rowlock_errinfo *reterr)
{
	return rlk_fail_db(reterr, ROWLOCK_ECONNECT, 2013,
			   "connect to %s: no answer in time; is the server "
			   "overloaded, or a firewall in between?",
			   conn->where);
}

static int fail_plugin(struct rlk_conn *conn, struct rowlock_errinfo *reterr)
{
	const char *plugin = conn->io.login.plugin;
	const char *user = conn->mysql->options.user;
	bool hash = strcmp(plugin, "caching_sha2_password") == 0;

	return rlk_fail(
	    reterr, ROWLOCK_EAUTH,
	    "connect to %s as '%s': %s (%s), and nothing proves "
	    "who it is; verify its certificate (ssl-ca and "
	    "ssl-verify-server-cert), go by its socket file, %sor "
	    "allow this plugin all the same (unverified_auth)",
	    conn->where, user ? user : "",
	    hash ? "the hash of the password is not enough for it: "
		   "the password is wrong, or the server does not "
		   "know the account yet"
		 : "it asks for the password itself",
	    plugin, hash ? "name its public key (server-public-key), " : "");
}

/* The first of TLS's files that this process cannot read: Connector/C reports
 * only the reason. */
static const char *unread_file(const MYSQL *mysql, const char **ret_key)
{
	const struct st_mysql_options *options = &mysql->options;
	const struct {
		const char *key;
		const char *path;
	} files[] = {
		{ "ssl-ca", options->ssl_ca },
		{ "ssl-capath", options->ssl_capath },
		{ "ssl-cert", options->ssl_cert },
		{ "ssl-key", options->ssl_key },
	};

	for (size_t i = 0; i < RLK_ARRAY_SIZE(files); i++) {
		*ret_key = files[i].key;
		if (files[i].path && access(files[i].path, R_OK) < 0)
			return files[i].path;
	}
	return NULL;
}

static int fail_unread(struct rlk_conn *conn, const char *path, const char *key,
		       struct rowlock_errinfo *reterr)
{
	return rlk_fail_db(reterr, ROWLOCK_ECONNECT, CR_SSL_CONNECTION_ERROR,
			   "connect to %s: cannot read '%s' (%s): %s; look "
			   "whether it is there, and whether this user may "
			   "read it",
			   conn->where, path, key, strerror(errno));
}

static int fail_connect(struct rlk_conn *conn, const struct rlk_where *where,
			struct rowlock_errinfo *reterr)
{
	unsigned int number = mysql_errno(conn->mysql);
	const char *user = conn->mysql->options.user;
	int code = code_of_login(conn->mysql);
	unsigned int meant = number_for_advice(conn->mysql);
	const char *key;
	const char *path;
	char text[448];

	/* The handshake of TLS ends at our deadline with an error of its own.
	 */
	if (conn->io.login.reveals)
		return fail_plugin(conn, reterr);
	if (conn->io.cut == rlk_login_no_tls)
		return rlk_fail_no_tls(conn, where, reterr);
	if (conn->io.cut)
		return rlk_fail_db(reterr, ROWLOCK_ECONNECT, number,
				   "connect to %s: %s", conn->where,
				   conn->io.cut);
	if (number == CR_SSL_CONNECTION_ERROR &&
	    rlk_now(conn->target->clock) >= conn->until_ms)
		return fail_deadline(conn, reterr);
	if (number == CR_SSL_CONNECTION_ERROR &&
	    (path = unread_file(conn->mysql, &key)))
		return fail_unread(conn, path, key, reterr);
	if (code == ROWLOCK_EAUTH && (!user || !*user))
		return rlk_fail_db(reterr, code, number,
				   "connect to %s: %s; no user was named, so "
				   "that of this process was tried: name one "
				   "(user=app)",
				   conn->where, mysql_error(conn->mysql));
	if (code == ROWLOCK_EAUTH)
		return rlk_fail_db(reterr, code, number,
				   "connect to %s as '%s': %s%s", conn->where,
				   user, mysql_error(conn->mysql),
				   advice(conn->mysql, number));
	return rlk_fail_db(reterr, code, number, "connect to %s: %s%s",
			   conn->where, mysql_error(conn->mysql),
			   meant == CR_SSL_CONNECTION_ERROR
			       ? rlk_tls_advice(conn, where, text, sizeof(text))
			       : advice(conn->mysql, meant));
}

/* Connector/C goes on to the next of several hosts if one does not accept the
 * connection. If one accepts it and does not greet, as its server hangs, we do.
 */
static bool ask_hosts(struct rlk_conn *conn)
{
	bool finished = rlk_io_run(conn, RLK_CALL_CONNECT);

	while (finished && !conn->io.connected && conn->io.next_hosts) {
		conn->io.hosts = conn->io.next_hosts;
		rlk_intake_another(conn);
		finished = rlk_io_run(conn, RLK_CALL_CONNECT);
	}
	return finished;
}

static int connect_now(struct rlk_conn *conn, const struct rlk_where *where,
		       struct rowlock_errinfo *reterr)
{
	const char *charset;
	bool finished;
	int error;

	if (!set_options(conn) || !set_where(conn->mysql, where))
		return rlk_fail(reterr, ROWLOCK_ENOMEM,
				"connect: out of memory");
	describe(conn);
	bound_resolver(conn);
	finished = ask_hosts(conn);
	if (!finished) {
		error = fail_deadline(conn, reterr);
		rlk_io_abandon(conn);
		return error;
	}
	if (!conn->io.connected || conn->io.cut)
		return fail_connect(conn, where, reterr);
	charset = mysql_character_set_name(conn->mysql);
	if (!charset || strcmp(charset, "utf8mb4") != 0)
		return rlk_fail(reterr, ROWLOCK_EUNSUPPORTED,
				"connect to %s: the character set is %s after "
				"it was set to utf8mb4; is that in "
				"character-sets-dir?",
				conn->where, charset ? charset : "none");
	return rlk_peer_check(conn, reterr);
}

static int conn_new(const struct rlk_conn_target *target,
		    const struct rlk_conn_profile *profile,
		    struct rlk_conn **ret_conn, struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_conn_closep) struct rlk_conn *conn = NULL;

	conn = calloc(1, sizeof(*conn));
	if (!conn)
		return rlk_fail(reterr, ROWLOCK_ENOMEM,
				"connect: out of memory");
	conn->target = target;
	conn->profile = *profile;
	conn->dead = true;
	rlk_list_init(&conn->stmts);
	rlk_list_init(&conn->loan.in_bay);
	conn->wake.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (conn->wake.fd < 0)
		return rlk_fail(reterr, ROWLOCK_ESYSTEM,
				"connect: no descriptor: %s", strerror(errno));
	conn->mysql = mysql_init(NULL);
	if (!conn->mysql)
		return rlk_fail(reterr, ROWLOCK_ENOMEM,
				"connect: out of memory");
	*ret_conn = TAKE_PTR(conn);
	return 0;
}

/* Without a database nothing can be locked, so what went wrong with the local
 * server is not the point. */
static int explain(const struct rlk_conn_target *target,
		   const struct rlk_where *where, int code,
		   struct rowlock_errinfo *reterr)
{
	const char *file = target->sources.file;

	if ((code != ROWLOCK_ECONNECT && code != ROWLOCK_EAUTH) ||
	    target->sources.dsn || target->sources.arguments ||
	    secure_getenv("ROWLOCK_DSN") ||
	    rlk_where_says(where, RLK_SETTING_HOST) ||
	    rlk_where_says(where, RLK_SETTING_USER) ||
	    rlk_where_says(where, RLK_SETTING_PASSWORD) ||
	    rlk_where_says(where, RLK_SETTING_DATABASE))
		return code;
	return rlk_fail(reterr, ROWLOCK_EINVAL,
			"no server is named, neither by the dsn nor by "
			"ROWLOCK_DSN nor in an option file: write [rowlock] "
			"and below it host=..., user=..., password=... and "
			"database=... into %s, which only its owner may read "
			"(chmod 600); see rowlock-connect(7)",
			file ? file : "~/.my.cnf");
}

/* A server that lets nobody into this database may let the account in without
 * one, and then tells why. */
static void ask_without_database(const struct rlk_conn *refused,
				 struct rlk_where *where,
				 struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_conn_closep) struct rlk_conn *conn = NULL;
	char *database = where->values[RLK_SETTING_DATABASE];
	struct rowlock_errinfo ignored;

	if (conn_new(refused->target, &refused->profile, &conn, &ignored))
		return;
	conn->until_ms = refused->until_ms;
	where->values[RLK_SETTING_DATABASE] = NULL;
	if (connect_now(conn, where, &ignored) == 0) {
		conn->dead = false;
		rlk_advise(conn, ROWLOCK_EAUTH, reterr);
	}
	where->values[RLK_SETTING_DATABASE] = database;
}

static int open_now(const struct rlk_conn_target *target,
		    const struct rlk_conn_profile *profile, int64_t until_ms,
		    struct rlk_conn **ret_conn, struct rowlock_errinfo *reterr)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	_cleanup_(rlk_conn_closep) struct rlk_conn *conn = NULL;
	_cleanup_(rlk_where_fini) struct rlk_where where = { 0 };
	int error;

	pthread_once(&once, library_init);
	if (!rlk_intake_ready())
		return rlk_fail(reterr, ROWLOCK_ENOMEM,
				"connect: out of memory when the library was "
				"made ready; start the program again");
	error = rlk_where_read(&target->sources, &where, reterr);
	if (error)
		return error;
	error = conn_new(target, profile, &conn, reterr);
	if (error)
		return error;
	conn->until_ms = until_ms;
	conn->port_named = rlk_where_says(&where, RLK_SETTING_PORT_NUMBER);
	error = connect_now(conn, &where, reterr);
	if (error && reterr && reterr->mysql == NO_RIGHT_ON_DATABASE)
		ask_without_database(conn, &where, reterr);
	if (error)
		return explain(target, &where, error, reterr);
	conn->dead = false;
	error = rlk_session_setup(conn, reterr);
	if (error)
		return error;
	rlk_peer_keep(conn);
	*ret_conn = TAKE_PTR(conn);
	return 0;
}

int rlk_conn_open(const struct rlk_conn_target *target,
		  const struct rlk_conn_profile *profile, int64_t until_ms,
		  struct rlk_conn **ret_conn, struct rowlock_errinfo *reterr)
{
	struct rowlock_errinfo error;
	int code = open_now(target, profile, until_ms, ret_conn, &error);

	if (!code)
		return 0;
	rlk_refusal_judge(target->refusal, NULL, &error);
	if (reterr)
		*reterr = error;
	return error.code;
}
