/* SPDX-License-Identifier: MIT */
/*
 * rowlock wait: wait until a name is free.
 *
 * lease: looks for a holder, with back-off, and leaves no trace. row: only
 * waiting in the server's queue tells, so the lock is acquired and released at
 * once. Failure modes: the time is up (1, or the code of -E), the server's
 * (125), a signal, which ends this process.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>

#include "command.h"
#include "common/pace.h"
#include "common/report.h"
#include "common/text.h"
#include "run/acquisition.h"
#include "run/nested.h"

#define PAUSE_MIN_MS 50
#define PAUSE_MAX_MS 1000
/* The limit of one look, as a server may have ever more rows. */
#define LOOK_MAX_MS 10000

static const char help[] =
    "usage: rowlock wait [OPTIONS] NAME\n"
    "Wait until nobody holds NAME. Another may have it the moment after.\n\n"
    "  -s, --strategy=lease|row   which lock of that name (lease); row takes\n"
    "                             and releases it\n"
    "  -w, --wait, --timeout=TIME wait no longer (seconds, or 500ms 2m 1h 1d)\n"
    "  -E, --conflict-exit-code=N exit with N if it is still held then (1)\n"
    "\nExamples:\n"
    "  rowlock wait nightly\n"
    "  rowlock wait -w 1h nightly && ./report.sh\n";

static const struct option options[] = {
	{ "strategy", required_argument, NULL, 's' },
	{ "wait", required_argument, NULL, 'w' },
	{ "timeout", required_argument, NULL, 'w' },
	{ "conflict-exit-code", required_argument, NULL, 'E' },
	COMMON_OPTIONS,
};

struct request {
	const struct common *common;
	enum rowlock_strategy strategy;
	const char *name;
	uint64_t wait_ms;
	unsigned int conflict_code;
};

/* At least half of @ms, and up to all of it by chance: waiters drift apart. */
static void pause_ms(uint64_t ms)
{
	uint64_t half = ms / 2;

	pace_rest(ms - (uint64_t) random() % (half + 1));
}

/* Report the wait as run does. */
static void tell(const struct request *request, struct rowlock_client *client,
		 uint64_t waited_ms, const char *now)
{
	char span[TEXT_SPAN_SIZE];

	if (!request->common->verbose)
		return;
	text_span(waited_ms, span);
	report(ROWLOCK_LOG_INFO, "wait: waited %s for '%s' on %s; now %s", span,
	       request->name, rowlock_client_server(client), now);
}

static uint64_t look_ms(const struct request *request, uint64_t passed_ms)
{
	uint64_t left = 0;

	if (passed_ms < request->wait_ms)
		left = request->wait_ms - passed_ms;
	return left < LOOK_MAX_MS ? left : LOOK_MAX_MS;
}

/* @ret_sight: the last one. A server that is away is reported once. */
static int look_until_free(const struct request *request,
			   struct rowlock_client *client,
			   struct onlooker *onlooker, struct sight *ret_sight)
{
	uint64_t start = pace_now_ms(), pause = PAUSE_MIN_MS, passed = 0;
	const struct sight_of of = { .names = &request->name,
				     .count = 1,
				     .strategy = ROWLOCK_LEASE };
	struct rowlock_errinfo error;
	bool away = false, over;

	for (;;) {
		int r = sight_look(client, &of, look_ms(request, passed),
				   ret_sight, &error);

		if (r == 0 && sight_is_free(ret_sight))
			return EXIT_DONE;
		if (r == 0)
			onlooker_saw(onlooker, ret_sight);
		passed = pace_now_ms() - start;
		over = passed >= request->wait_ms ||
		       (r < 0 && !command_is_away(r));
		if (r < 0 && (over || !away))
			report(ROWLOCK_LOG_ERROR, "wait: %s%s", error.message,
			       over ? "" : "; it looks again until it works");
		away = r < 0;
		if (over)
			return away ? EXIT_FAILED
				    : (int) request->conflict_code;
		if (pause > request->wait_ms - passed)
			pause = request->wait_ms - passed;
		pause_ms(pause);
		pause = 2 * pause > PAUSE_MAX_MS ? PAUSE_MAX_MS : 2 * pause;
		passed = pace_now_ms() - start;
	}
}

/* Refuse an invalid name as run does: it can never be held. */
static bool is_name(const struct request *request,
		    struct rowlock_client *client)
{
	const struct rowlock_options like = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock_errinfo error;
	struct rowlock *lock = NULL;
	int r = rowlock_new(client, request->name, &like, &lock, &error);

	if (r < 0)
		report(ROWLOCK_LOG_ERROR, "wait: %s", error.message);
	rowlock_free(lock);
	return r == 0;
}

/* The signal ends us when this returns: its old handler is the default. */
static void end_by(int signal)
{
	report_interrupted();
	raise(signal);
}

/* Clear the line of the wait if a signal ends us. */
static void tidy_up_on_signals(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
	struct sigaction action = { .sa_handler = end_by,
				    .sa_flags = (int) SA_RESETHAND };
	struct sigaction before;

	for (size_t i = 0; i < RLK_ARRAY_SIZE(signals); i++) {
		/* Ignored: it stays so, as under nohup. */
		if (sigaction(signals[i], NULL, &before) == 0 &&
		    before.sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
	}
}

/* Returns 0 or the exit code. */
static int open_client(const struct request *request,
		       struct rowlock_client **ret_client)
{
	struct rowlock_client_options like =
	    command_client_options(request->common);
	struct rowlock_errinfo error;

	like.flags |= ROWLOCK_NO_REAPER;
	if (command_stay(&request->common->connection, like, ret_client,
			 &error) == 0)
		return 0;
	report(ROWLOCK_LOG_ERROR, "wait: %s", error.message);
	return EXIT_FAILED;
}

static int wait_lease(const struct request *request)
{
	_cleanup_(client_freep) struct rowlock_client *client = NULL;
	struct onlooker onlooker = {
		.title = "wait",
		.name = request->name,
		.verbose = request->common->verbose,
	};
	const struct nested nested = {
		.names = &request->name,
		.count = 1,
		.strategy = ROWLOCK_LEASE,
		.kinds = ~0u,
		.program = "rowlock wait",
	};
	struct rowlock_errinfo error;
	char seen[SIGHT_SIZE] = "free";
	struct sight sight = { .looked = false };
	uint64_t waited_ms;
	int code = open_client(request, &client);

	if (code != 0)
		return code;
	if (!is_name(request, client))
		return EXIT_FAILED;
	srandom((unsigned int) pace_now_ms());
	if (request->wait_ms && nested_check(&nested, client, &error) < 0) {
		report(ROWLOCK_LOG_ERROR, "wait: %s", error.message);
		return EXIT_FAILED;
	}
	tidy_up_on_signals();
	onlooker_begin(&onlooker);
	code = look_until_free(request, client, &onlooker, &sight);
	waited_ms = onlooker_end(&onlooker);
	if (sight.looked && !sight_is_free(&sight))
		sight_say(&sight, seen);
	if (sight.looked)
		tell(request, client, waited_ms, seen);
	return code;
}

static int wait_row(const struct request *request, struct signals *signals)
{
	_cleanup_(acquisition_fini) struct acquisition acquisition = {
		.connection = &request->common->connection,
		.client_options = command_client_options(request->common),
		.lock_options = ROWLOCK_OPTIONS_DEFAULT,
		.names = (const char *const[]){ request->name },
		.name_count = 1,
		.wait_ms = request->wait_ms,
		.title = "wait",
		.verbose = request->common->verbose,
	};
	char seen[SIGHT_SIZE] = "";
	int signal;

	acquisition.client_options.flags |= ROWLOCK_NO_REAPER;
	acquisition.lock_options.strategy = ROWLOCK_ROW;
	signal = acquisition_run(&acquisition, signals);
	signals_restore(signals);
	if (acquisition.result == 0)
		rowlock_release(acquisition.hold.lock, NULL);
	if (signal)
		return EXIT_KILLED + signal;
	switch (acquisition.result) {
	case 0:
		tell(request, acquisition.client, acquisition.waited_ms,
		     "free");
		return EXIT_DONE;
	case ROWLOCK_EBUSY:
	case ROWLOCK_ETIMEDOUT:
		if (request->common->verbose)
			acquisition_sight(&acquisition, seen);
		tell(request, acquisition.client, acquisition.waited_ms,
		     *seen ? seen : "held");
		return (int) request->conflict_code;
	default:
		report(ROWLOCK_LOG_ERROR, "wait: %s",
		       acquisition.error.message);
		return EXIT_FAILED;
	}
}

static int take_option(struct request *request, struct common *common,
		       int option)
{
	switch (option) {
	case 's':
		return command_strategy(optarg, &request->strategy)
			   ? -1
			   : EXIT_FAILED;
	case 'w':
		return command_time("wait", "--wait", optarg,
				    &request->wait_ms);
	case 'E':
		if (text_number(optarg, 0, 255, &request->conflict_code))
			return -1;
		return command_misused("wait",
				       "--conflict-exit-code: '%s' is not a "
				       "number from 0 to 255",
				       optarg);
	default:
		return common_option(common, option, optarg, help);
	}
}

int cmd_wait(int argc, char **argv, struct common *common)
{
	struct request request = {
		.common = common,
		.strategy = ROWLOCK_LEASE,
		.wait_ms = ROWLOCK_FOREVER,
		.conflict_code = EXIT_NOT,
	};
	struct signals signals = { .fd = -1 };
	int option;

	while ((option = suggest_getopt(argc, argv, "s:w:E:vhV", options,
					NULL)) != -1) {
		int code = take_option(&request, common, option);

		if (code >= 0)
			return code;
	}
	if (argc - optind != 1)
		return command_misused("wait", "give one name");
	request.name = argv[optind];
	if (request.strategy == ROWLOCK_LEASE)
		return wait_lease(&request);
	if (!signals_start(&signals))
		return EXIT_FAILED;
	return wait_row(&request, &signals);
}
