/* SPDX-License-Identifier: MIT */
/*
 * A hash table with open addressing. Ids are random numbers, so they are their
 * own hash; at most half of the places are taken.
 */
#include "core/beats.h"

#include <stdlib.h>

void rlk_observer_fini(struct rlk_observer *observer)
{
	free(observer->sights);
	*observer = (struct rlk_observer){ 0 };
}

/* The place of @id, or the empty place for it. There is always one. */
static struct rlk_sight *place(const struct rlk_observer *observer, uint64_t id)
{
	size_t mask = observer->size - 1;
	size_t at = (size_t) id & mask;

	while (observer->sights[at].id && observer->sights[at].id != id)
		at = (at + 1) & mask;
	return &observer->sights[at];
}

/* 16 MiB of memory; a server has at most 100,000 connections. */
#define SIGHTS_MOST (256 * 1024)

static bool grow(struct rlk_observer *observer)
{
	struct rlk_observer larger = { .size = 16 };

	if (observer->size)
		larger.size = 2 * observer->size;
	larger.count = observer->count;
	larger.sights = calloc(larger.size, sizeof(*larger.sights));
	if (!larger.sights)
		return false;
	for (size_t i = 0; i < observer->size; i++)
		if (observer->sights[i].id)
			*place(&larger, observer->sights[i].id) =
			    observer->sights[i];
	free(observer->sights);
	*observer = larger;
	return true;
}

int64_t rlk_observer_see(struct rlk_observer *observer, uint64_t id,
			 uint64_t beat, int64_t now_ms)
{
	struct rlk_sight *sight = observer->size ? place(observer, id) : NULL;

	if (!sight || !sight->id) {
		if (observer->count == SIGHTS_MOST)
			rlk_observer_fini(observer);
		if (2 * observer->count >= observer->size && !grow(observer))
			return 0;
		sight = place(observer, id);
		*sight = (struct rlk_sight){ id, beat, now_ms, now_ms };
		observer->count++;
	}
	if (sight->beat != beat) {
		sight->beat = beat;
		sight->first_ms = now_ms;
	}
	sight->last_ms = now_ms;
	return now_ms - sight->first_ms;
}

/* Entries after the place may have had to go past it: place them again. */
static void empty(struct rlk_observer *observer, struct rlk_sight *sight)
{
	size_t mask = observer->size - 1;
	size_t at = (size_t) (sight - observer->sights);

	*sight = (struct rlk_sight){ 0 };
	observer->count--;
	while (observer->sights[at = (at + 1) & mask].id) {
		struct rlk_sight moved = observer->sights[at];

		observer->sights[at] = (struct rlk_sight){ 0 };
		*place(observer, moved.id) = moved;
	}
}

void rlk_observer_prune(struct rlk_observer *observer, int64_t before_ms)
{
	for (size_t i = 0; i < observer->size; i++)
		while (observer->sights[i].id &&
		       observer->sights[i].last_ms < before_ms)
			empty(observer, &observer->sights[i]);
}
