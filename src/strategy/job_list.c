/* SPDX-License-Identifier: MIT */
/*
 * See job_list.h. The runs of a name come newest first, by a key that is named:
 * without its name MySQL sorts all rows for each page.
 *
 * A run without an end runs if the lease that it was claimed under is there,
 * and its session lives by the server's clock.
 */
#include "strategy/job_list.h"

#include <stdio.h>

#include "strategy/listing.h"

static const struct rlk_stmt_def runs = {
	"list runs",
	"SELECT j.name, j.began_at, j.run, j.from_at, j.until_at, j.nth,"
	" j.ended_at, j.code, j.succeeded, j.host, j.pid, j.program,"
	" TIMESTAMPDIFF(MICROSECOND, j.began_at, UTC_TIMESTAMP(6)),"
	" TIMESTAMPDIFF(MICROSECOND, j.began_at,"
	" COALESCE(j.ended_at, UTC_TIMESTAMP(6))),"
	" TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), j.until_at),"
	" s.expires_at > UTC_TIMESTAMP(6)"
	" AND COALESCE(l.expires_at > UTC_TIMESTAMP(6), 1)"
	" FROM job_run j FORCE INDEX (newest_first)"
	" LEFT JOIN business_lease l ON l.name = j.name AND l.slot = 0"
	" AND l.attempt = j.attempt"
	" LEFT JOIN lease_session s ON s.id = l.session"
	" WHERE j.name LIKE ? ESCAPE '!' AND (j.name > ? OR (j.name = ?"
	" AND (j.began_at < ? OR (j.began_at = ? AND j.run > ?))))"
	" ORDER BY j.name, j.began_at DESC, j.run LIMIT ?",
};

struct rlk_job_listing rlk_job_listing_begin(const char *like,
					     rowlock_list_runs_fn fn, void *arg)
{
	return (struct rlk_job_listing){
		.like = like,
		.fn = fn,
		.arg = arg,
		.page = rlk_page_begin(RLK_LIST_PAGE),
		.began_at = "9999-12-31", /* any time */
	};
}

static uint64_t ms_of(const struct rlk_value *value)
{
	return value->i64 < 0 ? 0 : (uint64_t) value->i64 / 1000;
}

static enum rowlock_run_state state_of(const struct rlk_value *columns)
{
	if (columns[8].u64)
		return ROWLOCK_RUN_SUCCEEDED;
	if (columns[6].type != RLK_NULL)
		return ROWLOCK_RUN_FAILED;
	return columns[15].u64 == 1 ? ROWLOCK_RUN_RUNNING : ROWLOCK_RUN_DIED;
}

static void tell(struct rlk_job_listing *listing,
		 const struct rlk_value *columns)
{
	struct rowlock_run_entry entry = {
		.size = sizeof(entry),
		.state = state_of(columns),
		.name = columns[0].text,
		.began_at = columns[1].text,
		.from_at = columns[3].text,
		.until_at = columns[4].text,
		.nth = columns[5].u64,
		.ended_at = columns[6].text,
		.code = (int) columns[7].i64,
		.host = columns[9].text,
		.pid = (unsigned int) columns[10].u64,
		.program = columns[11].text,
		.began_ms = ms_of(&columns[12]),
		.took_ms = ms_of(&columns[13]),
		.left_ms = columns[14].i64 / 1000,
	};

	if (entry.state == ROWLOCK_RUN_DIED)
		entry.took_ms = 0;
	if (!listing->ended)
		listing->ended = listing->fn(&entry, listing->arg) != 0;
}

static void see(const struct rlk_value *columns, void *arg)
{
	struct rlk_job_listing *listing = arg;

	if (!rlk_page_note(&listing->page, columns[0].text, columns[2].u64))
		return;
	snprintf(listing->began_at, sizeof(listing->began_at), "%s",
		 columns[1].text);
	tell(listing, columns);
}

enum rlk_fault rlk_job_list(struct rlk_conn *conn,
			    struct rlk_job_listing *listing,
			    struct rowlock_errinfo *reterr)
{
	enum rlk_fault fault = RLK_DONE;
	char began_at[RLK_TIME_SIZE];
	struct rlk_page from;

	snprintf(began_at, sizeof(began_at), "%s", listing->began_at);
	if (rlk_page_turn(&listing->page, &from)) {
		const struct rlk_value params[] = {
			rlk_text(listing->like),
			rlk_text(from.name),
			rlk_text(from.name),
			rlk_text(began_at),
			rlk_text(began_at),
			/* The page has the one behind the last. */
			rlk_u64(from.slot - 1),
			rlk_u64(from.limit),
		};

		fault =
		    rlk_stmt_each(conn, &runs, params, see, listing, reterr);
	}
	return fault;
}
