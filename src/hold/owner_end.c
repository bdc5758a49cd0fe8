/* SPDX-License-Identifier: MIT */
/*
 * The ending thread only marks the hold as lost: the notifier and the chores
 * see to the callback, the log and the server. The chores remove its row at
 * once, as for every lost hold.
 *
 * All holds are searched. That is rare: a thread that has released all its
 * holds is not reported (base/thread_end.h).
 */
#include "hold/owner_end.h"

#include "hold/hold.h"

static void lose_of(struct rlk_list *holds, uint64_t owner)
{
	struct rlk_hold *hold;

	rlk_list_each (hold, holds, node) {
		if (hold->owner != owner || hold->state != RLK_HOLD_HELD)
			continue;
		hold->owner = RLK_OWNER_NOBODY;
		hold->orphan = true;
		rlk_hold_lose_locked(hold, "its owner ended");
	}
}

void rlk_owner_ended(struct rlk_end_watch *watch, uint64_t serial)
{
	struct rowlock_client *client =
	    container_of(watch, struct rowlock_client, thread_ends);
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);

	lose_of(&client->session.holds, serial);
	lose_of(&client->row_holds, serial);
}

void rlk_owner_end_log(const struct rlk_hold *hold)
{
	rlk_log(&hold->name->client->log, ROWLOCK_LOG_WARNING,
		"'%s' (%s) is lost: the thread that held it has ended without "
		"a release",
		hold->name->text, hold->name->strategy->name);
}
