/* SPDX-License-Identifier: MIT */
/*
 * rowlock revoke: ask the holder of a lease to give it back.
 *
 * Asks once; with --wait looks again until the hold that was asked for is over.
 * Failure modes: 1 if there is none; 2 if it is still held, as its holder
 * refuses, or the time is up; 125 otherwise, also for holders that cannot be
 * asked. A server that is away meanwhile is waited for.
 */
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "common/pace.h"
#include "common/report.h"
#include "common/text.h"
#include "show/request.h"
#include "show/sight.h"

#define EXIT_STILL_HELD 2

/* Between two looks. An answer takes a heartbeat of the holder. */
#define LOOK_MS 500

static const char help[] =
    "usage: rowlock revoke [OPTIONS] NAME\n"
    "Ask the holder of the lease NAME to give it back. It learns of that at "
    "its next\n"
    "heartbeat, if it listens (run --on-revoke, hold), may answer, and holds "
    "on until\n"
    "it is done: 'rowlock break' asks nobody. 'rowlock show' has the answer.\n"
    "Exits with 1 if nobody held NAME; with --wait with 2 if it is still held, "
    "as the\n"
    "holder refuses, or the time is over.\n\n"
    "  -r, --reason=TEXT          why: the holder is told\n"
    "  -w, --wait=TIME            wait for the end of that hold, no longer "
    "than TIME\n"
    "\nExamples:\n"
    "  rowlock revoke --reason='db1 goes down at 22:00' nightly\n"
    "  rowlock revoke -w 10m nightly; [ $? -ne 2 ] || rowlock break nightly\n";

static const struct option options[] = {
	{ "reason", required_argument, NULL, 'r' },
	{ "wait", required_argument, NULL, 'w' },
	COMMON_OPTIONS,
};

struct revoking {
	struct rowlock_client *client;
	const char *name;
	uint64_t attempt; /* of the hold that was asked for */
	struct rowlock_revocation asked;
	enum rowlock_answer told;
};

/* Returns -1 to go on, or the exit code. */
static int tell(struct revoking *revoking, enum rowlock_answer answer)
{
	if (answer == revoking->told || answer == ROWLOCK_ANSWER_NONE)
		return -1;
	revoking->told = answer;
	report(ROWLOCK_LOG_INFO, "the holder of '%s' on %s %s", revoking->name,
	       rowlock_client_server(revoking->client), request_word(answer));
	return answer == ROWLOCK_ANSWER_NO ? EXIT_STILL_HELD : -1;
}

/* Another hold, by which the one that was asked for was adopted: the request
 * has gone on to it. */
static bool goes_on(const struct revoking *revoking,
		    const struct rowlock_revocation *known)
{
	const struct rowlock_revocation *asked = &revoking->asked;

	return known->answer != ROWLOCK_ANSWER_UNASKED &&
	       known->pid == asked->pid &&
	       strcmp(known->host, asked->host) == 0 &&
	       strcmp(known->reason, asked->reason) == 0;
}

static int look(struct revoking *revoking)
{
	struct rowlock_revocation known = { .size = sizeof(known) };
	struct rowlock_errinfo error;
	int r = rowlock_revoke(revoking->client, revoking->name, NULL, &known,
			       &error);

	if (r == ROWLOCK_ENOTHELD ||
	    (r == 0 && known.attempt != revoking->attempt &&
	     !goes_on(revoking, &known)))
		return EXIT_DONE;
	if (r == 0 && known.attempt != revoking->attempt) {
		revoking->attempt = known.attempt;
		revoking->told = ROWLOCK_ANSWER_NONE;
	}
	if (r == 0)
		return tell(revoking, known.answer);
	if (command_is_away(r))
		return -1;
	report(ROWLOCK_LOG_ERROR, "%s", error.message);
	return EXIT_FAILED;
}

static int wait_for(struct revoking *revoking, uint64_t wait_ms)
{
	uint64_t until = pace_now_ms() + wait_ms;
	int code;

	while ((code = look(revoking)) < 0) {
		uint64_t now = pace_now_ms();

		if (now >= until)
			break;
		pace_rest(until - now < LOOK_MS ? until - now : LOOK_MS);
	}
	if (code >= 0)
		return code;
	report(ROWLOCK_LOG_INFO,
	       "'%s' on %s is still held, %s: 'rowlock break' takes it",
	       revoking->name, rowlock_client_server(revoking->client),
	       revoking->told == ROWLOCK_ANSWER_NONE
		   ? "and its holder has not answered"
		   : "though its holder knows");
	return EXIT_STILL_HELD;
}

/* No lease that can be asked for. Returns the exit code. */
static int not_found(struct rowlock_client *client, const char *name)
{
	/* Not a lease that has come since. */
	const unsigned int kinds = 1 << ROWLOCK_KIND_READER |
				   1 << ROWLOCK_KIND_WRITER |
				   1 << ROWLOCK_KIND_PERMIT;
	const struct sight_of of = { &name, 1, ROWLOCK_LEASE, kinds };
	const char *server = rowlock_client_server(client);
	struct rowlock_errinfo error;
	char seen[SIGHT_SIZE];
	struct sight sight;

	if (sight_look(client, &of, SIGHT_MS, &sight, &error) < 0) {
		report(ROWLOCK_LOG_ERROR, "%s", error.message);
		return EXIT_FAILED;
	}
	if (sight_is_free(&sight)) {
		report(ROWLOCK_LOG_INFO, "nobody holds '%s' (lease) on %s",
		       name, server);
		return EXIT_NOT;
	}
	sight_say(&sight, seen);
	report(ROWLOCK_LOG_ERROR,
	       "'%s' on %s is %s, who cannot be asked: only the holder of a "
	       "lease, of several names or of an election can",
	       name, server, seen);
	return EXIT_FAILED;
}

static int revoke(const struct common *common, const char *name,
		  const char *reason, const uint64_t *wait_ms)
{
	_cleanup_(client_freep) struct rowlock_client *client = NULL;
	struct rowlock_revocation asked = { .size = sizeof(asked) };
	struct revoking revoking = { .name = name };
	struct rowlock_errinfo error;
	int code = command_open(common, &client);
	int r;

	if (code != 0)
		return code;
	r = rowlock_revoke(client, name, reason, &asked, &error);
	if (r == ROWLOCK_ENOTHELD)
		return not_found(client, name);
	if (r < 0) {
		report(ROWLOCK_LOG_ERROR, "%s", error.message);
		return EXIT_FAILED;
	}
	revoking.client = client;
	revoking.attempt = asked.attempt;
	revoking.asked = asked;
	return wait_ms ? wait_for(&revoking, *wait_ms) : EXIT_DONE;
}

int cmd_revoke(int argc, char **argv, struct common *common)
{
	const char *reason = "";
	uint64_t wait_ms = 0;
	bool waits = false;
	int option;

	while ((option = suggest_getopt(argc, argv, "r:w:vhV", options,
					NULL)) != -1) {
		int code = -1;

		if (option == 'r')
			reason = optarg;
		else if (option == 'w') {
			waits = true;
			code =
			    command_time("revoke", "--wait", optarg, &wait_ms);
		} else
			code = common_option(common, option, optarg, help);
		if (code >= 0)
			return code;
	}
	if (argc - optind != 1)
		return command_misused("revoke", "give one name");
	return revoke(common, argv[optind], reason, waits ? &wait_ms : NULL);
}
