/* SPDX-License-Identifier: MIT */
/*
 * Failure modes: while no server answers, receipts stay noted. Those without
 * room go with the session.
 */
#include "background/receipts.h"

#include <string.h>

#include "core/call.h"
#include "db/lend.h"
#include "strategy/receipt.h"

void rlk_receipt_note(struct rowlock_client *client, uint64_t attempt)
{
	bool many;

	rlk_mutex_lock(&client->mutex);
	if (client->receipt_count < RLK_ARRAY_SIZE(client->receipts))
		client->receipts[client->receipt_count++] = attempt;
	many = client->receipt_count >= RLK_RECEIPTS_MOST;
	rlk_mutex_unlock(&client->mutex);
	if (many)
		rlk_sleeper_wake(&client->chores_sleeper);
}

/* Copy the oldest, which stay noted: new ones go behind them. */
static size_t copy(struct rowlock_client *client, uint64_t *ret_attempts)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);
	size_t count = client->receipt_count < RLK_RECEIPTS_MOST
			   ? client->receipt_count
			   : RLK_RECEIPTS_MOST;

	memcpy(ret_attempts, client->receipts, count * sizeof(*ret_attempts));
	return count;
}

/* Forget the first @count receipts: they are deleted. */
static void forget(struct rowlock_client *client, size_t count)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);

	client->receipt_count -= count;
	memmove(client->receipts, client->receipts + count,
		client->receipt_count * sizeof(*client->receipts));
}

void rlk_receipts_clear_on(struct rowlock_client *client, struct rlk_conn *conn)
{
	uint64_t attempts[RLK_RECEIPTS_MOST];
	struct rowlock_errinfo error;
	size_t count;

	while ((count = copy(client, attempts)) &&
	       !rlk_receipts_delete(conn, attempts, count, &error))
		forget(client, count);
}

static bool has_any(struct rowlock_client *client)
{
	_guard_ struct rlk_mutex *guard = rlk_guard(&client->mutex);

	return client->receipt_count;
}

bool rlk_receipts_clear(struct rowlock_client *client)
{
	struct rlk_conn *conn;

	if (!has_any(client))
		return true;
	if (rlk_client_chore_conn(client, RLK_BAY_CONTROL, &conn))
		return false;
	rlk_receipts_clear_on(client, conn);
	rlk_pool_put(client->pool, conn);
	return !has_any(client);
}
