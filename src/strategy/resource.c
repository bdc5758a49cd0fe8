/* SPDX-License-Identifier: MIT */
/*
 * One statement, whether the row is there or not: a locking read of a row that
 * is absent, and an INSERT behind it, would be a deadlock for two who come
 * first. A smaller token makes it fail, by a subquery of two rows: an error
 * whatever sql_mode is (a number that is too large for its column is cut where
 * that is not strict), and whatever the client's flags are, on which a count of
 * changed rows depends (CLIENT_FOUND_ROWS).
 *
 * Each pass changes the row, also one with the same token: a cluster compares
 * what transactions have written, not what they have looked at.
 */
#include "strategy/resource.h"

#include <string.h>

#include "base/error.h"
#include "db/sql.h"

/* Subquery returns more than 1 row. */
#define ERROR_ROWS 1242
#define FAIL "(SELECT 1 UNION SELECT 2)"

/* Said, or there was no memory for it. */
static enum rlk_fault say(const struct rlk_borrowed *on, struct rlk_sql *sql,
			  bool complete, uint64_t *ret_number,
			  struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = RLK_FAILED;

	if (complete)
		fault =
		    rlk_borrowed_say(on, rlk_sql_end(sql), ret_number, reterr);
	else
		rlk_fail(reterr, ROWLOCK_ENOMEM, "out of memory");
	rlk_sql_fini(sql);
	return fault;
}

static bool put(struct rlk_sql *sql, const char *words)
{
	return rlk_sql_put(sql, words, strlen(words));
}

static bool put_value(struct rlk_sql *sql, struct rlk_value value)
{
	return rlk_sql_put_value(sql, &value);
}

/* With a lock: what is committed, not what a snapshot shows. */
static uint64_t largest(const struct rlk_borrowed *on, const char *resource)
{
	struct rlk_sql sql = { 0 };
	uint64_t token = 0;
	bool complete =
	    put(&sql, "SELECT token FROM lock_fence WHERE resource = ") &&
	    put_value(&sql, rlk_text(resource)) && put(&sql, " FOR UPDATE");

	if (say(on, &sql, complete, &token, NULL))
		return 0;
	return token;
}

enum rlk_resource_end rlk_resource_pass(const struct rlk_borrowed *on,
					const char *resource, uint64_t token,
					uint64_t *ret_largest,
					struct rowlock_errinfo *reterr)
{
	struct rlk_sql sql = { 0 };
	struct rowlock_errinfo error = { 0 };
	uint64_t number;
	bool complete =
	    put(&sql, "INSERT INTO lock_fence (resource, token, passes, "
		      "passed_at) VALUES (") &&
	    put_value(&sql, rlk_text(resource)) && put(&sql, ", ") &&
	    put_value(&sql, rlk_u64(token)) &&
	    put(&sql, ", 1, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE passes = "
		      "IF(token <= VALUES(token), passes + 1, " FAIL
		      "), token = VALUES(token), passed_at = "
		      "VALUES(passed_at)");
	enum rlk_fault fault = say(on, &sql, complete, &number, &error);

	*ret_largest = 0;
	if (!fault)
		return RLK_RESOURCE_PASSED;
	if (error.mysql == ERROR_ROWS) {
		*ret_largest = largest(on, resource);
		return RLK_RESOURCE_STALE;
	}
	if (reterr)
		*reterr = error;
	return RLK_RESOURCE_REFUSED;
}
