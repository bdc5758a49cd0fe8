/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_HOLDER_H
#define ROWLOCK_TEST_HOLDER_H

/*
 * A client that is a process, and holds something until it is killed.
 */
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/** Start one with a TTL of @ttl_ms; when this returns it holds what @hold has
 *  acquired, which is given @arg. */
static inline pid_t holder_start(uint64_t ttl_ms,
				 bool (*hold)(struct rowlock_client *client,
					      void *arg),
				 void *arg)
{
	struct rowlock_client_options options = test_client_options(ttl_ms);
	struct rowlock_client *client = NULL;
	int told[2];
	char word = 0;
	pid_t pid;

	assert_int_equal(pipe(told), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (rowlock_client_new(&options, &client, NULL) == 0 &&
		    hold(client, arg) && write(told[1], "h", 1) == 1)
			pause();
		_exit(1);
	}
	close(told[1]);
	assert_true(test_readable(told[0]));
	assert_int_equal(read(told[0], &word, 1), 1);
	close(told[0]);
	return pid;
}

static inline void holder_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#endif
