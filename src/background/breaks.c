/* SPDX-License-Identifier: MIT */
/*
 * Finds the leases of ours that were broken. All leases that we hold become
 * suspects; the look clears those whose rows it finds, and the rest was taken.
 * A lease acquired meanwhile was never a suspect. A request to give a lease
 * back comes by the same count, and so does the adoption of one that we have
 * exported.
 *
 * A transaction that gives its lease back deletes the row before the answer
 * comes here. While one is being ended its lease stays a suspect, and the look
 * is made again.
 *
 * The reason of such a loss names who has the lease now: that is asked for by
 * itself, as the row has another attempt.
 *
 * Failure mode: an answer with more rows than ours can be is not believed, and
 * the server is asked again.
 */
#include "background/breaks.h"

#include "background/revocations.h"
#include "core/call.h"
#include "db/lend.h"
#include "hold/hold.h"
#include "hold/late.h"
#include "strategy/offer.h"
#include "strategy/reap.h"

#include <stdio.h>
#include <stdlib.h>

/* The most rows besides those of our holds: of attempts that were sent or
 * abandoned, and are not deleted yet. */
#define OTHERS_MOST 65536

struct seen {
	uint64_t *attempts;
	size_t count;
	size_t size;
	size_t most;
	bool failed; /* out of memory, or too many rows */
};

static void add(uint64_t attempt, void *arg)
{
	struct seen *seen = arg;

	if (seen->failed || seen->count == seen->most) {
		seen->failed = true;
		return;
	}
	if (seen->count == seen->size) {
		size_t size = seen->size ? seen->size * 2 : 64;
		uint64_t *attempts =
		    realloc(seen->attempts, size * sizeof(*attempts));

		if (!attempts) {
			seen->failed = true;
			return;
		}
		seen->attempts = attempts;
		seen->size = size;
	}
	seen->attempts[seen->count++] = attempt;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a;
	const uint64_t *y = b;

	return (*x > *y) - (*x < *y);
}

/* The index of the first attempt that is not smaller. */
static size_t find(const struct seen *seen, uint64_t attempt)
{
	size_t from = 0;
	size_t to = seen->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (seen->attempts[middle] < attempt)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Are all rows of @hold there? */
static bool is_there(const struct seen *seen, const struct rlk_hold *hold)
{
	size_t last = find(seen, hold->attempt) + rlk_hold_rows(hold) - 1;

	return last < seen->count && seen->attempts[last] == hold->attempt;
}

/* @ret_rows: that all of them have. */
static uint64_t suspect_all(struct rowlock_client *client, size_t *ret_rows)
{
	struct rlk_hold *hold;
	uint64_t id = 0;
	size_t rows = 0;

	rlk_mutex_lock(&client->mutex);
	if (client->look_breaks && client->session.state == RLK_SESSION_ALIVE)
		id = client->session.id;
	client->look_breaks = false;
	rlk_list_each (hold, &client->session.holds, node) {
		hold->suspect = id != 0;
		rows += rlk_hold_rows(hold);
	}
	rlk_mutex_unlock(&client->mutex);
	*ret_rows = rows;
	return id;
}

/* Returns false if it cannot be said of all. */
static bool lose_missing(struct rowlock_client *client, struct seen *seen)
{
	struct rlk_hold *hold;
	bool all = true;

	rlk_mutex_lock(&client->mutex);
	rlk_list_each (hold, &client->session.holds, node) {
		if (hold->state == RLK_HOLD_EXPORTED)
			continue;
		if (!hold->suspect || hold->state != RLK_HOLD_HELD ||
		    is_there(seen, hold))
			hold->suspect = false;
		else if (hold->guard.gives_back)
			all = false;
		else
			rlk_hold_lose_locked(hold, RLK_WAS_BROKEN);
	}
	rlk_mutex_unlock(&client->mutex);
	return all;
}

/* The next one that was exported, and is missing, with a reference. It is
 * returned once. */
static struct rlk_hold *next_adopted(struct rowlock_client *client,
				     const struct seen *seen)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);
	struct rlk_hold *hold;

	rlk_list_each (hold, &client->session.holds, node) {
		if (!hold->suspect || hold->state != RLK_HOLD_EXPORTED)
			continue;
		hold->suspect = false;
		if (is_there(seen, hold))
			continue;
		rlk_hold_get_locked(hold);
		return hold;
	}
	return NULL;
}

/* @text: who has it now; "" if that could not be asked. Drops the reference. */
static void lose_adopted(struct rlk_hold *hold, const char *text)
{
	struct rowlock_client *client = hold->name->client;
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);
	char words[RLK_OFFER_HOLDER_SIZE + sizeof(RLK_WAS_ADOPTED) + 2];
	const char *reason = NULL;

	if (hold->state == RLK_HOLD_EXPORTED) {
		snprintf(words, sizeof(words), RLK_WAS_ADOPTED "; %s", text);
		if (*text)
			reason = rlk_reason_keep_locked(client, words);
		rlk_hold_lose_locked(hold, reason ? reason : RLK_WAS_ADOPTED);
	}
	rlk_hold_put_locked(hold);
}

static void find_adopters(struct rowlock_client *client, struct rlk_conn *conn,
			  const struct seen *seen)
{
	struct rowlock_errinfo error;
	struct rlk_hold *hold;

	while ((hold = next_adopted(client, seen))) {
		const struct rlk_request request = rlk_hold_request(hold);
		char text[RLK_OFFER_HOLDER_SIZE] = "";

		rlk_conn_set_until(conn, rlk_client_chore_until(client));
		if (rlk_offer_holder(conn, &request, text, sizeof(text),
				     &error))
			*text = '\0';
		lose_adopted(hold, text);
	}
}

/* A request that cannot be read keeps no lease that was broken. */
static bool look_on(struct rowlock_client *client, struct rlk_conn *conn,
		    uint64_t id, struct seen *seen)
{
	struct rowlock_errinfo error;
	bool all;

	if (rlk_leases_of(conn, id, add, seen, &error) || seen->failed)
		return false;
	if (seen->count)
		qsort(seen->attempts, seen->count, sizeof(*seen->attempts),
		      compare);
	all = lose_missing(client, seen);
	find_adopters(client, conn, seen);
	return rlk_revocations_tell(client, conn, id) && all;
}

bool rlk_breaks_look(struct rowlock_client *client)
{
	struct seen seen = { 0 };
	uint64_t id = suspect_all(client, &seen.most);
	struct rlk_conn *conn;
	bool done = false;

	if (!id)
		return true;
	seen.most += OTHERS_MOST;
	if (rlk_client_chore_conn(client, RLK_BAY_CONTROL, &conn) == 0) {
		done = look_on(client, conn, id, &seen);
		rlk_pool_put(client->pool, conn);
	}
	if (!done) {
		rlk_mutex_lock(&client->mutex);
		client->look_breaks = true;
		rlk_mutex_unlock(&client->mutex);
	}
	free(seen.attempts);
	return done;
}
