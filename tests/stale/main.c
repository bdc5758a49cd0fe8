// SPDX-License-Identifier: MIT
/*
 * stale-worker: one process of tools/stale. README.md has the words that it
 * speaks.
 */
#include "stale.h"

#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define UNKNOWN_VARIABLE 1193

#define WORKERS_MOST 99

static const char usage[] =
    "Usage: stale-worker --act forms|set-up|work|spoil|hold-back|settle|tell\n"
    "                    [OPTION]...\n"
    "  --form NAME     how a register is protected\n"
    "  --worker N      its number\n"
    "  --registers N   (4)    --seed N\n"
    "  --rounds N      (100); 0: until SIGTERM\n"
    "  --ttl-ms N      of the client (1000)\n"
    "  --node DSN      where the application's own connection may be; may\n"
    "                  be given several times (where its client is)\n"
    "  --peer PORT     of the server of redis, zookeeper\n"
    "  --pace-ms N     spoils as often, at least (40)\n"
    "  --stops N       stops itself in one of N rounds (0: never)\n"
    "  --muses N       thinks for up to a second in one of N (0: never)\n"
    "  --faults        does what a bad application does\n"
    "  --direct        connects to the server itself: no answer is lost on "
    "the\n"
    "                  way, and the server may be anywhere\n"
    "  --observe       believes beats, not the server's clock\n"
    "  --tls-unverified  talks to another host all the same\n"
    "It is started by tools/stale; see tests/stale/README.md. The database is\n"
    "that of ROWLOCK_DSN.\n";

void stale_die(const char *format, ...)
{
	va_list args;

	fputs("stale-worker: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	/* Not exit(): other threads are inside the library. */
	_exit(1);
}

MYSQL *stale_open_softly(const char *dsn)
{
	MYSQL *mysql = mysql_init(NULL);

	if (mysql_real_connect(mysql, dsn, NULL, NULL, NULL, 0, NULL, 0))
		return mysql;
	mysql_close(mysql);
	return NULL;
}

MYSQL *stale_open(const struct stale_options *options)
{
	MYSQL *mysql = mysql_init(NULL);

	if (!mysql_real_connect(mysql, options->dsn, NULL, NULL, NULL, 0, NULL,
				0))
		stale_die("connect: %s", mysql_error(mysql));
	return mysql;
}

static void must_say(MYSQL *mysql, const char *text)
{
	if (stale_say(mysql, text))
		stale_die("%s: %s", text, mysql_error(mysql));
}

static void set_up(const struct stale_options *options)
{
	static const char *const texts[] = {
		"DROP TABLE IF EXISTS stale_register, stale_write, "
		"stale_cross, stale_behind, stale_other",
		"CREATE TABLE stale_register (id INT PRIMARY KEY, last BIGINT "
		"NOT NULL) ENGINE=InnoDB",
		"CREATE TABLE stale_write (id BIGINT PRIMARY KEY, register INT "
		"NOT NULL, follows BIGINT NOT NULL) ENGINE=InnoDB",
		"CREATE TABLE stale_cross (id INT PRIMARY KEY, n INT NOT NULL) "
		"ENGINE=InnoDB",
		"INSERT INTO stale_cross VALUES (0, 0), (1, 0)",
		"CREATE TABLE stale_behind (id INT PRIMARY KEY, n INT NOT "
		"NULL) ENGINE=InnoDB",
	};
	MYSQL *mysql = stale_open(options);
	char text[96];

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		must_say(mysql, texts[i]);
	for (unsigned int i = 0; i < options->registers; i++) {
		snprintf(text, sizeof(text),
			 "INSERT INTO stale_register VALUES (%u, 0)", i);
		must_say(mysql, text);
	}
	/* A row for each worker. */
	for (unsigned int i = 1; i <= WORKERS_MOST; i++) {
		snprintf(text, sizeof(text),
			 "INSERT INTO stale_behind VALUES (%u, 0)", i);
		must_say(mysql, text);
	}
	mysql_close(mysql);
}

/* What of others is still under way on this server may be a COMMIT. */
static void settle(const struct stale_options *options)
{
	MYSQL *mysql = stale_open(options);
	uint64_t others = 1;

	for (int i = 0; i < 600 && others; i++) {
		if (!stale_ask(mysql,
			       "SELECT COUNT(*) FROM "
			       "information_schema.PROCESSLIST WHERE ID <> "
			       "CONNECTION_ID() AND USER = "
			       "SUBSTRING_INDEX(USER(), '@', 1)",
			       &others))
			stale_die("settle: %s", mysql_error(mysql));
		if (others)
			poll(NULL, 0, 100);
	}
	if (others)
		stale_die("connections of the same account are still there");
	mysql_close(mysql);
}

static void print_all(MYSQL *mysql, const char *what, const char *text)
{
	MYSQL_RES *result;
	MYSQL_ROW row;

	if (mysql_query(mysql, text))
		stale_die("%s: %s", text, mysql_error(mysql));
	result = mysql_store_result(mysql);
	while (result && (row = mysql_fetch_row(result)))
		printf("%s %s %s %s\n", what, row[0], row[1], row[2]);
	mysql_free_result(result);
}

static void say_if_known(MYSQL *mysql, const char *text)
{
	unsigned int error = stale_say(mysql, text);

	if (error && error != UNKNOWN_VARIABLE)
		stale_die("%s: %s", text, mysql_error(mysql));
}

static void tell_all(const struct stale_options *options)
{
	MYSQL *mysql = stale_open(options);

	/* A node of Galera may be behind another one, and a member of a group.
	 * Elsewhere there is no such variable. */
	say_if_known(mysql, "SET SESSION wsrep_sync_wait = 1");
	say_if_known(mysql,
		     "SET SESSION group_replication_consistency = 'BEFORE'");
	print_all(mysql, "last", "SELECT id, last, 0 FROM stale_register");
	print_all(mysql, "write",
		  "SELECT register, id, follows FROM stale_write");
	mysql_close(mysql);
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (!*text || *end)
		stale_die("'%s' is not a number", text);
	return value;
}

static const struct option words[] = {
	{ "act", required_argument, NULL, 'a' },
	{ "form", required_argument, NULL, 'f' },
	{ "worker", required_argument, NULL, 'w' },
	{ "registers", required_argument, NULL, 'r' },
	{ "rounds", required_argument, NULL, 'n' },
	{ "seed", required_argument, NULL, 's' },
	{ "ttl-ms", required_argument, NULL, 't' },
	{ "node", required_argument, NULL, 'N' },
	{ "peer", required_argument, NULL, 'e' },
	{ "pace-ms", required_argument, NULL, 'P' },
	{ "stops", required_argument, NULL, 'p' },
	{ "muses", required_argument, NULL, 'm' },
	{ "faults", no_argument, NULL, 'x' },
	{ "direct", no_argument, NULL, 'd' },
	{ "observe", no_argument, NULL, 'o' },
	{ "tls-unverified", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static unsigned int *number_of(struct stale_options *options, int option)
{
	switch (option) {
	case 'w':
		return &options->worker;
	case 'r':
		return &options->registers;
	case 'n':
		return &options->rounds;
	case 't':
		return &options->ttl_ms;
	case 'e':
		return &options->peer_port;
	case 'P':
		return &options->pace_ms;
	case 'p':
		return &options->stops;
	case 'm':
		return &options->muses;
	default:
		return NULL;
	}
}

static bool *flag_of(struct stale_options *options, int option)
{
	switch (option) {
	case 'x':
		return &options->faults;
	case 'd':
		return &options->direct;
	case 'o':
		return &options->observe;
	case 'V':
		return &options->tls_unverified;
	default:
		return NULL;
	}
}

static void take_node(struct stale_options *options)
{
	if (options->node_count == STALE_NODES_MOST)
		stale_die("at most %d nodes", STALE_NODES_MOST);
	options->nodes[options->node_count++] = optarg;
}

static void take(struct stale_options *options, int option)
{
	unsigned int *some = number_of(options, option);
	bool *flag = flag_of(options, option);

	if (some)
		*some = (unsigned int) number(optarg);
	else if (flag)
		*flag = true;
	else if (option == 'N')
		take_node(options);
	else if (option == 's')
		options->seed = number(optarg);
	else if (option == 'f' && !(options->form = stale_form(optarg)))
		stale_die("there is no form '%s'", optarg);
}

static const struct {
	const char *name;
	void (*run)(const struct stale_options *options);
} acts[] = {
	{ "forms", stale_print_forms },
	{ "set-up", set_up },
	{ "work", stale_work },
	{ "spoil", stale_spoil },
	{ "hold-back", stale_hold_back },
	{ "settle", settle },
	{ "tell", tell_all },
};

int main(int argc, char **argv)
{
	struct stale_options options = {
		.dsn = getenv("ROWLOCK_DSN"),
		.form = stale_form("none"),
		.registers = 4,
		.rounds = 100,
		.ttl_ms = 1000,
		.pace_ms = 40,
	};
	const char *act = "";
	int option;

	while ((option = getopt_long(argc, argv, "", words, NULL)) != -1) {
		if (option == 'a')
			act = optarg;
		else if (option == 'h' || option == '?')
			break;
		take(&options, option);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	/* Several may write into one file. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (options.registers > STALE_REGISTERS_MOST)
		stale_die("at most %d registers", STALE_REGISTERS_MOST);
	for (size_t i = 0; i < sizeof(acts) / sizeof(*acts); i++)
		if (option == -1 && !strcmp(acts[i].name, act)) {
			acts[i].run(&options);
			return 0;
		}
	fputs(usage, option == 'h' ? stdout : stderr);
	return option == 'h' ? 0 : 2;
}
