/* SPDX-License-Identifier: MIT */
/*
 * rowlock-migrate: bring rowlock's tables in one database up to date.
 *
 * It connects as the library does (db/connect.c), by the same sources, with the
 * same rules for TLS and passwords. Its own options are those of MariaDB's
 * clients; they are stronger than --dsn.
 */
#include "migrate/migrate.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "common/dsn.h"
#include "common/text.h"
#include "config/where.h"
#include "db/connect.h"

#define CONNECT_MS 10000
#define QUERY_MS 60000
#define TRIES_MOST 20

static const char usage[] =
    "Usage: rowlock-migrate [OPTION]...\n"
    "\n"
    "Bring rowlock's tables in one database up to date. Can be run again at\n"
    "any time, and by many at once.\n"
    "\n"
    "What to do:\n"
    "      --status            say what is applied and what is missing\n"
    "      --dry-run           print the SQL that would be run\n"
    "      --convert-names     adopt a business_lock table even if its names\n"
    "                          have to be converted, or its engine, or a\n"
    "                          longer info; run once without it to read what\n"
    "                          changes\n"
    "      --fence-only        lock_fence and rowlock_fence(), nothing else\n"
    "      --guard-procedure   rowlock_guard(), for accounts that may not\n"
    "                          change rowlock's tables\n"
    "      --wait=SECONDS      how long to wait for another run, and for each\n"
    "                          table's metadata lock (default 60 and 10)\n"
    "      --help, --version\n"
    "\n"
    "Which server, as every MariaDB client takes it:\n"
    "      --defaults-file=F, --defaults-group-suffix=S, --no-defaults,\n"
    "      -h|--host, -P|--port, -u|--user, -S|--socket, --protocol,\n"
    "      -D|--database, -p|--password (asks; a value here is refused),\n"
    "      --ssl-ca=F, --ssl-verify-server-cert and the like\n"
    "      --dsn=STRING        a connection string without password\n"
    "  ROWLOCK_DSN             the same in the environment, with one if need\n"
    "                          be\n"
    "      --tls-unverified, --unverified-auth=LIST: see rowlock(1)\n"
    "\n"
    "Exit status: 0 up to date, or SQL printed; 2 the server; 3 --status: not\n"
    "up to date; 4 refused; 5 busy; 125 wrong usage\n";

enum {
	OPTION_STATUS = 256,
	OPTION_DRY_RUN,
	OPTION_CONVERT,
	OPTION_FENCE,
	OPTION_GUARD,
	OPTION_WAIT,
	OPTION_DSN,
	OPTION_FILE,
	OPTION_SUFFIX,
	OPTION_NO_DEFAULTS,
	OPTION_UNVERIFIED,
	OPTION_AUTH,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_KEY, /* a key of a connection, by its name */
};

static const struct option options[] = {
	{ "status", no_argument, NULL, OPTION_STATUS },
	{ "dry-run", no_argument, NULL, OPTION_DRY_RUN },
	{ "convert-names", no_argument, NULL, OPTION_CONVERT },
	{ "fence-only", no_argument, NULL, OPTION_FENCE },
	{ "guard-procedure", no_argument, NULL, OPTION_GUARD },
	{ "wait", required_argument, NULL, OPTION_WAIT },
	{ "dsn", required_argument, NULL, OPTION_DSN },
	{ "defaults-file", required_argument, NULL, OPTION_FILE },
	{ "defaults-group-suffix", required_argument, NULL, OPTION_SUFFIX },
	{ "no-defaults", no_argument, NULL, OPTION_NO_DEFAULTS },
	{ "tls-unverified", no_argument, NULL, OPTION_UNVERIFIED },
	{ "unverified-auth", required_argument, NULL, OPTION_AUTH },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ "password", optional_argument, NULL, 'p' },
	{ "host", required_argument, NULL, 'h' },
	{ "port", required_argument, NULL, 'P' },
	{ "user", required_argument, NULL, 'u' },
	{ "socket", required_argument, NULL, 'S' },
	{ "database", required_argument, NULL, 'D' },
	{ "protocol", required_argument, NULL, OPTION_KEY },
	{ "ssl-enforce", optional_argument, NULL, OPTION_KEY },
	{ "ssl-verify-server-cert", optional_argument, NULL, OPTION_KEY },
	{ "ssl-ca", required_argument, NULL, OPTION_KEY },
	{ "ssl-capath", required_argument, NULL, OPTION_KEY },
	{ "ssl-cert", required_argument, NULL, OPTION_KEY },
	{ "ssl-key", required_argument, NULL, OPTION_KEY },
	{ NULL, 0, NULL, 0 },
};

static const struct sql_file *const fence[] = { &sql_fence,
						&sql_fence_procedure, NULL };
static const struct sql_file *const guard[] = { &sql_guard_procedure, NULL };

void die(int code, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	report(ROWLOCK_LOG_ERROR, "%s", text);
	exit(code);
}

/* ------------------------------------------------------------- statements */

void query(struct run *run, const char *sql, rlk_row_fn fn, void *arg)
{
	const struct rlk_stmt_def def = { "look", sql, true };
	struct rowlock_errinfo error;

	rlk_conn_set_until(run->conn, rlk_conn_now(run->conn) + QUERY_MS +
					  run->wait_s * 1000);
	if (rlk_stmt_each(run->conn, &def, NULL, fn, arg, &error))
		die(EXIT_SERVER, "%s; nothing was changed", error.message);
}

unsigned int execute(struct run *run, const char *sql,
		     struct rowlock_errinfo *ret_error)
{
	rlk_conn_set_until(run->conn, RLK_NEVER);
	if (!rlk_stmt_text(run->conn, sql, ret_error))
		return 0;
	return ret_error->mysql ? ret_error->mysql : 2013;
}

/* ------------------------------------------------------------ the options */

static void refuse_password(const char *what)
{
	die(EXIT_USAGE,
	    "'%s' would show the password to everybody who lists processes. "
	    "Put it into an option file (--defaults-file), into ROWLOCK_DSN, "
	    "or let -p ask",
	    what);
}

static void put_key(FILE *out, const char *key, const char *value)
{
	fprintf(out, "%s={", key);
	for (; *value; value++) {
		if (*value == '}')
			fputc('}', out);
		fputc(*value, out);
	}
	fputs("};", out);
}

static void ask_password(FILE *out)
{
	char password[256] = "";
	struct termios old, quiet;

	if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &old))
		die(EXIT_USAGE,
		    "-p asks for the password, but there is no terminal: put "
		    "it into an option file, or into ROWLOCK_DSN");
	quiet = old;
	quiet.c_lflag &= ~(tcflag_t) ECHO;
	fputs("Password: ", stderr);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
	if (!fgets(password, sizeof(password), stdin))
		*password = '\0';
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &old);
	fputc('\n', stderr);
	password[strcspn(password, "\n")] = '\0';
	put_key(out, "password", password);
	explicit_bzero(password, sizeof(password));
}

static void take_wait(struct run *run, const char *argument)
{
	if (!text_number(argument, 0, 99999, &run->wait_s))
		die(EXIT_USAGE, "--wait takes a number of seconds");
	run->ddl_wait_s = run->wait_s ? run->wait_s : 1;
}

static const char *key_of(int option, int index)
{
	static const char letters[] = "hPuSD";
	static const char *const keys[] = { "host", "port", "user", "socket",
					    "database" };
	const char *at = strchr(letters, option);

	return at ? keys[at - letters] : options[index].name;
}

struct words {
	FILE *out; /* the keys among them, as a connection string */
	bool asks;
};

static void take_option(struct run *run, struct rlk_conn_target *target,
			struct words *words, int option, int index)
{
	switch (option) {
	case OPTION_STATUS:
		run->mode = MODE_STATUS;
		break;
	case OPTION_DRY_RUN:
		run->mode = MODE_DRY;
		break;
	case OPTION_CONVERT:
		run->convert = true;
		break;
	case OPTION_FENCE:
		run->optional = fence;
		break;
	case OPTION_GUARD:
		run->optional = guard;
		break;
	case OPTION_WAIT:
		take_wait(run, optarg);
		break;
	case OPTION_DSN:
		if (dsn_has_secret(optarg))
			refuse_password("--dsn with a password");
		target->sources.dsn = optarg;
		break;
	case OPTION_FILE:
		target->sources.file = optarg;
		break;
	case OPTION_SUFFIX:
		target->sources.suffix = optarg;
		break;
	case OPTION_NO_DEFAULTS:
		target->sources.no_files = true;
		break;
	case OPTION_UNVERIFIED:
		target->flags |= ROWLOCK_TLS_UNVERIFIED;
		break;
	case OPTION_AUTH:
		target->unverified_auth = optarg;
		break;
	case OPTION_HELP:
		fputs(usage, stdout);
		exit(0);
	case OPTION_VERSION:
		printf("rowlock-migrate %s\n", rowlock_version());
		exit(0);
	case 'p':
		if (optarg)
			refuse_password("-p...");
		words->asks = true;
		break;
	case '?':
	case ':':
		die(EXIT_USAGE, "see rowlock-migrate --help");
	default:
		put_key(words->out, key_of(option, index),
			optarg ? optarg : "1");
	}
}

static void take_options(struct run *run, struct rlk_conn_target *target,
			 int argc, char **argv)
{
	struct words words = { NULL, false };
	char *arguments = NULL;
	size_t size;
	int option, index = 0;

	words.out = open_memstream(&arguments, &size);
	if (!words.out)
		die(EXIT_USAGE, "out of memory");
	while ((option = getopt_long(argc, argv, "h:P:u:S:D:p::", options,
				     &index)) != -1)
		take_option(run, target, &words, option, index);
	if (optind < argc)
		die(EXIT_USAGE, "unknown argument '%s'; see --help",
		    argv[optind]);
	if (words.asks)
		ask_password(words.out);
	fclose(words.out);
	target->sources.arguments = size ? arguments : NULL;
}

int main(int argc, char **argv)
{
	struct run run = { .wait_s = 60, .ddl_wait_s = 10 };
	struct rlk_conn_target target = {
		.sources = { .group = "rowlock" },
		.program = "rowlock-migrate",
		.clock = rlk_clock_real(),
	};
	struct rlk_conn_profile profile = { "migrate", true, 0, 3600, false,
					    true };
	struct rowlock_errinfo error;
	int tries = 0;

	report_init("rowlock-migrate", REPORT_PLAIN);
	take_options(&run, &target, argc, argv);
	profile.lock_wait_s = run.ddl_wait_s;
	if (rlk_conn_open(&target, &profile,
			  rlk_now(target.clock) + CONNECT_MS, &run.conn,
			  &error))
		die(error.code == ROWLOCK_EINVAL ? EXIT_USAGE : EXIT_SERVER,
		    "%s", error.message);
	run.database = rlk_conn_schema(run.conn);
	run.where = rlk_conn_server(run.conn)->name;
	run.cluster = rlk_server_many_writers(rlk_conn_server(run.conn));
	if (run.optional)
		return migrate_optional(&run);
	do {
		if (tries++ == TRIES_MOST)
			die(EXIT_BUSY,
			    "others keep changing the schema of database '%s' "
			    "on %s; try again later",
			    run.database, run.where);
		look(&run);
		compare(&run);
		refuse_foreign_tables(&run);
		refuse_tokens(&run);
		plan_adoption(&run);
		if (run.mode == MODE_STATUS)
			put_status(&run);
	} while (run.mode != MODE_STATUS && !migrate(&run));
	return fflush(stdout) ? EXIT_USAGE : 0;
}
