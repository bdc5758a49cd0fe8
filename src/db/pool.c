/* SPDX-License-Identifier: MIT */
/*
 * The pool's beginning and end; lend.c gives and takes, opener.c opens.
 *
 * Failure modes: an opener may be stuck in name resolution when the pool ends.
 * The pool waits for it as long as the caller allows, then leaves it alone: the
 * opener has a reference to all it needs, and drops it when it is done.
 */
#include "db/pool_private.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static int copy_text(const char *from, char **ret_text)
{
	if (!from)
		return 0;
	*ret_text = strdup(from);
	return *ret_text ? 0 : -1;
}

static int copy_target(struct rlk_pool *pool,
		       const struct rlk_conn_target *target)
{
	struct rlk_conn_target *copy = &pool->target;

	*copy = (struct rlk_conn_target){
		.flags = target->flags,
		.clock = target->clock,
		.refusal = &pool->refusal,
		.asked = &pool->asked,
	};
	if (!rlk_sources_copy(&target->sources, &copy->sources) ||
	    copy_text(target->unverified_auth, &copy->unverified_auth) ||
	    copy_text(target->program, &pool->program) ||
	    copy_text(target->who, &pool->who))
		return -1;
	copy->program = pool->program;
	copy->who = pool->who;
	return 0;
}

static void wait_free(struct rlk_pool_wait *wait)
{
	rlk_sleeper_fini(&wait->sleeper);
	free(wait);
}

void rlk_pool_destroy(struct rlk_pool *pool)
{
	struct rlk_list *node;

	while ((node = rlk_list_first(&pool->spare))) {
		rlk_list_remove(node);
		wait_free(container_of(node, struct rlk_pool_wait, list));
	}
	for (size_t i = 0; i < RLK_OPENERS; i++) {
		if (pool->openers[i].ready)
			rlk_sleeper_fini(&pool->openers[i].sleeper);
	}
	rlk_sleeper_fini(&pool->ended);
	rlk_mutex_fini(&pool->mutex);
	rlk_refusal_fini(&pool->refusal);
	rlk_mutex_fini(&pool->asked.mutex);
	rlk_sources_fini(&pool->target.sources);
	free(pool->target.unverified_auth);
	free(pool->program);
	free(pool->who);
	free(pool);
}

int rlk_pool_new(const struct rlk_conn_target *target,
		 const struct rlk_pool_bay *bays, size_t count,
		 struct rlk_pool **ret_pool, struct rowlock_errinfo *reterr)
{
	struct rlk_pool *pool =
	    calloc(1, sizeof(*pool) + count * sizeof(pool->bays[0]));

	if (!pool)
		return rlk_fail(reterr, ROWLOCK_ENOMEM, "pool: out of memory");
	rlk_mutex_init(&pool->mutex);
	rlk_refusal_init(&pool->refusal, target->clock, target->refusal_ms);
	rlk_mutex_init(&pool->asked.mutex);
	strcpy(pool->asked.where, "the server");
	pool->log = target->log;
	pool->references = 1;
	pool->retired_ms = INT64_MIN / 2;
	pool->ended = (struct rlk_sleeper) RLK_SLEEPER_NULL;
	rlk_list_init(&pool->spare);
	pool->count = count;
	for (size_t i = 0; i < count; i++) {
		pool->bays[i].spec = bays[i];
		rlk_list_init(&pool->bays[i].idle);
		rlk_list_init(&pool->bays[i].out);
		rlk_list_init(&pool->bays[i].waits);
	}
	if (copy_target(pool, target)) {
		rlk_pool_destroy(pool);
		return rlk_fail(reterr, ROWLOCK_ENOMEM, "pool: out of memory");
	}
	if (rlk_sleeper_init(&pool->ended, target->clock)) {
		rlk_pool_destroy(pool);
		return rlk_fail(reterr, ROWLOCK_ESYSTEM,
				"pool: the system refused a descriptor");
	}
	*ret_pool = pool;
	return 0;
}

static void close_idle(struct rlk_pool *pool)
{
	for (size_t i = 0; i < pool->count; i++) {
		struct rlk_bay *bay = &pool->bays[i];
		struct rlk_list *node;

		while ((node = rlk_list_first(&bay->idle))) {
			rlk_list_remove(node);
			rlk_conn_close(rlk_pool_conn(node));
		}
		bay->kept = 0;
	}
}

static bool any_running(struct rlk_pool *pool)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&pool->mutex);

	for (size_t i = 0; i < RLK_OPENERS; i++) {
		if (pool->openers[i].running)
			return true;
	}
	return false;
}

static void unref(struct rlk_pool *pool)
{
	bool last;

	rlk_mutex_lock(&pool->mutex);
	last = --pool->references == 0;
	rlk_mutex_unlock(&pool->mutex);
	if (last)
		rlk_pool_destroy(pool);
}

struct rlk_pool *rlk_pool_free(struct rlk_pool *pool, uint64_t wait_ms)
{
	int64_t until;

	if (!pool)
		return NULL;
	until = rlk_after(rlk_now(pool->target.clock), wait_ms);
	rlk_mutex_lock(&pool->mutex);
	pool->closed = true;
	for (size_t i = 0; i < RLK_OPENERS; i++) {
		if (pool->openers[i].ready)
			rlk_sleeper_wake(&pool->openers[i].sleeper);
	}
	rlk_mutex_unlock(&pool->mutex);
	close_idle(pool);
	while (any_running(pool) && rlk_now(pool->target.clock) < until)
		rlk_sleeper_wait(&pool->ended, until, -1);

	rlk_mutex_lock(&pool->mutex);
	for (size_t i = 0; i < RLK_OPENERS; i++) {
		struct rlk_opener *opener = &pool->openers[i];

		if (!opener->thread.started || !opener->running)
			continue;
		pthread_detach(opener->thread.id);
		opener->thread.started = false;
	}
	rlk_mutex_unlock(&pool->mutex);
	for (size_t i = 0; i < RLK_OPENERS; i++)
		rlk_thread_join(&pool->openers[i].thread);
	unref(pool);
	return NULL;
}
