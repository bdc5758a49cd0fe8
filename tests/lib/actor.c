// SPDX-License-Identifier: MIT
/*
 * The test's side of an actor: start the program, pass words to it, read one
 * number per word.
 *
 * The program is started with posix_spawn() and not by a bare fork(): the test
 * itself may have threads and a client. An answer that stays away for
 * test_patience_ms() fails the test.
 */
#include "actor.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

extern char **environ;

static void make_pipe(int ends[2])
{
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
}

struct test_actor test_actor_start(enum rowlock_strategy strategy,
				   const char *name, uint64_t ttl_ms)
{
	const char *program = getenv("ROWLOCK_ACTOR");
	posix_spawn_file_actions_t actions;
	struct test_actor actor;
	char ttl[24], dsn[512];
	int in[2], out[2];

	assert_non_null(program);
	make_pipe(in);
	make_pipe(out);
	snprintf(ttl, sizeof(ttl), "%llu", (unsigned long long) ttl_ms);
	snprintf(dsn, sizeof(dsn), "%s", test_dsn());
	char *argv[] = { (char *) program,
			 (char *) (strategy == ROWLOCK_ROW ? "row" : "lease"),
			 (char *) name,
			 ttl,
			 dsn,
			 NULL };

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	assert_int_equal(
	    posix_spawn(&actor.pid, program, &actions, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(out[1]);
	actor.to = in[1];
	actor.from = out[0];
	snprintf(actor.told, sizeof(actor.told), "the start");
	assert_int_equal(test_actor_hear(&actor), 0);
	return actor;
}

void test_actor_tell(struct test_actor *actor, const char *word)
{
	char line[64];
	int size = snprintf(line, sizeof(line), "%s\n", word);

	snprintf(actor->told, sizeof(actor->told), "'%s'", word);
	assert_int_equal(write(actor->to, line, (size_t) size), size);
}

int64_t test_actor_hear(struct test_actor *actor)
{
	uint64_t since = test_now_ns();
	/* An answer is one write() of two numbers: a pipe keeps it whole. */
	int64_t answer[2];

	if (!test_readable(actor->from))
		fail_msg("waited %.0f s for actor %d to answer %s",
			 test_ms(since, test_now_ns()) / 1000, (int) actor->pid,
			 actor->told);
	if (read(actor->from, answer, sizeof(answer)) != sizeof(answer))
		fail_msg("actor %d has ended without an answer to %s",
			 (int) actor->pid, actor->told);
	actor->at = (uint64_t) answer[1];
	return answer[0];
}

int64_t test_actor_ask(struct test_actor *actor, const char *word)
{
	test_actor_tell(actor, word);
	return test_actor_hear(actor);
}

void test_actor_stop(struct test_actor *actor)
{
	int status;

	assert_int_equal(kill(actor->pid, SIGSTOP), 0);
	assert_int_equal(waitpid(actor->pid, &status, WUNTRACED), actor->pid);
	assert_true(WIFSTOPPED(status));
}

void test_actor_continue(struct test_actor *actor)
{
	assert_int_equal(kill(actor->pid, SIGCONT), 0);
}

static int finish(struct test_actor *actor)
{
	int status;

	assert_int_equal(waitpid(actor->pid, &status, 0), actor->pid);
	close(actor->to);
	close(actor->from);
	return status;
}

uint64_t test_actor_kill(struct test_actor *actor)
{
	uint64_t at = test_now_ns();

	assert_int_equal(kill(actor->pid, SIGKILL), 0);
	finish(actor);
	return at;
}

void test_actor_end(struct test_actor *actor)
{
	int status;

	assert_int_equal(test_actor_ask(actor, "free"), 0);
	status = finish(actor);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}
