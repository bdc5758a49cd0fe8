/* SPDX-License-Identifier: MIT */
/*
 * rowlock ping: can locks be acquired on the server now?
 *
 * Opens a client, which checks server, account and tables, and takes and
 * releases a lease of a name that nobody else has. Prints one line, and exits
 * as pg_isready(1) does. Failure modes: what failed is the answer; a process
 * that is killed between the two leaves its lease for a TTL.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

#include "command.h"
#include "common/pace.h"
#include "common/report.h"
#include "common/text.h"

static const char help[] =
    "usage: rowlock ping [OPTIONS]\n"
    "Check that locks can be acquired: connect, check the tables, take a lock\n"
    "of a name of its own and release it. Prints one line; asks for no "
    "password.\n"
    "Exits with 0 if all is well; 1 if the server, the account or the tables\n"
    "refuse, with the reason; 2 if the server does not answer; 3 if nothing "
    "was\n"
    "tried, as the command line or an option file is wrong.\n\n"
    "  -j, --json                 as one JSON object\n"
    "\nExamples:\n"
    "  rowlock ping\n"
    "  rowlock ping --json --connect-timeout=2s\n";

static const struct option options[] = {
	{ "json", no_argument, NULL, 'j' },
	COMMON_OPTIONS,
};

/* The exit codes. */
enum answer {
	ANSWER_WELL = 0,
	ANSWER_REFUSED = 1,
	ANSWER_NONE = 2,
	ANSWER_NOT_TRIED = 3,
};

static const char *const answer_words[] = {
	[ANSWER_WELL] = "well",
	[ANSWER_REFUSED] = "refuses",
	[ANSWER_NONE] = "no answer",
	[ANSWER_NOT_TRIED] = "not tried",
};

struct ping {
	struct rowlock_client *client;
	uint64_t connect_ms;
	uint64_t lock_ms;
	struct rowlock_errinfo error; /* code 0: all is well */
};

/* Connector/C's, which no server has sent, or none. */
static bool is_silence(unsigned int number)
{
	return number != CONNECTION_NO_SUCH_TLS &&
	       (number == 0 || (number >= 2000 && number < 3000) ||
		(number >= 5000 && number < 6000));
}

static enum answer judge(const struct rowlock_errinfo *error)
{
	switch (error->code) {
	case 0:
		return ANSWER_WELL;
	case ROWLOCK_EINVAL:
	case ROWLOCK_ENOMEM:
	case ROWLOCK_ESYSTEM:
		return ANSWER_NOT_TRIED;
	case ROWLOCK_ECONNECT:
		return is_silence(error->mysql) ? ANSWER_NONE : ANSWER_REFUSED;
	default:
		return ANSWER_REFUSED;
	}
}

/* Two pings never meet: they would tell of each other, not of the server. */
static void own_name(char *name, size_t size)
{
	uint64_t random;

	/* So few bytes come whole, or not yet. */
	while (getrandom(&random, sizeof(random), 0) != sizeof(random))
		;
	snprintf(name, size, "rowlock-ping/%016" PRIx64, random);
}

static int take_and_release(struct rowlock_client *client,
			    struct rowlock_errinfo *reterr)
{
	_cleanup_(rowlock_freep) struct rowlock *lock = NULL;
	struct rowlock_options how = ROWLOCK_OPTIONS_DEFAULT;
	char name[64];
	int r;

	own_name(name, sizeof(name));
	r = rowlock_new(client, name, &how, &lock, reterr);
	if (r == 0)
		r = rowlock_acquire(lock, 0, reterr);
	if (r == 0)
		r = rowlock_release(lock, reterr);
	return r;
}

static void ping_server(const struct common *common, struct ping *ping)
{
	struct rowlock_client_options how = command_client_options(common);
	uint64_t began = pace_now_ms();

	how.flags |= ROWLOCK_NO_REAPER;
	/* The bound of the connect is that of each other step. */
	how.call_timeout_ms = common->connection.connect_timeout_ms;
	/* One line, which has the reason. */
	if (!common->verbose)
		how.log = NULL;
	if (connection_open(&common->connection, how, &ping->client,
			    &ping->error) < 0)
		return;
	ping->connect_ms = pace_now_ms() - began;
	if (take_and_release(ping->client, &ping->error) < 0)
		return;
	ping->lock_ms = pace_now_ms() - began - ping->connect_ms;
	ping->error.code = 0;
}

static void put_json(const struct ping *ping, enum answer answer)
{
	printf("{\"code\":%d,\"answer\":\"%s\",\"server\":", answer,
	       answer_words[answer]);
	if (ping->client)
		text_json(stdout, rowlock_client_server(ping->client));
	else
		fputs("null", stdout);
	fputs(",\"reason\":", stdout);
	if (answer == ANSWER_WELL)
		printf("null,\"connect_ms\":%" PRIu64 ",\"lock_ms\":%" PRIu64
		       "}\n",
		       ping->connect_ms, ping->lock_ms);
	else {
		text_json(stdout, ping->error.message);
		fputs(",\"connect_ms\":null,\"lock_ms\":null}\n", stdout);
	}
}

static void put_line(const struct ping *ping, enum answer answer)
{
	if (answer == ANSWER_WELL)
		printf("%s: well: connected in %" PRIu64
		       " ms, a lock taken and released in %" PRIu64 " ms\n",
		       rowlock_client_server(ping->client), ping->connect_ms,
		       ping->lock_ms);
	else
		report(ROWLOCK_LOG_ERROR, "ping: %s: %s", answer_words[answer],
		       ping->error.message);
}

static int ping(const struct common *common, bool json)
{
	struct ping ping = { .client = NULL };
	enum answer answer;

	ping_server(common, &ping);
	answer = judge(&ping.error);
	if (json)
		put_json(&ping, answer);
	else
		put_line(&ping, answer);
	rowlock_client_free(ping.client);
	command_forget_output();
	return (int) answer;
}

int cmd_ping(int argc, char **argv, struct common *common)
{
	bool json = false;
	int option;

	while ((option = suggest_getopt(argc, argv, "jvhV", options, NULL)) !=
	       -1) {
		int code = -1;

		if (option == 'j')
			json = true;
		else
			code = common_option(common, option, optarg, help);
		if (code >= 0)
			return code == EXIT_FAILED ? ANSWER_NOT_TRIED : code;
	}
	if (argc > optind) {
		command_misused("ping",
				"give no name: it takes one of its own");
		return ANSWER_NOT_TRIED;
	}
	return ping(common, json);
}
