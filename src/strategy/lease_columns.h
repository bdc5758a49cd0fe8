/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_LEASE_COLUMNS_H
#define RLK_STRATEGY_LEASE_COLUMNS_H

/* The columns of leases, as statements take and give them. */

#include "db/stmt.h"
#include "strategy/strategy.h"

/** Columns of a lease l and its session s, of which s may be absent, for
 *  rlk_lease_read_holder(). */
#define RLK_LEASE_HOLDER                                                       \
	"l.attempt, l.session, "                                               \
	"TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), s.expires_at), "         \
	"TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_at), "         \
	"s.beat, s.ttl, "                                                      \
	"TIMESTAMPDIFF(MICROSECOND, l.acquired_at, l.expires_at) DIV 1000"
#define RLK_LEASE_HOLDER_COLUMNS 7
#define RLK_LEASE_OF_SESSION                                                   \
	" FROM business_lease l LEFT JOIN lease_session s ON s.id = "          \
	"l.session "

/** From the columns of RLK_LEASE_HOLDER. */
void rlk_lease_read_holder(const struct rlk_value *columns,
			   struct rlk_holder *holder);

/** How long a holder that was looked up has by the server's clock, its maximum
 *  included: less than anything if it is dead for ever. */
int64_t rlk_lease_left_us(const struct rlk_holder *holder);

/** The maximum hold as the statements take it; SQL's NULL if there is none. */
struct rlk_value rlk_lease_max_us(const struct rlk_request *request);

/** Note in @holder, whose row is ours, whether its bell is: @column is of a
 *  statement that takes the bell if nobody has it. */
void rlk_lease_read_bell(const struct rlk_value *column,
			 struct rlk_holder *holder);

/** The same by @owner, a connection or 0, of a statement that looks who has the
 *  bell of its row. */
void rlk_lease_read_line(const struct rlk_conn *conn, uint64_t owner,
			 struct rlk_holder *holder);

/** A statement that takes a bell failed: in the end, when it was killed or
 *  could not commit, it may have got it. A user-level lock knows of no
 *  transaction. */
void rlk_lease_drop_bell(struct rlk_conn *conn,
			 const struct rlk_request *request);

#endif
