/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_JOB_LIST_H
#define RLK_STRATEGY_JOB_LIST_H

/*
 * The list of job_run for people, page by page; as listing.h is for locks.
 */

#include <rowlock/admin.h>

#include "db/conn.h"
#include "strategy/job_run.h"
#include "strategy/page.h"

/** A question, and how far it was answered. */
struct rlk_job_listing {
	const char *like;
	rowlock_list_runs_fn fn;
	void *arg;
	bool ended; /* by @fn: it is told no more */
	struct rlk_page page;
	char began_at[RLK_TIME_SIZE]; /* of the page's last row */
};

struct rlk_job_listing rlk_job_listing_begin(const char *like,
					     rowlock_list_runs_fn fn,
					     void *arg);

/** Are there more runs to report? */
static inline bool rlk_job_listing_more(const struct rlk_job_listing *listing)
{
	return !listing->ended && rlk_page_more(&listing->page);
}

/** Tell of the next page, if rlk_job_listing_more(). */
enum rlk_fault rlk_job_list(struct rlk_conn *conn,
			    struct rlk_job_listing *listing,
			    struct rowlock_errinfo *reterr);

#endif
