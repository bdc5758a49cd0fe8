/* SPDX-License-Identifier: MIT */
/*
 * See reach.h. kill() of a group succeeds if it may signal one process of it:
 * so each is asked. Failure modes: without /proc only the whole group is
 * asked; a program that drops its rights again is taken for one that keeps
 * them.
 */
#include "run/reach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/macro.h"
#include "common/text.h"

/* The kernel ignores the bit of a script. One that cannot be read is none. */
static bool is_script(const char *path)
{
	FILE *file = fopen(path, "re");
	bool is = file && getc(file) == '#' && getc(file) == '!';

	if (file)
		fclose(file);
	return is;
}

static bool changes_user(const char *path, const struct stat *st)
{
	struct statvfs fs;

	return st->st_mode & S_ISUID && st->st_uid != geteuid() &&
	       (statvfs(path, &fs) < 0 || !(fs.f_flag & ST_NOSUID)) &&
	       !is_script(path);
}

static bool is_program(const char *path, struct stat *ret_st)
{
	return stat(path, ret_st) == 0 && S_ISREG(ret_st->st_mode) &&
	       faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
}

bool reach_is_beyond(const char *program)
{
	const char *dirs = getenv("PATH"), *end;
	struct stat st;

	/* root may signal everybody, unless that right was taken away. */
	if (geteuid() == 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return false;
	if (strchr(program, '/'))
		return is_program(program, &st) && changes_user(program, &st);
	for (; dirs && *dirs; dirs = *end ? end + 1 : end) {
		_cleanup_(text_freep) char *path = NULL;

		end = strchrnul(dirs, ':');
		if (asprintf(&path, "%.*s%s%s", (int) (end - dirs), dirs,
			     end > dirs ? "/" : "", program) < 0) {
			path = NULL;
			return false;
		}
		if (is_program(path, &st))
			return changes_user(path, &st);
	}
	return false;
}

static bool is_strange(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == EPERM;
}

pid_t reach_stranger(pid_t group)
{
	const struct dirent *entry;
	pid_t found = 0;
	DIR *proc;

	if (is_strange(-group))
		return group;
	proc = opendir("/proc");
	while (proc && !found && (entry = readdir(proc))) {
		pid_t pid = (pid_t) strtol(entry->d_name, NULL, 10);

		if (pid > 0 && getpgid(pid) == group && is_strange(pid))
			found = pid;
	}
	if (proc)
		closedir(proc);
	return found;
}
