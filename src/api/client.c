/* SPDX-License-Identifier: MIT */
/*
 * Makes and ends a client. The destructor is the error path of the constructor:
 * it accepts a client at any stage of its making.
 */
#include "core/client.h"

#include "api/options.h"
#include "api/release.h"
#include "background/abandoned.h"
#include "background/keeper.h"
#include "background/receipts.h"
#include "background/threads.h"
#include "background/watch.h"
#include "base/error.h"
#include "base/process.h"
#include "base/random.h"
#include "core/call.h"
#include "core/cut_off.h"
#include "core/overrun.h"
#include "core/timer.h"
#include "core/waker.h"
#include "db/advice.h"
#include "db/lend.h"
#include "db/schema.h"
#include "group/commit.h"
#include "hold/hold.h"
#include "hold/owner_end.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* ----------------------------------------------------------------- born */

static struct rowlock_client *make(void)
{
	struct rowlock_client *client = calloc(1, sizeof(*client));
	const struct rlk_sleeper none = RLK_SLEEPER_NULL;

	if (!client)
		return NULL;
	client->pid = getpid();
	client->process = rlk_process();
	client->clock = rlk_clock_real();
	client->sockets = -1;
	client->pongs = -1;
	client->deadline_sleeper = none;
	client->keeper_sleeper = none;
	client->pinger_sleeper = none;
	client->chores_sleeper = none;
	client->reaper_sleeper = none;
	client->watcher_sleeper = none;
	client->deadline_armed_ms = RLK_NEVER;
	client->jumped_ms = RLK_NEVER;
	client->answered_ms = -RLK_NEVER;
	client->pinger_armed_ms = RLK_NEVER;
	client->names.client = client;
	rlk_mutex_init(&client->mutex);
	rlk_cond_init(&client->session_changed);
	rlk_cond_init(&client->notices_changed);
	rlk_cond_init(&client->watches_changed);
	rlk_list_init(&client->thread_ends.node);
	client->thread_ends.ended = rlk_owner_ended;
	rlk_list_init(&client->session.holds);
	rlk_list_init(&client->old_sessions);
	rlk_list_init(&client->row_holds);
	rlk_list_init(&client->guarded);
	rlk_list_init(&client->cut_off);
	rlk_list_init(&client->abandoned);
	rlk_list_init(&client->notices);
	rlk_list_init(&client->watches);
	client->rounds = rlk_random();
	client->users = 1;
	rlk_commit_init(client);
	rlk_list_init(&client->wakers);
	strcpy(client->server, "the server");
	return client;
}

static int open_descriptors(struct rowlock_client *client,
			    struct rowlock_errinfo *reterr)
{
	struct rlk_sleeper *sleepers[] = {
		&client->deadline_sleeper, &client->keeper_sleeper,
		&client->pinger_sleeper,   &client->chores_sleeper,
		&client->reaper_sleeper,
	};
	int error = 0;

	client->sockets = epoll_create1(EPOLL_CLOEXEC);
	if (client->sockets < 0)
		error = -errno;
	client->pongs = epoll_create1(EPOLL_CLOEXEC);
	if (client->pongs < 0)
		error = -errno;
	for (size_t i = 0; !error && i < RLK_ARRAY_SIZE(sleepers); i++)
		error = rlk_sleeper_init(sleepers[i], client->clock);
	if (!error)
		return 0;
	return rlk_fail(reterr, ROWLOCK_ESYSTEM,
			"client: no descriptor: %s; raise the limit of open "
			"files",
			strerror(-error));
}

static void ring_session(struct rlk_alarm *alarm)
{
	struct rowlock_client *client =
	    container_of(alarm, struct rowlock_client, session.alarm);
	struct rlk_session *session = &client->session;

	/* A beat may have moved the deadline since. */
	if (rlk_now(client->clock) >= session->valid_until_ms)
		rlk_session_expire_locked(client);
	else
		rlk_deadline_set_locked(client, alarm, session->valid_until_ms);
}

/* At once: when it happens, the locks are lost. */
static void warn_of_hash(struct rowlock_client *client,
			 const struct rlk_conn *conn)
{
	if (rlk_conn_may_not_come_back(conn))
		rlk_log(&client->log, ROWLOCK_LOG_WARNING,
			"%s knows the password's hash for now "
			"(caching_sha2_password); when it restarts or its "
			"privileges are flushed it asks for the password, "
			"which is not told to an unverified server, and this "
			"program cannot reconnect: verify its certificate "
			"(ssl-ca and ssl-verify-server-cert), name its public "
			"key (server-public-key), or connect by its socket "
			"file",
			client->server);
}

/* Connect, and check the server and its tables. */
static int look_at_server(struct rowlock_client *client,
			  struct rowlock_errinfo *reterr)
{
	const struct rlk_server *server;
	struct rlk_conn *conn;
	int code = rlk_keeper_prepare(client, reterr);

	if (code)
		return code;
	conn = client->keeper_conns[0];
	server = rlk_conn_server(conn);
	snprintf(client->server, sizeof(client->server), "%s", server->name);
	client->many_writers = rlk_server_many_writers(server);
	client->observe =
	    server->galera || client->flags & ROWLOCK_OBSERVE_BEATS;
	rlk_conn_set_until(conn, rlk_client_call_until(client));
	code = rlk_schema_check(conn, &client->bell_key, reterr);
	if (code)
		return rlk_advise(conn, code, reterr);
	if (server->read_only)
		return rlk_fail(reterr, ROWLOCK_EREADONLY,
				"%s is read-only, so nothing can be locked "
				"there; connect to the primary",
				client->server);
	warn_of_hash(client, conn);
	return 0;
}

static int watch_threads(struct rowlock_client *client,
			 struct rowlock_errinfo *reterr)
{
	int error = rlk_end_watch_start(&client->thread_ends);

	if (!error)
		return 0;
	if (error == -ENOMEM)
		return rlk_fail(reterr, ROWLOCK_ENOMEM,
				"client: out of memory");
	return rlk_fail(reterr, ROWLOCK_ESYSTEM,
			"client: no key of pthreads to hear of the end of "
			"threads: %s; use fewer in this process",
			strerror(-error));
}

static int build(struct rowlock_client *client,
		 const struct rowlock_client_options *options,
		 struct rowlock_errinfo *reterr)
{
	int code = rlk_options_apply(client, options, reterr);

	client->session.alarm.ring = ring_session;
	if (!code)
		code = open_descriptors(client, reterr);
	if (!code)
		code = rlk_pool_new(&client->target, client->bays, RLK_BAYS,
				    &client->pool, reterr);
	if (!code)
		code = look_at_server(client, reterr);
	if (!code)
		code = rlk_threads_start(client, reterr);
	if (!code)
		code = watch_threads(client, reterr);
	return code;
}

/* ------------------------------------------------------------------ end */

/* A connection for the last statements: one of the keeper's, which are open;
 * else one that the pool has ready. */
static struct rlk_conn *last_conn(struct rowlock_client *client,
				  int64_t until_ms)
{
	struct rowlock_errinfo error;
	struct rlk_conn *conn = NULL;

	for (size_t i = 0; i < RLK_ARRAY_SIZE(client->keeper_conns); i++) {
		conn = TAKE_PTR(client->keeper_conns[i]);
		if (conn && rlk_conn_usable(conn)) {
			rlk_conn_set_until(conn, until_ms);
			return conn;
		}
		rlk_pool_put(client->pool, conn);
	}
	if (rlk_pool_get(client->pool, RLK_BAY_CONTROL, until_ms, false, NULL,
			 &conn, &error))
		return NULL;
	return conn;
}

/* Delete the session's row and its abandoned attempts. There is one try until
 * @until_ms; rows that it leaves die with the TTL. */
static void close_session(struct rowlock_client *client, uint64_t id,
			  int64_t until_ms)
{
	struct rlk_conn *conn = last_conn(client, until_ms);
	struct rowlock_errinfo error;

	if (conn)
		rlk_receipts_clear_on(client, conn);
	if (!conn || rlk_session_close(conn, id, &error))
		rlk_log(&client->log, ROWLOCK_LOG_WARNING,
			"the client's session on %s stays until it expires",
			client->server);
	rlk_pool_put(client->pool, conn);
}

static void close_sessions(struct rowlock_client *client, int64_t until_ms)
{
	struct rlk_session *session = &client->session;

	if (session->state == RLK_SESSION_ALIVE)
		close_session(client, session->id, until_ms);
	while (!rlk_list_empty(&client->old_sessions)) {
		struct rlk_old_session *old = container_of(
		    client->old_sessions.next, struct rlk_old_session, node);

		close_session(client, old->id, until_ms);
		rlk_list_remove(&old->node);
		free(old);
	}
}

static void drop_abandoned(struct rowlock_client *client)
{
	while (!rlk_list_empty(&client->abandoned)) {
		struct rlk_hold *hold =
		    container_of(client->abandoned.next, struct rlk_hold, node);

		rlk_list_remove(&hold->node);
		if (hold->orphan)
			rlk_owner_end_log(hold);
		rlk_pool_discard(client->pool, rlk_hold_take_conn(hold));
		rlk_hold_put_locked(hold);
	}
}

/* A released lock that has a keep does not die with the session. */
static void end_keeps(struct rowlock_client *client, int64_t until_ms)
{
	struct rlk_conn *conn =
	    client->has_keeps && !rlk_list_empty(&client->abandoned)
		? last_conn(client, until_ms)
		: NULL;

	if (conn)
		rlk_abandoned_leave_keeps(client, conn);
	rlk_pool_put(client->pool, conn);
}

/* Blocks at most until the call's deadline, even if the server hangs. */
static void close_connections(struct rowlock_client *client, int64_t until_ms)
{
	int64_t left;

	if (!client->pool)
		return;
	end_keeps(client, until_ms);
	close_sessions(client, until_ms);
	rlk_cut_off_forget(client);
	drop_abandoned(client);
	for (size_t i = 0; i < RLK_ARRAY_SIZE(client->keeper_conns); i++)
		rlk_pool_put(client->pool, client->keeper_conns[i]);
	/* Openers end at once, unless one is stuck in name resolution. */
	left = until_ms - rlk_now(client->clock);
	rlk_pool_free(client->pool,
		      left > RLK_OVERRUN_MS ? (uint64_t) left : RLK_OVERRUN_MS);
}

/* A lock that still has a hold to be released, or NULL. */
static struct rowlock *holder(struct rowlock_client *client)
{
	struct rlk_list *lists[] = { &client->session.holds,
				     &client->row_holds };
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);

	for (size_t i = 0; i < RLK_ARRAY_SIZE(lists); i++) {
		struct rlk_hold *hold;

		rlk_list_each (hold, lists[i], node)
			if (hold->state != RLK_HOLD_EXPORTED)
				return hold->handles;
	}
	return NULL;
}

/* Release all holds, in the time of one call. */
static void release_all(struct rowlock_client *client, int64_t until_ms)
{
	struct rowlock *lock;

	while ((lock = holder(client)))
		rlk_release_all(lock, until_ms);
}

/* Is a lease left that was exported, and not adopted yet, as far as is known?
 */
static bool has_exported_locked(const struct rowlock_client *client)
{
	struct rlk_hold *hold;

	rlk_list_each (hold, &client->session.holds, node)
		if (hold->state == RLK_HOLD_EXPORTED)
			return true;
	return false;
}

/* The session's row stays until it expires, so that what lives by it may be
 * adopted until then. */
static void leave_session_locked(struct rowlock_client *client)
{
	struct rlk_old_session *left = container_of(
	    client->old_sessions.prev, struct rlk_old_session, node);

	rlk_list_remove(&left->node);
	free(left);
}

/* A hold that a callback has acquired meanwhile ends with the client. */
static void lose_the_rest(struct rowlock_client *client)
{
	static const char why[] = "its client was freed";
	struct rlk_hold *hold;
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);
	bool exported = has_exported_locked(client);

	if (!rlk_list_empty(&client->session.holds))
		rlk_session_lose_locked(client, why);
	if (exported)
		leave_session_locked(client);
	rlk_list_each (hold, &client->row_holds, node)
		rlk_hold_lose_locked(hold, why);
}

/* End all parts that remaining handles do not need: see rlk_client_leave(). */
static void end(struct rowlock_client *client, int64_t until)
{
	rlk_end_watch_stop(&client->thread_ends);
	rlk_threads_stop(client);
	lose_the_rest(client);
	close_connections(client, until);
	rlk_sleeper_fini(&client->deadline_sleeper);
	rlk_sleeper_fini(&client->keeper_sleeper);
	rlk_sleeper_fini(&client->pinger_sleeper);
	rlk_sleeper_fini(&client->chores_sleeper);
	rlk_sleeper_fini(&client->reaper_sleeper);
	rlk_watches_fini(client);
	if (client->sockets >= 0)
		close(client->sockets);
	if (client->pongs >= 0)
		close(client->pongs);
	rlk_cond_fini(&client->session_changed);
	rlk_commit_fini(client);
	rlk_wakers_fini(client);
	rlk_observer_fini(&client->observer);
	free(client->session.grave);
	rlk_sources_fini(&client->target.sources);
	free(client->target.unverified_auth);
	free(client->program);
	client->ended = true;
	rlk_client_leave(client);
}

int rowlock_client_new(const struct rowlock_client_options *options,
		       struct rowlock_client **ret_client,
		       struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	struct rowlock_errinfo error = { 0 };
	struct rowlock_client *client;
	int code;

	if (!ret_client)
		return rlk_fail_null("ret_client", reterr);
	client = make();
	if (!client)
		return rlk_fail(reterr, ROWLOCK_ENOMEM,
				"client: out of memory");
	code = build(client, options, &error);
	if (code) {
		end(client, rlk_client_call_until(client));
		if (reterr)
			*reterr = error;
		return code;
	}
	*ret_client = client;
	return 0;
}

/* Written before the client is returned, and constant since. */
const char *rowlock_client_server(const struct rowlock_client *client)
{
	return client ? client->server : NULL;
}

/* Does one of its own threads call, in a callback? */
static bool is_inside(struct rowlock_client *client)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);

	return client->notifier_serial == rlk_thread_serial() ||
	       client->watcher_serial == rlk_thread_serial();
}

void rowlock_client_free(struct rowlock_client *client)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	int64_t until;

	if (rlk_client_refuses(client, NULL))
		return;
	if (is_inside(client)) {
		rlk_log(&client->log, ROWLOCK_LOG_ERROR,
			"a callback cannot free the client of %s: it is there "
			"still",
			client->server);
		return;
	}
	/* With the session's row every lease is over: it has its own time. */
	until = rlk_client_call_until(client);
	release_all(client, until - (int64_t) client->call_timeout_ms / 2);
	end(client, until);
}

static unsigned int count_users(struct rowlock_client *client)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);

	return client->users - 1;
}

int rowlock_client_try_free(struct rowlock_client *client,
			    struct rowlock_errinfo *reterr)
{
	_cleanup_(rlk_cancel_onp) int cancel = rlk_cancel_off();
	unsigned int users;
	int code;

	if (!client)
		return 0;
	code = rlk_client_refuses(client, reterr);
	if (code)
		return code;
	users = count_users(client);
	if (users)
		return rlk_fail(reterr, ROWLOCK_EHELD,
				"the client of %s is still in use (locks, "
				"watches and observers: %u); free those first",
				client->server, users);
	if (is_inside(client))
		return rlk_fail(reterr, ROWLOCK_EINVAL,
				"a callback cannot free the client of %s",
				client->server);
	end(client, rlk_client_call_until(client));
	return 0;
}
