/* SPDX-License-Identifier: MIT */
/*
 * The guard as text, for an application that commits by itself.
 */
#include "strategy/guard_sql.h"

#include <string.h>

#include "db/sql.h"
#include "strategy/attempt.h"

/* One more of those who have the guard as text (strategy/guard.h). */
#define COUNT_TEXT "(lease.guards + 268435456) & 4294967295"

/* Ends @text. */
static int take_words(struct rlk_script *text, char *ret_text, size_t size)
{
	const char *words = rlk_script_end(text);
	int code = ROWLOCK_ENOMEM;

	if (words)
		code = strlen(words) < size ? 0 : ROWLOCK_EINVAL;
	if (!code)
		memcpy(ret_text, words, strlen(words) + 1);
	rlk_sql_fini(&text->sql);
	return code;
}

static void put_run(struct rlk_script *text, const struct rlk_place *place,
		    const struct rlk_request *request, uint64_t run)
{
	rlk_script_put(text, " LEFT JOIN ");
	rlk_place_put_table(text, place, "job_run");
	rlk_script_put(text, " AS run" RLK_PLACE_OWN " ON run.name = ");
	rlk_script_put_value(text, rlk_text(request->name));
	rlk_script_put(text, " AND run.run = ");
	rlk_script_put_value(text, rlk_u64(run));
}

/* The first statement judges, as several drivers read no other answer of a
 * text. It joins a table that always has a row, so its condition is evaluated
 * where the others have none. The statements behind it are for a client that
 * passes over errors: they end its connection. */
int rlk_guard_sql(const struct rlk_place *place,
		  const struct rlk_request *request, uint64_t run,
		  char *ret_text, size_t size)
{
	struct rlk_script text = { .failed = false };

	rlk_script_put(&text, "UPDATE (SELECT 1) AS hold LEFT JOIN ");
	rlk_place_put_table(&text, place, "business_lease");
	rlk_script_put(&text, " AS lease" RLK_PLACE_OWN " ON ");
	rlk_attempt_put(&text, "lease.", request);
	if (run)
		put_run(&text, place, request, run);
	rlk_script_put(&text, " SET lease.guards = " COUNT_TEXT);
	if (run)
		rlk_script_put(&text, ", run.ended_at = UTC_TIMESTAMP(6), "
				      "run.code = 0, run.succeeded = 1");
	rlk_script_put(&text, " WHERE IF(lease.name IS NULL");
	if (run)
		rlk_script_put(&text, " OR run.name IS NULL");
	rlk_script_put(&text, ", (SELECT 1 UNION SELECT 2), 1) = 1; "
			      "SET @rowlock_guard = IF(ROW_COUNT() = ");
	rlk_script_put_value(&text, rlk_u64(run ? 2 : 1));
	rlk_script_put(&text, ", 'DO 0', 'KILL CONNECTION_ID()'); "
			      "PREPARE rowlock_guard FROM @rowlock_guard; "
			      "EXECUTE rowlock_guard");
	return take_words(&text, ret_text, size);
}

int rlk_guard_call(const struct rlk_place *place,
		   const struct rlk_request *request, char *ret_text,
		   size_t size)
{
	struct rlk_script text = { .failed = false };

	rlk_script_put(&text, "CALL ");
	rlk_place_put_table(&text, place, "rowlock_guard");
	rlk_script_put(&text, "(");
	rlk_script_put_value(&text, rlk_text(request->name));
	rlk_script_put(&text, ", ");
	rlk_script_put_value(&text, rlk_u64(request->attempt));
	rlk_script_put(&text, ")");
	return take_words(&text, ret_text, size);
}
