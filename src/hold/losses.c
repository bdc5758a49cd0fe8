/* SPDX-License-Identifier: MIT */
/*
 * See losses.h. A reason is a text, since that of a silence has the error of
 * the last heartbeat at its end: so it is looked up by its beginning. Failure
 * mode: a text that is not listed counts as another reason; tests/meta looks
 * for those.
 */
#include "hold/losses.h"

#include "strategy/candidate.h"

#include <string.h>

/* Values of hold->shown_ms after the end of the time that is counted. */
#define ENDED (-1)
#define LOST (-2)

static const char *const texts[] = {
	[ROWLOCK_LOSS_OTHER] = "another reason",
	[ROWLOCK_LOSS_EVICTED] = RLK_WAS_EVICTED,
	[ROWLOCK_LOSS_SILENCE] = "no heartbeat succeeded in time",
	[ROWLOCK_LOSS_BROKEN] = RLK_WAS_BROKEN,
	[ROWLOCK_LOSS_GONE] = RLK_ROW_IS_GONE,
	[ROWLOCK_LOSS_RESTORED] = RLK_WAS_RESTORED,
	[ROWLOCK_LOSS_MAXIMUM] = "its maximum hold is over",
	[ROWLOCK_LOSS_CUT] = "its connection ended",
	[ROWLOCK_LOSS_DEAF] = "its connection does not answer",
	[ROWLOCK_LOSS_IDLE] = "the server did not answer on its connection "
			      "within the idle bound",
	[ROWLOCK_LOSS_KEEP] = "the server did not answer the heartbeats of its "
			      "keep in time",
	[ROWLOCK_LOSS_OWNER] = "its owner ended",
	[ROWLOCK_LOSS_CLIENT] = "its client was freed",
	[ROWLOCK_LOSS_UNKNOWN] = RLK_MAY_BE_GONE,
	[ROWLOCK_LOSS_ADOPTED] = RLK_WAS_ADOPTED,
};
#define TEXTS (sizeof(texts) / sizeof(*texts))
_Static_assert(TEXTS <= ROWLOCK_LOSSES, "each has a counter");

const char *rlk_loss_text(int loss)
{
	return loss >= 0 && (size_t) loss < TEXTS ? texts[loss] : NULL;
}

int rlk_loss_of(const char *reason)
{
	for (size_t i = 1; i < TEXTS; i++)
		if (strncmp(reason, texts[i], strlen(texts[i])) == 0)
			return (int) i;
	return ROWLOCK_LOSS_OTHER;
}

void rlk_count_shown_locked(struct rlk_hold *hold)
{
	struct rowlock_client *client = hold->name->client;

	/* The row of a candidate that waits is no lock. */
	if (hold->name->strategy == &rlk_strategy_candidate)
		return;
	if (hold->shown_ms) {
		rlk_stats_add(&client->stats.levels, 1);
		return;
	}
	hold->shown_ms = rlk_now(client->clock);
	rlk_stats_add(&client->stats.holds, 1);
	if (hold->reason)
		rlk_count_loss_locked(hold, hold->reason);
}

void rlk_count_end_locked(struct rlk_hold *hold)
{
	struct rowlock_client *client = hold->name->client;

	if (hold->shown_ms <= 0)
		return;
	rlk_durations_add(&client->stats.holding,
			  rlk_now(client->clock) - hold->shown_ms);
	hold->shown_ms = ENDED;
}

void rlk_count_loss_locked(struct rlk_hold *hold, const char *reason)
{
	struct rlk_stats *stats = &hold->name->client->stats;

	if (hold->shown_ms == 0 || hold->shown_ms == LOST)
		return;
	rlk_count_end_locked(hold);
	rlk_stats_add(&stats->losses[rlk_loss_of(reason)], 1);
	hold->shown_ms = LOST;
}
