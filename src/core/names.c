/* SPDX-License-Identifier: MIT */
/*
 * A chained hash table that doubles. The whole text is compared, never only
 * its hash: two names that share a bucket are still two locks.
 */
#include "core/names.h"

#include "base/clock.h"
#include "base/macro.h"
#include "base/set_text.h"
#include "base/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t hash_of(const struct rlk_strategy *strategy, const char *text)
{
	uint64_t hash = rlk_text_hash(text) ^ (uintptr_t) strategy >> 4;

	return (uint32_t) (hash ^ hash >> 32);
}

static void grow(struct rlk_names *names)
{
	size_t size = names->size ? names->size * 2 : 64;
	struct rlk_name **buckets = calloc(size, sizeof(struct rlk_name *));

	/* A table that cannot grow is slower, not wrong. */
	if (!buckets)
		return;
	for (size_t i = 0; i < names->size; i++) {
		while (names->buckets[i]) {
			struct rlk_name *name = names->buckets[i];
			struct rlk_name **to =
			    &buckets[name->hash & (size - 1)];

			names->buckets[i] = name->next;
			name->next = *to;
			*to = name;
		}
	}
	free(names->buckets);
	names->buckets = buckets;
	names->size = size;
}

void rlk_names_fini(struct rlk_names *names)
{
	free(names->buckets);
	*names = (struct rlk_names){ 0 };
}

static struct rlk_name *make(struct rlk_names *names,
			     const struct rlk_strategy *strategy,
			     const char *text, uint32_t hash)
{
	size_t length = strlen(text) + 1;
	struct rlk_name *name = malloc(sizeof(*name) + length);
	struct rlk_name **bucket;

	if (!name)
		return NULL;
	*name = (struct rlk_name){
		.client = names->client,
		.strategy = strategy,
		.hash = hash,
		.refs = 1,
	};
	rlk_list_init(&name->waiters);
	memcpy(name->text, text, length);
	bucket = &names->buckets[hash & (names->size - 1)];
	name->next = *bucket;
	*bucket = name;
	names->count++;
	return name;
}

static struct rlk_name *find(const struct rlk_names *names,
			     const struct rlk_strategy *strategy,
			     const char *text, uint32_t hash)
{
	struct rlk_name *name;

	if (!names->buckets)
		return NULL;
	name = names->buckets[hash & (names->size - 1)];
	while (name && (name->hash != hash || name->strategy != strategy ||
			strcmp(name->text, text) != 0))
		name = name->next;
	return name;
}

struct rlk_name *rlk_names_find(const struct rlk_names *names,
				const struct rlk_strategy *strategy,
				const char *text)
{
	return find(names, strategy, text, hash_of(strategy, text));
}

struct rlk_name *rlk_names_get(struct rlk_names *names,
			       const struct rlk_strategy *strategy,
			       const char *text)
{
	uint32_t hash = hash_of(strategy, text);
	struct rlk_name *name = find(names, strategy, text, hash);

	if (name) {
		rlk_name_get(name);
		return name;
	}
	if (names->count >= names->size)
		grow(names);
	if (!names->buckets)
		return NULL;
	return make(names, strategy, text, hash);
}

#define SHOWN_MOST 120

struct rlk_name_shown rlk_name_shown(const struct rlk_name *name)
{
	size_t count = rlk_set_count(name->text);
	struct rlk_name_shown shown;
	const char *from = name->text;
	char *to = shown.text;

	if (count > 1 && strlen(from) + 3 * (count - 1) > SHOWN_MOST) {
		snprintf(shown.text, sizeof(shown.text), "%s, ... (%zu names)",
			 rlk_set_name_at(from, 0).text, count);
		return shown;
	}
	for (; *from && to + sizeof("', '") <= shown.text + sizeof(shown.text);
	     from++) {
		if (*from == RLK_SET_BETWEEN)
			to = stpcpy(to, "', '");
		else
			*to++ = *from;
	}
	*to = '\0';
	return shown;
}

void rlk_name_get(struct rlk_name *name)
{
	name->refs++;
}

void rlk_names_put(struct rlk_names *names, struct rlk_name *name)
{
	struct rlk_name **at = &names->buckets[name->hash & (names->size - 1)];

	if (--name->refs > 0)
		return;
	assert(!name->hold && rlk_list_empty(&name->waiters) && !name->turn);
	while (*at != name)
		at = &(*at)->next;
	*at = name->next;
	names->count--;
	free(name);
}

void rlk_name_know_token(struct rlk_name *name, uint64_t token)
{
	if (token > name->token)
		name->token = token;
}

struct rlk_turn *rlk_name_turn(struct rlk_name *name, int64_t began_ms)
{
	struct rlk_turn *turn = name->turn;

	if (turn)
		return turn;
	turn = malloc(sizeof(*turn));
	if (!turn)
		return NULL;
	*turn = (struct rlk_turn){
		.others_seen_ms = -RLK_NEVER,
		.began_ms = began_ms,
		.probed_ms = began_ms,
	};
	name->turn = turn;
	return turn;
}

void rlk_name_rest(struct rlk_name *name)
{
	if (!name->hold && rlk_list_empty(&name->waiters))
		free(TAKE_PTR(name->turn));
}
