/* SPDX-License-Identifier: MIT */
/*
 * See lease_columns.h: alone and in a batch.
 */
#include "strategy/lease_columns.h"

#include "strategy/bell.h"

struct rlk_value rlk_lease_max_us(const struct rlk_request *request)
{
	if (request->max_hold_ms == 0)
		return rlk_null();
	return rlk_u64(request->max_hold_ms * 1000);
}

void rlk_lease_read_holder(const struct rlk_value *columns,
			   struct rlk_holder *holder)
{
	*holder = (struct rlk_holder){
		.known = true,
		.attempt = columns[0].u64,
		.session = columns[1].u64,
		.absent = columns[2].type == RLK_NULL,
		.left_us = columns[2].i64,
		.has_max = columns[3].type != RLK_NULL,
		.max_left_us = columns[3].i64,
	};
	holder->looked = true;
	if (!holder->absent) {
		holder->beat = columns[4].u64;
		holder->ttl_ms = columns[5].u64;
	}
	if (holder->has_max)
		holder->max_ms = columns[6].u64;
}

int64_t rlk_lease_left_us(const struct rlk_holder *holder)
{
	if (holder->absent)
		return INT64_MIN;
	return holder->has_max && holder->max_left_us < holder->left_us
		   ? holder->max_left_us
		   : holder->left_us;
}

void rlk_lease_read_bell(const struct rlk_value *column,
			 struct rlk_holder *holder)
{
	holder->bell = column->u64 == 1;
	holder->line = column->type != RLK_NULL && column->u64 == 0;
}

void rlk_lease_read_line(const struct rlk_conn *conn, uint64_t owner,
			 struct rlk_holder *holder)
{
	holder->line = owner && owner != rlk_conn_id(conn);
}

void rlk_lease_drop_bell(struct rlk_conn *conn,
			 const struct rlk_request *request)
{
	struct rowlock_errinfo error;

	if (rlk_conn_usable(conn) && rlk_bell_ring(conn, request, &error))
		rlk_conn_spoil(conn);
}
