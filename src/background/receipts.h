/* SPDX-License-Identifier: MIT */
#ifndef RLK_BACKGROUND_RECEIPTS_H
#define RLK_BACKGROUND_RECEIPTS_H

/*
 * The receipts of transactions that have given their lock back
 * (strategy/receipt.h), until they are deleted: many at once, by the chores.
 */

#include "core/client.h"

/** Note that the receipt of @attempt, if any, is not needed any more. Takes the
 *  client's mutex. */
void rlk_receipt_note(struct rowlock_client *client, uint64_t attempt);

/** Delete the noted receipts. Returns false if some are left: try again soon.
 *  Takes the client's mutex, and blocks as chores do. */
bool rlk_receipts_clear(struct rowlock_client *client);

/** Delete the noted receipts on @conn, at a client's end. */
void rlk_receipts_clear_on(struct rowlock_client *client,
			   struct rlk_conn *conn);

#endif
