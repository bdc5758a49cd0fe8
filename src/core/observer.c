/* SPDX-License-Identifier: MIT */
/*
 * A small array, searched from its start: there are as many entries as there
 * are clients of this database that somebody wonders about.
 */
#include "core/observer.h"

#include <stdlib.h>

void rlk_observer_fini(struct rlk_observer *observer)
{
	free(observer->sights);
	*observer = (struct rlk_observer){ 0 };
}

static struct rlk_sight *find(struct rlk_observer *observer, uint64_t id)
{
	for (size_t i = 0; i < observer->size; i++)
		if (observer->sights[i].id == id)
			return &observer->sights[i];
	return NULL;
}

/* An empty place, made if there is none. */
static struct rlk_sight *place(struct rlk_observer *observer)
{
	struct rlk_sight *sight = find(observer, 0);
	size_t size = observer->size ? observer->size * 2 : 16;
	struct rlk_sight *sights;

	if (sight)
		return sight;
	sights = realloc(observer->sights, size * sizeof(*sights));
	if (!sights)
		return NULL;
	for (size_t i = observer->size; i < size; i++)
		sights[i] = (struct rlk_sight){ 0 };
	sight = &sights[observer->size];
	observer->sights = sights;
	observer->size = size;
	return sight;
}

int64_t rlk_observer_see(struct rlk_observer *observer, uint64_t id,
			 uint64_t beat, int64_t now_ms)
{
	struct rlk_sight *sight = find(observer, id);

	if (!sight) {
		sight = place(observer);
		if (!sight)
			return 0;
		*sight = (struct rlk_sight){ id, beat, now_ms, now_ms };
	}
	if (sight->beat != beat) {
		sight->beat = beat;
		sight->first_ms = now_ms;
	}
	sight->last_ms = now_ms;
	return now_ms - sight->first_ms;
}

void rlk_observer_forget(struct rlk_observer *observer, uint64_t id)
{
	struct rlk_sight *sight = find(observer, id);

	if (sight)
		*sight = (struct rlk_sight){ 0 };
}

void rlk_observer_prune(struct rlk_observer *observer, int64_t before_ms)
{
	for (size_t i = 0; i < observer->size; i++)
		if (observer->sights[i].last_ms < before_ms)
			observer->sights[i] = (struct rlk_sight){ 0 };
}
