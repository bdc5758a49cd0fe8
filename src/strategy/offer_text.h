/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_OFFER_TEXT_H
#define RLK_STRATEGY_OFFER_TEXT_H

/*
 * The string of a lease that its holder has exported. It has the session and
 * the attempt of the lease's row, and a keyed hash of both and of the name, by
 * the secret of the database: a string that was made for another name or
 * database, or was altered, is known as such without a question.
 */

#include <rowlock/adoption.h>
#include <stdint.h>

#include "base/keyed.h"

struct rlk_offer {
	uint64_t session; /* of its exporter */
	uint64_t attempt; /* of its exporter's hold */
};

/** Write the string of @offer of @name to @text, of ROWLOCK_EXPORT_SIZE. */
void rlk_offer_write(const struct rlk_key *key, const char *name,
		     const struct rlk_offer *offer, char *text);

/** The length of each. */
#define RLK_OFFER_LENGTH 57

enum rlk_offer_text {
	RLK_OFFER_READ,
	RLK_OFFER_MALFORMED, /* no such string */
	RLK_OFFER_FOREIGN,   /* of another name or database, or altered */
};

enum rlk_offer_text rlk_offer_read(const struct rlk_key *key, const char *name,
				   const char *text,
				   struct rlk_offer *ret_offer);

#endif
