/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_LIST_H
#define RLK_STRATEGY_LIST_H

/*
 * What people ask: who holds what. Plain reads, but for the probe.
 *
 * @like is an SQL LIKE pattern with '!' as its escape character. As for
 * strategies: no mutex held, may block until @conn's deadline.
 */

#include "db/conn.h"

enum rlk_fault rlk_list_leases(struct rlk_conn *conn, const char *like,
			       rowlock_list_fn fn, void *arg,
			       struct rowlock_errinfo *reterr);

#define RLK_LIST_NAMES 64

/** What there is of @names, at most RLK_LIST_NAMES leases, by one statement on
 *  a connection that takes packets. Each is told of: what nobody has as free,
 *  with the last token that was drawn for it. */
enum rlk_fault rlk_list_names(struct rlk_conn *conn, const char *const *names,
			      size_t count, rowlock_list_fn fn, void *arg,
			      struct rowlock_errinfo *reterr);

/** Names of business_lock; their state is ROWLOCK_STATE_UNKNOWN. */
enum rlk_fault rlk_list_rows(struct rlk_conn *conn, const char *like,
			     rowlock_list_fn fn, void *arg,
			     struct rowlock_errinfo *reterr);

/** Names of business_lock that nobody has locked, by locking each for an
 *  instant. */
enum rlk_fault rlk_list_free_rows(struct rlk_conn *conn, const char *like,
				  void (*fn)(const char *name, void *arg),
				  void *arg, struct rowlock_errinfo *reterr);

#endif
