/* SPDX-License-Identifier: MIT */
/*
 * A command that runs under a lock: its part of the command line, and the time
 * between the grant and the release.
 *
 * Failure modes: lock lost (124), our own (125); else the command's own status.
 */
#include "run/task.h"

#include <errno.h>
#include <inttypes.h>
#include <paths.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/pace.h"
#include "common/report.h"
#include "common/text.h"
#include "run/environment.h"
#include "run/supervise.h"

#define ERROR_LOCK_WAIT 1205 /* the server's */

/* The defaults and bounds of ttl_ms and row_idle_ms. */
#define LEASE_TTL_MS 30000
#define ROW_IDLE_MS 10000
#define LEASE_LEAST_MS 1000
#define REFUSAL_LEAST_MS 1000
#define REFUSAL_MOST_MS 86400000
#define LEASE_MOST_MS 86400000
#define ROW_LEAST_MS 2000
#define ROW_MOST_MS 3600000

/* --------------------------------------------------------- command line */

int task_option(struct task *task, int option)
{
	int code;

	switch (option) {
	case 's':
		return command_strategy(optarg, &task->lock.strategy)
			   ? -1
			   : EXIT_FAILED;
	case 't':
		code =
		    command_time(task->title, "--ttl", optarg, &task->ttl_ms);
		return code >= 0 || task->ttl_ms > 0
			   ? code
			   : command_misused(task->title,
					     "--ttl: it must be more than 0");
	case 'c':
		task->shell_command = optarg;
		return -1;
	case TASK_OPTION_REFUSAL:
		code = command_time(task->title, "--refusal-timeout", optarg,
				    &task->refusal_ms);
		return code >= 0 || (task->refusal_ms >= REFUSAL_LEAST_MS &&
				     task->refusal_ms <= REFUSAL_MOST_MS)
			   ? code
			   : command_misused(
				 task->title,
				 "--refusal-timeout: it is 1s to 24h");
	case TASK_OPTION_INFO:
		task->lock.info = optarg;
		return -1;
	default:
		return common_option(task->common, option, optarg, task->help);
	}
}

int task_also(struct task *task, const char *name)
{
	if (!task->name_count)
		task->name_count = 1;
	if (task->name_count == RLK_ARRAY_SIZE(task->names))
		return command_misused(task->title,
				       "--also '%s': at most %d names can be "
				       "held together",
				       name, ROWLOCK_MULTILOCK_MAX);
	task->names[task->name_count++] = name;
	return -1;
}

/* The arguments of getopt_long(). */
struct scan {
	const char *letters;
	const struct option *options;
	task_option_fn fn;
};

/* Take options up to the first word that is not one. */
static int take_options(struct task *task, int argc, char **argv,
			const struct scan *scan)
{
	int option;

	while ((option = suggest_getopt(argc, argv, scan->letters,
					scan->options, NULL)) != -1) {
		int code = scan->fn(task, option);

		if (code >= 0)
			return code;
	}
	return -1;
}

static int use_shell(struct task *task)
{
	const char *shell = getenv("SHELL");

	task->shell_argv[0] = (char *) (shell && *shell ? shell : _PATH_BSHELL);
	task->shell_argv[1] = (char *) "-c";
	task->shell_argv[2] = (char *) task->shell_command;
	task->shell_argv[3] = NULL;
	task->argv = task->shell_argv;
	return -1;
}

/* -1 or the exit code. */
static int check_ttl(const struct task *task)
{
	bool row = task->lock.strategy == ROWLOCK_ROW;
	uint64_t ms = task->ttl_ms;

	if (ms == 0 ||
	    (row ? ms >= ROW_LEAST_MS && ms <= ROW_MOST_MS && ms % 1000 == 0
		 : ms >= LEASE_LEAST_MS && ms <= LEASE_MOST_MS))
		return -1;
	return command_misused(task->title, "--ttl: %s",
			       row ? "under row it is 2s to 1h, in whole "
				     "seconds"
				   : "it is 1s to 24h");
}

/* Like flock(1), takes options after the name; those of COMMAND are its own. */
int task_parse(struct task *task, int argc, char **argv, const char *letters,
	       const struct option *options, task_option_fn fn)
{
	const struct scan scan = { letters, options, fn };
	int code = take_options(task, argc, argv, &scan);

	if (code >= 0)
		return code;
	if (optind >= argc)
		return command_misused(task->title, "which lock? give a name");
	task->name = argv[optind];
	task->names[0] = task->name;
	if (!task->name_count)
		task->name_count = 1;
	/* The title takes the name's place, for getopt_long() to skip. */
	argv[optind] = argv[0];
	argc -= optind;
	argv += optind;
	optind = 0;
	code = take_options(task, argc, argv, &scan);
	if (code < 0)
		code = check_ttl(task);
	if (code >= 0)
		return code;
	if (task->no_command)
		return optind < argc || task->shell_command
			   ? command_misused(
				 task->title,
				 "it runs no command: 'rowlock run' "
				 "does")
			   : -1;
	if (task->shell_command && optind < argc)
		return command_misused(task->title,
				       "-c and a command exclude each other");
	if (task->shell_command)
		return use_shell(task);
	if (optind >= argc)
		return command_misused(task->title,
				       "which command? give one after '%s'",
				       task->name);
	task->argv = argv + optind;
	return -1;
}

/* ------------------------------------------------------------------ run */

static struct rowlock_client_options client_options(const struct task *task,
						    char *program, size_t size)
{
	struct rowlock_client_options client =
	    command_client_options(task->common);
	const char *name = task->no_command ? "" : task->argv[0];
	const char *slash = strrchr(name, '/');

	/* The command's name, not its arguments: those may be secret. */
	int length = snprintf(program, size, "rowlock %s%s", task->title,
			      *name ? " " : "");

	text_plain(slash ? slash + 1 : name, program + length,
		   size - (size_t) length);
	client.program = program;
	/* Supervision goes by it. */
	client.ttl_ms = LEASE_TTL_MS;
	client.row_idle_ms = ROW_IDLE_MS;
	client.refusal_timeout_ms = task->refusal_ms;
	if (revocation_fd(task->revocation) >= 0) {
		client.on_revoke = revocation_hear;
		client.revoke_arg = task->revocation;
	}
	if (task->ttl_ms == 0)
		return client;
	if (task->lock.strategy == ROWLOCK_ROW)
		client.row_idle_ms = task->ttl_ms;
	else
		client.ttl_ms = task->ttl_ms;
	return client;
}

bool task_can_be_asked(const struct task *task)
{
	return task->lock.strategy == ROWLOCK_LEASE && !task->manner.mode &&
	       !task->manner.permits;
}

bool task_listen(struct task *task)
{
	if (task->revocation->started || revocation_start(task->revocation))
		return true;
	report(ROWLOCK_LOG_ERROR,
	       "%s: cannot listen for requests: %s; nothing was locked",
	       task->title, strerror(errno));
	return false;
}

struct acquisition task_acquisition(const struct task *task, char *program,
				    size_t size)
{
	struct acquisition acquisition = {
		.connection = &task->common->connection,
		.client_options = client_options(task, program, size),
		.lock_options = task->lock,
		.names = task->names,
		.name_count = task->name_count,
		.manner = task->manner,
		.job = task->job && task->job->per ? task->job : NULL,
		.wait_ms = task->wait_ms,
		.retry_ms = task->retry_ms,
		.title = task->title,
		.verbose = task->common->verbose,
	};

	acquisition.lock_options.flags |= ROWLOCK_TOKEN_WITH_GRANT;
	return acquisition;
}

/* Report the error of a call that needs the lock. Returns the exit code. */
static int refused(const struct task *task,
		   const struct acquisition *acquisition, int r)
{
	if (r != ROWLOCK_ELOST) {
		report(ROWLOCK_LOG_ERROR, "%s: %s", task->title,
		       acquisition->error.message);
		return EXIT_FAILED;
	}
	report_event(JOURNAL_LOST, task->name, ROWLOCK_LOG_ERROR, "%s: %s",
		     task->title, acquisition->error.message);
	return EXIT_LOST;
}

int task_tokens(const struct task *task, struct acquisition *acquisition,
		uint64_t *ret_tokens)
{
	for (size_t i = 0; i < task->name_count; i++) {
		int r = hold_token(&acquisition->hold, task->names[i],
				   &ret_tokens[i], &acquisition->error);

		if (r < 0)
			return refused(task, acquisition, r);
	}
	return -1;
}

int task_guard(const struct task *task, struct acquisition *acquisition,
	       char *ret_text)
{
	int r = acquisition->job
		    ? job_guard_sql(acquisition->job, acquisition->hold.lock,
				    ret_text, &acquisition->error)
		    : hold_guard_sql(&acquisition->hold, task->guarded_by_call,
				     ret_text, ROWLOCK_GUARD_SQL_SIZE,
				     &acquisition->error);

	return r == 0 ? -1 : refused(task, acquisition, r);
}

/* A rowlock_list_fn for one row; others are ignored. */
static int see_info(const struct rowlock_entry *entry, void *arg)
{
	const struct task *task = arg;

	if (strcmp(entry->info, task->lock.info) != 0)
		report(ROWLOCK_LOG_WARNING,
		       "%s: --info: under row '%s' keeps the one that it was "
		       "made with: '%s'",
		       task->title, task->name, entry->info);
	return 1;
}

/* A row's info is written once, when the row is made; a change in the hold's
 * transaction would be invisible until its end. */
static void tell_info(const struct task *task,
		      const struct acquisition *acquisition)
{
	struct rowlock_list_options what = ROWLOCK_LIST_OPTIONS_DEFAULT;
	int r;

	if (task->lock.strategy != ROWLOCK_ROW || !task->lock.info)
		return;
	what.name = task->name;
	what.flags = ROWLOCK_LIST_ROWS;
	/* The lock is held whatever the answer is. */
	r = rowlock_list(acquisition->client, &what, see_info, (void *) task,
			 NULL);
	(void) r;
}

/* A name has several kinds of lock, and a user of one kind may believe that it
 * excludes the others. A look costs a round trip, so not every run takes it. */
static void tell_others(const struct task *task,
			const struct acquisition *acquisition)
{
	struct sight_of of = acquisition->onlooker.of;
	struct sight sight = { .looked = false };
	char seen[SIGHT_SIZE];

	of.kinds = of.strategy == ROWLOCK_LEASE ? ~of.kinds : 0;
	of.strategy = ROWLOCK_LEASE;
	if (sight_look(acquisition->client, &of, SIGHT_MS, &sight, NULL) < 0 ||
	    !sight.held)
		return;
	sight_say(&sight, seen);
	report(ROWLOCK_LOG_WARNING,
	       "%s: this does not exclude the other locks named '%s' on %s, of "
	       "which one is %s; see --read, --write, --permits and --strategy",
	       task->title, task->name, acquisition->hold.server, seen);
}

void task_tell(const struct task *task, const struct acquisition *acquisition,
	       uint64_t token)
{
	char span[TEXT_SPAN_SIZE];

	tell_info(task, acquisition);
	if (!task->common->verbose)
		return;
	text_span(acquisition->waited_ms, span);
	report_event(JOURNAL_ACQUIRED, task->name, ROWLOCK_LOG_INFO,
		     "%s: acquired '%s' (%s, token %" PRIu64 ") on %s after %s",
		     task->title, task->name,
		     strategy_word(task->lock.strategy), token,
		     acquisition->hold.server, span);
	tell_others(task, acquisition);
}

/* The longest time that the hold has ahead at any moment. */
uint64_t task_ttl_ms(const struct task *task,
		     const struct acquisition *acquisition)
{
	uint64_t max_ms = task->lock.max_hold_ms;
	uint64_t ttl_ms = task->lock.strategy == ROWLOCK_ROW
			      ? acquisition->client_options.row_idle_ms
			      : acquisition->client_options.ttl_ms;

	return max_ms && max_ms < ttl_ms ? max_ms : ttl_ms;
}

static int run_command(struct task *task, struct acquisition *acquisition,
		       struct signals *signals, struct guard *guard)
{
	_cleanup_(environment_freep) char **environment = NULL;
	_cleanup_(challenge_stop) struct challenge challenge = {
		.lock = acquisition->hold.lock,
		.after_ms = task->gives_way_ms,
		.past = &task->gave_way,
		.fd = -1,
	};
	struct child_command command = { .argv = task->argv };
	struct supervision supervision = {
		.title = task->title,
		.lock = acquisition->hold.lock,
		.server = acquisition->hold.server,
		.name = task->name,
		.ttl_ms = task_ttl_ms(task, acquisition),
		.max_ms = task->lock.max_hold_ms,
		.command = &command,
		.signals = signals,
		.guard = guard,
		.verbose = task->common->verbose,
		.or_else = task->or_else,
		.challenge = &challenge,
		.revocation = task->revocation,
		.ret_told = &task->told,
		.delays = task->lock.delay_after_loss_ms > 0,
		.ret_lost = &task->lost,
		.ret_runs_on = &acquisition->runs_on,
		.ret_stays = &acquisition->stays,
		.ret_started = task->job ? &task->job->started : NULL,
	};
	uint64_t tokens[ROWLOCK_MULTILOCK_MAX];
	char guard_sql[ROWLOCK_GUARD_SQL_SIZE];
	int r = task_tokens(task, acquisition, tokens);

	if (r < 0 && task->guarded)
		r = task_guard(task, acquisition, guard_sql);
	if (r >= 0)
		return r;
	environment = environment_new(&(struct environment_of){
	    .names = task->names,
	    .tokens = tokens,
	    .count = task->name_count,
	    .strategy = task->lock.strategy,
	    .attempt = hold_attempt(&acquisition->hold),
	    .guard = task->guarded ? guard_sql : NULL,
	    .command = task->argv[0],
	});
	if (!environment) {
		report(ROWLOCK_LOG_ERROR,
		       "%s: out of memory; '%s' was not started", task->title,
		       task->argv[0]);
		return EXIT_FAILED;
	}
	command.environment = environment;
	if (task->gives_way && !challenge_start(&challenge, task->name))
		return EXIT_FAILED;
	task_tell(task, acquisition, tokens[0]);
	return supervise(&supervision);
}

/* Others wait for no reason, so the log should show why. */
static int not_released(const struct task *task,
			const struct acquisition *acquisition,
			const char *reason, int code)
{
	char span[TEXT_SPAN_SIZE];
	uint64_t ms = task_ttl_ms(task, acquisition);
	bool row_locked = acquisition->error.mysql == ERROR_LOCK_WAIT;

	if (ms < task->lock.at_least_ms)
		ms = task->lock.at_least_ms;
	ms += task->lock.delay_after_loss_ms;
	text_span(ms, span);
	report(ROWLOCK_LOG_WARNING, "%s: '%s' stays locked for up to %s%s: %s",
	       task->title, task->name, span,
	       row_locked ? " after the end of a transaction" : "", reason);
	return task->tells_release ? (int) task->release_code : code;
}

/* A release that returns LOST shows for the first time that the command was not
 * protected to its end. */
static int judge_release(const struct task *task,
			 struct acquisition *acquisition, int r, int code)
{
	acquisition->result = r;
	if (r == ROWLOCK_ELOST && code != EXIT_FAILED) {
		report_event(
		    JOURNAL_LOST, task->name, ROWLOCK_LOG_ERROR,
		    "%s: the lock '%s' on %s was lost before the command "
		    "ended: look at what it did last (%s)",
		    task->title, task->name, acquisition->hold.server,
		    acquisition->error.message);
		return EXIT_LOST;
	}
	if (r == ROWLOCK_EUNKNOWN)
		report(ROWLOCK_LOG_WARNING,
		       "%s: '%s' on %s is released, but whether it was locked "
		       "until the command ended is not known: look at what it "
		       "did last",
		       task->title, task->name, acquisition->hold.server);
	else if (r < 0 && r != ROWLOCK_ELOST)
		return not_released(task, acquisition,
				    acquisition->error.message, code);
	if (r == 0 && task->common->verbose)
		report(ROWLOCK_LOG_INFO, "%s: released '%s' on %s", task->title,
		       task->name, acquisition->hold.server);
	return code;
}

/* The command has succeeded, which is not noted, or perhaps. */
static void advise(const struct task *task, int r)
{
	if (r == ROWLOCK_EUNKNOWN)
		report(
		    ROWLOCK_LOG_WARNING,
		    "%s: 'rowlock jobs --history' shows whether it is noted; "
		    "if not, the next run of the window does the work again",
		    task->title);
	else
		report(ROWLOCK_LOG_WARNING,
		       "%s: the next run of the window does the work again, "
		       "unless you note the success: set succeeded to 1 and "
		       "ended_at to UTC_TIMESTAMP(6) in its "
		       "row of job_run, if 'rowlock jobs --history' shows one",
		       task->title);
}

/* A guarded command that ended well has committed no note of that, as far as
 * is known. */
static int judge_unnoted(const struct task *task,
			 struct acquisition *acquisition, int r, int code)
{
	if (judge_release(task, acquisition, r, code) == EXIT_LOST)
		return EXIT_LOST;
	if (r == 0)
		report(ROWLOCK_LOG_ERROR,
		       "%s: '%s' on %s: the command ended with %d, but has "
		       "committed no note of its success, so it counts as "
		       "failed: let it commit its guard, and end with an "
		       "error where it does not",
		       task->title, task->name, acquisition->hold.server, code);
	else
		advise(task, ROWLOCK_EUNKNOWN);
	return EXIT_FAILED;
}

/* The command has ended, and so has its run: note that, and release. */
static int end_job(const struct task *task, struct acquisition *acquisition,
		   int code)
{
	struct rowlock *lock = acquisition->hold.lock;
	bool done = job_succeeded(task->job, code);
	bool guarded = task->job->guarded;
	int r = job_end(task->job, lock, code, task_ttl_ms(task, acquisition),
			&acquisition->error);

	acquisition->result = r == ROWLOCK_EDONE ? 0 : r;
	if (r == ROWLOCK_EDONE || (r == 0 && done && !guarded)) {
		if (task->common->verbose)
			report(ROWLOCK_LOG_INFO,
			       "%s: '%s' on %s has succeeded in this window; "
			       "released",
			       task->title, task->name,
			       acquisition->hold.server);
		return code;
	}
	if (!done)
		return judge_release(task, acquisition, r, code);
	if (guarded)
		return judge_unnoted(task, acquisition, r, code);
	if (refused(task, acquisition, r) == EXIT_LOST)
		return code == EXIT_FAILED ? code : EXIT_LOST;
	advise(task, r);
	rowlock_release(lock, NULL);
	return EXIT_FAILED;
}

/* A hold seen lost before is freed with the handle. */
int task_release(const struct task *task, struct acquisition *acquisition,
		 int code)
{
	int r;

	if (acquisition->stays) {
		r = not_released(task, acquisition, acquisition->stays, code);
		return task->lost ? code : r;
	}
	if (task->lost)
		return code;
	if (acquisition->job && acquisition->job->begun)
		return end_job(task, acquisition, code);
	r = rowlock_release(acquisition->hold.lock, &acquisition->error);
	return judge_release(task, acquisition, r, code);
}

int task_run(struct task *task, struct acquisition *acquisition,
	     struct signals *signals, struct guard *guard)
{
	uint64_t began = pace_now_ms();
	int code;

	task->told = 0;
	task->lost = false;
	code = run_command(task, acquisition, signals, guard);
	task->ran_ms = pace_now_ms() - began;
	return task_release(task, acquisition, code);
}
