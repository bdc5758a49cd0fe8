/* SPDX-License-Identifier: MIT */
/*
 * The string of an offer: a prefix, the session, the attempt, and the keyed
 * hash of both and of the name, each with 16 digits.
 */
#include "strategy/offer_text.h"

#include "base/macro.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A later form of the string has another number. */
#define PREFIX "rowlock1."
#define PREFIX_LENGTH (sizeof(PREFIX) - 1)
#define DIGITS 16

_Static_assert(PREFIX_LENGTH + 3 * DIGITS == RLK_OFFER_LENGTH &&
		   RLK_OFFER_LENGTH < ROWLOCK_EXPORT_SIZE,
	       "the string fits");

static uint64_t tag_of(const struct rlk_key *key, const char *name,
		       const struct rlk_offer *offer)
{
	char text[2 * DIGITS + RLK_NAME_SIZE];
	int length =
	    snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64 "%s",
		     offer->session, offer->attempt, name);

	return rlk_keyed_hash(key, text, (size_t) length);
}

void rlk_offer_write(const struct rlk_key *key, const char *name,
		     const struct rlk_offer *offer, char *text)
{
	snprintf(text, ROWLOCK_EXPORT_SIZE,
		 PREFIX "%016" PRIx64 "%016" PRIx64 "%016" PRIx64,
		 offer->session, offer->attempt, tag_of(key, name, offer));
}

/* Lower case only: a lease has one string. */
static bool read_number(const char *text, uint64_t *ret_number)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t number = 0;

	for (int i = 0; i < DIGITS; i++) {
		const char *at = memchr(digits, text[i], sizeof(digits) - 1);

		if (!at)
			return false;
		number = number << 4 | (uint64_t) (at - digits);
	}
	*ret_number = number;
	return true;
}

enum rlk_offer_text rlk_offer_read(const struct rlk_key *key, const char *name,
				   const char *text,
				   struct rlk_offer *ret_offer)
{
	struct rlk_offer offer;
	uint64_t numbers[3];

	if (strnlen(text, ROWLOCK_EXPORT_SIZE) != RLK_OFFER_LENGTH ||
	    strncmp(text, PREFIX, PREFIX_LENGTH) != 0)
		return RLK_OFFER_MALFORMED;
	for (size_t i = 0; i < RLK_ARRAY_SIZE(numbers); i++)
		if (!read_number(text + PREFIX_LENGTH + i * DIGITS,
				 &numbers[i]))
			return RLK_OFFER_MALFORMED;
	offer = (struct rlk_offer){ numbers[0], numbers[1] };
	if (tag_of(key, name, &offer) != numbers[2])
		return RLK_OFFER_FOREIGN;
	*ret_offer = offer;
	return RLK_OFFER_READ;
}
