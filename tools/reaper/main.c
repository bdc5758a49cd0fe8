/* SPDX-License-Identifier: MIT */
/*
 * rowlock-reaperd: remove the rows of dead clients, regularly.
 *
 * The main thread reads signals; a worker does the work. TERM and INT stop, HUP
 * reads the option files again. Stopping is bounded: a worker that waits for a
 * silent server is left behind, which is safe, as each removal is one
 * statement. Any number of daemons may run.
 *
 * Exit codes: 0 stopped, or --once done; 1 failed; 78 somebody has to act
 * first, so that systemd does not start it again; 125 wrong use.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sysexits.h>
#include <unistd.h>

#include "common/pace.h"
#include "common/report.h"
#include "common/suggest.h"
#include "common/text.h"
#include "notify.h"
#include "serve.h"
#include "worker.h"

/* How long a stop waits for the statement that is under way. */
#define STOP_MS 3000

#define EXIT_MISUSED 125 /* as rowlock's */

static const char help[] =
    "usage: rowlock-reaperd [OPTIONS]\n"
    "Remove expired sessions, their leases, and old tokens, regularly. Any\n"
    "number of these daemons may run at once.\n\n"
    "  -o, --once                 one pass, then exit\n"
    "  -i, --interval=TIME        between two passes (60s; 100ms to 24h)\n"
    "  -b, --batch=N              rows looked up at a time (256)\n"
    "      --metrics=[ADDRESS:]PORT\n"
    "                             serve /metrics for Prometheus, and a page "
    "for\n"
    "                             people, here; by default on this host only\n"
    "      --class=PATTERN=CLASS  in /metrics, names that match are in CLASS;\n"
    "                             others are in 'other'; up to 64 times\n"
    "      --page-host=NAME       show the page to those that ask by this "
    "name, as a\n"
    "                             proxy does; up to 16 times\n"
    "  -v, --verbose              log more\n"
    "  -h, --help                 this text\n"
    "  -V, --version              the version\n\n";

enum { OPTION_METRICS = 1, OPTION_CLASS, OPTION_PAGE_HOST };

static const struct option options[] = {
	{ "metrics", required_argument, NULL, OPTION_METRICS },
	{ "class", required_argument, NULL, OPTION_CLASS },
	{ "page-host", required_argument, NULL, OPTION_PAGE_HOST },
	{ "once", no_argument, NULL, 'o' },
	{ "interval", required_argument, NULL, 'i' },
	{ "batch", required_argument, NULL, 'b' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	CONNECTION_OPTIONS,
	{ NULL, 0, NULL, 0 },
};

static int refuse(const char *what, const char *argument)
{
	report(ROWLOCK_LOG_ERROR,
	       "'%s' is not %s; see 'rowlock-reaperd --help'", argument, what);
	return EXIT_MISUSED;
}

static int take_metrics(struct worker_config *config)
{
	config->metrics = optarg;
	if (!SERVE_IS_BUILT) {
		report(ROWLOCK_LOG_ERROR,
		       "--metrics: this rowlock-reaperd was built without "
		       "libmicrohttpd; use one with it, or 'rowlock metrics'");
		return EXIT_MISUSED;
	}
	if (serve_understands(optarg))
		return -1;
	return refuse("[ADDRESS:]PORT, as 9188, 10.0.0.1:9188 or [::1]:9188",
		      optarg);
}

static int take_class(struct worker_config *config)
{
	const char *wrong = classes_add(&config->classes, optarg);

	if (!wrong)
		return -1;
	report(ROWLOCK_LOG_ERROR,
	       "--class: '%s' is %s; see 'rowlock-reaperd --help'", optarg,
	       wrong);
	return EXIT_MISUSED;
}

/* Returns -1: taken; else the exit code. */
static int take_option(struct worker_config *config, bool *once, int option)
{
	switch (option) {
	case 'o':
		*once = true;
		return -1;
	case 'i':
		if (text_duration(optarg, &config->interval_ms) &&
		    config->interval_ms >= 100 &&
		    config->interval_ms <= 86400000)
			return -1;
		return refuse("an interval from 100ms to 24h", optarg);
	case 'b':
		if (text_number(optarg, 1, 500, &config->batch))
			return -1;
		return refuse("a batch from 1 to 500", optarg);
	case OPTION_METRICS:
		return take_metrics(config);
	case OPTION_CLASS:
		return take_class(config);
	case OPTION_PAGE_HOST:
		if (hosts_add(&config->hosts, optarg))
			return -1;
		return refuse("a host's name without a port, as "
			      "locks.example.com, or it is the 17th",
			      optarg);
	case 'v':
		config->verbose = true;
		return -1;
	case 'h':
		fputs(help, stdout);
		fputs(connection_help, stdout);
		return EXIT_SUCCESS;
	case 'V':
		printf("rowlock-reaperd %s\n", rowlock_version());
		return EXIT_SUCCESS;
	case '?':
		/* getopt_long() has named the option. */
		report(ROWLOCK_LOG_ERROR, "see 'rowlock-reaperd --help'");
		return EXIT_MISUSED;
	default:
		return connection_option(&config->connection, option, optarg) >
			       0
			   ? -1
			   : EXIT_MISUSED;
	}
}

static int parse(struct worker_config *config, bool *once, int argc,
		 char **argv)
{
	int option;

	while ((option = suggest_getopt(argc, argv, "oi:b:vhV", options,
					NULL)) != -1) {
		int code = take_option(config, once, option);

		if (code >= 0)
			return code;
	}
	if (optind < argc) {
		report(ROWLOCK_LOG_ERROR,
		       "'%s': no argument is needed; see --help", argv[optind]);
		return EXIT_MISUSED;
	}
	if (*once && config->metrics) {
		report(ROWLOCK_LOG_ERROR,
		       "--once and --metrics exclude each other: nobody could "
		       "read them after the pass");
		return EXIT_MISUSED;
	}
	if (*once && (config->connection.flags & ROWLOCK_OBSERVE_BEATS)) {
		report(ROWLOCK_LOG_ERROR,
		       "--once and --observe-beats exclude each other: to see "
		       "that a session does not beat takes two passes");
		return EXIT_MISUSED;
	}
	return -1;
}

/* A core file would hold the password. */
static void forbid_core(void)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
}

static int block_signals(void)
{
	const struct sigaction action = { .sa_handler = SIG_IGN };
	sigset_t set;

	sigaction(SIGPIPE, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* Wait for a signal to stop, or for a worker that has given up. */
static void listen_to_signals(struct worker *worker, struct serve *serve,
			      int signals)
{
	struct pollfd fds[] = {
		{ .fd = worker->done_fd, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};
	struct signalfd_siginfo info;

	for (;;) {
		if (poll(fds, RLK_ARRAY_SIZE(fds), -1) < 0)
			continue;
		if (fds[0].revents)
			return;
		if (read(signals, &info, sizeof(info)) !=
		    (ssize_t) sizeof(info))
			continue;
		if (info.ssi_signo != SIGHUP)
			return;
		worker_ask_reload(worker);
		if (serve)
			serve_ask_reload(serve);
	}
}

/* Does not return if a thread still waits for the server: it uses everything,
 * so nothing can be cleaned up. */
static void stop(struct worker *worker, struct serve *serve)
{
	struct pollfd done = { .fd = worker->done_fd, .events = POLLIN };
	uint64_t until = pace_now_ms() + STOP_MS;
	char server[WORKER_SERVER_SIZE];

	worker_ask_stop(worker);
	if (pace_poll(&done, 1, STOP_MS) == 1 && serve_stop(serve, until)) {
		worker_join(worker);
		return;
	}
	worker_server(worker, server);
	report(ROWLOCK_LOG_WARNING, "stopped without an answer from %s",
	       server);
	report_flush();
	_exit(EXIT_SUCCESS);
}

static int run(const struct worker_config *config)
{
	int signals = block_signals(), r;
	struct worker worker;
	struct serve *serve = NULL;

	r = signals < 0 ? -errno : worker_start(&worker, config);
	if (r < 0) {
		report(ROWLOCK_LOG_ERROR,
		       "cannot start: %s; nothing was removed", strerror(-r));
		return EXIT_FAILURE;
	}
	r = config->metrics &&
	    !serve_start(config->metrics, config, &worker, &serve);
	if (r == 0)
		listen_to_signals(&worker, serve, signals);
	notify_stopping();
	stop(&worker, serve);
	close(signals);
	if (worker.unusable)
		return EX_CONFIG;
	if (r != 0)
		return EXIT_FAILURE;
	report(ROWLOCK_LOG_INFO, "stopped");
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct worker_config config = { .interval_ms = 60000, .batch = 256 };
	bool once = false;
	int code;

	forbid_core();
	report_init("rowlock-reaperd", REPORT_DATED);
	if (argc > 0)
		argv[0] = (char *) "rowlock-reaperd";
	code = parse(&config, &once, argc, argv);
	if (code == EXIT_SUCCESS && fflush(stdout) != 0) {
		report(ROWLOCK_LOG_ERROR, "cannot write to stdout: %s",
		       strerror(errno));
		return EXIT_FAILURE;
	}
	if (code >= 0)
		return code;
	if (!once)
		return run(&config);
	switch (worker_once(&config)) {
	case WORKER_DONE:
		return EXIT_SUCCESS;
	case WORKER_FAILED:
		return EXIT_FAILURE;
	case WORKER_UNUSABLE:
		break;
	}
	return EX_CONFIG;
}
