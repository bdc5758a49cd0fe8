/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_OFFER_H
#define RLK_STRATEGY_OFFER_H

/*
 * A lease that its holder has exported, for whoever adopts it by a string. The
 * string has the session and the attempt of the lease's row, and a keyed hash
 * of both and of the name, by the secret of the database: a string that was
 * made for another name or database, or was altered, is known as such without
 * a question.
 *
 * As for strategies: no mutex held, may block until @conn's deadline.
 */

#include <rowlock/adoption.h>

#include "strategy/strategy.h"

struct rlk_offer {
	uint64_t session; /* of its exporter */
	uint64_t attempt; /* of its exporter's hold */
};

/** Write the string of @offer of @name to @text, of ROWLOCK_EXPORT_SIZE. */
void rlk_offer_write(const struct rlk_key *key, const char *name,
		     const struct rlk_offer *offer, char *text);

enum rlk_offer_text {
	RLK_OFFER_READ,
	RLK_OFFER_MALFORMED, /* no such string */
	RLK_OFFER_FOREIGN,   /* of another name or database, or altered */
};

enum rlk_offer_text rlk_offer_read(const struct rlk_key *key, const char *name,
				   const char *text,
				   struct rlk_offer *ret_offer);

/**
 * Take the lease over: its row gets the session and the attempt of @request, if
 * it is still that of @offer, and the sessions of both are there. May be asked
 * again with the same attempt.
 * Valid results: RLK_GRANTED; RLK_HELD: another has the name; RLK_ABSENT:
 * nobody has it any more; RLK_AGAIN; RLK_WAITING; RLK_UNCLEAR; RLK_FAILURE.
 */
enum rlk_verdict rlk_offer_adopt(struct rlk_conn *conn,
				 const struct rlk_request *request,
				 const struct rlk_offer *offer,
				 struct rowlock_errinfo *reterr);

#endif
