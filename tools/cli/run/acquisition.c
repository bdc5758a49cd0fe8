/* SPDX-License-Identifier: MIT */
/*
 * An acquire that a signal can end.
 *
 * Normally the thread ends with a hold, and its result is read. A signal asks
 * rowlock_cancel() to end the wait; if the grant came first, the caller gives
 * the hold back. While the client is being opened nothing is held and nothing
 * can be cancelled: the process just ends. Failure modes: the server's, and a
 * system without a thread to give.
 */
#include "run/acquisition.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "command.h"
#include "common/pace.h"
#include "common/report.h"
#include "run/nested.h"

/* The pause between two tries to reach a server. */
#define RETRY_MIN_MS 200
#define RETRY_MAX_MS 3000

/* Longer than a healthy server takes to answer. */
#define LEAVE_MS 500

/* The library's defaults. */
#define CONNECT_MS 5000
#define CALL_MS 10000

/* Publish the handle for a cancel; false if the cancel came before. */
static bool publish(struct acquisition *acquisition, const struct hold *hold)
{
	bool cancelled;

	pthread_mutex_lock(&acquisition->mutex);
	acquisition->hold = *hold;
	cancelled = acquisition->cancelled;
	pthread_mutex_unlock(&acquisition->mutex);
	return !cancelled;
}

/* A client, and a handle that can be cancelled. */
static int prepare(struct acquisition *acquisition)
{
	struct hold hold = { .manner = acquisition->manner };
	int r = 0;

	if (!acquisition->client)
		r = command_stay(acquisition->connection,
				 acquisition->client_options,
				 &acquisition->client, &acquisition->error);
	if (r < 0 || acquisition->hold.lock)
		return r;
	r = hold_new(&hold, acquisition->client, acquisition->names,
		     acquisition->name_count, &acquisition->lock_options,
		     &acquisition->error);
	if (r < 0)
		return r;
	return publish(acquisition, &hold) ? 0 : ROWLOCK_ECANCELED;
}

/* The rest of the time to wait, which began at @began. */
static uint64_t left(const struct acquisition *acquisition, uint64_t began)
{
	uint64_t now = pace_now_ms(), passed = now > began ? now - began : 0;

	if (acquisition->wait_ms == ROWLOCK_FOREVER)
		return ROWLOCK_FOREVER;
	return passed < acquisition->wait_ms ? acquisition->wait_ms - passed
					     : 0;
}

/* False: it was cancelled. */
static bool rest(struct acquisition *acquisition, uint64_t ms)
{
	uint64_t until = pace_now_ms() + ms;
	bool cancelled;

	pthread_mutex_lock(&acquisition->mutex);
	while (!acquisition->cancelled && pace_now_ms() < until)
		pace_wait(&acquisition->changed, &acquisition->mutex, until);
	cancelled = acquisition->cancelled;
	pthread_mutex_unlock(&acquisition->mutex);
	return !cancelled;
}

/* Longer than it takes to see that a server is away. */
static uint64_t there_ms(const struct acquisition *acquisition)
{
	uint64_t connect = acquisition->connection->connect_timeout_ms;

	return 2 * (CALL_MS + (connect ? connect : CONNECT_MS));
}

/* False: it was cancelled. */
static bool begin_acquire(struct acquisition *acquisition)
{
	bool cancelled;

	pthread_mutex_lock(&acquisition->mutex);
	cancelled = acquisition->cancelled;
	acquisition->acquiring = !cancelled;
	pthread_mutex_unlock(&acquisition->mutex);
	return !cancelled;
}

static void end_acquire(struct acquisition *acquisition)
{
	pthread_mutex_lock(&acquisition->mutex);
	acquisition->acquiring = false;
	pthread_mutex_unlock(&acquisition->mutex);
}

/* Those that keep each other out. */
static unsigned int kinds_against(const struct hold_manner *manner)
{
	if (manner->permits)
		return 1u << ROWLOCK_KIND_PERMIT;
	if (manner->mode == HOLD_READ)
		return 1u << ROWLOCK_KIND_WRITER;
	if (manner->mode)
		return 1u << ROWLOCK_KIND_READER | 1u << ROWLOCK_KIND_WRITER;
	return 1u << ROWLOCK_KIND_LOCK | 1u << ROWLOCK_KIND_CANDIDATE;
}

/* A try without a wait is told that another holds it, and so is an adopter. */
static int check_nested(struct acquisition *acquisition)
{
	const struct nested nested = {
		.names = acquisition->names,
		.count = acquisition->name_count,
		.strategy = acquisition->lock_options.strategy,
		.kinds = kinds_against(&acquisition->manner),
		.reads = acquisition->manner.mode == HOLD_READ,
		.permits = acquisition->manner.permits,
		.take = acquisition->manner.count,
		.program = acquisition->client_options.program,
	};

	if (!acquisition->wait_ms || acquisition->manner.adopt)
		return 0;
	return nested_check(&nested, acquisition->client, &acquisition->error);
}

/* Without its run there is no grant. */
static int begin_job(struct acquisition *acquisition)
{
	struct rowlock *lock = acquisition->hold.lock;
	int r = job_begin(acquisition->job, lock, &acquisition->error);

	/* Its own error would hide the reason. */
	if (r < 0)
		rowlock_release(lock, NULL);
	return r;
}

/* *@asked_at is the time of the first request, or 0. Connecting does not count
 * for the first wait. */
static int try_once(struct acquisition *acquisition, uint64_t *asked_at)
{
	uint64_t wait_ms =
	    *asked_at ? left(acquisition, *asked_at) : acquisition->wait_ms;
	int r = prepare(acquisition);

	if (r == 0)
		r = check_nested(acquisition);
	if (r == 0 && acquisition->job)
		r = job_choose(acquisition->job, acquisition->client,
			       &acquisition->error);
	if (r < 0)
		return r;
	if (!*asked_at)
		*asked_at = pace_now_ms();
	if (!begin_acquire(acquisition))
		return ROWLOCK_ECANCELED;
	r = hold_acquire(&acquisition->hold, wait_ms, &acquisition->error);
	end_acquire(acquisition);
	return r == 0 && acquisition->job ? begin_job(acquisition) : r;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The pause before the next try, which is not after the end of the wait, or of
 * the retries. Returns 0 after the last try. A try for the lock without a wait
 * is never too late. */
static uint64_t rest_before(const struct acquisition *acquisition,
			    uint64_t pause, uint64_t away_ms, uint64_t began)
{
	if (away_ms >= acquisition->retry_ms)
		return 0;
	pause = least(pause, acquisition->retry_ms - away_ms);
	return acquisition->wait_ms ? least(pause, left(acquisition, began))
				    : pause;
}

/* Retry a server that is away, until it was away for too long. If it was there
 * for a while, the time away begins again. */
static int acquire(struct acquisition *acquisition)
{
	uint64_t began = pace_now_ms(), asked_at = 0, away_since = began;
	uint64_t pause = RETRY_MIN_MS;

	for (;;) {
		uint64_t tried = pace_now_ms(), now, ms;
		int r = try_once(acquisition, &asked_at);

		if (!command_is_away(r))
			return r;
		now = pace_now_ms();
		if (now - tried > there_ms(acquisition))
			away_since = now;
		ms = rest_before(acquisition, pause, now - away_since,
				 asked_at ? asked_at : began);
		if (ms == 0)
			return r;
		if (acquisition->verbose)
			report(ROWLOCK_LOG_INFO,
			       "%s: %s; tries again in %.1f s",
			       acquisition->title, acquisition->error.message,
			       (double) ms / 1000);
		if (!rest(acquisition, ms))
			return ROWLOCK_ECANCELED;
		pause = least(2 * pause, RETRY_MAX_MS);
	}
}

static void *thread_main(void *arg)
{
	struct acquisition *acquisition = arg;
	uint64_t one = 1;

	acquisition->result = acquire(acquisition);
	while (write(acquisition->done_fd, &one, sizeof(one)) < 0 &&
	       errno == EINTR)
		;
	return NULL;
}

/* False: there is no handle yet. A cancel that comes before the acquire has
 * begun finds none, and is repeated. */
static bool cancel(struct acquisition *acquisition)
{
	struct rowlock *lock;

	pthread_mutex_lock(&acquisition->mutex);
	acquisition->cancelled = true;
	pthread_cond_signal(&acquisition->changed);
	lock = acquisition->hold.lock;
	while (acquisition->acquiring && !rowlock_cancel(lock)) {
		pthread_mutex_unlock(&acquisition->mutex);
		pace_rest(1);
		pthread_mutex_lock(&acquisition->mutex);
	}
	pthread_mutex_unlock(&acquisition->mutex);
	return lock != NULL;
}

static unsigned int kinds_of(const struct hold_manner *manner)
{
	if (manner->mode)
		return 1u << ROWLOCK_KIND_READER | 1u << ROWLOCK_KIND_WRITER;
	return 1u << (manner->permits ? ROWLOCK_KIND_PERMIT
				      : ROWLOCK_KIND_LOCK);
}

/* The client to ask with, once there is a handle. */
static struct rowlock_client *client_of(struct acquisition *acquisition)
{
	struct rowlock_client *client = NULL;

	pthread_mutex_lock(&acquisition->mutex);
	if (acquisition->hold.lock)
		client = acquisition->client;
	pthread_mutex_unlock(&acquisition->mutex);
	return client;
}

/* Returns the signal to report at the end. */
static int take_signal(struct acquisition *acquisition, int signal, int before)
{
	if (signal == SIGTSTP) {
		signals_suffer(signal);
		return before;
	}
	if (!signals_is_fatal(signal))
		return before;
	if (before || !cancel(acquisition)) {
		report_interrupted();
		signals_die(signal);
	}
	return signal;
}

static int await(struct acquisition *acquisition, struct signals *signals)
{
	struct pollfd fds[] = {
		{ .fd = acquisition->done_fd, .events = POLLIN },
		{ .fd = signals->fd, .events = POLLIN },
		{ .fd = acquisition->quit_fd ? acquisition->quit_fd : -1,
		  .events = acquisition->quit_events },
	};
	struct onlooker *onlooker = &acquisition->onlooker;
	int fatal = 0, signal;

	for (;;) {
		int n = pace_poll(fds, RLK_ARRAY_SIZE(fds),
				  onlooker_timeout(onlooker));

		if (n < 0 && errno != EINTR)
			abort();
		if (fds[0].revents)
			return fatal;
		if (n == 0)
			onlooker_look(onlooker, client_of(acquisition));
		if (fds[2].revents) {
			fds[2].fd = -1;
			if (acquisition->quit_signal)
				fatal = take_signal(acquisition,
						    acquisition->quit_signal,
						    fatal);
			else
				cancel(acquisition);
		}
		while ((signal = signals_next(signals)) != 0)
			fatal = take_signal(acquisition, signal, fatal);
	}
}

static void fail(struct acquisition *acquisition, int error)
{
	acquisition->result = ROWLOCK_ESYSTEM;
	acquisition->error.code = ROWLOCK_ESYSTEM;
	snprintf(acquisition->error.message, sizeof(acquisition->error.message),
		 "cannot wait for '%.150s': %s; nothing was locked",
		 acquisition->names[0], strerror(error));
}

/* The library tells it of a wait, but there may have been none yet. */
static void tell_canceled(struct acquisition *acquisition)
{
	if (acquisition->result != ROWLOCK_ECANCELED ||
	    acquisition->error.code == ROWLOCK_ECANCELED)
		return;
	acquisition->error.code = ROWLOCK_ECANCELED;
	snprintf(acquisition->error.message, sizeof(acquisition->error.message),
		 "'%.150s': canceled before its server was asked; nothing was "
		 "locked",
		 acquisition->names[0]);
}

int acquisition_run(struct acquisition *acquisition, struct signals *signals)
{
	pthread_t thread;
	int signal, r;

	acquisition->lock_options.flags |= ROWLOCK_OWNER_HANDLE;
	pthread_mutex_init(&acquisition->mutex, NULL);
	pace_init(&acquisition->changed);
	acquisition->done_fd = eventfd(0, EFD_CLOEXEC);
	if (acquisition->done_fd < 0) {
		fail(acquisition, errno);
		return 0;
	}
	acquisition->onlooker = (struct onlooker){
		.title = acquisition->title,
		.name = acquisition->names[0],
		.of = { acquisition->names, acquisition->name_count,
			acquisition->lock_options.strategy,
			kinds_of(&acquisition->manner) },
		.verbose = acquisition->verbose,
		/* There is no line for several names, and of candidates the
		 * heaviest is served first. */
		.stands =
		    acquisition->name_count == 1 && !acquisition->manner.weight,
	};
	onlooker_begin(&acquisition->onlooker);
	r = pthread_create(&thread, NULL, thread_main, acquisition);
	if (r != 0) {
		fail(acquisition, r);
		return 0;
	}
	signal = await(acquisition, signals);
	acquisition->waited_ms = onlooker_end(&acquisition->onlooker);
	pthread_join(thread, NULL);
	close(acquisition->done_fd);
	tell_canceled(acquisition);
	return signal;
}

void acquisition_sight(struct acquisition *acquisition, char *ret_text)
{
	struct sight sight = { .looked = false };

	if (sight_look(acquisition->client, &acquisition->onlooker.of, SIGHT_MS,
		       &sight, NULL) < 0)
		sight.looked = false;
	sight_say(&sight, ret_text);
}

void acquisition_fini(struct acquisition *acquisition)
{
	onlooker_fini(&acquisition->onlooker);
	rowlock_free(acquisition->hold.lock);
	rowlock_client_free(acquisition->client);
}

static void *free_all(void *arg)
{
	struct acquisition *acquisition = arg;
	uint64_t one = 1;

	acquisition_fini(acquisition);
	while (write(acquisition->done_fd, &one, sizeof(one)) < 0 &&
	       errno == EINTR)
		;
	return NULL;
}

void acquisition_leave(struct acquisition *acquisition, int code)
{
	struct pollfd done = { .events = POLLIN };
	pthread_t thread;

	done.fd = acquisition->done_fd = eventfd(0, EFD_CLOEXEC);
	/* A release would let another have it at once. */
	if (!acquisition->stays && done.fd >= 0 &&
	    pthread_create(&thread, NULL, free_all, acquisition) == 0)
		pace_poll(&done, 1, LEAVE_MS);
	report_flush();
	_exit(code);
}
