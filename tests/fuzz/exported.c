/* SPDX-License-Identifier: MIT */
/*
 * The string of an export (strategy/offer_text.h), and what a program writes to
 * 'rowlock hold --json --adopt' in its place: of all texts only the one that
 * was made for this name and this database is read, and as what it was made of.
 */
#include <string.h>

#include "fuzz.h"
#include "strategy/offer_text.h"

#define NAME "job"

static const struct rlk_key key = { { 1, 2 } };

/* A tag that fits by chance is one in 2^64: such an input was made from what
 * the corpus has. */
static void run_exported(const unsigned char *bytes, size_t size)
{
	static const struct rlk_key others = { { 1, 3 } };
	const char *text = fuzz_text(bytes, size);
	struct rlk_offer offer = { 7, 7 }, other = { 7, 7 };
	char again[ROWLOCK_EXPORT_SIZE];
	enum rlk_offer_text is = rlk_offer_read(&key, NAME, text, &offer);

	if (is != RLK_OFFER_READ) {
		if (offer.session != 7 || offer.attempt != 7)
			fuzz_broken("what is refused is read");
		return;
	}
	rlk_offer_write(&key, NAME, &offer, again);
	if (strcmp(again, text) != 0)
		fuzz_broken("two strings of one lease: %s", again);
	if (rlk_offer_read(&key, NAME "s", text, &other) != RLK_OFFER_FOREIGN ||
	    rlk_offer_read(&others, NAME, text, &other) != RLK_OFFER_FOREIGN)
		fuzz_broken("it is read for another name or database");
}

const struct fuzz_target fuzz_exported = { .name = "exported",
					   .run = run_exported,
					   .few = 50000 };
