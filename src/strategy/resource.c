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

#include "db/sql.h"

/* Subquery returns more than 1 row. */
#define ERROR_ROWS 1242
#define FAIL "(SELECT 1 UNION SELECT 2)"

/* With a lock: what is committed, not what a snapshot shows. */
static uint64_t largest(const struct rlk_borrowed *on, const char *resource)
{
	struct rlk_script text = { .failed = false };
	uint64_t token;

	rlk_script_put(&text, "SELECT token FROM lock_fence WHERE resource = ");
	rlk_script_put_value(&text, rlk_text(resource));
	rlk_script_put(&text, " LIMIT 1 FOR UPDATE");
	if (rlk_borrowed_say_script(on, &text, &token, NULL))
		return 0;
	return token;
}

enum rlk_resource_end rlk_resource_pass(const struct rlk_borrowed *on,
					const char *resource, uint64_t token,
					uint64_t *ret_largest,
					struct rowlock_errinfo *reterr)
{
	struct rlk_script text = { .failed = false };
	struct rowlock_errinfo error = { 0 };
	uint64_t number;

	rlk_script_put(&text, "INSERT INTO lock_fence (resource, token, "
			      "passes, passed_at) VALUES (");
	rlk_script_put_value(&text, rlk_text(resource));
	rlk_script_put(&text, ", ");
	rlk_script_put_value(&text, rlk_u64(token));
	rlk_script_put(
	    &text, ", 1, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE passes = "
		   "IF(token <= VALUES(token), passes + 1, " FAIL
		   "), token = VALUES(token), passed_at = "
		   "VALUES(passed_at)");
	*ret_largest = 0;
	if (!rlk_borrowed_say_script(on, &text, &number, &error))
		return RLK_RESOURCE_PASSED;
	if (error.mysql == ERROR_ROWS) {
		*ret_largest = largest(on, resource);
		return RLK_RESOURCE_STALE;
	}
	if (reterr)
		*reterr = error;
	return RLK_RESOURCE_REFUSED;
}
