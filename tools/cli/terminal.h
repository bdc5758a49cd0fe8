/* SPDX-License-Identifier: MIT */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

/*
 * Which process group the terminal listens to.
 *
 * The command has a process group of its own. It gets the terminal at once if
 * ours has it and both stdin and stdout are terminals; else, as in the middle
 * of a pipeline, when it is stopped because it reads or sets the terminal.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct terminal {
	int fd;       /* -1: no terminal */
	pid_t ours;   /* our process group */
	bool given;   /* the command's group has it, by us */
	bool at_once; /* stdin and stdout are terminals */
};

void terminal_init(struct terminal *terminal);

/** Does it listen to our group? */
bool terminal_is_ours(const struct terminal *terminal);

/** Give it to @group. Async-signal-safe; SIGTTOU must be blocked. */
void terminal_give(struct terminal *terminal, pid_t group);

/** The columns of the terminal @fd; COLUMNS, or 80, if it does not know. */
size_t terminal_columns(int fd);

/** Take it back if @group has it. */
void terminal_take(struct terminal *terminal, pid_t group);

#endif
