/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_LEASE_BATCH_ASK_H
#define RLK_STRATEGY_LEASE_BATCH_ASK_H

/* A packet of leases is sent. */

#include "strategy/lease_batch.h"

/** @again: what was sent before is rolled back first. */
enum rlk_fault rlk_batch_send(struct rlk_batch *batch, bool again);

/** Who has the names that were asked for? */
enum rlk_fault rlk_batch_ask_who(struct rlk_batch *batch);

/** Send @packet, and wait for its answers for as long as @patience goes on. */
enum rlk_fault rlk_lease_run_packet(struct rlk_conn *conn,
				    struct rlk_packet *packet,
				    const struct rlk_patience *patience,
				    struct rowlock_errinfo *reterr);

#endif
