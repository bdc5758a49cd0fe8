/* SPDX-License-Identifier: MIT */
#ifndef RLK_STRATEGY_LISTING_H
#define RLK_STRATEGY_LISTING_H

/*
 * Lists for people: who holds what. All are plain reads, except the probe.
 *
 * @like is an SQL LIKE pattern with '!' as its escape character. As for
 * strategies: no mutex held, may block until @conn's deadline.
 */

#include <rowlock/admin.h>

#include "db/conn.h"
#include "strategy/page.h"
#include "strategy/row_holders.h"

/* Rows of a page: they are less than a megabyte, whatever is in them, which is
 * the most that an answer may be. */
#define RLK_LIST_PAGE 256

/** A question, and how far it was answered: page by page, each on any
 *  connection, as the callback may take its time. */
struct rlk_listing {
	const char *like;
	rowlock_list_fn fn;
	void *arg;
	const struct rlk_row_holders *holders; /* of rows; NULL: not known */
	bool ended;                            /* by @fn: it is told no more */
	struct rlk_page page;
};

static inline struct rlk_listing rlk_listing_begin(const char *like,
						   rowlock_list_fn fn,
						   void *arg)
{
	return (struct rlk_listing){
		.like = like,
		.fn = fn,
		.arg = arg,
		.page = rlk_page_begin(RLK_LIST_PAGE),
	};
}

/** Are there more entries to report? */
static inline bool rlk_listing_more(const struct rlk_listing *listing)
{
	return !listing->ended && rlk_page_more(&listing->page);
}

/** Report @entry, if the list was not ended. */
static inline void rlk_listing_tell(struct rlk_listing *listing,
				    const struct rowlock_entry *entry)
{
	if (!listing->ended)
		listing->ended = listing->fn(entry, listing->arg) != 0;
}

/** Tell of the next page, if rlk_listing_more(). */
enum rlk_fault rlk_list_leases(struct rlk_conn *conn,
			       struct rlk_listing *listing,
			       struct rowlock_errinfo *reterr);

#define RLK_LIST_NAMES 64

/** List @names, at most RLK_LIST_NAMES leases, by one statement on a connection
 *  that takes batches. Each is reported: one without a holder as free, with the
 *  last token that was drawn for it. */
enum rlk_fault rlk_list_names(struct rlk_conn *conn, const char *const *names,
			      size_t count, rowlock_list_fn fn, void *arg,
			      struct rowlock_errinfo *reterr);

/** The same of the names of business_lock. Their state is what the listing's
 *  holders say, else ROWLOCK_STATE_UNKNOWN. */
enum rlk_fault rlk_list_rows(struct rlk_conn *conn, struct rlk_listing *listing,
			     struct rowlock_errinfo *reterr);

/** Find names of business_lock that nobody has locked, by locking each for an
 *  instant: of those that are listed from @begin on, up to @last. */
enum rlk_fault rlk_list_free_rows(struct rlk_conn *conn, const char *like,
				  const struct rlk_page *begin,
				  const char *last,
				  void (*fn)(const char *name, void *arg),
				  void *arg, struct rowlock_errinfo *reterr);

#endif
