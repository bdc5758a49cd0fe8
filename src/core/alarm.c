/* SPDX-License-Identifier: MIT */
/*
 * A pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986) of embedded nodes:
 * set in constant time, clear and take in amortised logarithmic time, no
 * memory of its own.
 */
#include "core/alarm.h"

#include "base/clock.h"

#include <stddef.h>

/* Make the later of two roots the first child of the earlier. */
static struct rlk_alarm *meld(struct rlk_alarm *a, struct rlk_alarm *b)
{
	struct rlk_alarm *late;

	if (!a || !b)
		return a ? a : b;
	if (b->at_ms < a->at_ms) {
		late = a;
		a = b;
	} else {
		late = b;
	}
	late->prev = a;
	late->next = a->child;
	if (late->next)
		late->next->prev = late;
	a->child = late;
	return a;
}

/* Meld a list of siblings into one heap: in pairs, then back to front. */
static struct rlk_alarm *meld_siblings(struct rlk_alarm *first)
{
	struct rlk_alarm *pairs = NULL;
	struct rlk_alarm *root = NULL;

	while (first) {
		struct rlk_alarm *a = first;
		struct rlk_alarm *b = a->next;

		first = b ? b->next : NULL;
		a->next = NULL;
		if (b)
			b->next = NULL;
		a = meld(a, b);
		a->next = pairs;
		pairs = a;
	}
	while (pairs) {
		struct rlk_alarm *pair = pairs;

		pairs = pair->next;
		pair->next = NULL;
		root = meld(root, pair);
	}
	if (root)
		root->prev = NULL;
	return root;
}

static void detach(struct rlk_alarms *alarms, struct rlk_alarm *alarm)
{
	struct rlk_alarm *rest = meld_siblings(alarm->child);

	if (alarms->first == alarm) {
		alarms->first = rest;
	} else {
		if (alarm->prev->child == alarm)
			alarm->prev->child = alarm->next;
		else
			alarm->prev->next = alarm->next;
		if (alarm->next)
			alarm->next->prev = alarm->prev;
		alarms->first = meld(alarms->first, rest);
	}
	alarm->child = NULL;
	alarm->next = NULL;
	alarm->prev = NULL;
	alarm->set = false;
}

void rlk_alarms_set(struct rlk_alarms *alarms, struct rlk_alarm *alarm,
		    int64_t at_ms)
{
	rlk_alarms_clear(alarms, alarm);
	if (at_ms == RLK_NEVER)
		return;
	alarm->at_ms = at_ms;
	alarm->set = true;
	alarms->first = meld(alarms->first, alarm);
}

void rlk_alarms_clear(struct rlk_alarms *alarms, struct rlk_alarm *alarm)
{
	if (alarm->set)
		detach(alarms, alarm);
}

struct rlk_alarm *rlk_alarms_due(struct rlk_alarms *alarms, int64_t now_ms)
{
	struct rlk_alarm *alarm = alarms->first;

	if (!alarm || alarm->at_ms > now_ms)
		return NULL;
	detach(alarms, alarm);
	return alarm;
}

int64_t rlk_alarms_next(const struct rlk_alarms *alarms)
{
	return alarms->first ? alarms->first->at_ms : RLK_NEVER;
}
