/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_ATTEMPT_H
#define RLK_STRATEGY_ATTEMPT_H

/*
 * The rows that one attempt makes: one of a lock, a reader, a writer or a
 * candidate, one for each name of a set, one for each permit. They are given
 * back and confirmed alike: by name, slot and attempt, so that no row of a
 * later holder is ever touched.
 */

#include "base/set_text.h"
#include "db/sql.h"
#include "strategy/strategy.h"

/** A row of business_lease by its primary key, and its attempt. */
struct rlk_lease_key {
	const char *name; /* not terminated */
	size_t length;
	unsigned int slot;
	uint64_t attempt;
};

/** How many rows @request is about. */
static inline size_t rlk_attempt_rows(const struct rlk_request *request)
{
	return request->slots ? request->count : rlk_set_count(request->name);
}

/** The key of row @number, from 0; its name is in the request's. */
static inline struct rlk_lease_key rlk_attempt_key(
    const struct rlk_request *request, size_t number)
{
	struct rlk_lease_key key = { .name = request->name,
				     .slot = request->slots
						 ? request->slots[number]
						 : request->slot,
				     .attempt = request->attempt };

	while (!request->slots && number-- > 0)
		key.name += rlk_set_length(key.name) + 1;
	key.length = rlk_set_length(key.name);
	return key;
}

/** A condition on the rows of many attempts, for rlk_values_of_key(). No
 *  attempt is ever another row's: so three lists find what triples would. */
#define RLK_ATTEMPT_ROWS                                                       \
	"l.name IN ({?0|, }) AND l.slot IN ({?1|, }) AND l.attempt IN ({?2|, " \
	"})"

/** Name, slot and attempt of an array of struct rlk_lease_key. */
void rlk_values_of_key(const void *keys, size_t row,
		       struct rlk_value *ret_values);

/** release() and confirm() of a strategy: *@ret_found is true if all rows were
 *  there. */
enum rlk_fault rlk_attempt_release(struct rlk_conn *conn,
				   const struct rlk_request *request,
				   bool *ret_found,
				   struct rowlock_errinfo *reterr);
enum rlk_fault rlk_attempt_confirm(struct rlk_conn *conn,
				   const struct rlk_request *request,
				   bool *ret_found,
				   struct rowlock_errinfo *reterr);

/** Delete the rows of @request that are there. */
enum rlk_fault rlk_attempt_delete(struct rlk_conn *conn,
				  const struct rlk_request *request,
				  uint64_t *ret_removed,
				  struct rowlock_errinfo *reterr);

/** A statement that was to change the request's rows has changed none:
 *  rlk_sure_gone(). */
enum rlk_fault rlk_attempt_make_sure(struct rlk_conn *conn,
				     const struct rlk_request *request,
				     struct rowlock_errinfo *reterr);

/** The condition that a row is the request's only one. @table: "", or how the
 *  table is called, and a dot. */
void rlk_attempt_put(struct rlk_script *script, const char *table,
		     const struct rlk_request *request);

/** Run a statement whose parameters are the name, slot and attempt of the
 *  request's only row. */
enum rlk_fault rlk_attempt_run(struct rlk_conn *conn,
			       const struct rlk_stmt_def *def,
			       const struct rlk_request *request,
			       struct rlk_reply *ret_reply,
			       struct rowlock_errinfo *reterr);

#endif
