/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_REAP_H
#define RLK_STRATEGY_REAP_H

/*
 * Looking for what is dead. These only read; every removal is a statement of
 * its own that checks again (strategy/session_row.h).
 *
 * As for strategies: no mutex held, may block until @conn's deadline. Texts
 * are valid during the callback only.
 */

#include "strategy/attempt.h"
#include "strategy/strategy.h"

struct rlk_session_seen {
	uint64_t id;
	uint64_t beat;
	uint64_t ttl_ms;
	const char *host;
	uint64_t pid;
	int64_t left_us; /* until it expires, server's clock */
};

struct rlk_lease_seen {
	const char *name;
	unsigned int slot;
	struct rlk_holder holder;
};

struct rlk_token_seen {
	const char *strategy;
	const char *name;
	uint64_t token;
};

/** Sessions with ids above @after, in their order, at most @batch. */
enum rlk_fault rlk_sessions_after(struct rlk_conn *conn, uint64_t after,
				  unsigned int batch,
				  void (*fn)(const struct rlk_session_seen *,
					     void *),
				  void *arg, struct rowlock_errinfo *reterr);

/**
 * Leases behind @name and @slot, in their order, that are dead or past their
 * maximum by the server's clock; with @all_with_max also those that have a
 * maximum at all. At most @batch.
 */
struct rlk_lease_cursor {
	const char *name; /* "" for the first */
	unsigned int slot;
	unsigned int batch;
	bool all_with_max;
};

enum rlk_fault rlk_leases_dead(struct rlk_conn *conn,
			       const struct rlk_lease_cursor *cursor,
			       void (*fn)(const struct rlk_lease_seen *,
					  void *),
			       void *arg, struct rowlock_errinfo *reterr);

/** The attempts of all leases that session @id has, itself or by a keep. */
enum rlk_fault rlk_leases_of(struct rlk_conn *conn, uint64_t id,
			     void (*fn)(uint64_t attempt, void *), void *arg,
			     struct rowlock_errinfo *reterr);

/** Tell @fn the attempt of each of @keys, @count of them, whose row is there.
 *  One statement, by the primary key; @conn's profile allows packets. */
enum rlk_fault rlk_leases_there(struct rlk_conn *conn,
				const struct rlk_lease_key *keys, size_t count,
				void (*fn)(uint64_t attempt, void *), void *arg,
				struct rowlock_errinfo *reterr);

/** Tokens of names that drew none for 30 days, and of which no lease is there;
 *  none that is ahead of the server's clock. At most @batch. */
enum rlk_fault rlk_tokens_old(struct rlk_conn *conn, unsigned int batch,
			      void (*fn)(const struct rlk_token_seen *, void *),
			      void *arg, struct rowlock_errinfo *reterr);

/**
 * Collect one of them: raise the floor to it, then delete its row if it is
 * still that old, and the floor not below it.
 *
 * @floor  what the floor is known to be at least, 0 if nothing is; raised
 */
enum rlk_fault rlk_token_collect(struct rlk_conn *conn,
				 const struct rlk_token_seen *token,
				 uint64_t *floor, bool *ret_collected,
				 struct rowlock_errinfo *reterr);

#endif
