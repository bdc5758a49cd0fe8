/* SPDX-License-Identifier: MIT */
/*
 * Watches: report the holder of a name whenever it changes.
 *
 * One thread per client, started by the first watch, asks for all names at
 * once, at the shortest of the intervals, and calls the functions, one after
 * the other. So a client costs a statement per interval, however many watches
 * it has.
 *
 * Failure modes: after three intervals without an answer the watch reports an
 * unknown state, and goes on asking. A slow function delays those behind it and
 * the next round, and nothing else of the client.
 */
#include "background/watch.h"

#include <rowlock/watch.h>

#include "base/error.h"
#include "base/sized.h"
#include "base/text.h"
#include "core/call.h"
#include "db/lend.h"
#include "strategy/listing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/** After this many intervals without an answer the state is unknown. */
#define PATIENCE 3

#define INTERVAL_MS 5000
#define INTERVAL_LEAST 100
#define INTERVAL_MOST 3600000

struct rowlock_watch {
	struct rowlock_client *client;
	struct rlk_list node; /* in client->watches */
	uint64_t interval_ms;
	rowlock_watch_fn fn;
	void *arg;

	/* Under client->mutex. */
	uint64_t round;      /* the last one that asked about it */
	bool due;            /* it has no answer yet in this round */
	int64_t answered_ms; /* the last answer; at first, when it was made */
	bool told;           /* the following is what it reported last */
	enum rowlock_state state;
	uint64_t attempt;
	uint64_t token;
	uint64_t last_token;

	char name[];
};

/* ----------------------------------------------------------------- tell */

static bool is_news_locked(const struct rowlock_watch *watch,
			   const struct rowlock_entry *entry)
{
	return !watch->told || watch->state != entry->state ||
	       watch->attempt != entry->attempt ||
	       watch->token != entry->token ||
	       watch->last_token != entry->last_token;
}

/* Calls its function, if @entry is news, with the mutex released: @watch may be
 * gone afterwards. */
static void tell_locked(struct rowlock_watch *watch,
			const struct rowlock_entry *entry)
{
	struct rowlock_client *client = watch->client;
	rowlock_watch_fn fn = watch->fn;
	void *arg = watch->arg;

	if (!is_news_locked(watch, entry))
		return;
	watch->told = true;
	watch->state = entry->state;
	watch->attempt = entry->attempt;
	watch->token = entry->token;
	watch->last_token = entry->last_token;
	client->telling = watch;
	rlk_mutex_unlock(&client->mutex);
	fn(entry, arg);
	rlk_mutex_lock(&client->mutex);
	client->telling = NULL;
	rlk_cond_broadcast(&client->watches_changed);
}

/* A watch that is due in this page and is called @name, or any if that is NULL.
 * Returns NULL if none is left. */
static struct rowlock_watch *due_locked(struct rowlock_client *client,
					const char *name)
{
	struct rowlock_watch *watch;

	rlk_list_each (watch, &client->watches, node) {
		if (watch->due && (!name || strcmp(watch->name, name) == 0))
			return watch;
	}
	return NULL;
}

/* A rowlock_list_fn. */
static int on_answer(const struct rowlock_entry *entry, void *arg)
{
	struct rowlock_client *client = arg;
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);
	struct rlk_name *name = rlk_names_find(
	    &client->names, rlk_strategy(entry->strategy), entry->name);
	struct rowlock_watch *watch;

	if (name)
		rlk_name_know_token(name, entry->last_token);
	while (!client->stopping && (watch = due_locked(client, entry->name))) {
		watch->due = false;
		watch->answered_ms = rlk_now(client->clock);
		tell_locked(watch, entry);
	}
	return 0;
}

/* Handle the watches of the page that got no answer. */
static void on_silence(struct rowlock_client *client)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);
	int64_t now = rlk_now(client->clock);
	char name[RLK_NAME_SIZE];
	struct rowlock_watch *watch;

	while (!client->stopping && (watch = due_locked(client, NULL))) {
		/* A copy, as the function may end the watch. */
		const struct rowlock_entry nothing = {
			.size = sizeof(nothing),
			.strategy = ROWLOCK_LEASE,
			.state = ROWLOCK_STATE_UNKNOWN,
			.name = strcpy(name, watch->name),
			.info = "",
			.host = "",
			.program = "",
			.acquired_at = "",
			.drawn_at = "",
		};
		int64_t patience = (int64_t) (PATIENCE * watch->interval_ms);

		watch->due = false;
		if (now - watch->answered_ms >= patience)
			tell_locked(watch, &nothing);
	}
}

/* ------------------------------------------------------------------ ask */

/* The names of one statement: copies, since a watch may go while the server is
 * asked. */
struct rlk_watch_page {
	size_t count;
	const char *names[RLK_LIST_NAMES];
	char text[RLK_LIST_NAMES][RLK_NAME_SIZE];
};

static bool has(const struct rlk_watch_page *page, const char *name)
{
	for (size_t i = 0; i < page->count; i++)
		if (strcmp(page->names[i], name) == 0)
			return true;
	return false;
}

/* Gather the next names of @round that were not asked for yet. */
static bool gather(struct rowlock_client *client, uint64_t round,
		   struct rlk_watch_page *page)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);
	struct rowlock_watch *watch;

	page->count = 0;
	rlk_list_each (watch, &client->watches, node) {
		if (watch->round == round)
			continue;
		if (!has(page, watch->name)) {
			if (page->count == RLK_LIST_NAMES)
				continue;
			strcpy(page->text[page->count], watch->name);
			page->names[page->count] = page->text[page->count];
			page->count++;
		}
		watch->round = round;
		watch->due = true;
	}
	return page->count && !client->stopping;
}

/* Returns false if no answer came. */
static bool ask(struct rowlock_client *client,
		const struct rlk_watch_page *page,
		struct rowlock_errinfo *reterr)
{
	struct rlk_conn *conn;
	enum rlk_fault fault;

	if (rlk_client_conn(client, RLK_BAY_CONTROL,
			    rlk_client_chore_until(client), &conn, reterr))
		return false;
	fault = rlk_list_names(conn, page->names, page->count, on_answer,
			       client, reterr);
	rlk_pool_put(client->pool, conn);
	return rlk_client_code(client, fault, reterr) == 0;
}

/* Returns false if the server did not answer all. */
static bool ask_all(struct rowlock_client *client, struct rlk_watch_page *page,
		    uint64_t round, struct rowlock_errinfo *reterr)
{
	bool answered = true;

	while (gather(client, round, page)) {
		if (answered)
			answered = ask(client, page, reterr);
		on_silence(client);
	}
	return answered;
}

/* The time of the next round, which all watches of a client share. */
static int64_t next_locked(struct rowlock_client *client, int64_t began)
{
	uint64_t interval = ROWLOCK_FOREVER;
	const struct rowlock_watch *watch;

	rlk_list_each (watch, &client->watches, node) {
		if (!watch->round)
			return began; /* it is new */
		if (watch->interval_ms < interval)
			interval = watch->interval_ms;
	}
	return rlk_after(began, interval);
}

static void run(void *arg)
{
	struct rowlock_client *client = arg;
	struct rlk_watch_page *page = client->watch_page;
	int64_t began = rlk_now(client->clock);
	bool failing = false;

	rlk_mutex_lock(&client->mutex);
	client->watcher_serial = rlk_thread_serial();
	for (uint64_t round = 1; !client->stopping;) {
		int64_t next = next_locked(client, began);
		struct rowlock_errinfo error;
		bool answered;

		rlk_mutex_unlock(&client->mutex);
		if (rlk_now(client->clock) < next) {
			rlk_sleeper_wait(&client->watcher_sleeper, next, -1);
			rlk_mutex_lock(&client->mutex);
			continue;
		}
		began = rlk_now(client->clock);
		answered = ask_all(client, page, round++, &error);
		if (!answered && !failing && !rlk_client_stopping(client))
			rlk_log(&client->log, ROWLOCK_LOG_WARNING, "watch: %s",
				error.message);
		failing = !answered;
		rlk_mutex_lock(&client->mutex);
	}
	rlk_mutex_unlock(&client->mutex);
}

/* ------------------------------------------------------------ new, free */

static int fail(struct rowlock_errinfo *reterr, int code, const char *name,
		const char *reason)
{
	return rlk_fail(reterr, code, "watch '%.150s': %s", name ? name : "",
			reason);
}

static int check(const char *name, const struct rowlock_watch_options *options,
		 rowlock_watch_fn fn, struct rowlock_errinfo *reterr)
{
	int code = rlk_name_check("watch: the name", name, NULL, reterr);

	if (code)
		return code;
	if (options->interval_ms < INTERVAL_LEAST ||
	    options->interval_ms > INTERVAL_MOST)
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"watch '%s': interval_ms is %" PRIu64
				"; it must be from %d to %d",
				name, options->interval_ms, INTERVAL_LEAST,
				INTERVAL_MOST);
	if (!fn)
		return fail(reterr, ROWLOCK_EINVAL, name, "give a function");
	return 0;
}

/* The first watch makes the thread. */
static int start_locked(struct rowlock_client *client, const char *name,
			struct rowlock_errinfo *reterr)
{
	int error = 0;

	if (client->watcher.started)
		return 0;
	if (!client->watch_page)
		client->watch_page = calloc(1, sizeof(*client->watch_page));
	if (!client->watch_page)
		return fail(reterr, ROWLOCK_ENOMEM, name, "out of memory");
	if (!client->watcher_sleeper.clock)
		error =
		    rlk_sleeper_init(&client->watcher_sleeper, client->clock);
	if (!error)
		error = rlk_thread_start(&client->watcher, "rlk-watcher", run,
					 client);
	if (!error)
		return 0;
	return rlk_fail(reterr, ROWLOCK_ESYSTEM,
			"watch '%s': no thread, or no descriptor: %s; raise "
			"the limits of threads and of open files",
			name, strerror(-error));
}

static struct rowlock_watch *make(struct rowlock_client *client,
				  const char *name,
				  const struct rowlock_watch_options *options)
{
	size_t length = strlen(name);
	struct rowlock_watch *watch = calloc(1, sizeof(*watch) + length + 1);

	if (!watch)
		return NULL;
	watch->client = client;
	rlk_list_init(&watch->node);
	watch->interval_ms = options->interval_ms;
	watch->answered_ms = rlk_now(client->clock);
	memcpy(watch->name, name, length);
	return watch;
}

int rowlock_watch_new(struct rowlock_client *client, const char *name,
		      const struct rowlock_watch_options *given,
		      rowlock_watch_fn fn, void *arg,
		      struct rowlock_watch **ret_watch,
		      struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_watch_options options;
	struct rowlock_watch *watch;
	int code = rlk_client_refuses(client, reterr);

	if (!code && !ret_watch)
		code = rlk_fail_null("ret_watch", reterr);
	if (code)
		return code;
	code = rlk_options_read("watch options", given, &options,
				sizeof(options), reterr);
	if (code)
		return code;
	if (!options.interval_ms)
		options.interval_ms = INTERVAL_MS;
	code = check(name, &options, fn, reterr);
	if (code)
		return code;
	watch = make(client, name, &options);
	if (!watch)
		return fail(reterr, ROWLOCK_ENOMEM, name, "out of memory");
	watch->fn = fn;
	watch->arg = arg;
	rlk_mutex_lock(&client->mutex);
	code = start_locked(client, name, reterr);
	if (!code) {
		rlk_list_append(&client->watches, &watch->node);
		client->users++;
	}
	rlk_mutex_unlock(&client->mutex);
	if (code) {
		free(watch);
		return code;
	}
	rlk_sleeper_wake(&client->watcher_sleeper);
	*ret_watch = watch;
	return 0;
}

void rowlock_watch_free(struct rowlock_watch *watch)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_client *client;

	if (!watch)
		return;
	client = watch->client;
	if (rlk_client_forked(client))
		return;
	rlk_mutex_lock(&client->mutex);
	rlk_list_remove(&watch->node);
	while (client->telling == watch &&
	       client->watcher_serial != rlk_thread_serial())
		rlk_cond_wait(&client->watches_changed, &client->mutex);
	rlk_mutex_unlock(&client->mutex);
	free(watch);
	rlk_client_leave(client);
}

void rlk_watches_stop(struct rowlock_client *client)
{
	if (!client->watcher.started)
		return;
	rlk_sleeper_wake(&client->watcher_sleeper);
	rlk_thread_join(&client->watcher);
}

void rlk_watches_fini(struct rowlock_client *client)
{
	rlk_sleeper_fini(&client->watcher_sleeper);
	free(client->watch_page);
}
