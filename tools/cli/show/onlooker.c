/* SPDX-License-Identifier: MIT */
/*
 * See onlooker.h for what is reported, and where.
 *
 * The caller's thread looks at the clock and reports; the other thread asks,
 * once each time it is told to. An answer is reported until there is another
 * one. Failure modes: without a thread, or an answer, only the time is
 * reported.
 */
#include "show/onlooker.h"

#include <locale.h>
#include <unistd.h>

#include "common/pace.h"
#include "common/report.h"
#include "common/text.h"
#include "terminal.h"

/* Most waits are shorter. */
#define FIRST_MS 1000
#define TERMINAL_MS 1000
#define PIPE_MS 10000
/* The place costs some statements. */
#define PLACE_MS 10000
/* How often an answer is looked for, and how long. */
#define ANSWER_MS 20
#define LATE_MS SIGHT_MS

/* Is the place worth a question? Not if this account is not told. */
static bool is_place_due(const struct onlooker *onlooker,
			 const struct in_line *before, uint64_t due_ms)
{
	return onlooker->stands && onlooker->verbose &&
	       (before->place || !*before->unseen) && pace_now_ms() >= due_ms;
}

static void *thread_main(void *arg)
{
	struct onlooker *onlooker = arg;
	struct in_line in_line = { .looked = false };
	uint64_t place_due_ms = 0;

	pthread_mutex_lock(&onlooker->mutex);
	for (;;) {
		struct sight sight = { .looked = false };

		while (!onlooker->wanted && !onlooker->over)
			pthread_cond_wait(&onlooker->changed, &onlooker->mutex);
		if (onlooker->over)
			break;
		pthread_mutex_unlock(&onlooker->mutex);
		/* The waiting thread reports the server's errors. */
		if (sight_look(onlooker->client, &onlooker->of, LATE_MS, &sight,
			       NULL) < 0)
			sight.looked = false;
		if (is_place_due(onlooker, &in_line, place_due_ms)) {
			in_line_look(onlooker->client, &onlooker->of, &in_line);
			place_due_ms = pace_now_ms() + PLACE_MS;
		}
		pthread_mutex_lock(&onlooker->mutex);
		onlooker->sight = sight;
		onlooker->in_line = in_line;
		onlooker->wanted = false;
	}
	pthread_mutex_unlock(&onlooker->mutex);
	return NULL;
}

void onlooker_begin(struct onlooker *onlooker)
{
	onlooker->began_ms = pace_now_ms();
	onlooker->due_ms = onlooker->began_ms + FIRST_MS;
	pthread_mutex_init(&onlooker->mutex, NULL);
	pthread_cond_init(&onlooker->changed, NULL);
	/* For the widths of characters; before the thread starts. */
	if (isatty(STDERR_FILENO) == 1)
		setlocale(LC_CTYPE, "");
}

int onlooker_timeout(const struct onlooker *onlooker)
{
	uint64_t now = pace_now_ms();

	if (!onlooker->verbose && isatty(STDERR_FILENO) != 1)
		return -1;
	return onlooker->due_ms > now ? (int) (onlooker->due_ms - now) : 0;
}

static void ask(struct onlooker *onlooker, struct rowlock_client *client)
{
	if (!onlooker->started) {
		onlooker->client = client;
		onlooker->started = pthread_create(&onlooker->thread, NULL,
						   thread_main, onlooker) == 0;
	}
	pthread_mutex_lock(&onlooker->mutex);
	onlooker->wanted = true;
	pthread_cond_signal(&onlooker->changed);
	pthread_mutex_unlock(&onlooker->mutex);
}

/* Returns false if the answer is still to come. */
static bool take_answer(struct onlooker *onlooker, struct sight *ret_sight)
{
	bool wanted;

	pthread_mutex_lock(&onlooker->mutex);
	wanted = onlooker->wanted;
	*ret_sight = onlooker->sight;
	onlooker->shown = onlooker->in_line;
	pthread_mutex_unlock(&onlooker->mutex);
	return !wanted;
}

static bool on_terminal(void)
{
	return isatty(STDERR_FILENO) == 1 &&
	       tcgetpgrp(STDERR_FILENO) == getpgrp();
}

/* Once: the reason does not change by itself. */
static void say_unseen(struct onlooker *onlooker)
{
	const struct in_line *shown = &onlooker->shown;

	if (!*shown->unseen || onlooker->told_unseen)
		return;
	report(ROWLOCK_LOG_INFO,
	       "%s: not all that wait for '%s' may be seen: %s",
	       onlooker->title, onlooker->name, shown->unseen);
	onlooker->told_unseen = true;
}

static void say(struct onlooker *onlooker, const char *seen)
{
	const char *colon = *seen ? ": " : "";
	char span[TEXT_SPAN_SIZE], place[IN_LINE_SIZE];

	say_unseen(onlooker);
	in_line_say(&onlooker->shown, place);
	text_span(pace_now_ms() - onlooker->began_ms, span);
	if (on_terminal())
		report_for_now(terminal_columns(STDERR_FILENO),
			       "waiting for '%s' for %s%s%s%s", onlooker->name,
			       span, place, colon, seen);
	else if (onlooker->verbose)
		report(ROWLOCK_LOG_INFO, "%s: waiting for '%s' for %s%s%s%s",
		       onlooker->title, onlooker->name, span, place, colon,
		       seen);
}

void onlooker_saw(struct onlooker *onlooker, const struct sight *sight)
{
	uint64_t now = pace_now_ms();
	char seen[SIGHT_SIZE];

	if (now < onlooker->due_ms)
		return;
	sight_say(sight, seen);
	say(onlooker, seen);
	onlooker->due_ms = now + (on_terminal() ? TERMINAL_MS : PIPE_MS);
}

/* Ask, and report when the answer has come, or is late. */
void onlooker_look(struct onlooker *onlooker, struct rowlock_client *client)
{
	uint64_t now = pace_now_ms();
	struct sight sight = { .looked = false };

	if (now < onlooker->due_ms)
		return;
	if (client && !onlooker->late_ms) {
		ask(onlooker, client);
		onlooker->late_ms = now + LATE_MS;
	}
	if (client && !take_answer(onlooker, &sight) &&
	    now < onlooker->late_ms) {
		onlooker->due_ms = now + ANSWER_MS;
		return;
	}
	onlooker->late_ms = 0;
	onlooker_saw(onlooker, &sight);
}

uint64_t onlooker_end(struct onlooker *onlooker)
{
	pthread_mutex_lock(&onlooker->mutex);
	onlooker->over = true;
	pthread_cond_signal(&onlooker->changed);
	pthread_mutex_unlock(&onlooker->mutex);
	report_for_now(0, "%s", "");
	return pace_now_ms() - onlooker->began_ms;
}

void onlooker_fini(struct onlooker *onlooker)
{
	if (onlooker->started)
		pthread_join(onlooker->thread, NULL);
	onlooker->started = false;
}
