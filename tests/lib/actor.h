/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_TEST_ACTOR_H
#define ROWLOCK_TEST_ACTOR_H

/*
 * A process of its own with a client and one lock, that does what it is told
 * over a pipe: what one process of an application would do. It can be
 * stopped, and killed at any instant.
 *
 * Words it knows, each answered by one number:
 *   acquire MS    rowlock_acquire()'s code
 *   wait          the same, for longer than a test has patience
 *   release       rowlock_release()'s code
 *   verify        rowlock_verify()'s code
 *   held          rowlock_held()
 *   depth         rowlock_depth()
 *   remaining     rowlock_remaining_ms()
 *   token         the token, or the negative code
 *   lost          how often the lost callback has run
 *   await_lost    the same, after it has run at least once
 *   free          rowlock_free()'s code, then rowlock_client_free()'s
 *
 * Its program is what ROWLOCK_TEST_PROGRAM says at its start, else "actor".
 */

#include <stdint.h>
#include <sys/types.h>

#include <rowlock.h>

struct test_actor {
	pid_t pid;
	int to;
	int from;
	uint64_t at;   /* when the last answer was made, as test_now_ns() */
	char told[32]; /* the last word, for who waits for its answer */
};

/** Start one; it has its client when this returns. @ttl_ms is its row
 * strategy's idle bound as well, if it is not below the least of that. */
struct test_actor test_actor_start(enum rowlock_strategy strategy,
				   const char *name, uint64_t ttl_ms);

/** Tell it a word and go on. */
void test_actor_tell(struct test_actor *actor, const char *word);
/** Wait for the answer to the word that was told. */
int64_t test_actor_hear(struct test_actor *actor);
/** Both. */
int64_t test_actor_ask(struct test_actor *actor, const char *word);

/** SIGSTOP, and wait until it stands still. */
void test_actor_stop(struct test_actor *actor);
void test_actor_continue(struct test_actor *actor);

/** SIGKILL; returns the instant before it. */
uint64_t test_actor_kill(struct test_actor *actor);
/** Let it end by itself, and check that it did so well. */
void test_actor_end(struct test_actor *actor);
/** One that ends so with its block. */
#define TEST_ACTOR(name, made)                                                 \
	CASE_ENDS(test_actor_end) struct test_actor name = made

#endif
