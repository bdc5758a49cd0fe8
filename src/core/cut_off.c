/* SPDX-License-Identifier: MIT */
/*
 * A server gives a number once in a run, and the fence looks that it is the
 * same run (db/conn_fence.c). So a connection may be ended by its number at any
 * later time: it is that one, or there is none.
 *
 * Failure modes: one that cannot be ended now is tried again in the next round,
 * and so are those behind it. One that the account may not end is forgotten,
 * and so are all that are left when the client ends: the server ends them by
 * its own time-outs.
 */
#include "core/cut_off.h"

#include <stdlib.h>

#include "core/call.h"

struct cut_off {
	struct rlk_list node; /* client->cut_off */
	struct rlk_mark mark;
};

void rlk_cut_off_note(struct rowlock_client *client,
		      const struct rlk_mark *mark)
{
	struct cut_off *noted = malloc(sizeof(*noted));

	if (!noted)
		return;
	noted->mark = *mark;
	rlk_mutex_lock(&client->mutex);
	rlk_list_append(&client->cut_off, &noted->node);
	rlk_mutex_unlock(&client->mutex);
	rlk_sleeper_wake(&client->chores_sleeper);
}

/* Take the first one from the list. Returns NULL if it is empty. */
static struct cut_off *take(struct rowlock_client *client)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);
	struct rlk_list *node = rlk_list_first(&client->cut_off);

	if (!node)
		return NULL;
	rlk_list_remove(node);
	return container_of(node, struct cut_off, node);
}

static void put_back(struct rowlock_client *client, struct cut_off *noted)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);

	rlk_list_append(&client->cut_off, &noted->node);
}

/* Has it ended, or can it not be ended from here? */
static bool is_over(enum rlk_fault fault)
{
	return fault == RLK_DONE || fault == RLK_REFUSED;
}

bool rlk_cut_off_end(struct rowlock_client *client)
{
	struct cut_off *noted;

	while ((noted = take(client))) {
		enum rlk_fault fault = rlk_client_fence(
		    client, &noted->mark, rlk_client_chore_until(client), false,
		    NULL);

		if (!is_over(fault)) {
			put_back(client, noted);
			return false;
		}
		free(noted);
	}
	return true;
}

void rlk_cut_off_forget(struct rowlock_client *client)
{
	struct cut_off *noted;

	while ((noted = take(client)))
		free(noted);
}
