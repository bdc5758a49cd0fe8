/* SPDX-License-Identifier: MIT */
/*
 * Passes of rowlock_reap() on a timer.
 *
 * Normally: a pass, a pause of the interval give or take a tenth, so that
 * several daemons drift apart, and again. When the server is away: one line,
 * then tries with growing pauses, then one line when it is back. A reload
 * opens a new client first and drops the old one only when that worked.
 *
 * The daemon is ready after its first pass, or when the server was found to be
 * away: whoever starts it learns of a wrong account. The watchdog is fed after
 * each pass, by each line of the log, and in pauses; never while a statement
 * hangs.
 *
 * Failure modes: at the start, before any pass was made, a wrong option, a
 * wrong account and a wrong schema end the daemon, as an operator has to act;
 * later the daemon waits as for a server that is away.
 */
#include "worker.h"

#include <rowlock/admin.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/macro.h"
#include "common/pace.h"
#include "common/report.h"
#include "notify.h"

#define RETRY_MIN_MS 1000
#define RETRY_MAX_MS 60000

/* The thread's state besides its worker. */
struct state {
	struct worker *worker;
	struct rowlock_client *client; /* NULL: none was opened yet */
	unsigned int seed;
	int trouble; /* the last pass's code; 0: it went well */
	uint64_t retry_ms;
	struct worker_passes passes;
	bool began; /* one pass went well */
	bool ready; /* systemd was told so */
};

/* A rowlock_log_fn. Each removal is a line, and a sign of life. */
static void on_log(enum rowlock_log_level level, const char *message, void *arg)
{
	report_log(level, message, arg);
	if (level == ROWLOCK_LOG_INFO)
		notify_alive();
}

static int open_client(const struct worker_config *config,
		       struct rowlock_client **ret_client,
		       struct rowlock_errinfo *reterr)
{
	struct rowlock_client_options options = ROWLOCK_CLIENT_OPTIONS_DEFAULT;

	options.program = "rowlock-reaperd";
	/* We call rowlock_reap() ourselves. */
	options.flags |= ROWLOCK_NO_REAPER;
	options.log = on_log;
	options.log_level =
	    config->verbose ? ROWLOCK_LOG_DEBUG : ROWLOCK_LOG_INFO;
	return connection_open(&config->connection, options, ret_client,
			       reterr);
}

static uint64_t removed(const struct worker_passes *passes)
{
	return passes->evicted + passes->swept + passes->tokens;
}

/* Adds to @passes what it removed. */
static int pass(struct rowlock_client *client, unsigned int batch,
		struct worker_passes *passes, struct rowlock_errinfo *reterr)
{
	struct rowlock_reap_options options = ROWLOCK_REAP_OPTIONS_DEFAULT;
	struct rowlock_reap_result result = { .size = sizeof(result) };
	uint64_t began = pace_now_ms();
	int r;

	options.batch = batch;
	r = rowlock_reap(client, &options, &result, reterr);
	if (result.evicted + result.swept > 0)
		report_event(JOURNAL_EVICTED, NULL, ROWLOCK_LOG_INFO,
			     "evicted %" PRIu64 " sessions, swept %" PRIu64
			     " leases, removed %" PRIu64 " tokens on %s",
			     result.evicted, result.swept, result.tokens,
			     rowlock_client_server(client));
	else if (result.tokens > 0)
		/* Nobody died: it is no such entry of the journal. */
		report(ROWLOCK_LOG_INFO, "removed %" PRIu64 " old tokens on %s",
		       result.tokens, rowlock_client_server(client));
	if (result.more)
		report(ROWLOCK_LOG_INFO,
		       "the minute of a pass is up, and there may be more on "
		       "%s: the next one goes on from there",
		       rowlock_client_server(client));
	passes->evicted += result.evicted;
	passes->swept += result.swept;
	passes->tokens += result.tokens;
	if (r == 0) {
		passes->ended_ms = pace_now_ms();
		passes->took_ms = passes->ended_ms - began;
	}
	return r;
}

/* Remember the server, for messages without a client. */
static void know_server(struct worker *worker, struct rowlock_client *client)
{
	pthread_mutex_lock(&worker->mutex);
	snprintf(worker->server, sizeof(worker->server), "%s",
		 rowlock_client_server(client));
	pthread_mutex_unlock(&worker->mutex);
}

/* Can the failure pass without an operator? */
static bool is_passing(int code)
{
	switch (code) {
	case ROWLOCK_EINVAL:
	case ROWLOCK_EAUTH:
	case ROWLOCK_ESCHEMA:
	case ROWLOCK_EUNSUPPORTED:
		return false;
	default:
		return true;
	}
}

enum worker_end worker_once(const struct worker_config *config)
{
	struct rowlock_client *client = NULL;
	struct rowlock_errinfo error;
	struct worker_passes passes = { .done = 0 };
	int r;

	r = open_client(config, &client, &error);
	if (r == 0)
		r = pass(client, config->batch, &passes, &error);
	if (r < 0)
		report(ROWLOCK_LOG_ERROR, "%s", error.message);
	else if (removed(&passes) == 0)
		report(ROWLOCK_LOG_INFO, "nothing to remove on %s",
		       rowlock_client_server(client));
	rowlock_client_free(client);
	if (r == 0)
		return WORKER_DONE;
	return is_passing(r) ? WORKER_FAILED : WORKER_UNUSABLE;
}

/* One line when trouble comes, changes or goes; none while it stays. */
static void note_result(struct state *state, int code,
			const struct rowlock_errinfo *error)
{
	if (code == 0) {
		if (state->trouble != 0)
			report(ROWLOCK_LOG_INFO, "the server is back: %s",
			       rowlock_client_server(state->client));
		state->retry_ms = RETRY_MIN_MS;
		state->began = true;
		notify_status("Removed %" PRIu64 " rows so far",
			      removed(&state->passes));
	} else if (code != state->trouble) {
		report_event(JOURNAL_AWAY, NULL, ROWLOCK_LOG_WARNING,
			     "%s; trying again until it works", error->message);
		notify_status("Waiting: %s", error->message);
	}
	state->trouble = code;
}

static void note_passes(struct state *state, int code)
{
	struct worker *worker = state->worker;

	if (code == 0)
		state->passes.done++;
	else
		state->passes.failed++;
	pthread_mutex_lock(&worker->mutex);
	worker->passes = state->passes;
	pthread_mutex_unlock(&worker->mutex);
}

static void work(struct state *state)
{
	const struct worker_config *config = state->worker->config;
	struct rowlock_errinfo error;
	int r = 0;

	if (!state->client) {
		r = open_client(config, &state->client, &error);
		if (r == 0)
			know_server(state->worker, state->client);
	}
	if (r == 0)
		r = pass(state->client, config->batch, &state->passes, &error);
	note_passes(state, r);
	if (r < 0 && !state->began && !is_passing(r)) {
		report(ROWLOCK_LOG_ERROR, "%s", error.message);
		state->worker->unusable = true;
		return;
	}
	note_result(state, r, &error);
	if (!state->ready)
		notify_ready();
	state->ready = true;
	notify_alive();
}

static void reload(struct state *state)
{
	struct rowlock_client *client;
	struct rowlock_errinfo error;

	notify_reloading();
	if (open_client(state->worker->config, &client, &error) < 0) {
		report(ROWLOCK_LOG_WARNING,
		       "reload failed, going on as before: %s", error.message);
	} else {
		rowlock_client_free(state->client);
		state->client = client;
		know_server(state->worker, client);
		report(ROWLOCK_LOG_INFO, "reloaded, at work on %s",
		       rowlock_client_server(client));
	}
	notify_ready();
}

/* The interval give or take a tenth; in trouble, twice the last pause up to a
 * minute, of which up to a half is left out by chance. */
static uint64_t next_pause_ms(struct state *state)
{
	uint64_t base = state->worker->config->interval_ms;
	uint64_t chance = (uint64_t) rand_r(&state->seed);

	if (state->trouble == 0)
		return base - base / 10 + chance % (base / 5 + 1);
	base = state->retry_ms;
	state->retry_ms = 2 * base > RETRY_MAX_MS ? RETRY_MAX_MS : 2 * base;
	return base - chance % (base / 2 + 1);
}

/* Pause, unless a stop or a reload is asked for. Returns false to stop. */
static bool rest(struct state *state, bool *ret_reload)
{
	struct worker *worker = state->worker;
	uint64_t alive = notify_alive_interval_ms();
	uint64_t end = pace_now_ms() + next_pause_ms(state), now;
	bool stop;

	pthread_mutex_lock(&worker->mutex);
	while (!worker->stop && !worker->reload &&
	       (now = pace_now_ms()) < end) {
		pace_wait(&worker->changed, &worker->mutex,
			  alive > 0 && now + alive < end ? now + alive : end);
		notify_alive();
	}
	stop = worker->stop;
	*ret_reload = worker->reload;
	worker->reload = false;
	pthread_mutex_unlock(&worker->mutex);
	return !stop;
}

static void *thread_main(void *arg)
{
	struct worker *worker = arg;
	struct state state = {
		.worker = worker,
		.seed = (unsigned int) pace_now_ms() ^ (unsigned int) getpid(),
		.retry_ms = RETRY_MIN_MS,
	};
	bool reload_wanted = false;
	uint64_t one = 1;

	do {
		if (reload_wanted)
			reload(&state);
		work(&state);
	} while (!worker->unusable && rest(&state, &reload_wanted));
	rowlock_client_free(state.client);
	while (write(worker->done_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	return NULL;
}

int worker_start(struct worker *worker, const struct worker_config *config)
{
	int r;

	*worker = (struct worker){ .config = config };
	worker->done_fd = eventfd(0, EFD_CLOEXEC);
	if (worker->done_fd < 0)
		return -errno;
	pthread_mutex_init(&worker->mutex, NULL);
	pace_init(&worker->changed);
	r = pthread_create(&worker->thread, NULL, thread_main, worker);
	if (r != 0)
		close(worker->done_fd);
	return -r;
}

void worker_server(struct worker *worker, char *ret_text)
{
	pthread_mutex_lock(&worker->mutex);
	snprintf(ret_text, WORKER_SERVER_SIZE, "%s",
		 *worker->server ? worker->server : "the server");
	pthread_mutex_unlock(&worker->mutex);
}

void worker_tell(struct worker *worker, struct worker_passes *ret_passes)
{
	pthread_mutex_lock(&worker->mutex);
	*ret_passes = worker->passes;
	pthread_mutex_unlock(&worker->mutex);
}

void worker_ask_stop(struct worker *worker)
{
	pthread_mutex_lock(&worker->mutex);
	worker->stop = true;
	pthread_cond_signal(&worker->changed);
	pthread_mutex_unlock(&worker->mutex);
}

void worker_ask_reload(struct worker *worker)
{
	pthread_mutex_lock(&worker->mutex);
	worker->reload = true;
	pthread_cond_signal(&worker->changed);
	pthread_mutex_unlock(&worker->mutex);
}

void worker_join(struct worker *worker)
{
	pthread_join(worker->thread, NULL);
	pthread_cond_destroy(&worker->changed);
	pthread_mutex_destroy(&worker->mutex);
	close(worker->done_fd);
}
