/* SPDX-License-Identifier: MIT */
/*
 * my_print_defaults(1) as a reader of option files.
 *
 * It prints one "--key=value" or "--key" per line, the later the stronger,
 * passwords in clear. The lines become a connection string. It does not say
 * from which group a line comes, so the files are checked before, as the
 * library does without a suffix; what is then unknown comes from a group of
 * other programs, too, and is left out. Failure modes: the program is not
 * installed (we name the package), it cannot read the file, or a value cannot
 * be written as a connection string. What it printed is wiped after use.
 */
#include "defaults.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "db/option_file.h"
#include "db/setting.h"
#include "dsn.h"
#include "text.h"

#define OUTPUT_MAX (256 * 1024)

extern char **environ;

/* Room for the output; wiped when it goes out of scope. */
struct output {
	char *text;
	size_t length;
};

static void output_fini(struct output *output)
{
	if (output->text)
		explicit_bzero(output->text, OUTPUT_MAX);
	free(output->text);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static int fail(struct rowlock_errinfo *reterr, int code, const char *format,
		...) RLK_PRINTF(3, 4);

static int fail(struct rowlock_errinfo *reterr, int code, const char *format,
		...)
{
	va_list args;

	if (!reterr)
		return code;
	reterr->code = code;
	reterr->mysql = 0;
	va_start(args, format);
	vsnprintf(reterr->message, sizeof(reterr->message), format, args);
	va_end(args);
	return code;
}

const char *defaults_suffix(void)
{
	const char *suffix = getenv("MARIADB_GROUP_SUFFIX");

	if (!suffix || !*suffix)
		suffix = getenv("MYSQL_GROUP_SUFFIX");
	return suffix && *suffix ? suffix : NULL;
}

/* Start my_print_defaults with its stdout on @out and nothing blocked. */
static int spawn(char **argv, int out, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int r;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	r = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawnp(ret_pid, argv[0], &actions, &attr, argv,
				 environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

/* Everything up to the end of file, or OUTPUT_MAX. False on a read error. */
static bool read_all(int fd, struct output *output)
{
	while (output->length < OUTPUT_MAX - 1) {
		ssize_t n = read(fd, output->text + output->length,
				 OUTPUT_MAX - 1 - output->length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0;
		output->length += (size_t) n;
	}
	return false;
}

static bool succeeded(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		/* Our caller may have us ignore SIGCHLD: no status then. */
		if (errno != EINTR)
			return errno == ECHILD;
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int run(char **argv, struct output *output,
	       struct rowlock_errinfo *reterr)
{
	_cleanup_(close_fd) int in = -1;
	bool complete;
	int fds[2];
	pid_t pid;
	int r;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return fail(reterr, ROWLOCK_ESYSTEM, "pipe: %s",
			    strerror(errno));
	in = fds[0];
	r = spawn(argv, fds[1], &pid);
	close(fds[1]);
	if (r == ENOENT)
		return fail(
		    reterr, ROWLOCK_ESYSTEM,
		    "an option group suffix needs the program "
		    "my_print_defaults, which is not installed: install "
		    "MariaDB's client programs (Debian: "
		    "mariadb-client-core)");
	if (r != 0)
		return fail(reterr, ROWLOCK_ESYSTEM, "my_print_defaults: %s",
			    strerror(r));
	complete = read_all(in, output);
	if (!succeeded(pid) || !complete)
		return fail(reterr, ROWLOCK_EINVAL,
			    "my_print_defaults could not read the option "
			    "files; run it by hand to see why");
	return 0;
}

/* A line that does not begin with "--" goes on with the value before it: an
 * option file can have a line feed in a value, written as \n. */
static char *line_end(char *line)
{
	char *end = strchr(line, '\n');

	while (end && end[1] != '\0' && strncmp(end + 1, "--", 2) != 0)
		end = strchr(end + 1, '\n');
	return end;
}

struct option {
	const struct rlk_setting *setting; /* NULL: not for the library */
	const char *key;
	const char *value;
};

static void options_freep(struct option **options)
{
	free(*options);
}

/* What other programs understand in [client] is not told to the library; in
 * our groups there is nothing else any more. */
static struct option read_option(char *line)
{
	struct option option = { NULL, line, NULL };
	char *value = strchr(line, '=');
	char problem[256];

	if (value) {
		*value = '\0';
		option.value = value + 1;
	}
	option.setting = rlk_setting_find(option.key);
	if (option.setting && rlk_setting_problem(option.setting, option.value,
						  problem, sizeof(problem)))
		option.setting = NULL;
	return option;
}

static size_t read_options(char *line, struct option *options)
{
	size_t n = 0;

	while (line && strncmp(line, "--", 2) == 0) {
		char *end = line_end(line);

		if (end)
			*end = '\0';
		options[n++] = read_option(line + 2);
		line = end ? end + 1 : NULL;
	}
	return n;
}

/* The last of several has its place, as a connection string has each key once.
 */
static bool counts(const struct option *options, size_t i, size_t n)
{
	const struct rlk_setting *setting = options[i].setting;

	if (!setting)
		return false;
	for (size_t j = i + 1; j < n; j++)
		if (options[j].setting &&
		    rlk_setting_number(options[j].setting) ==
			rlk_setting_number(setting))
			return false;
	return true;
}

static size_t count_lines(const char *text)
{
	size_t n = 1;

	while ((text = strchr(text, '\n')) != NULL)
		n++, text++;
	return n;
}

static int to_dsn(char *text, FILE *out, struct rowlock_errinfo *reterr)
{
	_cleanup_(options_freep) struct option *options =
	    calloc(count_lines(text), sizeof(*options));
	size_t n;

	if (!options)
		return fail(reterr, ROWLOCK_ENOMEM, "out of memory");
	n = read_options(text, options);
	for (size_t i = 0; i < n; i++) {
		if (counts(options, i, n) &&
		    !dsn_append(out, options[i].key, options[i].value))
			return fail(
			    reterr, ROWLOCK_EINVAL,
			    "the option files' value of '%s' has '}' at its "
			    "end or twice in a row besides '=', ';' or '{': a "
			    "connection string cannot express that; choose "
			    "another value or use no group suffix",
			    options[i].key);
	}
	dsn_finish(out);
	return 0;
}

static int build(struct output *output, char **ret_dsn,
		 struct rowlock_errinfo *reterr)
{
	char *dsn = malloc(2 * OUTPUT_MAX);
	FILE *out = dsn ? fmemopen(dsn, 2 * OUTPUT_MAX, "w") : NULL;
	int r;

	if (!out) {
		free(dsn);
		return fail(reterr, ROWLOCK_ENOMEM, "out of memory");
	}
	/* Unbuffered: no copy of a password is left in a freed buffer. */
	setvbuf(out, NULL, _IONBF, 0);
	r = to_dsn(output->text, out, reterr);
	if (fclose(out) != 0 && r == 0)
		r = fail(reterr, ROWLOCK_ENOMEM, "out of memory");
	if (r < 0) {
		explicit_bzero(dsn, 2 * OUTPUT_MAX);
		free(dsn);
		return r;
	}
	*ret_dsn = dsn;
	return 0;
}

int defaults_read(const char *file, const char *suffix, char **ret_dsn,
		  struct rowlock_errinfo *reterr)
{
	_cleanup_(output_fini) struct output output = { NULL, 0 };
	_cleanup_(text_freep) char *file_option = NULL, *suffix_option = NULL;
	const struct rlk_option_files files = { file, "rowlock", suffix };
	unsigned int named;
	char *argv[8];
	size_t n = 0;
	int r;

	r = rlk_option_files_check(&files, &named, reterr);
	if (r < 0)
		return r;
	output.text = calloc(1, OUTPUT_MAX);
	if (!output.text ||
	    asprintf(&suffix_option, "--defaults-group-suffix=%s", suffix) <
		0 ||
	    (file && asprintf(&file_option, "--defaults-file=%s", file) < 0))
		return fail(reterr, ROWLOCK_ENOMEM, "out of memory");
	argv[n++] = (char *) "my_print_defaults";
	if (file)
		argv[n++] = file_option;
	argv[n++] = suffix_option;
	argv[n++] = (char *) "client";
	argv[n++] = (char *) "client-server";
	argv[n++] = (char *) "client-mariadb";
	argv[n++] = (char *) "rowlock";
	argv[n] = NULL;
	r = run(argv, &output, reterr);
	if (r < 0)
		return r;
	return build(&output, ret_dsn, reterr);
}
