/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_LEASE_PRIVATE_H
#define RLK_STRATEGY_LEASE_PRIVATE_H

/* Shared by the files of the lease strategy. */

#include "strategy/lease.h"
#include "strategy/lease_columns.h"
#include "strategy/sweep.h"

/* The operations of a strategy, on the request's slot. */

enum rlk_fault rlk_lease_acquire(struct rlk_conn *conn,
				 const struct rlk_request *request,
				 enum rlk_ask ask,
				 struct rlk_holder *ret_holder,
				 struct rowlock_errinfo *reterr);
enum rlk_fault rlk_lease_release(struct rlk_conn *conn,
				 const struct rlk_request *request,
				 bool *ret_found,
				 struct rowlock_errinfo *reterr);
enum rlk_fault rlk_lease_draw(struct rlk_conn *conn,
			      const struct rlk_request *request,
			      uint64_t *ret_token,
			      struct rowlock_errinfo *reterr);
enum rlk_fault rlk_lease_raise(struct rlk_conn *conn,
			       const struct rlk_request *request,
			       uint64_t token, struct rowlock_errinfo *reterr);
enum rlk_fault rlk_lease_look(struct rlk_conn *conn,
			      const struct rlk_request *request,
			      struct rlk_holder *ret_holder,
			      struct rowlock_errinfo *reterr);

/* sweep.c */

/** Leases whose session is absent, or that are past their maximum by the
 *  server's clock: rows of struct rlk_dead_lease. */
extern const struct rlk_many_def rlk_sweep_dead;
extern const struct rlk_many_def rlk_sweep_expired;
/** Sessions that are over by the server's clock: rows of an id. */
extern const struct rlk_many_def rlk_evict_expired;

#endif
