/* SPDX-License-Identifier: MIT */
/*
 * See reach.h. kill() of a group succeeds if it may signal one process of it:
 * so each is asked. Failure mode: without /proc only the whole group is asked.
 */
#include "run/reach.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_strange(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == EPERM;
}

pid_t reach_stranger(pid_t group)
{
	const struct dirent *entry;
	pid_t found = 0;
	DIR *proc;

	proc = opendir("/proc");
	while (proc && !found && (entry = readdir(proc))) {
		pid_t pid = (pid_t) strtol(entry->d_name, NULL, 10);

		if (pid > 0 && getpgid(pid) == group && is_strange(pid))
			found = pid;
	}
	if (proc)
		closedir(proc);
	return !found && is_strange(-group) ? group : found;
}
