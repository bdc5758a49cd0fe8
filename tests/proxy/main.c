// SPDX-License-Identifier: MIT
/*
 * proxy - the fault proxy as a program of its own.
 */
#include "proxy.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage: proxy --server=ADDRESS [OPTION]... [RULES]\n"
    "\n"
    "Stand between clients and a MariaDB or MySQL server, and do harm by the\n"
    "rules in the file RULES (tests/proxy/README.md has the language). Prints\n"
    "the address that clients are to use. Ends with SIGINT or SIGTERM.\n"
    "\n"
    "  --server=ADDRESS   the server: host:port, in numbers, or a socket\n"
    "  --listen=ADDRESS   where to listen; default 127.0.0.1:0, any free port\n"
    "  --control=PATH     a socket that takes rules and words, line by line\n"
    "  --history=DIR      write down each act in DIR/process-0.history\n"
    "  --seed=N           for chance= and garble; default 1\n"
    "  --help\n";

static const struct option options[] = {
	{ "server", required_argument, NULL, 's' },
	{ "listen", required_argument, NULL, 'l' },
	{ "control", required_argument, NULL, 'c' },
	{ "history", required_argument, NULL, 'H' },
	{ "seed", required_argument, NULL, 'r' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int fail(const char *what, const char *reason)
{
	fprintf(stderr, "proxy: %s: %s\n", what, reason);
	return 1;
}

/* False: the command line is wrong, or only help was wanted. */
static bool read_options(int argc, char **argv, struct proxy_options *wanted,
			 int *ret_status)
{
	int c;

	*ret_status = 2;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 's':
			wanted->server = optarg;
			break;
		case 'l':
			wanted->listen = optarg;
			break;
		case 'c':
			wanted->control = optarg;
			break;
		case 'H':
			wanted->history = optarg;
			break;
		case 'r':
			wanted->seed = strtoull(optarg, NULL, 0);
			break;
		case 'h':
			fputs(usage, stdout);
			*ret_status = 0;
			return false;
		default:
			return false;
		}
	}
	if (wanted->server && optind + 1 >= argc)
		return true;
	fputs("proxy: needs --server, and one file of rules at the most; see "
	      "--help\n",
	      stderr);
	return false;
}

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	if (!file)
		return NULL;
	if (getdelim(&text, &size, '\0', file) < 0 && !feof(file)) {
		free(text);
		text = NULL;
	}
	fclose(file);
	return text;
}

static int load(struct proxy *proxy, const char *path)
{
	char *text = read_file(path);
	char *problem;
	int status = 0;

	if (!text)
		return fail(path, "cannot be read");
	problem = proxy_tell(proxy, text);
	if (problem)
		status = fail(path, problem);
	free(problem);
	free(text);
	return status;
}

int main(int argc, char **argv)
{
	struct proxy_options wanted = { .seed = 1 };
	char reason[256];
	struct proxy *proxy;
	sigset_t ends;
	int status, came;

	if (!read_options(argc, argv, &wanted, &status))
		return status;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	proxy = proxy_start(&wanted, reason, sizeof(reason));
	if (!proxy)
		return fail("cannot start", reason);
	status = optind < argc ? load(proxy, argv[optind]) : 0;
	if (!status) {
		puts(proxy_address(proxy));
		fflush(stdout);
		sigwait(&ends, &came);
	}
	proxy_end(proxy);
	return status;
}
