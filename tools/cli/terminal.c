/* SPDX-License-Identifier: MIT */
/*
 * The controlling terminal.
 *
 * Failure modes: none that matter. Without a terminal nothing is done; a
 * terminal that went away refuses, and the kernel tells the command.
 */
#include "terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/text.h"

void terminal_init(struct terminal *terminal)
{
	*terminal = (struct terminal){
		.fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY),
		.ours = getpgrp(),
		.at_once =
		    isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1,
	};
}

bool terminal_is_ours(const struct terminal *terminal)
{
	return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == terminal->ours;
}

void terminal_give(struct terminal *terminal, pid_t group)
{
	terminal->given = tcsetpgrp(terminal->fd, group) == 0;
}

void terminal_take(struct terminal *terminal, pid_t group)
{
	if (terminal->given && tcgetpgrp(terminal->fd) == group)
		tcsetpgrp(terminal->fd, terminal->ours);
	terminal->given = false;
}

size_t terminal_columns(int fd)
{
	const char *said = getenv("COLUMNS");
	unsigned int columns;
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	if (said && text_number(said, 1, 10000, &columns))
		return columns;
	return 80;
}
