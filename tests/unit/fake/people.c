/* SPDX-License-Identifier: MIT */
/*
 * Clients, locks and threads for the tests that use the fake.
 */
#include "world.h"

#include <pthread.h>
#include <stdlib.h>

#include "hold/handle.h"
#include "test.h"
#include "wait/line.h"

struct rowlock_client_options fake_options(void)
{
	struct rowlock_client_options options = ROWLOCK_CLIENT_OPTIONS_DEFAULT;

	options.dsn = "host=fake";
	options.row_idle_ms = 9000;
	options.flags = ROWLOCK_NO_DEFAULTS | ROWLOCK_NO_REAPER | ROWLOCK_POLL;
	return options;
}

struct rowlock_client *fake_client_with(
    const struct rowlock_client_options *options)
{
	struct rowlock_client *client = NULL;

	assert_ok(rowlock_client_new(options, &client, &err));
	return client;
}

struct rowlock_client *fake_client(void)
{
	const struct rowlock_client_options options = fake_options();

	return fake_client_with(&options);
}

void fake_client_end(struct rowlock_client *client)
{
	assert_ok(rowlock_client_try_free(client, &err));
}

static void *end_client(void *client)
{
	fake_client_end(client);
	return NULL;
}

static bool all_are_interrupted(void *arg)
{
	(void) arg;
	return fake_all_interrupted;
}

void fake_client_end_during(struct rowlock_client *client, enum fake_op op)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, end_client, client))
		fail_msg("no thread");
	fake_until(all_are_interrupted, NULL);
	fake_let(op);
	pthread_join(thread, NULL);
}

struct rowlock *fake_lock(struct rowlock_client *client,
			  enum rowlock_strategy strategy, unsigned int flags,
			  const char *name)
{
	struct rowlock_options options = ROWLOCK_OPTIONS_DEFAULT;
	struct rowlock *lock = NULL;

	options.strategy = strategy;
	options.flags = flags;
	assert_ok(rowlock_new(client, name, &options, &lock, &err));
	return lock;
}

void fake_lock_end(struct rowlock *lock)
{
	assert_ok(rowlock_try_free(lock, &err));
}

void fake_end(struct rowlock *lock, struct rowlock_client *client)
{
	fake_lock_end(lock);
	fake_client_end(client);
}

struct line {
	struct rowlock *lock;
	unsigned int count;
};

static bool stand_in_line(void *arg)
{
	const struct line *line = arg;
	struct rlk_name *name = line->lock->name;
	struct rowlock_client *client = name->client;
	unsigned int count = 0;
	struct rlk_list *node;
	struct rlk_list *after;

	rlk_mutex_lock(&client->mutex);
	rlk_list_for_each(node, after, &name->waiters)
	{
		count++;
	}
	rlk_mutex_unlock(&client->mutex);
	return count == line->count;
}

void fake_await_line(struct rowlock *lock, unsigned int count)
{
	fake_until(stand_in_line, &(struct line){ lock, count });
}

/* -------------------------------------------------------------- people */

struct fake_person {
	pthread_t thread;
	enum fake_verb verb;
	struct rowlock *lock;
	uint64_t wait_ms;
	bool busy;
	int code;
	struct rowlock_errinfo error;
};

static int act(struct fake_person *person)
{
	struct rowlock_errinfo *error = &person->error;
	uint64_t token;

	switch (person->verb) {
	case FAKE_DO_ACQUIRE:
		return rowlock_acquire(person->lock, person->wait_ms, error);
	case FAKE_DO_ACQUIRE_ONE:
		return rlk_acquire_permits(person->lock, 0, 1, person->wait_ms,
					   error);
	case FAKE_DO_ACQUIRE_TWO:
		return rlk_acquire_permits(person->lock, 0, 2, person->wait_ms,
					   error);
	case FAKE_DO_ACQUIRE_OF_NINE:
		return rlk_acquire_permits(person->lock, 9, 1, person->wait_ms,
					   error);
	case FAKE_DO_RELEASE:
		return rowlock_release(person->lock, error);
	case FAKE_DO_TOKEN:
		return rowlock_token(person->lock, &token, error);
	case FAKE_DO_VERIFY:
		return rowlock_verify(person->lock, error);
	case FAKE_DO_FREE:
		return rowlock_try_free(person->lock, error);
	default:
		return 0;
	}
}

static void *live(void *arg)
{
	struct fake_person *person = arg;
	bool quit = false;

	while (!quit) {
		int code;

		world_lock();
		while (!person->busy)
			pthread_cond_wait(&world.changed, &world.mutex);
		world_unlock();
		quit = person->verb == FAKE_DO_QUIT;
		code = act(person);
		world_lock();
		person->code = code;
		person->busy = false;
		world_changed();
		world_unlock();
	}
	return NULL;
}

struct fake_person *fake_person(void)
{
	struct fake_person *person = calloc(1, sizeof(*person));

	assert_non_null(person);
	assert_int_equal(pthread_create(&person->thread, NULL, live, person),
			 0);
	return person;
}

void fake_tell(struct fake_person *person, enum fake_verb verb,
	       struct rowlock *lock, uint64_t wait_ms)
{
	world_lock();
	person->verb = verb;
	person->lock = lock;
	person->wait_ms = wait_ms;
	person->busy = true;
	world_changed();
	world_unlock();
}

bool fake_busy(struct fake_person *person)
{
	bool busy;

	world_lock();
	busy = person->busy;
	world_unlock();
	return busy;
}

static bool is_done(void *arg)
{
	return !fake_busy(arg);
}

int fake_hear(struct fake_person *person, struct rowlock_errinfo *reterr)
{
	fake_until(is_done, person);
	if (reterr)
		*reterr = person->error;
	return person->code;
}

int fake_pass_hear(struct fake_person *person, struct rowlock_errinfo *reterr)
{
	fake_pass_until(is_done, person);
	return fake_hear(person, reterr);
}

int fake_ask(struct fake_person *person, enum fake_verb verb,
	     struct rowlock *lock, uint64_t wait_ms)
{
	fake_tell(person, verb, lock, wait_ms);
	return fake_hear(person, NULL);
}

void fake_person_end(struct fake_person *person)
{
	fake_ask(person, FAKE_DO_QUIT, NULL, 0);
	pthread_join(person->thread, NULL);
	free(person);
}
