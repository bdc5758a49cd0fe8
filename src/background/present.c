/* SPDX-License-Identifier: MIT */
/*
 * Detects rows that came or went by another hand.
 *
 * A dump that is restored while clients run brings back rows of names that were
 * released long ago, and an older row of the session: it counts fewer beats
 * than were answered. Such a session is given up; its leases die with its row.
 * A beat may be counted before its answer came, so one missing beat proves
 * nothing. A server that took over may lack some (keeper.c).
 *
 * Rows go if the table is emptied, a row is deleted by hand, or a dump is
 * restored. No beat shows it, as the session's row may still be there. So a
 * look at the rows of our holds, by primary key, follows a beat in each third
 * of the TTL: 256 in a statement, and at most 64 statements, to leave the
 * server time for others; the rest follows after the next beat. Without a hold
 * the session's row alone is looked at, once a TTL.
 *
 * A missing row alone proves nothing: its hold may be released at this moment.
 * If the hold is held before and after the look, the look that follows a break
 * decides (breaks.c).
 *
 * The looks use the commit connection, which is open and mostly idle. If it is
 * in use, the look is tried again soon; if it still is at the next beat,
 * another connection is opened.
 *
 * Failure modes: without a connection or an answer, the next beat's look
 * follows soon. Only the server that has the session is asked.
 */
#include "background/present.h"

#include "core/call.h"
#include "db/lend.h"
#include "hold/hold.h"
#include "strategy/reap.h"
#include "strategy/session_row.h"

#include <rowlock/multilock.h>
#include <rowlock/semaphore.h>
#include <stdlib.h>

/* A statement looks at the rows of this many holds. */
#define HOLDS_MOST 256
#define KEYS_MOST (HOLDS_MOST + ROWLOCK_SEMAPHORE_MAX)

/* Statements after one beat. */
#define PAGES_MOST 64

_Static_assert(ROWLOCK_SEMAPHORE_MAX >= ROWLOCK_MULTILOCK_MAX,
	       "the rows of any hold fit");

struct page {
	size_t hold_count;
	struct rlk_hold *holds[HOLDS_MOST];
	size_t rows[HOLDS_MOST]; /* of each, still to be found */
	size_t key_count;
	struct rlk_lease_key keys[KEYS_MOST];
};

static void free_page(struct page **page)
{
	free(*page);
}

/* ------------------------------------------------------------------ page */

static void add_hold_locked(struct page *page, struct rlk_hold *hold)
{
	const struct rlk_request request = rlk_hold_request(hold);
	size_t rows = rlk_attempt_rows(&request);

	rlk_hold_get_locked(hold);
	page->rows[page->hold_count] = rows;
	page->holds[page->hold_count++] = hold;
	for (size_t i = 0; i < rows; i++)
		page->keys[page->key_count++] = rlk_attempt_key(&request, i);
}

/* A transaction of the application may be giving its row back, or may have; the
 * end of the transaction decides. */
static bool is_believed(const struct rlk_hold *hold)
{
	return hold->state == RLK_HOLD_HELD && !hold->guard.in_transaction &&
	       !hold->guard.commit_may_come;
}

/* Take the next of *@left holds, moving each to the end of the list. */
static void take_locked(struct rowlock_client *client, struct page *page,
			size_t *left)
{
	struct rlk_list *holds = &client->session.holds;
	struct rlk_list *node;

	page->hold_count = 0;
	page->key_count = 0;
	while (*left && page->hold_count < HOLDS_MOST &&
	       page->key_count < HOLDS_MOST && (node = rlk_list_first(holds))) {
		struct rlk_hold *hold =
		    container_of(node, struct rlk_hold, node);

		--*left;
		rlk_list_remove(node);
		rlk_list_append(holds, node);
		if (is_believed(hold))
			add_hold_locked(page, hold);
		else
			hold->guard.unseen = true;
	}
}

/* --------------------------------------------------------------- session */

/* Another server may answer at the same address; the next beat tells whether it
 * knows this client. */
static bool is_at_home(struct rowlock_client *client,
		       const struct rlk_conn *conn)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);

	return client->many_writers ||
	       rlk_server_same(client->session.server,
			       rlk_conn_server(conn)->identity);
}

/* The session as known before the look. */
struct known {
	uint64_t id; /* 0: no session */
	uint64_t beats;
};

static struct known session_locked(const struct rowlock_client *client)
{
	const struct rlk_session *session = &client->session;

	if (session->state != RLK_SESSION_ALIVE)
		return (struct known){ 0 };
	return (struct known){ session->id, session->beats };
}

/* The session's row counts @beat. */
static void judge_session(struct rowlock_client *client,
			  const struct known *known, uint64_t beat)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);
	struct rlk_session *session = &client->session;

	/* It may have moved to another server meanwhile. */
	if (session->state != RLK_SESSION_ALIVE || session->id != known->id ||
	    session->beats_then > known->beats)
		return;
	if (beat + 1 <
	    session->beat_seen + (known->beats - session->beats_then)) {
		rlk_session_lose_locked(client, RLK_WAS_RESTORED);
		return;
	}
	/* Some beats answered by now may have come after @beat. */
	session->beat_seen = beat;
	session->beats_then = session->beats;
}

/* Returns ROWLOCK_EBUSY to try again soon, but not if @late. */
static int get_conn(struct rowlock_client *client, bool late,
		    struct rlk_conn **ret_conn)
{
	const int64_t until = rlk_client_chore_until(client);
	struct rowlock_errinfo error;
	int code = rlk_pool_get_spare(client->pool, RLK_BAY_COMMIT, until, NULL,
				      ret_conn, &error);

	return code == ROWLOCK_EBUSY && late
		   ? rlk_pool_get(client->pool, RLK_BAY_CONTROL, until, false,
				  NULL, ret_conn, &error)
		   : code;
}

static int look_at_session(struct rowlock_client *client, bool late,
			   const struct known *known)
{
	struct rowlock_errinfo error;
	struct rlk_conn *conn;
	bool found = false;
	uint64_t beat;
	int code;

	code = get_conn(client, late, &conn);
	if (code)
		return code;
	if (is_at_home(client, conn) &&
	    rlk_session_look(conn, known->id, &found, &beat, &error))
		found = false;
	rlk_pool_put(client->pool, conn);
	if (found)
		judge_session(client, known, beat);
	return 0;
}

/* ------------------------------------------------------------------ look */

static void found(uint64_t attempt, void *arg)
{
	struct page *page = arg;

	for (size_t i = 0; i < page->hold_count; i++)
		if (page->holds[i]->attempt == attempt && page->rows[i])
			page->rows[i]--;
}

/* Returns 0 if answered. */
static int ask(struct rowlock_client *client, bool late, struct page *page)
{
	struct rowlock_errinfo error;
	struct rlk_conn *conn;
	bool done;
	int code = get_conn(client, late, &conn);

	if (code)
		return code;
	done = is_at_home(client, conn) &&
	       rlk_leases_there(conn, page->keys, page->key_count, found, page,
				&error) == RLK_DONE;
	rlk_pool_put(client->pool, conn);
	return done ? 0 : ROWLOCK_ECONNECT;
}

/* Is a row missing of a hold held all the time? Drops the references. */
static bool judge_locked(struct page *page, bool answered)
{
	bool missing = false;

	for (size_t i = 0; i < page->hold_count; i++) {
		missing = missing || (answered && page->rows[i] &&
				      is_believed(page->holds[i]));
		if (answered && !page->rows[i])
			page->holds[i]->guard.unseen = false;
		rlk_hold_put_locked(page->holds[i]);
	}
	return missing;
}

/* How many holds this round looks at. */
static size_t count_locked(const struct rowlock_client *client)
{
	const size_t most = (size_t) PAGES_MOST * HOLDS_MOST;
	size_t count = 0;
	struct rlk_list *node;
	struct rlk_list *after;

	rlk_list_for_each(node, after, &client->session.holds)
	{
		if (++count == most)
			break;
	}
	return count;
}

static int look_at_holds(struct rowlock_client *client, bool late, size_t left)
{
	_cleanup_(free_page) struct page *page = malloc(sizeof(*page));
	int code = 0;

	for (int i = 0; page && left && !code && i < PAGES_MOST; i++) {
		rlk_mutex_lock(&client->mutex);
		take_locked(client, page, &left);
		rlk_mutex_unlock(&client->mutex);
		code = page->key_count ? ask(client, late, page) : 0;
		rlk_mutex_lock(&client->mutex);
		if (judge_locked(page, !code))
			client->look_breaks = true;
		rlk_mutex_unlock(&client->mutex);
	}
	return code;
}

bool rlk_present_look(struct rowlock_client *client)
{
	struct known known;
	bool due, late;
	size_t left;
	int code;

	rlk_mutex_lock(&client->mutex);
	due = client->look_present;
	late = client->look_late;
	known = session_locked(client);
	left = due ? count_locked(client) : 0;
	client->look_present = false;
	rlk_mutex_unlock(&client->mutex);
	if (!due)
		return true;
	code = known.id ? look_at_session(client, late, &known) : 0;
	if (code != ROWLOCK_EBUSY && left)
		code = look_at_holds(client, late, left);
	if (code != ROWLOCK_EBUSY)
		return true;
	rlk_mutex_lock(&client->mutex);
	client->look_present = true;
	rlk_mutex_unlock(&client->mutex);
	return false;
}
