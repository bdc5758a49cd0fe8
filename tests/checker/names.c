// SPDX-License-Identifier: MIT
/* Names by number: an open table of hashes that grows by doubling. */
#include "names.h"

#include <stdlib.h>
#include <string.h>

#include "vector.h"

struct names {
	struct history_word *words;
	size_t n;
	size_t room;
	uint32_t *table; /* number + 1; 0: empty */
	size_t slots;    /* a power of two */
};

static uint64_t hash(struct history_word word)
{
	uint64_t value = 14695981039346656037u; /* FNV-1a */
	size_t i;

	for (i = 0; i < word.length; i++)
		value = (value ^ (unsigned char) word.at[i]) * 1099511628211u;
	return value;
}

struct names *names_new(void)
{
	struct names *names = calloc(1, sizeof(*names));

	if (!names)
		abort();
	names->slots = 64;
	names->table = calloc(names->slots, sizeof(*names->table));
	if (!names->table)
		abort();
	return names;
}

void names_free(struct names *names)
{
	if (!names)
		return;
	free(names->words);
	free(names->table);
	free(names);
}

/* Where @word is, or the empty slot for it. */
static size_t find_slot(const struct names *names, struct history_word word)
{
	size_t slot = hash(word) & (names->slots - 1);
	uint32_t number;

	while ((number = names->table[slot])) {
		const struct history_word *other = &names->words[number - 1];

		if (other->length == word.length &&
		    !memcmp(other->at, word.at, word.length))
			break;
		slot = (slot + 1) & (names->slots - 1);
	}
	return slot;
}

static void widen(struct names *names)
{
	size_t i;

	free(names->table);
	names->slots *= 2;
	names->table = calloc(names->slots, sizeof(*names->table));
	if (!names->table)
		abort();
	for (i = 0; i < names->n; i++)
		names->table[find_slot(names, names->words[i])] =
		    (uint32_t) i + 1;
}

uint32_t names_number(struct names *names, struct history_word word)
{
	size_t slot = find_slot(names, word);

	if (names->table[slot])
		return names->table[slot] - 1;
	names->words = vector_grow(names->words, names->n, &names->room,
				   sizeof(*names->words));
	names->words[names->n++] = word;
	names->table[slot] = (uint32_t) names->n;
	if (names->n * 2 > names->slots)
		widen(names);
	return (uint32_t) names->n - 1;
}

struct history_word names_word(const struct names *names, uint32_t number)
{
	return names->words[number];
}
