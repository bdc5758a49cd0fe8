/* SPDX-License-Identifier: MIT */
/*
 * Beats the keeps of a client's holds (hold/keeping.h) behind each beat of its
 * session: one UPDATE for 256 of them, of each kind. So they bear what a
 * session bears, such as a server's clock that jumps ahead, and a hold lasts
 * beyond the time that its name was to be kept for. A client with none looks at
 * no hold.
 *
 * Failure modes: a beat without an answer is tried again with the session's
 * next one, which then comes soon; the hold is lost at its deadline at the
 * latest. A hold whose keep is gone is lost: by a break if the session counts
 * more of them than it did when the keep was found last, else by an eviction.
 */
#include "background/keeps.h"

#include "core/call.h"
#include "hold/hold.h"
#include "strategy/session_row.h"

#include <stdlib.h>

/* Keeps of one statement. */
#define KEEPS_MOST 256

struct page {
	bool delays;     /* of this kind */
	uint64_t breaks; /* of the session, as known before they are beaten */
	size_t count;
	struct rlk_hold *holds[KEEPS_MOST]; /* with a reference each */
	uint64_t ids[KEEPS_MOST];
};

static void free_page(struct page **page)
{
	free(*page);
}

/* Those that were not beaten in this @round yet. */
static void take_locked(struct rowlock_client *client, struct page *page,
			uint64_t round)
{
	struct rlk_hold *hold;

	page->count = 0;
	page->breaks = client->session.breaks;
	rlk_list_each (hold, &client->session.holds, node) {
		struct rlk_upkeep *upkeep = hold->upkeep;

		if (hold->state != RLK_HOLD_HELD || !upkeep ||
		    !upkeep->keep.row.id || upkeep->keep.round == round ||
		    upkeep->keep.row.delays != page->delays)
			continue;
		if (page->count == KEEPS_MOST)
			return;
		upkeep->keep.round = round;
		rlk_hold_get_locked(hold);
		page->holds[page->count] = hold;
		page->ids[page->count++] = upkeep->keep.row.id;
	}
}

static void found_locked(const struct page *page, struct rlk_hold *hold,
			 int64_t t0)
{
	const struct rowlock_client *client = hold->name->client;
	int64_t until =
	    rlk_after(t0, client->ttl_ms - rlk_margin(client->ttl_ms));

	hold->upkeep->keep.breaks = page->breaks;
	/* An answer after the end does not revive the hold. */
	if (!rlk_hold_check_locked(hold) ||
	    until <= hold->upkeep->keep.until_ms)
		return;
	hold->upkeep->keep.until_ms = until;
	rlk_hold_kept_locked(hold);
}

/* Fewer were beaten than there are: which are gone? One that is there need not
 * have been beaten, as a statement that was killed changes no row; all that are
 * left are beaten again. *@ret_lost is why @hold is lost, or NULL if it is not.
 * Returns false without an answer. */
static bool look(const struct rlk_hold *hold, struct rlk_conn *conn,
		 const char **ret_lost)
{
	const struct rlk_hold_keep *keep = &hold->upkeep->keep;
	struct rowlock_errinfo error;
	uint64_t beat, breaks;
	bool found;

	*ret_lost = NULL;
	if (rlk_session_look(conn, keep->row.id, &found, &beat, &error))
		return false;
	if (found)
		return true;
	if (rlk_session_breaks(conn, hold->session, &found, &breaks, &error))
		return false;
	*ret_lost =
	    found && breaks != keep->breaks ? RLK_WAS_BROKEN : RLK_WAS_EVICTED;
	return true;
}

static bool beat(struct rowlock_client *client, struct page *page,
		 struct rlk_conn *conn, uint64_t patience_ms)
{
	const struct rlk_keeps keeps = { page->ids, page->count, page->delays };
	int64_t t0 = rlk_now(client->clock);
	struct rowlock_errinfo error;
	uint64_t beaten = 0;
	bool answered, all;

	rlk_conn_set_until(conn, rlk_after(t0, patience_ms));
	answered =
	    rlk_keeps_beat_all(conn, &keeps, &beaten, &error) == RLK_DONE;
	all = answered && beaten == page->count;
	for (size_t i = 0; i < page->count; i++) {
		struct rlk_hold *hold = page->holds[i];
		const char *lost = NULL;

		if (answered && !all)
			answered = look(hold, conn, &lost);
		rlk_mutex_lock(&client->mutex);
		if (all)
			found_locked(page, hold, t0);
		/* A release that is under way has deleted its own. */
		else if (answered && lost && hold->state == RLK_HOLD_HELD)
			rlk_hold_lose_locked(hold, lost);
		rlk_hold_put_locked(hold);
		rlk_mutex_unlock(&client->mutex);
	}
	if (all)
		return true;
	rlk_mutex_lock(&client->mutex);
	if (client->session.state == RLK_SESSION_ALIVE)
		client->session.next_beat_ms =
		    rlk_after(rlk_now(client->clock), client->ttl_ms / 30);
	rlk_mutex_unlock(&client->mutex);
	return false;
}

void rlk_keeps_beat(struct rowlock_client *client, struct rlk_conn *conn,
		    uint64_t patience_ms)
{
	_cleanup_(free_page) struct page *page = NULL;
	uint64_t round;

	rlk_mutex_lock(&client->mutex);
	round = client->session.beats;
	if (client->has_keeps)
		page = calloc(1, sizeof(*page));
	rlk_mutex_unlock(&client->mutex);
	while (page && !rlk_client_stopping(client)) {
		rlk_mutex_lock(&client->mutex);
		take_locked(client, page, round);
		rlk_mutex_unlock(&client->mutex);
		if (page->count) {
			if (!beat(client, page, conn, patience_ms))
				return;
		} else if (page->delays) {
			return;
		} else {
			page->delays = true;
		}
	}
}
