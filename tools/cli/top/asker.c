/* SPDX-License-Identifier: MIT */
/*
 * One question at a time: break a hold if asked to, then read all.
 *
 * A hold is broken only if it is still there, as between a question and its
 * answer another may have got the name. Failure modes: the server's; they are
 * in the answer. The library's log is not kept, as it would spoil the screen.
 */
#include "top/asker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/report.h"

struct target target_of(const struct rowlock_entry *entry)
{
	struct target target = {
		.strategy = entry->strategy,
		.slot = entry->slot,
		.session = entry->session,
		.attempt = entry->attempt,
		.connection = entry->connection,
	};

	snprintf(target.name, sizeof(target.name), "%s", entry->name);
	return target;
}

bool target_is(const struct target *target, const struct rowlock_entry *entry)
{
	return target->strategy == entry->strategy &&
	       target->slot == entry->slot &&
	       target->session == entry->session &&
	       target->attempt == entry->attempt &&
	       target->connection == entry->connection &&
	       strcmp(target->name, entry->name) == 0;
}

struct search {
	const struct target *target;
	bool found;
};

/* A rowlock_list_fn. */
static int look_for(const struct rowlock_entry *entry, void *arg)
{
	struct search *search = arg;

	search->found = target_is(search->target, entry);
	return search->found;
}

static void break_target(struct asker *asker, const struct target *target,
			 struct answer *answer)
{
	struct rowlock_list_options what = ROWLOCK_LIST_OPTIONS_DEFAULT;
	struct search search = { .target = target };
	struct rowlock_errinfo error;
	int r;

	what.name = target->name;
	r = rowlock_list(asker->client, &what, look_for, &search, &error);
	if (r == 0 && search.found)
		r = rowlock_break(asker->client, target->strategy, target->name,
				  &error);
	if (r == ROWLOCK_ENOTHELD || (r == 0 && !search.found))
		snprintf(answer->told, sizeof(answer->told),
			 "'%s': nothing was broken: that hold is over",
			 target->name);
	else if (r < 0)
		snprintf(answer->told, sizeof(answer->told), "%s",
			 error.message);
	else
		snprintf(answer->told, sizeof(answer->told),
			 "'%s' (%s) was broken", target->name,
			 strategy_word(target->strategy));
}

static int open_client(struct asker *asker, struct rowlock_errinfo *reterr)
{
	struct rowlock_client_options options =
	    command_client_options(asker->common);

	if (asker->client)
		return 0;
	options.log = NULL;
	options.flags |= ROWLOCK_NO_REAPER;
	return connection_open(&asker->common->connection, options,
			       &asker->client, reterr);
}

static void answer_it(struct asker *asker, bool all,
		      const struct target *target, struct answer *answer)
{
	int r = open_client(asker, &answer->error);

	if (r < 0)
		return;
	snprintf(answer->server, sizeof(answer->server), "%s",
		 rowlock_client_server(asker->client));
	if (target)
		break_target(asker, target, answer);
	answer->reading = calloc(1, sizeof(*answer->reading));
	if (!answer->reading) {
		snprintf(answer->error.message, sizeof(answer->error.message),
			 "top: out of memory; give a pattern");
		return;
	}
	answer->reading->all = all;
	r = reading_read(answer->reading, asker->client, &asker->what,
			 &answer->error);
	if (r == 0)
		return;
	reading_fini(answer->reading);
	free(answer->reading);
	answer->reading = NULL;
}

static void *thread_main(void *arg)
{
	struct asker *asker = arg;
	const uint64_t one = 1;

	for (;;) {
		struct answer answer = { .reading = NULL };
		struct target target;
		bool all, breaking, over;

		pthread_mutex_lock(&asker->mutex);
		while (!asker->wanted && !asker->over)
			pthread_cond_wait(&asker->changed, &asker->mutex);
		over = asker->over;
		all = asker->all;
		breaking = asker->breaking;
		target = asker->target;
		pthread_mutex_unlock(&asker->mutex);
		if (over)
			return NULL;
		answer_it(asker, all, breaking ? &target : NULL, &answer);
		pthread_mutex_lock(&asker->mutex);
		asker->answer = answer;
		asker->wanted = false;
		pthread_mutex_unlock(&asker->mutex);
		if (write(asker->fd, &one, sizeof(one)) < 0)
			return NULL;
	}
}

bool asker_start(struct asker *asker, const struct common *common,
		 const struct rowlock_list_options *what)
{
	int r;

	*asker = (struct asker){
		.common = common,
		.what = *what,
		.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
	};
	pthread_mutex_init(&asker->mutex, NULL);
	pthread_cond_init(&asker->changed, NULL);
	r = asker->fd < 0
		? errno
		: pthread_create(&asker->thread, NULL, thread_main, asker);
	if (r != 0)
		report(ROWLOCK_LOG_ERROR,
		       "top: no thread to ask the server: %s", strerror(r));
	return r == 0;
}

void asker_ask(struct asker *asker, bool all, const struct target *target)
{
	pthread_mutex_lock(&asker->mutex);
	asker->all = all;
	asker->breaking = target != NULL;
	if (target)
		asker->target = *target;
	asker->wanted = true;
	pthread_cond_signal(&asker->changed);
	pthread_mutex_unlock(&asker->mutex);
}

bool asker_take(struct asker *asker, struct answer *ret_answer)
{
	uint64_t count;

	if (read(asker->fd, &count, sizeof(count)) < 0)
		return false;
	pthread_mutex_lock(&asker->mutex);
	*ret_answer = asker->answer;
	pthread_mutex_unlock(&asker->mutex);
	return true;
}

bool asker_stop(struct asker *asker)
{
	bool busy;

	pthread_mutex_lock(&asker->mutex);
	asker->over = true;
	busy = asker->wanted;
	pthread_cond_signal(&asker->changed);
	pthread_mutex_unlock(&asker->mutex);
	if (busy)
		return false;
	pthread_join(asker->thread, NULL);
	client_freep(&asker->client);
	close(asker->fd);
	return true;
}
