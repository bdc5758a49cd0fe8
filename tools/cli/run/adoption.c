/* SPDX-License-Identifier: MIT */
/*
 * See adoption.h. Failure modes: wrong use, no string (125); what the string is
 * worth the library knows.
 */
#include "run/adoption.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/report.h"

int adoption_check(const struct task *task)
{
	const struct rowlock_options *lock = &task->lock;

	if (lock->strategy != ROWLOCK_LEASE || task->name_count > 1 ||
	    task->manner.mode || task->manner.permits)
		return command_misused(task->title,
				       "--adopt: only a lease, of one name, "
				       "without --read, --write, --permits and "
				       "--also");
	if (lock->at_least_ms || lock->delay_after_loss_ms || lock->max_hold_ms)
		return command_misused(task->title,
				       "--adopt: without --at-least, "
				       "--delay-after-loss and --max, which "
				       "count from an acquire");
	if (task->wait_ms != ROWLOCK_FOREVER)
		return command_misused(
		    task->title, "--adopt: it never waits for another, so "
				 "without -n and -w");
	if (lock->info)
		return command_misused(task->title,
				       "--adopt: the lock keeps the --info of "
				       "its exporter");
	return -1;
}

/* A byte at a time, as the next line is the protocol's. Returns false at the
 * end of the input, or with errno. */
static bool read_line(char *text)
{
	size_t size = 0;
	ssize_t n;
	char c;

	errno = 0;
	for (;;) {
		n = read(STDIN_FILENO, &c, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || c == '\n')
			break;
		if (size < ADOPTION_SIZE - 1)
			text[size++] = c ? c : ' ';
	}
	if (size > 0 && text[size - 1] == '\r')
		size--;
	text[size] = '\0';
	return n > 0 || (n == 0 && size > 0);
}

int adoption_read(const struct task *task, char *ret_text)
{
	const char *given = getenv("ROWLOCK_ADOPT");

	*ret_text = '\0';
	if (given && *given)
		snprintf(ret_text, ADOPTION_SIZE, "%s", given);
	else if (!read_line(ret_text) && errno) {
		report(ROWLOCK_LOG_ERROR,
		       "%s: --adopt '%s': cannot read the string of the export "
		       "from standard input: %s; nothing was locked",
		       task->title, task->name, strerror(errno));
		return EXIT_FAILED;
	}
	if (*ret_text)
		return -1;
	return command_misused(
	    task->title,
	    "--adopt '%s': give the string of the export in "
	    "ROWLOCK_ADOPT, or as the first line of standard "
	    "input",
	    task->name);
}
