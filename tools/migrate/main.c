/* SPDX-License-Identifier: MIT */
/*
 * rowlock-migrate: bring rowlock's tables in one database up to date.
 *
 * It looks at the tables (read only), takes a lock, and runs each missing
 * migration. It connects as the library does (db/connect.c): by the same
 * sources, with the same rules for TLS and passwords. Each key of a connection
 * is also an option of the command line, which overrides --dsn.
 */
#include "migrate/migrate.h"

#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

#include "common/connection.h"
#include "common/report.h"
#include "common/suggest.h"
#include "common/text.h"
#include "config/where.h"
#include "db/advice.h"
#include "db/connect.h"
#include "metrics/target.h"

#define CONNECT_MS 60000
#define IDLE_S 3600
#define TRIES_MOST 20

static const char usage[] =
    "Usage: rowlock-migrate [OPTION]...\n"
    "\n"
    "Bring rowlock's tables in one database up to date. Can be run again at\n"
    "any time, and by many at once.\n"
    "\n"
    "What to do:\n"
    "      --status            print what is applied and what is missing; "
    "change\n"
    "                          nothing\n"
    "      --dry-run           print the SQL that would be run; change "
    "nothing\n"
    "      --convert-names     adopt a business_lock table even if its names\n"
    "                          have to be converted (another collation,\n"
    "                          character set or length), or its engine, or a\n"
    "                          longer info; run once without it to read what\n"
    "                          changes\n"
    "      --fence-only        for a database whose data are protected by "
    "tokens\n"
    "                          of locks elsewhere: lock_fence and\n"
    "                          rowlock_fence(), and nothing else\n"
    "      --guard-procedure   besides the tables: rowlock_guard(), for "
    "accounts\n"
    "                          that may not change them; once, after the "
    "first\n"
    "                          run\n"
    "      --wait=SECONDS      how long to wait for another run, and for each\n"
    "                          table's metadata lock (default 60 and 10)\n"
    "      --help, --version\n"
    "\n"
    "Which server, as every MariaDB client takes it:\n"
    "      --defaults-file=F, --defaults-extra-file=F,\n"
    "      --defaults-group-suffix=S, --no-defaults, -h|--host, -P|--port,\n"
    "      -u|--user, -S|--socket, --protocol, -D|--database,\n"
    "      -p|--password (asks; a value here is refused), --ssl... and the\n"
    "      other keys of rowlock-connect(7)\n"
    "      --dsn=STRING        a connection string without password,\n"
    "                          'host=...;port=...;user=...;database=...'\n"
    "  ROWLOCK_DSN             the same in the environment, with a password "
    "if\n"
    "                          need be\n"
    "      --tls-unverified    talk to another host without verified TLS:\n"
    "                          whoever is on the network can interfere\n"
    "      --unverified-auth=LIST\n"
    "                          authentication plugins that may tell the "
    "password\n"
    "                          to a server that was not verified\n"
    "      --connect-timeout=TIME\n"
    "                          bound for opening the connection (60s)\n"
    "\n"
    "Key by key a command line option wins over --dsn, that over ROWLOCK_DSN,\n"
    "that over option files, of which the groups [client] and [rowlock] "
    "count.\n"
    "The account needs CREATE, ALTER, DROP, INDEX, CREATE VIEW, SHOW VIEW,\n"
    "SELECT, INSERT and UPDATE on the database; with --fence-only CREATE, "
    "CREATE\n"
    "ROUTINE and SELECT, with --guard-procedure CREATE ROUTINE besides; see\n"
    "grants.sql.\n"
    "\n"
    "Exit status:\n"
    "  0    up to date, or SQL printed\n"
    "  2    the server is out of reach, or refused a statement\n"
    "  3    --status: not up to date\n"
    "  4    refused: a changed or newer schema, or a table that is not "
    "adopted\n"
    "       as it is\n"
    "  5    busy: another run, or a program that uses the tables, did not end "
    "in\n"
    "       time\n"
    "  125  wrong usage, or something is missing on this machine\n";

enum {
	OPTION_WAIT = 256,
	OPTION_EXTRA_FILE,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_TLS,
	OPTION_NO_TLS,
	OPTION_NO_VERIFY,
	OPTION_KEY, /* a key of a connection, by its name */
};

static int mode, convert, part; /* set by getopt_long() */
static const struct part *const parts[] = { NULL, &fence, &guard };

static const struct option own_options[] = {
	{ "status", no_argument, &mode, MODE_STATUS },
	{ "dry-run", no_argument, &mode, MODE_DRY },
	{ "convert-names", no_argument, &convert, 1 },
	{ "fence-only", no_argument, &part, 1 },
	{ "guard-procedure", no_argument, &part, 2 },
	{ "wait", required_argument, NULL, OPTION_WAIT },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ "password", optional_argument, NULL, 'p' },
	{ "ssl", optional_argument, NULL, OPTION_TLS },
	{ "skip-ssl", no_argument, NULL, OPTION_NO_TLS },
	{ "disable-ssl", no_argument, NULL, OPTION_NO_TLS },
	{ "disable-ssl-verify-server-cert", no_argument, NULL,
	  OPTION_NO_VERIFY },
	{ "defaults-extra-file", required_argument, NULL, OPTION_EXTRA_FILE },
	CONNECTION_OPTIONS,
};

/* The command line, read. */
struct line {
	struct run *run;
	struct connection connection;
	const char *extra_file;
	bool asks_password;
	const char *keys[RLK_SETTINGS]; /* by rlk_setting_number() */
	char password[1024];
};

/* The first one of a name counts. */
static void list_options(struct option *ret_options)
{
	size_t count = RLK_ARRAY_SIZE(own_options);
	const struct rlk_setting *key;

	memcpy(ret_options, own_options, sizeof(own_options));
	for (size_t i = 0; (key = rlk_setting_at(i)); i++) {
		struct option option = { key->name, required_argument, NULL,
					 OPTION_KEY };

		if (key->kind >= RLK_SETTING_IGNORED)
			continue;
		if (key->kind == RLK_SETTING_BOOLEAN)
			option.has_arg = optional_argument;
		if (key->kind == RLK_SETTING_SECRET)
			option.val = OPTION_PASSWORD;
		ret_options[count++] = option;
	}
	ret_options[count] = (struct option){ NULL, 0, NULL, 0 };
}

/* --------------------------------------------------------------- password */

static struct termios terminal; /* as it was */

/* Restore the echo if Ctrl-C ends the question. */
static void give_echo(int number)
{
	tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal);
	signal(number, SIG_DFL);
	raise(number);
}

static void read_password(char *password, size_t size)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGTERM };
	struct termios quiet = terminal;

	for (size_t i = 0; i < RLK_ARRAY_SIZE(signals); i++)
		signal(signals[i], give_echo);
	quiet.c_lflag &= ~(tcflag_t) ECHO;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &quiet);
	if (!fgets(password, (int) size, stdin))
		*password = '\0';
	tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal);
	for (size_t i = 0; i < RLK_ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_DFL);
}

static void ask_password(struct line *line)
{
	if (tcgetattr(STDIN_FILENO, &terminal) != 0)
		die(EXIT_USAGE,
		    "-p asks for the password, but there is no terminal: put "
		    "it into an option file, or into ROWLOCK_DSN");
	dprintf(STDERR_FILENO, "Password: ");
	read_password(line->password, sizeof(line->password));
	dprintf(STDERR_FILENO, "\n");
	line->password[strcspn(line->password, "\n")] = '\0';
	line->keys[RLK_SETTING_PASSWORD] = line->password;
}

/* ------------------------------------------------------------ the options */

static void take_wait(struct run *run, const char *argument)
{
	if (!text_number(argument, 0, 99999, &run->wait_s))
		die(EXIT_USAGE,
		    "--wait: '%s' is not a number of seconds up to 99999; see "
		    "rowlock-migrate --help",
		    argument);
	run->ddl_wait_s = run->wait_s ? run->wait_s : 1;
}

/* Returns NULL if the option is no key of a connection. */
static const char *key_of(int option, const struct option *options, int index)
{
	switch (option) {
	case 'h':
		return "host";
	case 'P':
		return "port";
	case 'u':
		return "user";
	case 'S':
		return "socket";
	case 'D':
		return "database";
	case OPTION_TLS:
	case OPTION_NO_TLS:
		return "ssl-enforce";
	case OPTION_NO_VERIFY:
		return "ssl-verify-server-cert";
	default:
		return option == OPTION_KEY ? options[index].name : NULL;
	}
}

/* The last one of a key counts. */
static void take_key(struct line *line, const char *key, int option)
{
	bool no = option == OPTION_NO_TLS || option == OPTION_NO_VERIFY;

	line->keys[rlk_setting_number(rlk_setting_find(key))] = no ? "0"
								: optarg
								    ? optarg
								    : "1";
}

static void take_option(struct line *line, int option)
{
	int taken;

	switch (option) {
	case OPTION_WAIT:
		take_wait(line->run, optarg);
		return;
	case OPTION_HELP:
		put_text(usage);
		exit(0);
	case OPTION_VERSION:
		put("rowlock-migrate %s", rowlock_version());
		exit(0);
	case OPTION_EXTRA_FILE:
		line->extra_file = optarg;
		return;
	case 'p':
		line->asks_password = true;
		option = optarg ? OPTION_PASSWORD : 0;
		break;
	case OPTION_SINGLE_WRITER:
	case OPTION_OBSERVE_BEATS:
		option = '?';
	}
	taken =
	    option ? connection_option(&line->connection, option, optarg) : 1;
	if (taken == 0)
		die(EXIT_USAGE, "see rowlock-migrate --help");
	if (taken < 0)
		exit(EXIT_USAGE);
}

static void take_line(struct line *line, int argc, char **argv)
{
	struct option options[RLK_ARRAY_SIZE(own_options) + RLK_SETTINGS + 1];
	int option, index = 0;

	list_options(options);
	while ((option = suggest_getopt(argc, argv, "h:P:u:S:D:p::", options,
					&index)) != -1) {
		const char *key = key_of(option, options, index);

		if (key)
			take_key(line, key, option);
		else
			take_option(line, option);
	}
	line->run->mode = (enum mode) mode;
	line->run->convert = convert;
	line->run->part = parts[part];
	if (optind < argc)
		die(EXIT_USAGE, "unknown argument '%s'; see --help",
		    argv[optind]);
	if (!rlk_is_plugin_list(line->connection.unverified_auth))
		die(EXIT_USAGE,
		    "--unverified-auth: names of plugins are letters, digits, "
		    "'_' and '-', with commas between them");
	if (line->asks_password)
		ask_password(line);
}

/* The keys of the command line as a connection string; "" if there are none. It
 * is written in place: a buffer that grows leaves copies of the password. */
static void write_keys(struct line *line, struct rlk_secret *ret_keys)
{
	char *to;

	ret_keys->size = 1;
	for (size_t i = 0; i < RLK_SETTINGS; i++)
		if (line->keys[i])
			ret_keys->size += strlen(rlk_setting_at(i)->name) +
					  2 * strlen(line->keys[i]) +
					  strlen(";={}");
	ret_keys->text = to = calloc(1, ret_keys->size);
	if (!to)
		die(EXIT_USAGE, "out of memory");
	for (size_t i = 0; i < RLK_SETTINGS; i++) {
		const char *at = line->keys[i];

		if (!at)
			continue;
		if (to > ret_keys->text)
			*to++ = ';';
		to = stpcpy(stpcpy(to, rlk_setting_at(i)->name), "={");
		for (; *at; at++) {
			if (*at == '}')
				*to++ = '}';
			*to++ = *at;
		}
		*to++ = '}';
	}
	explicit_bzero(line->password, sizeof(line->password));
}

static void connect_to_server(struct line *line)
{
	struct run *run = line->run;
	struct connection *connection = &line->connection;
	struct rlk_conn_target *target = &run->target;
	struct rlk_secret keys;
	const struct rlk_conn_profile profile = {
		.label = "migrate",
		.autocommit = true,
		.lock_wait_s = run->ddl_wait_s,
		.idle_s = IDLE_S,
		.plain = true,
	};
	struct rowlock_errinfo error;
	int64_t ms = connection->connect_timeout_ms
			 ? (int64_t) connection->connect_timeout_ms
			 : CONNECT_MS;
	int code;

	write_keys(line, &keys);
	*target = connection_target(connection, "rowlock-migrate");
	target->sources.arguments = *keys.text ? keys.text : NULL;
	target->sources.extra_file = line->extra_file;
	code = rlk_conn_open(target, &profile, rlk_now(target->clock) + ms,
			     &run->conn, &error);
	rlk_secret_fini(&keys);
	target->sources.arguments = NULL;
	/* Without a server's error number, the database is missing. */
	if (code)
		die(code == ROWLOCK_EINVAL ||
			    (code == ROWLOCK_ESCHEMA && !error.mysql)
			? EXIT_USAGE
			: EXIT_SERVER,
		    "%s", error.message);
	/* Copied, as Connector/C replaces its own when the server sends it. */
	run->database = strdup(rlk_conn_schema(run->conn));
	run->where = rlk_conn_server(run->conn)->name;
	if (rlk_is_servers_database(run->database))
		die(EXIT_USAGE,
		    "database '%s' on %s is the server's own; name one for "
		    "rowlock (database=...)",
		    run->database, run->where);
	run->cluster = rlk_server_many_writers(rlk_conn_server(run->conn));
}

static void migrate_tables(struct run *run)
{
	int tries = 0;

	do {
		if (tries++ == TRIES_MOST)
			die(EXIT_BUSY,
			    "others keep changing the schema of database '%s' "
			    "on %s; try again later",
			    run->database, run->where);
		look(run);
		compare(run);
		try_views(run);
		if (run->mode == MODE_STATUS)
			put_status(run);
		plan_adoption(run);
	} while (!migrate(run));
}

int main(int argc, char **argv)
{
	struct run run = { .wait_s = 60, .ddl_wait_s = 10 };
	struct line line = { .run = &run };
	bool closed = fcntl(STDOUT_FILENO, F_GETFD) < 0;

	/* A core file would hold the password. */
	prctl(PR_SET_DUMPABLE, 0);
	report_init("rowlock-migrate", REPORT_PLAIN);
	if (closed)
		die(EXIT_USAGE, "cannot write to stdout: it is closed; give it "
				"a file, or /dev/null");
	take_line(&line, argc, argv);
	connect_to_server(&line);
	if (run.part)
		migrate_part(&run);
	else
		migrate_tables(&run);
	put_text("");
	rlk_conn_close(run.conn);
	free(run.database);
	return 0;
}
